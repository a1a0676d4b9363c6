// The stack of a thread: what alloca gives, who gives it back, and what it may not be used for.

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

const std::string registers =
    ".reg .b64 %s, %a, %b, %n, %x;\n.reg .b32 %v, %w;\n.reg .pred %p, %q;\n";

Launched launched(const std::string& text) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(64));
  launch.add(std::vector<std::uint32_t>(64, 6));
  launch.shape = {{1, 1, 1}, {64, 1, 1}, 0};
  launch.watch(text);
  return launch;
}

std::vector<std::uint32_t> out_of(const std::string& lines) {
  Launched launch = launched(body_text(registers, lines));
  INFO((launch.result.trap ? print(*launch.result.trap) : ""));
  REQUIRE_FALSE(launch.result.trap);
  return launch.get<std::uint32_t>(0);
}

TrapKind trap_of(const std::string& lines) {
  Launched launch = launched(body_text(registers, lines));
  REQUIRE(launch.result.trap);
  return launch.result.trap->kind;
}

/// Rooms of each thread's own size, one after the other.
const std::string two_rooms =
    ".local .align 4 .b8 own[8];\n"
    "mad.lo.u32 %v, %tid, 4, 8;\ncvt.u64.u32 %n, %v;\nalloca.u64 %a, %n;\n"
    "st.local.u32 [own], 1;\nst.local.u32 [%a], %tid;\nst.local.u32 [%a+4], 100;\n"
    "alloca.u64 %b, 16, 64;\nst.local.u32 [%b], 7;\nst.local.u32 [%b+12], 7;\n"
    "ld.local.u32 %v, [%a];\nld.local.u32 %w, [%a+4];\nadd.u32 %v, %v, %w;\n"
    "and.b64 %x, %b, 63;\ncvt.u32.u64 %w, %x;\nadd.u32 %v, %v, %w;\n"
    "st.global.u32 [%out], %v;\n";

}  // namespace

TEST_CASE("each thread's rooms are its own, apart and aligned") {
  auto out = out_of(two_rooms);
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(out[i] == i + 100);
}

TEST_CASE("a room that nobody wrote holds nothing") {
  CHECK(trap_of(edited(two_rooms, "st.local.u32 [%a+4], 100;\n", "")) == TrapKind::undefined_value);
}

TEST_CASE("a stack that is restored gives the same room again, empty") {
  const std::string again =
      "stacksave.u64 %s;\nalloca.u64 %a, 32;\nst.local.u32 [%a], %tid;\nst.local.u32 [%a+4], 5;\n"
      "stackrestore.u64 %s;\nalloca.u64 %b, 32;\nst.local.u32 [%b], 3;\n"
      "st.local.u32 [%b+4], 9;\nld.local.u32 %v, [%b+4];\n"
      "setp.eq.u64 %p, %a, %b;\nselp.u32 %w, 100, 0, %p;\nadd.u32 %v, %v, %w;\n"
      "st.global.u32 [%out], %v;\n";
  for (std::uint32_t word : out_of(again)) CHECK(word == 109);
  CHECK(trap_of(edited(again, "st.local.u32 [%b+4], 9;\n", "")) == TrapKind::undefined_value);
}

TEST_CASE("what was given back is nobody's") {
  const std::string late =
      "stacksave.u64 %s;\nalloca.u64 %a, 32;\nst.local.u32 [%a], %tid;\n"
      "stackrestore.u64 %s;\nld.local.u32 %v, [%a];\nst.global.u32 [%out], %v;\n";
  CHECK(trap_of(late) == TrapKind::undefined_value);
  auto out = out_of(edited(late, "stackrestore.u64 %s;\n", ""));
  CHECK(out[9] == 9);
}

TEST_CASE("a loop that restores the stack runs on, one that does not runs out of it") {
  const std::string loop =
      "mov.u32 %w, 0;\nAGAIN: stacksave.u64 %s;\nalloca.u64 %a, 512;\nst.local.u32 [%a], %w;\n"
      "stackrestore.u64 %s;\nadd.u32 %w, %w, 1;\nsetp.lt.u32 %p, %w, 40;\n@%p bra AGAIN;\n"
      "st.global.u32 [%out], %w;\n";
  CHECK(out_of(loop)[0] == 40);
  Launched launch = launched(body_text(registers, edited(loop, "stackrestore.u64 %s;\n", "")));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::exhausted);
  CHECK(launch.result.trap->what.find("4096") != std::string::npos);
}

TEST_CASE("an access beyond what the stack has, and a pointer that no stacksave gave, are faults") {
  CHECK(trap_of("alloca.u64 %a, 32;\nst.local.u32 [%a+32], 1;\n") == TrapKind::out_of_bounds);
  CHECK(trap_of("stacksave.u64 %s;\nalloca.u64 %a, 32;\nsub.u64 %b, %a, 64;\n"
                "stackrestore.u64 %b;\n") == TrapKind::bad_operand);
  CHECK(trap_of("stacksave.u64 %s;\nadd.u64 %s, %s, 16;\nstackrestore.u64 %s;\n") ==
        TrapKind::bad_operand);
}

TEST_CASE("threads that go different ways have different stacks") {
  auto out = out_of(
      "setp.lt.u32 %p, %tid, 20;\n@!%p bra OTHERS;\nalloca.u64 %a, 64;\nst.local.u32 [%a], 1;\n"
      "bra MEET;\nOTHERS: alloca.u64 %a, 8;\nst.local.u32 [%a], 2;\n"
      "MEET: ld.local.u32 %v, [%a];\nst.global.u32 [%out], %v;\n");
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(out[i] == (i < 20 ? 1 : 2));
}

TEST_CASE("what a function allocates ends with it, on every way out") {
  const std::string function =
      ".func (.param .b32 result) scratch(.param .b32 value)\n{\n"
      ".reg .b32 %r<3>; .reg .b64 %a; .reg .pred %p;\nld.param.b32 %r1, [value];\n"
      "alloca.u64 %a, 1024;\nst.local.u32 [%a], %r1;\nld.local.u32 %r2, [%a];\n"
      "st.param.b32 [result], %r2;\nsetp.gt.u32 %p, %r1, 10;\n@%p ret;\n"
      "add.u32 %r2, %r2, 1;\nst.param.b32 [result], %r2;\nret;\n}\n";
  std::string text =
      body_text(registers,
                ".param .b32 a;\n.param .b32 b;\nmov.u32 %w, 0;\nstacksave.u64 %s;\n"
                "AGAIN: st.param.b32 [a], %w;\ncall (b), scratch, (a);\nld.param.b32 %v, [b];\n"
                "add.u32 %w, %w, 1;\nsetp.lt.u32 %p, %w, 30;\n@%p bra AGAIN;\n"
                "stacksave.u64 %b;\nsetp.eq.u64 %p, %s, %b;\nselp.u32 %w, 100, 0, %p;\n"
                "add.u32 %v, %v, %w;\nst.global.u32 [%out], %v;\n");
  text.insert(text.find(".visible"), function);
  Launched launch = launched(text);
  INFO((launch.result.trap ? print(*launch.result.trap) : ""));
  REQUIRE_FALSE(launch.result.trap);
  CHECK(launch.get<std::uint32_t>(0)[3] == 129);
}

TEST_CASE("an alignment is a power of two") {
  Parsed parsed = parse(body_text(registers, "alloca.u64 %a, 32, 24;\n"), "test.ptx");
  CHECK_FALSE(decode(parsed.module, "test"));
}

}  // namespace lathe::ptx
