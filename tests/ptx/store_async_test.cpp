// st.async and red.async: into another block of a cluster, whose mbarrier they tell, and into
// global memory, where they release and land when the schedule says.

#include <numeric>

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

constexpr std::uint32_t threads = 64;

std::string swapped(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

const std::string registers =
    ".reg .b32 %v, %w, %x, %y, %s, %bar, %far, %rank, %n; .reg .b64 %l, %g; .reg .pred %p, %q;\n"
    ".reg .b16 %h;\n.shared .align 128 .b8 data[1024];\n.shared .align 8 .b64 bar;\n";

/// Two blocks; each thread has 16 bytes of its own block, the first words of which hold 100 + its
/// number, and sends to the same place of the other. The first word is stored.
std::string pair_text(const std::string& instruction, unsigned bytes) {
  return body_text(
      registers,
      "mov.u32 %rank, %cluster_ctarank;\nsetp.eq.u32 %p, %tid, 0;\nmov.u32 %s, data;\n"
      "mad.lo.u32 %s, %tid, 16, %s;\nadd.u32 %v, %tid, 100;\nst.shared.u32 [%s], %v;\n"
      "mov.u32 %x, 0;\nst.shared.u32 [%s + 4], %x;\n"
      "@%p mbarrier.init.shared::cta.b64 [bar], 1;\n"
      "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], " +
          std::to_string(threads * bytes) +
          ";\nfence.proxy.async;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
          "xor.b32 %n, %rank, 1;\nmapa.shared::cluster.u32 %far, %s, %n;\nmov.u32 %bar, bar;\n"
          "mapa.shared::cluster.u32 %bar, %bar, %n;\n"
          "mad.lo.u32 %v, %rank, 7, %tid;\ncvt.u64.u32 %l, %v;\nmov.u32 %w, %v;\n" +
          instruction +
          "\nWAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra WAIT;\n"
          "ld.shared.u32 %v, [%s];\nmul.lo.u32 %n, %rank, 64;\nmul.wide.u32 %offset, %n, 4;\n"
          "add.s64 %out, %out, %offset;\nst.global.u32 [%out], %v;\n"
          "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n");
}

Launched pair() {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(2 * threads));
  launch.shape = {{2, 1, 1}, {threads, 1, 1}, 0, {2, 1, 1}};
  launch.request.steps_max = 100000;
  return launch;
}

const std::string tells = ".mbarrier::complete_tx::bytes";

/// The order is right and each thread's word is what `wanted` makes of 100 + its number and of what
/// the other block sent, under every schedule.
template <class Wanted>
void check_pair(const std::string& instruction, unsigned bytes, Wanted wanted) {
  INFO(instruction);
  for (AsyncSchedule schedule :
       {AsyncSchedule::at_issue, AsyncSchedule::at_wait, AsyncSchedule::seeded}) {
    Launched launch = pair();
    launch.request.schedule = schedule;
    launch.watch(pair_text(instruction, bytes));
    INFO((launch.result.trap ? print(*launch.result.trap) : ""));
    REQUIRE_FALSE(launch.result.trap);
    CHECK(launch.findings.empty());
    auto out = launch.get<std::uint32_t>(0);
    for (std::uint32_t i = 0; i < 2 * threads; ++i) {
      std::uint32_t here = i / threads, thread = i % threads;
      CHECK(out[i] == wanted(100 + thread, (1 - here) * 7 + thread));
    }
  }
}

TrapKind trap_of_pair(const std::string& instruction, unsigned bytes) {
  Launched launch = pair();
  launch.watch(pair_text(instruction, bytes));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->line > 0);
  return launch.result.trap->kind;
}

TEST_CASE("st.async brings one, two or four elements and as many bytes to the mbarrier") {
  auto sent = [](std::uint32_t, std::uint32_t value) { return value; };
  check_pair("st.async.shared::cluster" + tells + ".u32 [%far], %v, [%bar];", 4, sent);
  check_pair("st.async.weak.shared::cluster" + tells + ".v2.u32 [%far], {%v, %w}, [%bar];", 8,
             sent);
  check_pair("st.async.shared::cluster" + tells + ".v4.u32 [%far], {%v, %w, %v, %w}, [%bar];", 16,
             sent);
  check_pair("st.async.shared::cluster" + tells + ".b64 [%far], %l, [%bar];", 8, sent);
  check_pair("st.async.shared::cluster" + tells + ".v2.b64 [%far], {%l, %l}, [%bar];", 16, sent);
  // Fewer bytes than the phase awaits: nobody can go on.
  CHECK(trap_of_pair("st.async.shared::cluster" + tells + ".u32 [%far], %v, [%bar];", 8) ==
        TrapKind::deadlock);
}

TEST_CASE("red.async combines with what is there by each operation") {
  auto red = [](const std::string& operation) {
    return "red.async.relaxed.cluster.shared::cluster" + tells + operation + " [%far], %v, [%bar];";
  };
  using U = std::uint32_t;
  check_pair(red(".add.u32"), 4, [](U old, U v) { return old + v; });
  check_pair(red(".add.s32"), 4, [](U old, U v) { return old + v; });
  check_pair(red(".min.u32"), 4, [](U old, U v) { return std::min(old, v); });
  check_pair(red(".max.s32"), 4, [](U old, U v) { return std::max(old, v); });
  check_pair(red(".and.b32"), 4, [](U old, U v) { return old & v; });
  check_pair(red(".or.b32"), 4, [](U old, U v) { return old | v; });
  check_pair(red(".xor.b32"), 4, [](U old, U v) { return old ^ v; });
  check_pair(red(".inc.u32"), 4, [](U old, U v) { return old >= v ? 0 : old + 1; });
  check_pair(red(".dec.u32"), 4, [](U old, U v) { return old == 0 || old > v ? v : old - 1; });
  check_pair(swapped(red(".add.u64"), "%v", "%l"), 8, [](U old, U v) { return old + v; });
}

TEST_CASE("a bad mbarrier or address of an asynchronous store is a trap with its line") {
  const std::string good = "st.async.shared::cluster" + tells + ".u32 [%far], %v, [%bar];";
  CHECK(trap_of_pair(swapped(good, "[%bar]", "[%bar + 4]"), 4) == TrapKind::misaligned);
  CHECK(trap_of_pair(swapped(good, "[%bar]", "[%far]"), 4) == TrapKind::bad_operand);
  CHECK(trap_of_pair(swapped(good, "[%bar]", "[bar]"), 4) == TrapKind::bad_operand);
  CHECK(trap_of_pair(swapped(good, "[%far]", "[%far + 2]"), 4) == TrapKind::misaligned);
  CHECK(trap_of_pair(swapped(good, "[%far]", "[%far + 65536]"), 4) == TrapKind::out_of_bounds);
  CHECK(trap_of_pair(swapped(good, "[%far]", "[%far + 33554432]"), 4) == TrapKind::out_of_bounds);
  CHECK(trap_of_pair("st.async.shared::cluster" + tells + ".v2.u32 [%far + 4], {%v, %w}, [%bar];",
                     8) == TrapKind::misaligned);
}

Launched alone(AsyncSchedule schedule = AsyncSchedule::at_issue, std::uint64_t seed = 0) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(2 * threads, 1000));
  std::vector<std::uint32_t> words(2 * threads);
  std::iota(words.begin(), words.end(), 1u);
  launch.add(words);
  launch.shape = {{1, 1, 1}, {threads, 1, 1}, 0};
  launch.request.schedule = schedule;
  launch.request.schedule_seed = seed;
  launch.request.steps_max = 100000;
  return launch;
}

std::string alone_text(const std::string& lines) {
  return body_text(registers, "ld.global.u32 %v, [%in];\ncvt.u64.u32 %l, %v;\n" + lines, "sm_100a",
                   "8.7");
}

void no_trap(const Launched& launch) {
  INFO((launch.result.trap ? print(*launch.result.trap) : ""));
  REQUIRE_FALSE(launch.result.trap);
}

TEST_CASE("a releasing asynchronous store has landed when the grid ends") {
  for (const char* instruction :
       {"st.async.release.gpu.global.u32 [%out], %v;", "st.async.release.sys.b32 [%out], %v;",
        "st.async.mmio.release.sys.global.s32 [%out], %v;"})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      INFO(instruction << " seed " << seed);
      Launched launch = alone(seed == 0   ? AsyncSchedule::at_issue
                              : seed == 1 ? AsyncSchedule::at_wait
                                          : AsyncSchedule::seeded,
                              seed);
      launch.run(alone_text(instruction));
      no_trap(launch);
      for (std::uint32_t i = 0; i < threads; ++i)
        CHECK(launch.get<std::uint32_t>(0)[i] == i + 1);
      CHECK(launch.get<std::uint32_t>(0)[threads] == 1000);
    }
}

TEST_CASE("until it lands its own thread may read the old value, and never a broken one") {
  const std::string lines =
      "st.async.release.gpu.global.u32 [%out], %v;\nld.relaxed.gpu.global.u32 %w, [%out];\n"
      "st.global.u32 [%out + 256], %w;\n";
  for (AsyncSchedule schedule : {AsyncSchedule::at_issue, AsyncSchedule::at_wait}) {
    Launched launch = alone(schedule);
    launch.run(alone_text(lines));
    no_trap(launch);
    auto out = launch.get<std::uint32_t>(0);
    for (std::uint32_t i = 0; i < threads; ++i) {
      CHECK(out[i] == i + 1);
      CHECK(out[threads + i] == (schedule == AsyncSchedule::at_issue ? i + 1 : 1000));
    }
  }
}

TEST_CASE("a releasing asynchronous sum of all threads is whole when the grid ends") {
  for (const char* type : {"u32", "s32", "u64", "s64"})
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      bool wide = type[1] == '6';
      std::string instruction = std::string("red.async.release.gpu.global.add.") + type +
                                " [%base], " + (wide ? "%l" : "%v") + ";";
      INFO(instruction << " seed " << seed);
      Launched launch = alone(seed == 0 ? AsyncSchedule::at_wait : AsyncSchedule::seeded, seed);
      launch.run(alone_text("ld.param.u64 %base, [p0];\n" + instruction));
      no_trap(launch);
      CHECK(launch.get<std::uint32_t>(0)[0] == 1000 + threads * (threads + 1) / 2);
      CHECK(launch.get<std::uint32_t>(0)[1] == 1000);
    }
}

TEST_CASE("a releasing asynchronous store is for global memory, aligned and on its own chip") {
  auto trap_of = [](const std::string& lines) {
    Launched launch = alone();
    launch.run(alone_text(lines));
    REQUIRE(launch.result.trap);
    return launch.result.trap->kind;
  };
  const std::string good = "st.async.release.gpu.u32 [%out], %v;";
  CHECK(trap_of(swapped(good, "[%out]", "[%out + 2]")) == TrapKind::misaligned);
  CHECK(trap_of(swapped(good, "[%out]", "[%out + 65536]")) == TrapKind::out_of_bounds);
  CHECK(trap_of("mov.u32 %s, data;\ncvt.u64.u32 %g, %s;\ncvta.shared.u64 %g, %g;\n" +
                swapped(good, "[%out]", "[%g]")) == TrapKind::bad_operand);
  Parsed parsed = parse(body_text(registers, good), "test.ptx");
  bool refused = !parsed.errors.empty() || !decode(parsed.module, "test");
  CHECK(refused);
}

TEST_CASE("what a releasing asynchronous store is ordered with nobody claims to know") {
  Launched launch = alone();
  launch.watch(alone_text("st.async.release.gpu.global.u32 [%out], %v;"));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::unsupported);
}

}  // namespace
}  // namespace lathe::ptx
