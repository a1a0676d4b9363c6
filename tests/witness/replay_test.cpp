// What a device gave for each instruction, bit for bit.

#include <catch2/catch.hpp>
#include <set>

#include "base/files.h"
#include "tests/places.h"
#include "tests/witness/kernel.h"
#include "tests/witness/replay.h"

namespace lathe::ptx::witness {
namespace {

const Archive& archive() {
  static const Archive made = [] {
    Result<std::string> bytes = read_file(std::string(source_folder) + "/tests/witness/sm_90a.bin");
    if (!bytes) FAIL(bytes.error().what);
    Result<Archive> read = unpack(*bytes);
    if (!read) FAIL(read.error().what);
    return *read;
  }();
  return made;
}

struct Count {
  std::set<std::string> forms, approximate;
  std::size_t vectors = 0, unmodelled = 0;
};

/// Replays every `of`-th record from `from` on.
Count replay_share(std::size_t from, std::size_t of) {
  Count count;
  for (std::size_t i = from; i < archive().records.size(); i += of) {
    const Record& record = archive().records[i];
    Replayed done = replay(archive(), record);
    if (done.agreement == Agreement::unmodelled) {
      ++count.unmodelled;
      continue;
    }
    bool good = done.agreement == Agreement::same || done.agreement == Agreement::near;
    INFO(record.name << ": " << done.detail);
    CHECK(good);
    count.forms.insert(record.mnemonic);
    count.vectors += record.vectors;
    if (done.agreement == Agreement::near) count.approximate.insert(record.mnemonic);
  }
  return count;
}

/// A quarter of the records, and a quarter of what all of them must amount to.
void check_share(std::size_t from) {
  Count count = replay_share(from, 4);
  WARN(count.forms.size() << " forms with " << count.vectors << " operand vectors agree with "
                          << archive().device << ", " << count.approximate.size()
                          << " of them within the manual's bound; " << count.unmodelled
                          << " kernels without a meaning");
  CHECK(count.forms.size() >= 1000);
  CHECK(count.vectors >= 300000);
  CHECK(count.unmodelled <= 1);
  CHECK(count.approximate.size() <= 25);
}

TEST_CASE("the first quarter of the witness is what the table gives") { check_share(0); }
TEST_CASE("the second quarter of the witness is what the table gives") { check_share(1); }
TEST_CASE("the third quarter of the witness is what the table gives") { check_share(2); }
TEST_CASE("the last quarter of the witness is what the table gives") { check_share(3); }

TEST_CASE("at most twenty-five forms of the witness are approximate") {
  std::set<std::string> forms;
  for (const Record& record : archive().records)
    if (is_approximate(record.mnemonic) && replay(archive(), record).agreement == Agreement::near)
      forms.insert(record.mnemonic);
  CHECK(forms.size() <= 25);
}

const Record& record_of(const std::string& mnemonic) {
  for (const Record& record : archive().records)
    if (record.mnemonic == mnemonic) return record;
  for (const Record& record : archive().records)
    if (record.mnemonic.starts_with(mnemonic)) return record;
  FAIL("the witness has no " << mnemonic);
  return archive().records[0];
}

TEST_CASE("one other bit of a result is seen") {
  for (const char* mnemonic : {"add.s32", "fma.rn.f32", "ld.global.", "rcp.approx.f32"}) {
    Record record = record_of(mnemonic);
    REQUIRE(replay(archive(), record).agreement != Agreement::different);
    record.output[record.output.size() / 2 + 3] ^= 0x40;
    CHECK(replay(archive(), record).agreement == Agreement::different);
  }
}

/// The record with the instruction replaced by its neighbour.
Agreement with(const std::string& mnemonic, const std::string& neighbour) {
  Record record = record_of(mnemonic);
  std::size_t at = record.body.find("  " + mnemonic + " ");
  REQUIRE(at != std::string::npos);
  record.body.replace(at + 2, mnemonic.size(), neighbour);
  return replay(archive(), record).agreement;
}

TEST_CASE("an instruction's neighbour does not pass for it") {
  CHECK(with("add.s32", "sub.s32") == Agreement::different);
  CHECK(with("add.rn.f32", "add.rz.f32") == Agreement::different);
  CHECK(with("add.rn.f32", "add.rn.ftz.f32") == Agreement::different);
  CHECK(with("max.f32", "max.NaN.f32") == Agreement::different);
  CHECK(with("shr.s32", "shr.u32") == Agreement::different);
  CHECK(with("mul.hi.s32", "mul.hi.u32") == Agreement::different);
  CHECK(with("cvt.rni.s32.f32", "cvt.rzi.s32.f32") == Agreement::different);
  CHECK(with("shf.l.wrap.b32", "shf.l.clamp.b32") == Agreement::different);
  CHECK(with("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
             "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") == Agreement::different);
}

TEST_CASE("the manual's bound is a bound: an approximation that is far off is refused") {
  Record record = record_of("rsqrt.approx.f32");
  // A bit that is worth 2^-15 of the value: in the mantissa's middle.
  for (std::size_t i = 1; i < record.output.size(); i += 4) record.output[i] ^= 0x01;
  CHECK(replay(archive(), record).agreement == Agreement::different);
}

TEST_CASE("a cut or foreign archive is refused") {
  Archive small;
  small.inputs = {"abcd"};
  small.records.push_back({"n", "add.s32", "", "ret;", 1, 32, 32, 0, "efgh", "2"});
  std::string bytes = pack(small);
  REQUIRE(unpack(bytes));
  CHECK(unpack(bytes)->records[0].output == "efgh");
  CHECK(unpack(bytes)->records[0].launch == "2");
  CHECK_FALSE(unpack(bytes.substr(0, bytes.size() - 3)));
  CHECK_FALSE(unpack("lathe witness 3\n" + bytes.substr(16)));
  small.records[0].input = 1;
  CHECK_FALSE(unpack(pack(small)));
}

}  // namespace
}  // namespace lathe::ptx::witness
