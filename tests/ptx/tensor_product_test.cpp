// wgmma and tcgen05: products of every type whose integers come out exactly, what their registers
// and buffers demand, and tensor memory.

#include <cmath>

#include "ptx/bits_value.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

using Kind = OrderFinding::Kind;

struct Operands {
  std::string name;  // Of the type in PTX.
  unsigned bytes;    // Of an element.
  std::string d = "f32";
};

std::uint32_t bits_of(const std::string& type, int value) {
  double x = value;
  if (type == "f16") return rounded<Type::f16>(x, 0, Rounding::rn).held;
  if (type == "bf16") return rounded<Type::bf16>(x, 0, Rounding::rn).held;
  if (type == "e4m3") return rounded<Type::e4m3>(x, 0, Rounding::rn).held;
  if (type == "e5m2") return rounded<Type::e5m2>(x, 0, Rounding::rn).held;
  if (type == "tf32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<std::uint32_t>(value);
}

int a_value(unsigned row, unsigned k, bool sign) {
  int value = static_cast<int>((row * 5 + k * 3) % 7);
  return sign ? value - 3 : value;
}
int b_value(unsigned k, unsigned column, bool sign) {
  int value = static_cast<int>((k * 2 + column * 3) % 5);
  return sign ? value - 2 : value;
}

/// Rows of 32 bytes as 8 x 16-byte cores: a core matrix is 128 bytes, the next along K 128 on, the
/// next eight rows 256 on.
std::vector<std::uint8_t> image(const Operands& type, unsigned rows, bool a_operand) {
  std::vector<std::uint8_t> bytes(rows * 32);
  unsigned k_count = 32 / type.bytes;
  bool sign = type.name != "u8";
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned k = 0; k < k_count; ++k) {
      int value = a_operand ? a_value(row, k, sign) : b_value(k, row, sign);
      std::uint32_t bits = bits_of(type.name, value);
      unsigned byte = k * type.bytes;
      unsigned at = row / 8 * 256 + byte / 16 * 128 + row % 8 * 16 + byte % 16;
      std::memcpy(&bytes[at], &bits, type.bytes);
    }
  return bytes;
}

int expected(const Operands& type, unsigned row, unsigned column) {
  int sum = 0;
  bool sign = type.name != "u8";
  for (unsigned k = 0; k < 32 / type.bytes; ++k)
    sum += a_value(row, k, sign) * b_value(k, column, sign);
  return sum;
}

/// Threads bring `bytes` of the second buffer to shared memory and fence them.
std::string prologue(unsigned bytes) {
  return ".shared .align 1024 .b8 data[" + std::to_string(bytes) + "];\n" +
         "mov.u32 %s, data;\nmov.u32 %i, %tid;\n"
         "LOAD: mul.wide.u32 %offset, %i, 4;\nadd.s64 %in, %base, %offset;\n"
         "ld.global.u32 %v, [%in];\nmad.lo.u32 %at, %i, 4, %s;\nst.shared.u32 [%at], %v;\n"
         "add.u32 %i, %i, %ntid.x;\nsetp.lt.u32 %p, %i, " +
         std::to_string(bytes / 4) +
         ";\n"
         "@%p bra LOAD;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n";
}

/// A descriptor of the image at shared address %s + offset, in %d.
std::string descriptor(const std::string& d, unsigned offset, std::uint64_t high) {
  return "add.u32 %at, %s, " + std::to_string(offset) + ";\nbfe.u32 %at, %at, 4, 14;\n" +
         "cvt.u64.u32 " + d + ", %at;\nor.b64 " + d + ", " + d + ", " +
         std::to_string(high | std::uint64_t{16} << 32 | 8u << 16) + ";\n";
}

std::string text_of(const std::string& lines, const std::string& extra, const std::string& target) {
  return body_text(
      ".reg .b32 %s, %i, %v, %at, %t, %w, %n; .reg .b64 %da, %db, %mb; .reg .pred %p,"
      " %q;\n" +
          extra,
      lines, target, target == "sm_100a" ? "8.8" : "8.7");
}

const std::string wgmma_lines(const Operands& type) {
  unsigned registers = type.d == "f16" ? 2 : 4;
  std::string list;
  for (unsigned i = 0; i < registers; ++i)
    list += (i == 0 ? "" : ", ") + ("%d" + std::to_string(i));
  std::string k = std::to_string(32 / type.bytes);
  bool integer = type.d == "s32", half = type.bytes == 2;
  std::string text = prologue(2048 + 256) + descriptor("%da", 0, 0) + descriptor("%db", 2048, 0) +
                     "wgmma.fence.sync.aligned;\n"
                     "wgmma.mma_async.sync.aligned.m64n8k" +
                     k + "." + type.d + "." + type.name + "." + type.name + " {" + list +
                     "}, %da, %db, 0" +
                     (integer ? ""
                      : half  ? ", 1, 1, 0, 0"
                              : ", 1, 1") +
                     ";\n"
                     "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
                     "ld.param.u64 %base, [p0];\n";
  for (unsigned i = 0; i < registers; ++i)
    text += "mad.lo.u32 %n, %tid, " + std::to_string(registers) + ", " + std::to_string(i) +
            ";\nmul.wide.u32 %offset, %n, 4;\nadd.s64 %out, %base, %offset;\n"
            "st.global.u32 [%out], %d" +
            std::to_string(i) + ";\n";
  return text;
}

Launched wgmma_launch(const Operands& type) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(128 * 4));
  auto bytes = image(type, 64, true), b = image(type, 8, false);
  bytes.insert(bytes.end(), b.begin(), b.end());
  launch.add(bytes);
  launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
  return launch;
}

std::string wgmma_text(const Operands& type) {
  return text_of(wgmma_lines(type), ".reg .b32 %d0, %d1, %d2, %d3;\n", "sm_90a");
}

void check_wgmma(const Operands& type) {
  Launched launch = wgmma_launch(type);
  launch.watch(wgmma_text(type));
  no_fault(launch);
  auto words = launch.get<std::uint32_t>(0);
  unsigned each = type.d == "f16" ? 2 : 4;
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned lane = thread % 32, row = thread / 32 * 16 + lane / 4 + 8 * (i / 2);
      unsigned column = 2 * (lane % 4) + i % 2;
      std::uint32_t bits = words[thread * each + (each == 2 ? i / 2 : i)];
      double got =
          type.d == "f32" ? static_cast<double>(std::bit_cast<float>(bits))
          : type.d == "s32"
              ? static_cast<std::int32_t>(bits)
              : to_double(BitsOf<Type::f16>::wrapped(i % 2 == 0 ? bits & 0xFFFF : bits >> 16));
      CHECK(got == expected(type, row, column));
    }
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

const Operands f16{"f16", 2};

}  // namespace

TEST_CASE("wgmma of f16 is exact on integers") { check_wgmma(f16); }
TEST_CASE("wgmma of f16 with an f16 result is exact on integers") {
  check_wgmma({"f16", 2, "f16"});
}
TEST_CASE("wgmma of bf16 is exact on integers") { check_wgmma({"bf16", 2}); }
TEST_CASE("wgmma of tf32 is exact on integers") { check_wgmma({"tf32", 4}); }
TEST_CASE("wgmma of e4m3 is exact on small integers") { check_wgmma({"e4m3", 1}); }
TEST_CASE("wgmma of e5m2 with an f16 result is exact on small integers") {
  check_wgmma({"e5m2", 1, "f16"});
}
TEST_CASE("wgmma of s8 and u8 is exact") {
  check_wgmma({"s8", 1, "s32"});
  check_wgmma({"u8", 1, "s32"});
}

TEST_CASE("a product scaled by -1 has the other sign, and by -1 twice its own") {
  Launched launch = wgmma_launch(f16);
  std::string text = changed(wgmma_text(f16), "0, 1, 1, 0, 0", "0, -1, 1, 0, 0");
  launch.watch(text);
  no_fault(launch);
  CHECK(launch.get<float>(0)[0] == static_cast<float>(-expected(f16, 0, 0)));
  launch.watch(changed(text, "0, -1, 1, 0, 0", "0, -1, -1, 0, 0"));
  no_fault(launch);
  CHECK(launch.get<float>(0)[0] == static_cast<float>(expected(f16, 0, 0)));
}

TEST_CASE("sums of fp8 products in wgmma keep thirteen fraction bits") {
  Operands e4m3{"e4m3", 1};
  Launched launch = wgmma_launch(e4m3);
  // Row 0 of A: 1 and 2^-6; column 0 of B: 1 and 2^-8; all else zero.
  std::fill(launch.buffers[1].begin(), launch.buffers[1].end(), std::byte{0});
  launch.buffers[1][0] = std::byte{0x38}, launch.buffers[1][1] = std::byte{0x08};
  launch.buffers[1][2048] = std::byte{0x38}, launch.buffers[1][2049] = std::byte{0x02};
  launch.watch(wgmma_text(e4m3));
  no_fault(launch);
  CHECK(launch.get<float>(0)[0] == 1.0f);
}

TEST_CASE("an accumulator is not read before wait_group") {
  Launched launch = wgmma_launch(f16);
  launch.watch(changed(wgmma_text(f16), "wgmma.wait_group.sync.aligned 0;\n", ""));
  CHECK(launch.found(Kind::early_register));
  launch.watch(changed(wgmma_text(f16), "wait_group.sync.aligned 0", "wait_group.sync.aligned 1"));
  CHECK(launch.found(Kind::early_register));
}

TEST_CASE("products that were not committed are not waited for") {
  Launched launch = wgmma_launch(f16);
  launch.watch(changed(wgmma_text(f16), "wgmma.commit_group.sync.aligned;\n", ""));
  CHECK(launch.found(Kind::early_register));
}

TEST_CASE("the first wgmma, and each after its registers were touched, needs wgmma.fence") {
  Launched launch = wgmma_launch(f16);
  launch.watch(changed(wgmma_text(f16), "wgmma.fence.sync.aligned;\n", ""));
  CHECK(launch.found(Kind::unfenced_register));
  launch.watch(changed(wgmma_text(f16), "wgmma.fence.sync.aligned;\n",
                       "wgmma.fence.sync.aligned;\nmov.b32 %d1, 0;\n"));
  CHECK(launch.found(Kind::unfenced_register));
}

TEST_CASE("what threads wrote is fenced before wgmma reads it") {
  Launched launch = wgmma_launch(f16);
  launch.watch(changed(wgmma_text(f16), "fence.proxy.async.shared::cta;\n", ""));
  CHECK(launch.found(Kind::unfenced));
}

TEST_CASE("an operand in shared memory is not overwritten before the wait") {
  const std::string store =
      "mov.u32 %at, data;\nmad.lo.u32 %at, %tid, 16, %at;\n"
      "st.shared.u32 [%at], 0;\n";
  Launched launch = wgmma_launch(f16);
  launch.watch(changed(wgmma_text(f16), "wgmma.wait_group.sync.aligned 0;\n",
                       "bar.sync 0;\n" + store + "wgmma.wait_group.sync.aligned 0;\n"));
  CHECK(launch.found(Kind::early_write));
  launch.watch(changed(wgmma_text(f16), "wgmma.wait_group.sync.aligned 0;\n",
                       "wgmma.wait_group.sync.aligned 0;\nbar.sync 0;\n" + store));
  no_fault(launch);
}

namespace {

/// D of `m` rows and 16 columns by tcgen05; each of four warps stores its lanes.
std::string tensor_text(unsigned m, std::uint32_t kind_bits, const std::string& kind) {
  std::uint32_t idesc = kind_bits | 16u / 8 << 17 | m / 16 << 24;
  std::string list;
  for (unsigned i = 0; i < 16; ++i) list += (i == 0 ? "" : ", ") + ("%d" + std::to_string(i));
  std::uint64_t version = std::uint64_t{1} << 46;
  unsigned a_bytes = m * 32;
  std::string text =
      ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 base;\n" + prologue(a_bytes + 512) +
      "setp.eq.u32 %p, %tid, 0;\nsetp.lt.u32 %q, %tid, 32;\nmov.u32 %at, base;\n"
      "@%q tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at], 32;\n"
      "@%p mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\nld.shared.b32 %t, [base];\n" +
      descriptor("%da", 0, version) + descriptor("%db", a_bytes, version) + "mov.u32 %n, " +
      std::to_string(idesc) +
      ";\nmov.u32 %at, bar;\ncvt.u64.u32 %mb, %at;\n"
      "@%p tcgen05.mma.cta_group::1." +
      kind +
      " [%t], %da, %db, %n, 0;\n"
      "@%p tcgen05.mma.cta_group::1." +
      kind +
      " [%t], %da, %db, %n, 1;\n"
      "@%p tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%mb];\n"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra WAIT;\n"
      "tcgen05.fence::after_thread_sync;\n"
      "shr.u32 %w, %tid, 5;\nshl.b32 %w, %w, 21;\nadd.u32 %w, %w, %t;\n"
      "tcgen05.ld.sync.aligned.32x32b.x16.b32 {" +
      list +
      "}, [%w];\n"
      "tcgen05.wait::ld.sync.aligned;\nld.param.u64 %base, [p0];\n";
  for (unsigned i = 0; i < 16; ++i)
    text += "mad.lo.u32 %n, %tid, 16, " + std::to_string(i) +
            ";\nmul.wide.u32 %offset, %n, 4;\nadd.s64 %out, %base, %offset;\n"
            "st.global.u32 [%out], %d" +
            std::to_string(i) + ";\n";
  text +=
      "bar.sync 0;\nsetp.lt.u32 %q, %tid, 32;\n"
      "@%q tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;\n";
  std::string regs = ".reg .b32 %d<16>;\n";
  return text_of(text, regs, "sm_100a");
}

Launched tensor_launch(const Operands& type, unsigned m) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(128 * 16));
  auto bytes = image(type, m, true), b = image(type, 16, false);
  bytes.insert(bytes.end(), b.begin(), b.end());
  launch.add(bytes);
  launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
  return launch;
}

void check_tensor(const Operands& type, unsigned m, std::uint32_t kind_bits,
                  const std::string& kind) {
  for (AsyncSchedule schedule : {AsyncSchedule::at_issue, AsyncSchedule::at_wait}) {
    Launched launch = tensor_launch(type, m);
    launch.request.schedule = schedule;
    std::string text = tensor_text(m, kind_bits, kind);
    // M = 64 fills sixteen lanes of each quarter; the others hold nothing that may be stored.
    if (m == 64) {
      text = changed(text, "ld.param.u64 %base, [p0];\nmad.lo.u32 %n, %tid, 16, 0;",
                     "ld.param.u64 %base, [p0];\nand.b32 %n, %tid, 16;\nsetp.ne.u32 %p, %n, 0;\n"
                     "@%p bra SKIP;\nmad.lo.u32 %n, %tid, 16, 0;");
      text = changed(text, "bar.sync 0;\nsetp.lt.u32 %q, %tid, 32;\n@%q tcgen05.dealloc",
                     "SKIP: bar.sync 0;\nsetp.lt.u32 %q, %tid, 32;\n@%q tcgen05.dealloc");
    }
    launch.watch(text);
    no_fault(launch);
    auto words = launch.get<std::uint32_t>(0);
    for (unsigned row = 0; row < m; ++row) {
      unsigned lane = m == 64 ? row % 16 + 32 * (row / 16) : row;
      for (unsigned column = 0; column < 16; ++column) {
        std::uint32_t bits = words[lane * 16 + column];
        double got = type.d == "s32" ? static_cast<std::int32_t>(bits)
                                     : static_cast<double>(std::bit_cast<float>(bits));
        CHECK(got == 2 * expected(type, row, column));
      }
    }
  }
}

constexpr std::uint32_t to_f32 = 1u << 4, to_s32 = 2u << 4;

}  // namespace

TEST_CASE("tcgen05.mma of f16 is exact on integers, with 128 rows and with 64") {
  check_tensor(f16, 128, to_f32, "kind::f16");
  check_tensor(f16, 64, to_f32, "kind::f16");
}
TEST_CASE("tcgen05.mma of bf16 and tf32 is exact on integers") {
  check_tensor({"bf16", 2}, 128, to_f32 | 1u << 7 | 1u << 10, "kind::f16");
  check_tensor({"tf32", 4}, 128, to_f32 | 2u << 7 | 2u << 10, "kind::tf32");
}
TEST_CASE("tcgen05.mma of fp8 and of bytes is exact on small integers") {
  check_tensor({"e4m3", 1}, 128, to_f32, "kind::f8f6f4");
  check_tensor({"e5m2", 1}, 128, to_f32 | 1u << 7 | 1u << 10, "kind::f8f6f4");
  check_tensor({"s8", 1, "s32"}, 128, to_s32 | 1u << 7 | 1u << 10, "kind::i8");
  check_tensor({"u8", 1, "s32"}, 64, to_s32, "kind::i8");
}

TEST_CASE("tensor memory is read after the product's commit has been waited for") {
  Launched launch = tensor_launch(f16, 128);
  launch.watch(changed(changed(tensor_text(128, to_f32, "kind::f16"), "@!%q bra WAIT;\n", ""),
                       "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n", ""));
  // Or what is read there was never written, in this schedule.
  CHECK((launch.found(Kind::early_read) ||
         (launch.result.trap && launch.result.trap->kind == TrapKind::undefined_value)));
}

TEST_CASE("a commit that stands before the product does not cover it") {
  std::string text = tensor_text(128, to_f32, "kind::f16");
  const std::string commit = "@%p tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%mb];\n";
  const std::string last = "@%p tcgen05.mma.cta_group::1.kind::f16 [%t], %da, %db, %n, 1;\n";
  Launched launch = tensor_launch(f16, 128);
  launch.watch(changed(changed(text, commit, ""), last, commit + last));
  CHECK(launch.found(Kind::early_read));
}

TEST_CASE("tensor memory is freed, in time, once, and not used beyond its columns") {
  std::string text = tensor_text(128, to_f32, "kind::f16");
  auto trap_of = [&](const std::string& from, const std::string& to) {
    Launched launch = tensor_launch(f16, 128);
    launch.watch(changed(text, from, to));
    REQUIRE(launch.result.trap);
    return launch.result.trap->kind;
  };
  const std::string free = "@%q tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;\n";
  CHECK(trap_of(free, "") == TrapKind::bad_operand);
  CHECK(trap_of(free, free + free) == TrapKind::bad_operand);
  CHECK(trap_of("%t, 32;\n", "%t, 64;\n") == TrapKind::bad_operand);
  const std::string take = "@%q tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%at], ";
  CHECK(trap_of(take + "32;", "mov.u32 %n, 33;\n" + take + "%n;") == TrapKind::bad_operand);
  CHECK(trap_of("[%w];\n", "[%w + 24];\n") == TrapKind::out_of_bounds);
  Launched launch = tensor_launch(f16, 128);
  launch.watch(changed(text, "bar.sync 0;\nsetp.lt.u32 %q, %tid, 32;\n@%q tcgen05.dealloc",
                       "setp.lt.u32 %q, %tid, 32;\n@%q tcgen05.dealloc"));
  CHECK((launch.found(Kind::race) || launch.found(Kind::early_write) || launch.result.trap));
}

TEST_CASE("a warp reaches its own quarter of tensor memory only") {
  Launched launch = tensor_launch(f16, 128);
  launch.watch(changed(tensor_text(128, to_f32, "kind::f16"), "shl.b32 %w, %w, 21;",
                       "xor.b32 %w, %w, 3;\nshl.b32 %w, %w, 21;"));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::bad_operand);
}

}  // namespace lathe::ptx
