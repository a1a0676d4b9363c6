// Ranges of memory written at once: zeros of st.bulk, what nobody knows after a discard, and the
// ends of a bulk copy that need not be there.

#include <numeric>

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

using Kind = OrderFinding::Kind;

const std::string registers =
    ".reg .b32 %v, %s, %n, %i; .reg .b64 %w, %g; .reg .pred %p, %q;\n"
    ".shared .align 128 .b8 data[1024];\n.shared .align 8 .b64 bar;\n";

Launched launched(const std::string& lines, const std::string& version = "8.7",
                  const std::string& target = "sm_90a",
                  AsyncSchedule schedule = AsyncSchedule::at_issue) {
  std::vector<std::uint32_t> numbers(128);
  std::iota(numbers.begin(), numbers.end(), 1u);
  Launched launch;
  launch.add(std::vector<std::uint32_t>(128, 77));
  launch.add(numbers);
  launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
  launch.request.schedule = schedule;
  launch.watch(body_text(registers, lines, target, version));
  return launch;
}

/// Each thread writes its word; the first zeros 40 bytes from byte 16 on.
const std::string zeros =
    "mov.u32 %s, data;\nmad.lo.u32 %i, %tid, 4, %s;\nst.shared.u32 [%i], 9;\nbar.sync 0;\n"
    "setp.eq.u32 %p, %tid, 0;\nmov.u64 %w, 40;\n"
    "@%p st.bulk.weak.shared::cta [data + 16], %w, 0;\nbar.sync 0;\n"
    "ld.shared.u32 %v, [%i];\nst.global.u32 [%out], %v;\n";

Launched filled(const std::string& lines) { return launched(lines, "8.6", "sm_100a"); }

/// 32 lines of 128 bytes would be too many: the first thread discards what all wrote.
const std::string discards =
    "st.global.u32 [%out], 5;\nbar.sync 0;\nld.param.u64 %g, [p0];\nsetp.eq.u32 %p, %tid, 0;\n"
    "@%p discard.global.L2 [%g + 128], 128;\nbar.sync 0;\n"
    "setp.ge.u32 %q, %tid, 32;\nsetp.lt.and.u32 %q, %tid, 64, %q;\n"
    "@%q st.global.u32 [%out], 6;\n";

/// 512 bytes of which 4 at either end are ignored.
const std::string ragged =
    "setp.eq.u32 %p, %tid, 0;\n@%p mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n"
    "mov.u32 %n, 4;\nadd.s64 %g, %base, 0;\n"
    "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
    "@%p cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [data], [%g], "
    "512, %n, 4, [bar];\n"
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra WAIT;\n"
    "mov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\n"
    "setp.ne.u32 %p, %tid, 0;\nsetp.ne.and.u32 %p, %tid, 127, %p;\n"
    "@%p ld.shared.u32 %v, [%s];\n@%p st.global.u32 [%out], %v;\n";

}  // namespace

TEST_CASE("st.bulk zeros its bytes and no others") {
  Launched launch = filled(zeros);
  no_fault(launch);
  auto out = launch.get<std::uint32_t>(0);
  for (std::uint32_t i = 0; i < 128; ++i) CHECK(out[i] == (i >= 4 && i < 14 ? 0 : 9));
}

TEST_CASE("st.bulk is a write like any other: without the barriers it races") {
  CHECK(filled(edited(zeros, "[%i], 9;\nbar.sync 0;\n", "[%i], 9;\n")).found(Kind::race));
  CHECK(filled(edited(zeros, "%w, 0;\nbar.sync 0;\n", "%w, 0;\n")).found(Kind::race));
}

TEST_CASE("st.bulk of no multiple of eight, of foreign memory or beyond its end is a fault") {
  CHECK(ends(filled(edited(zeros, "%w, 40;", "%w, 36;")), TrapKind::bad_operand));
  CHECK(ends(filled(edited(zeros, "[data + 16]", "[data + 20]")), TrapKind::misaligned));
  CHECK(ends(filled(edited(zeros, "%w, 40;", "%w, 2048;")), TrapKind::out_of_bounds));
  CHECK(ends(filled(edited(zeros, ".weak.shared::cta [data + 16]", " [%base]")),
             TrapKind::bad_operand));
  Parsed parsed =
      parse(body_text(registers, edited(zeros, "%w, 0;", "%w, 1;"), "sm_100a", "8.6"), "test.ptx");
  CHECK_FALSE(decode(parsed.module, "test"));
}

TEST_CASE("what is written after a discard is there") {
  Launched launch = launched(discards);
  no_fault(launch);
  auto out = launch.get<std::uint32_t>(0);
  for (std::uint32_t i = 0; i < 128; ++i) CHECK(out[i] == (i >= 32 && i < 64 ? 6 : 5));
}

TEST_CASE("what a discard leaves is not what was there before") {
  Launched launch = launched(edited(discards, "%tid, 64, %q", "%tid, 63, %q"));
  REQUIRE_FALSE(launch.result.trap);
  auto out = launch.get<std::uint32_t>(0);
  CHECK(out[62] == 6);
  CHECK(out[63] != 5);
  CHECK(out[64] == 5);
}

TEST_CASE("a discard is a write: of 128 bytes of global memory, in its order") {
  CHECK(launched(edited(discards, "[%out], 5;\nbar.sync 0;\n", "[%out], 5;\n")).found(Kind::race));
  CHECK(ends(launched(edited(discards, "[%g + 128]", "[%g + 64]")), TrapKind::misaligned));
  CHECK(ends(launched(edited(discards, "[%g + 128]", "[%g + 512]")), TrapKind::out_of_bounds));
  Parsed parsed = parse(body_text(registers, edited(discards, "[%g + 128], 128", "[%g + 128], 64")),
                        "test.ptx");
  CHECK_FALSE(decode(parsed.module, "test"));
}

TEST_CASE("a copy whose ends are ignored brings what lies between them") {
  for (AsyncSchedule schedule : {AsyncSchedule::at_issue, AsyncSchedule::at_wait}) {
    Launched launch = launched(ragged, "9.2", "sm_90a", schedule);
    no_fault(launch);
    auto out = launch.get<std::uint32_t>(0);
    for (std::uint32_t i = 0; i < 128; ++i) CHECK(out[i] == (i == 0 || i == 127 ? 77 : i + 1));
  }
}

TEST_CASE("the ignored ends may lie outside of the buffer, and their bytes are undefined") {
  // From 16 bytes before the buffer on: of them 12 are ignored, and four more are not there.
  std::string before = edited(ragged, "%base, 0;", "%base, -16;");
  CHECK(ends(launched(edited(before, "%n, 4;", "%n, 12;"), "9.2"), TrapKind::out_of_bounds));
  std::string behind = edited(ragged, "512, %n, 4", "528, %n, 15");
  CHECK(ends(launched(edited(behind, "[bar], 512", "[bar], 528"), "9.2"), TrapKind::out_of_bounds));
  CHECK(
      ends(launched(edited(ragged, "setp.ne.u32 %p, %tid, 0;", "setp.ge.u32 %p, %tid, 0;"), "9.2"),
           TrapKind::undefined_value));
  CHECK(ends(launched(edited(ragged, "%n, 4;", "%n, 16;"), "9.2"), TrapKind::bad_operand));
}

TEST_CASE("fifteen bytes of an end may be missing, the sixteenth may not") {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(128, 77));
  launch.add(std::vector<std::uint8_t>(512 - 15, 1));
  launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
  std::string lines = edited(ragged, "512, %n, 4", "512, 0, %n");
  lines = edited(lines, "%tid, 127, %p", "%tid, 127, %p;\nsetp.lt.and.u32 %p, %tid, 124, %p");
  for (auto [ignored, good] : {std::pair{"15", true}, {"14", false}}) {
    launch.watch(body_text(registers, edited(lines, "%n, 4;", "%n, " + std::string(ignored) + ";"),
                           "sm_90a", "9.2"));
    CHECK(launch.result.trap.has_value() != good);
    if (good) CHECK(launch.get<std::uint32_t>(0)[50] == 0x01010101);
  }
}

}  // namespace lathe::ptx
