// The machine: control flow, barriers, shared memory, shuffles, traps with
// their places, deadlock, limits, poison.

#include "tests/ptx/run_lines.h"

namespace lathe::ptx {
namespace {

TEST_CASE("lanes that part meet again") {
  auto values = out(run_lines(R"(
    ld.global.u32 %r1, [%in];
    setp.lt.u32 %p1, %r1, 10;
    @%p1 bra less;
    add.u32 %r1, %r1, 100;
    bra.uni done;
  less:
    add.u32 %r1, %r1, 1000;
  done:
    activemask.b32 %r2;
    setp.ne.u32 %p2, %r2, 0xFFFFFFFF;
    @%p2 trap;
    st.global.u32 [%out], %r1;)"));
  CHECK(values[9] == 1009);
  CHECK(values[10] == 110);
}

TEST_CASE("a loop runs for each lane as often as it wants") {
  auto values = out(run_lines(R"(
    ld.global.u32 %r1, [%in];
    mov.u32 %r2, 0;
  again:
    add.u32 %r2, %r2, 3;
    sub.u32 %r1, %r1, 1;
    setp.lt.s32 %p1, %r1, 0;
    @!%p1 bra again;
    st.global.u32 [%out], %r2;)"));
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(values[i] == 3 * (i + 1));
}

TEST_CASE("a break out of a loop and a continue go where they should") {
  auto values = out(run_lines(R"(
    ld.global.u32 %r1, [%in];
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
  head:
    setp.ge.u32 %p1, %r3, 8;
    @%p1 bra end;
    add.u32 %r3, %r3, 1;
    and.b32 %r4, %r3, 1;
    setp.eq.u32 %p2, %r4, 0;
    @%p2 bra head;
    add.u32 %r2, %r2, %r3;
    setp.eq.u32 %p3, %r3, %r1;
    @%p3 bra end;
    bra.uni head;
  end:
    st.global.u32 [%out], %r2;)"));
  CHECK(values[0] == 1 + 3 + 5 + 7);
  CHECK(values[3] == 1 + 3);
  CHECK(values[5] == 1 + 3 + 5);
}

TEST_CASE("a lane that has left does not come back") {
  auto values = out(run_lines(R"(
    ld.global.u32 %r1, [%in];
    setp.lt.u32 %p1, %r1, 4;
    @%p1 exit;
    st.global.u32 [%out], 7;)"));
  CHECK(values[3] == 0);
  CHECK(values[4] == 7);
}

const std::string reverse = R"(
    .shared .align 4 .b8 buffer[256];
    ld.global.u32 %r1, [%in];
    mov.u32 %r2, buffer;
    shl.b32 %r3, %tid, 2;
    add.u32 %r4, %r2, %r3;
    st.shared.u32 [%r4], %r1;
    bar.sync 0;
    sub.u32 %r5, 63, %tid;
    shl.b32 %r5, %r5, 2;
    add.u32 %r5, %r2, %r5;
    ld.shared.u32 %r6, [%r5];
    st.global.u32 [%out], %r6;)";

TEST_CASE("two warps exchange through shared memory over a barrier") {
  auto values = out(run_lines(reverse, 64));
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(values[i] == 63 - i);
}

TEST_CASE("without its barrier the exchange reads what nobody wrote, which is a trap") {
  std::string text = reverse;
  text.erase(text.find("bar.sync 0;"), 11);
  CHECK(trap_of(run_lines(text, 64)).kind == TrapKind::undefined_value);
}

TEST_CASE("shared memory does not begin at address zero") {
  auto values = out(run_lines(R"(
    .shared .align 4 .b8 buffer[64];
    mov.u32 %r2, buffer;
    st.global.u32 [%out], %r2;)"));
  CHECK(values[0] != 0);
  Trap trap =
      trap_of(run_lines(".shared .b8 buffer[64];\nmov.u32 %r1, 0;\nst.shared.u32 [%r1], 1;"));
  CHECK(trap.kind == TrapKind::out_of_bounds);
}

TEST_CASE("a generic address reaches shared memory after cvta") {
  auto values = out(run_lines(R"(
    .shared .align 8 .b8 buffer[64];
    mov.u64 %rd1, buffer;
    cvta.shared.u64 %rd2, %rd1;
    setp.eq.u32 %p1, %tid, 0;
    @%p1 st.u32 [%rd2+4], 99;
    ld.shared.u32 %r1, [buffer+4];
    isspacep.shared %p2, %rd2;
    isspacep.global %p3, %rd2;
    selp.u32 %r2, 100, 0, %p2;
    selp.u32 %r3, 1000, 0, %p3;
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    st.global.u32 [%out], %r1;)"));
  CHECK(values[5] == 199);
}

TEST_CASE("a store beyond a buffer traps with thread, line and column") {
  Trap trap = trap_of(run_lines("    st.global.u32 [%out+4], 1;"));
  CHECK(trap.kind == TrapKind::out_of_bounds);
  CHECK(trap.thread == 31);
  CHECK(trap.line == 19);
  CHECK(trap.column == 5);
}

TEST_CASE("a store right behind shared memory traps, and one into its last word does not") {
  std::string text = R"(
    .shared .align 16 .b8 buffer[128];
    mov.u32 %r1, buffer;
    shl.b32 %r2, %tid, 2;
    add.u32 %r1, %r1, %r2;
    st.shared.u32 [%r1], 1;)";
  CHECK_FALSE(run_lines(text).result.trap);
  text.replace(text.find("[%r1]"), 5, "[%r1+4]");
  Trap trap = trap_of(run_lines(text));
  CHECK(trap.kind == TrapKind::out_of_bounds);
  CHECK(trap.thread == 31);
}

TEST_CASE("the last word of a buffer is inside it") {
  CHECK_FALSE(run_lines("st.global.u32 [%out], 1;").result.trap);
}

TEST_CASE("an access that its size does not divide is a trap") {
  CHECK(trap_of(run_lines("ld.global.u32 %r1, [%in+2];")).kind == TrapKind::misaligned);
  CHECK(trap_of(run_lines("ld.global.v2.u32 {%r1, %r2}, [%in];")).kind == TrapKind::misaligned);
}

TEST_CASE("a store into an input traps") {
  Launched launch;
  launch.add(iota(32));
  launch.shape.block[0] = 32;
  Parsed parsed = parse(module_text(".visible .entry test(.param .u64 p0)\n{\n.reg .b64 %a;\n"
                                    "ld.param.u64 %a, [p0];\nst.global.u32 [%a], 1;\nret;\n}\n"),
                        "test.ptx");
  auto program = decode(parsed.module, "test");
  REQUIRE(program);
  launch.run(*program);
  CHECK_FALSE(launch.result.trap);
  launch.request.buffers[0].buffer.writable = false;
  CHECK(run_bits(launch.request).trap->kind == TrapKind::read_only);
}

TEST_CASE("a kernel reads its parameters to their end, and does not write them") {
  auto run = [](const std::string& access) { return run_lines("mov.u64 %rd1, p0;\n" + access); };
  auto values =
      out(run("ld.param.u64 %rd2, [p1];\nld.param.u64 %rd3, [%rd1+8];\n"
              "sub.u64 %rd2, %rd2, %rd3;\nst.global.u32 [%out], %rd2;"));
  CHECK(values == std::vector<std::uint32_t>(32, 0));
  CHECK(trap_of(run("ld.param.u64 %rd2, [%rd1+16];")).kind == TrapKind::out_of_bounds);
  CHECK(trap_of(run("ld.param.u64 %rd2, [%rd1+12];")).kind == TrapKind::misaligned);
  CHECK(trap_of(run("st.param.u32 [%rd1], 1;")).kind == TrapKind::read_only);
}

TEST_CASE("a register that was never set must not reach global memory") {
  CHECK(trap_of(run_lines("st.global.u32 [%out], %r1;")).kind == TrapKind::undefined_value);
  CHECK(trap_of(run_lines("add.u32 %r1, %r2, 1;\nst.global.u32 [%out], %r1;")).kind ==
        TrapKind::undefined_value);
}

TEST_CASE("a register that was never set may be selected against") {
  CHECK_FALSE(run_lines("setp.lt.u32 %p1, %tid, 40;\nselp.b32 %r1, 5, %r2, %p1;\n"
                        "st.global.u32 [%out], %r1;")
                  .result.trap);
  CHECK(run_lines("setp.lt.u32 %p1, %tid, 31;\nselp.b32 %r1, 5, %r2, %p1;\n"
                  "st.global.u32 [%out], %r1;")
            .result.trap->thread == 31);
}

TEST_CASE("an undefined register must not decide a branch or an address") {
  CHECK(trap_of(run_lines("@%p1 bra away;\naway:")).kind == TrapKind::undefined_value);
  CHECK(trap_of(run_lines("ld.global.u32 %r1, [%rd1];")).kind == TrapKind::undefined_value);
}

TEST_CASE("a warp that waits for one that never comes is a deadlock, and the report says where") {
  Trap trap = trap_of(run_lines(R"(
    setp.lt.u32 %p1, %tid, 32;
    @%p1 bra wait;
    bar.sync 1, 64;
    bra.uni done;
  wait:
    bar.sync 2, 64;
  done:)",
                                64));
  CHECK(trap.kind == TrapKind::deadlock);
  CHECK(trap.what.find("warp 0") != std::string::npos);
  CHECK(trap.what.find("warp 1") != std::string::npos);
}

TEST_CASE("warps that have left do not hold up a barrier of all") {
  CHECK_FALSE(run_lines("setp.lt.u32 %p1, %tid, 32;\n@%p1 exit;\nbar.sync 0;", 64).result.trap);
}

TEST_CASE("a barrier under divergence is a trap") {
  Trap trap =
      trap_of(run_lines("setp.lt.u32 %p1, %tid, 3;\n@%p1 bra in;\nbra.uni out;\nin:\n"
                        "bar.sync 0;\nout:",
                        32));
  CHECK(trap.kind == TrapKind::divergent_barrier);
}

TEST_CASE("barrier.sync without .aligned counts threads") {
  CHECK_FALSE(
      run_lines("setp.lt.u32 %p1, %tid, 3;\n@%p1 bra in;\nbarrier.sync 1, 32;\nbra.uni out;\n"
                "in:\nbarrier.sync 1, 32;\nout:",
                32)
          .result.trap);
}

TEST_CASE("bar.arrive lets its warp go on, and the other waits for it") {
  auto values = out(run_lines(R"(
    .shared .align 4 .b8 word[4];
    setp.lt.u32 %p1, %tid, 32;
    @%p1 bra take;
    setp.eq.u32 %p2, %tid, 32;
    @%p2 st.shared.u32 [word], 77;
    bar.arrive 3, 64;
    bra.uni done;
  take:
    bar.sync 3, 64;
    ld.shared.u32 %r1, [word];
    st.global.u32 [%out], %r1;
  done:)",
                              64));
  CHECK(values[0] == 77);
}

TEST_CASE("bar.red counts, and combines") {
  auto values = out(run_lines(R"(
    setp.lt.u32 %p1, %tid, 40;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, %p1;
    selp.u32 %r2, 100, 0, %p2;
    selp.u32 %r3, 1000, 0, %p3;
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    st.global.u32 [%out], %r1;)",
                              64));
  CHECK(values[0] == 1040);
  CHECK(values[63] == 1040);
}

TEST_CASE("a loop without end meets the limit of steps") {
  CHECK(trap_of(run_lines("again:\nbra.uni again;")).kind == TrapKind::exhausted);
}

TEST_CASE("trap is a trap, brkpt too") {
  CHECK(trap_of(run_lines("trap;")).kind == TrapKind::trapped);
}

TEST_CASE("an instruction outside the table traps only where it is reached") {
  std::string lines =
      "setp.lt.u32 %p1, %tid, 1;\n@!%p1 bra over;\n@%p1 bra over;\nfrobnicate.b32 %r1;\nover:";
  CHECK_FALSE(run_lines(lines).result.trap);
  Trap trap = trap_of(run_lines("frobnicate.b32 %r1;"));
  CHECK(trap.kind == TrapKind::unsupported);
  CHECK(trap.what.find("frobnicate") != std::string::npos);
}

TEST_CASE("an mbarrier completes when all have arrived, and its phase can be waited for") {
  auto values = out(run_lines(R"(
    .shared .align 8 .b8 gate[8];
    .shared .align 4 .b8 word[4];
    setp.eq.u32 %p1, %tid, 0;
    @%p1 mbarrier.init.shared::cta.b64 [gate], 1;
    bar.sync 0;
    setp.lt.u32 %p2, %tid, 32;
    @%p2 bra wait;
    setp.eq.u32 %p3, %tid, 32;
    @%p3 st.shared.u32 [word], 5;
    @%p3 mbarrier.arrive.shared::cta.b64 _, [gate];
    bra.uni done;
  wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [gate], 0;
    @!%p4 bra wait;
    ld.shared.u32 %r1, [word];
    st.global.u32 [%out], %r1;
  done:)",
                              64));
  CHECK(values[31] == 5);
}

TEST_CASE("waiting for the wrong phase of an mbarrier is a deadlock") {
  Trap trap = trap_of(run_lines(R"(
    .shared .align 8 .b8 gate[8];
    setp.eq.u32 %p1, %tid, 0;
    @%p1 mbarrier.init.shared::cta.b64 [gate], 1;
    bar.sync 0;
    @%p1 mbarrier.arrive.shared::cta.b64 _, [gate];
    bar.sync 0;
  wait:
    mbarrier.try_wait.parity.shared::cta.b64 %p4, [gate], 1;
    @!%p4 bra wait;)"));
  CHECK(trap.kind == TrapKind::deadlock);
}

TEST_CASE("atomics give the old value and serialise lanes") {
  auto values = out(run_lines(R"(
    .shared .align 4 .b8 counter[4];
    setp.eq.u32 %p1, %tid, 0;
    @%p1 st.shared.u32 [counter], 0;
    bar.sync 0;
    atom.shared.add.u32 %r1, [counter], 2;
    bar.sync 0;
    ld.shared.u32 %r2, [counter];
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%out], %r1;)"));
  CHECK(values[0] == 64);
  CHECK(values[31] == 126);
}

TEST_CASE("atom.cas swaps where the old value is the expected one") {
  auto values = out(run_lines(R"(
    atom.global.cas.b32 %r1, [%in], 7, 100;
    ld.global.u32 %r2, [%in];
    add.u32 %r3, %r1, %r2;
    st.global.u32 [%out], %r3;)"));
  CHECK(values[7] == 107);
  CHECK(values[8] == 16);
}

TEST_CASE("atom.inc wraps at its bound") {
  auto values =
      out(run_lines("atom.global.inc.u32 %r1, [%in], 9;\nld.global.u32 %r2, [%in];\n"
                    "st.global.u32 [%out], %r2;"));
  CHECK(values[8] == 9);
  CHECK(values[9] == 0);
}

TEST_CASE("parts of a block know where they are") {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(64));
  launch.add(iota(64));
  launch.shape = {{2, 3, 2}, {4, 2, 4}, 0};
  launch.request.blocks = {7};
  launch.run(body_text(usual + "\n.reg .b32 %s<4>;", R"(
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ctaid.y;
    mov.u32 %r3, %ctaid.z;
    mov.u32 %r4, %tid.y;
    mov.u32 %r5, %tid.z;
    mad.lo.u32 %r6, %r2, 10, %r1;
    mad.lo.u32 %r6, %r3, 100, %r6;
    mad.lo.u32 %r6, %r4, 1000, %r6;
    mad.lo.u32 %r6, %r5, 10000, %r6;
    mov.u32 %s1, %laneid;
    shl.b32 %s1, %s1, 2;
    cvt.u64.u32 %rd1, %s1;
    ld.param.u64 %rd2, [p0];
    add.u64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r6;)"));
  auto values = out(launch);
  CHECK(values[0] == 101);  // Block 7 of 2 x 3 x 2 is (1, 0, 1).
  CHECK(values[31] == 31101);
}

TEST_CASE("counters know sectors, conflicts and classes") {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(32));
  launch.add(iota(32));
  launch.shape.block[0] = 32;
  launch.request.count = true;
  launch.run(body_text(usual, R"(
    .shared .align 4 .b8 buffer[4096];
    ld.global.u32 %r1, [%in];
    mov.u32 %r2, buffer;
    shl.b32 %r3, %tid, 7;
    add.u32 %r2, %r2, %r3;
    st.shared.u32 [%r2], %r1;
    fma.rn.f32 %f1, 0f3F800000, 0f40000000, 0f3F800000;
    ex2.approx.f32 %f1, %f1;
    st.global.u32 [%out], %r1;)"));
  REQUIRE_FALSE(launch.result.trap);
  const Counters& counters = launch.result.counters;
  CHECK(counters.load_sectors == 4);
  CHECK(counters.store_sectors == 4);
  CHECK(counters.shared_passes == 32);
  CHECK(counters.issued[static_cast<std::size_t>(CostClass::special)] == 1);
  CHECK(counters.issued[static_cast<std::size_t>(CostClass::single)] == 1);
}

}  // namespace
}  // namespace lathe::ptx
