// Asynchronous units in shared memory: mbarriers, bulk copies, stores that tell an mbarrier,
// clusters. Each kernel that is right stands beside one that lacks a step.

#include <numeric>

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

using Kind = OrderFinding::Kind;

std::vector<std::uint32_t> counted(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1u);
  return values;
}

const std::string registers =
    ".reg .b32 %v, %s, %bar, %far, %rank, %n; .reg .b64 %state; .reg .pred %p, %q;\n"
    ".shared .align 128 .b8 data[512];\n.shared .align 8 .b64 bar;\n";

/// Edits a text: each `from` must be there.
std::string without(std::string text, const std::string& from, const std::string& to = "") {
  std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

Launched launched(std::uint32_t threads = 128) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(threads));
  launch.add(counted(threads));
  launch.shape = {{1, 1, 1}, {threads, 1, 1}, 0};
  return launch;
}

/// The order observer says so, or the bytes were not even there in this schedule.
bool caught(const Launched& launch, Kind kind) {
  return launch.found(kind) ||
         (launch.result.trap && launch.result.trap->kind == TrapKind::undefined_value);
}

const std::string bring =
    "setp.eq.u32 %p, %tid, 0;\n"
    "@%p mbarrier.init.shared::cta.b64 [bar], 1;\n"
    "bar.sync 0;\n"
    "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
    "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [data], [%base], 512, "
    "[bar];\n"
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n"
    "@!%q bra WAIT;\n"
    "mov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\n"
    "ld.shared.u32 %v, [%s];\nst.global.u32 [%out], %v;\n";

std::string bring_text() {
  return without(body_text(registers, bring), "add.s64 %in, %base, %offset;\n");
}

const std::string send =
    "mov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\n"
    "ld.global.u32 %v, [%in];\nst.shared.u32 [%s], %v;\n"
    "fence.proxy.async.shared::cta;\nbar.sync 0;\n"
    "ld.param.u64 %base, [p0];\nsetp.eq.u32 %p, %tid, 0;\n"
    "@!%p bra DONE;\n"
    "cp.async.bulk.global.shared::cta.bulk_group [%base], [data], 512;\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\n"
    "DONE: bar.sync 0;\nst.shared.u32 [%s], 7;\n";

}  // namespace

TEST_CASE("a bulk copy brings bytes that a wait for its mbarrier makes known") {
  for (AsyncSchedule schedule :
       {AsyncSchedule::at_issue, AsyncSchedule::at_wait, AsyncSchedule::seeded}) {
    Launched launch = launched();
    launch.request.schedule = schedule;
    launch.watch(bring_text());
    no_fault(launch);
    CHECK(launch.get<std::uint32_t>(0) == counted(128));
  }
}

TEST_CASE("a read before the wait is early, whatever the schedule brings") {
  Launched none = launched();
  none.watch(without(
      without(bring_text(), "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n"),
      "@!%q bra WAIT;\n"));
  CHECK(caught(none, Kind::early_read));
}

TEST_CASE("a phase that expects more bytes than come never ends") {
  Launched launch = launched();
  launch.watch(without(bring_text(), "[bar], 512;\n@%p cp", "[bar], 528;\n@%p cp"));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::deadlock);
  CHECK(launch.result.trap->what.find("16 bytes pending") != std::string::npos);
}

TEST_CASE("waiting for the other parity of a fresh mbarrier waits for nothing") {
  Launched launch = launched();
  launch.watch(without(bring_text(), "%q, [bar], 0;", "%q, [bar], 1;"));
  CHECK((caught(launch, Kind::race) || launch.found(Kind::early_read)));
}

TEST_CASE("an mbarrier that nobody made known is a race") {
  Launched launch = launched();
  launch.watch(without(bring_text(), "bar.sync 0;\n"));
  CHECK((launch.found(Kind::race) || launch.result.trap));
}

TEST_CASE("a bulk copy that is not aligned or too long is a trap with its line") {
  Launched launch = launched();
  const std::string bring_it = "@%p cp.async.bulk.shared::cluster.global";
  std::string text = without(bring_text(), "[data], [%base], 512", "[data], [%base], %n");
  launch.run(without(text, bring_it, "mov.u32 %n, 520;\n" + bring_it));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::misaligned);
  launch.run(without(bring_text(), "[data], [%base], 512", "[data], [%base], 1024"));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::out_of_bounds);
}

TEST_CASE("a bulk store writes what threads wrote and fenced") {
  for (AsyncSchedule schedule : {AsyncSchedule::at_issue, AsyncSchedule::at_wait}) {
    Launched launch = launched();
    launch.request.schedule = schedule;
    launch.watch(body_text(registers, send));
    no_fault(launch);
    CHECK(launch.get<std::uint32_t>(0) == counted(128));
  }
}

TEST_CASE("without fence.proxy.async a bulk store may read old bytes") {
  Launched launch = launched();
  launch.watch(without(body_text(registers, send), "fence.proxy.async.shared::cta;\n"));
  CHECK(launch.found(Kind::unfenced));
}

TEST_CASE("a fence of the other space fences nothing here") {
  Launched launch = launched();
  launch.watch(without(body_text(registers, send), "fence.proxy.async.shared::cta;",
                       "fence.proxy.async.global;"));
  CHECK(launch.found(Kind::unfenced));
  launch.watch(
      without(body_text(registers, send), "fence.proxy.async.shared::cta;", "fence.proxy.async;"));
  no_fault(launch);
}

TEST_CASE("a fence behind the barrier must be the issuer's") {
  Launched launch = launched();
  launch.watch(without(body_text(registers, send), "fence.proxy.async.shared::cta;\nbar.sync 0;\n",
                       "bar.sync 0;\nfence.proxy.async.shared::cta;\n"));
  no_fault(launch);
  launch.watch(without(body_text(registers, send), "fence.proxy.async.shared::cta;\nbar.sync 0;\n",
                       "bar.sync 0;\nsetp.eq.u32 %q, %tid, 0;\n"
                       "@!%q fence.proxy.async.shared::cta;\n"));
  CHECK(launch.found(Kind::unfenced));
}

TEST_CASE("the issuer's fence is no good for what it did not know of then") {
  Launched launch = launched();
  launch.watch(without(body_text(registers, send), "fence.proxy.async.shared::cta;\nbar.sync 0;\n",
                       "setp.eq.u32 %q, %tid, 0;\n@%q fence.proxy.async.shared::cta;\n"
                       "bar.sync 0;\n"));
  CHECK(launch.found(Kind::unfenced));
}

TEST_CASE("without the barrier a bulk store races with the other threads' writes") {
  Launched launch = launched();
  launch.watch(without(body_text(registers, send), "cta;\nbar.sync 0;\n", "cta;\n"));
  CHECK(launch.found(Kind::race));
}

TEST_CASE("a buffer is written again only after wait_group.read") {
  Launched launch = launched();
  launch.watch(without(body_text(registers, send), "cp.async.bulk.wait_group.read 0;\n"));
  CHECK(launch.found(Kind::early_write));
}

TEST_CASE("bulk reductions add to global memory") {
  Launched launch = launched();
  launch.buffers[0] = launch.buffers[1];
  launch.watch(without(body_text(registers, send),
                       "cp.async.bulk.global.shared::cta.bulk_group [%base]",
                       "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%base]"));
  no_fault(launch);
  CHECK(launch.get<std::uint32_t>(0)[9] == 20);
}

TEST_CASE("cp.async tells an mbarrier when its copies have landed") {
  const std::string lines =
      "setp.eq.u32 %p, %tid, 0;\n@%p mbarrier.init.shared::cta.b64 [bar], 128;\nbar.sync 0;\n"
      "mov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\n"
      "cp.async.ca.shared.global [%s], [%in], 4;\n"
      "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar];\n"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra WAIT;\n"
      "xor.b32 %n, %tid, 127;\nmov.u32 %s, data;\nmad.lo.u32 %s, %n, 4, %s;\n"
      "ld.shared.u32 %v, [%s];\nst.global.u32 [%out], %v;\n";
  for (AsyncSchedule schedule : {AsyncSchedule::at_issue, AsyncSchedule::at_wait}) {
    Launched launch = launched();
    launch.request.schedule = schedule;
    launch.watch(body_text(registers, lines));
    no_fault(launch);
    CHECK(launch.get<std::uint32_t>(0)[0] == 128);
  }
  Launched none = launched();
  none.watch(without(without(body_text(registers, lines), "@!%q bra WAIT;\n"),
                     "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n"));
  CHECK(caught(none, Kind::early_read));
}

namespace {

/// Warp 0 fills a buffer twice, warp 1 reads it each time and says so at a second mbarrier.
const std::string pipeline =
    ".shared .align 8 .b64 free;\nshr.u32 %rank, %tid, 5;\nand.b32 %n, %tid, 31;\n"
    "setp.eq.u32 %p, %tid, 0;\n"
    "@%p mbarrier.init.shared::cta.b64 [bar], 1;\n@%p mbarrier.init.shared::cta.b64 [free], 32;\n"
    "bar.sync 0;\nsetp.eq.u32 %q, %rank, 1;\n@%q bra READER;\n"
    "setp.ne.u32 %p, %n, 0;\n@%p bra DONE;\n"
    "st.shared.u32 [data], 5;\nmbarrier.arrive.shared::cta.b64 %state, [bar];\n"
    "W0: mbarrier.try_wait.parity.shared::cta.b64 %q, [free], 0;\n@!%q bra W0;\n"
    "st.shared.u32 [data], 6;\nmbarrier.arrive.shared::cta.b64 %state, [bar];\nbra DONE;\n"
    "READER:\nW1: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra W1;\n"
    "ld.shared.u32 %v, [data];\nmbarrier.arrive.shared::cta.b64 %state, [free];\n"
    "W2: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 1;\n@!%q bra W2;\n"
    "ld.shared.u32 %s, [data];\nmad.lo.u32 %v, %v, 10, %s;\nst.global.u32 [%out], %v;\nDONE:\n";

}  // namespace

TEST_CASE("two mbarriers hand a buffer back and forth") {
  Launched launch = launched(64);
  launch.watch(body_text(registers, pipeline));
  no_fault(launch);
  CHECK(launch.get<std::uint32_t>(0)[40] == 56);
}

TEST_CASE("a producer that does not wait for the buffer laps its readers") {
  Launched launch = launched(64);
  launch.watch(without(without(body_text(registers, pipeline), "@!%q bra W0;\n"),
                       "W0: mbarrier.try_wait.parity.shared::cta.b64 %q, [free], 0;\n"));
  CHECK(launch.found(Kind::lapped));
}

TEST_CASE("arrivals beyond the count, and arrive_drop, are counted as the manual says") {
  const std::string twice =
      "setp.eq.u32 %p, %tid, 0;\n@%p mbarrier.init.shared::cta.b64 [bar], 2;\n"
      "@%p mbarrier.arrive.shared::cta.b64 %state, [bar], 3;\n";
  Launched launch = launched(32);
  launch.run(body_text(registers, twice));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::bad_operand);
  const std::string drop =
      "setp.ne.u32 %p, %tid, 0;\n@%p bra DONE;\n"
      "mbarrier.init.shared::cta.b64 [bar], 3;\n"
      "mbarrier.arrive_drop.shared::cta.b64 %state, [bar], 1;\n"
      "mbarrier.pending_count.b64 %v, %state;\n"
      "mbarrier.arrive.shared::cta.b64 %state, [bar], 2;\n"  // The first phase ends.
      "mbarrier.arrive.shared::cta.b64 %state, [bar], 2;\n"  // And the next, with two.
      "mbarrier.test_wait.shared::cta.b64 %q, [bar], %state;\n"
      "selp.u32 %n, 100, 0, %q;\nadd.u32 %v, %v, %n;\nst.global.u32 [%out], %v;\nDONE:\n";
  launch.run(body_text(registers, drop));
  no_fault(launch);
  CHECK(launch.get<std::uint32_t>(0)[0] == 103);
}

namespace {

const std::string cluster_directive = ".visible .entry test(";

/// Two blocks: each writes into its own shared memory and reads the other's.
const std::string exchange =
    "mov.u32 %rank, %cluster_ctarank;\nmad.lo.u32 %v, %rank, 1000, %tid;\n"
    "mov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\nst.shared.u32 [%s], %v;\n"
    "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
    "xor.b32 %n, %rank, 1;\nmapa.shared::cluster.u32 %far, %s, %n;\n"
    "ld.shared::cluster.u32 %v, [%far];\n"
    "mad.lo.u32 %n, %rank, 128, 0;\nmul.wide.u32 %offset, %n, 4;\nadd.s64 %out, %out, %offset;\n"
    "st.global.u32 [%out], %v;\n"
    "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

Launched pair_of_blocks() {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(256));
  launch.add(counted(256));
  launch.shape = {{2, 1, 1}, {128, 1, 1}, 0, {2, 1, 1}};
  return launch;
}

}  // namespace

TEST_CASE("blocks of a cluster read each other's shared memory behind its barrier") {
  Launched launch = pair_of_blocks();
  launch.watch(body_text(registers, exchange));
  no_fault(launch);
  CHECK(launch.get<std::uint32_t>(0)[5] == 1005);
  CHECK(launch.get<std::uint32_t>(0)[133] == 5);
}

TEST_CASE("without the cluster's barrier they race") {
  Launched launch = pair_of_blocks();
  launch.watch(without(body_text(registers, exchange),
                       "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"));
  CHECK(caught(launch, Kind::race));
}

TEST_CASE("a barrier of the block alone does not order the cluster") {
  Launched launch = pair_of_blocks();
  launch.watch(without(body_text(registers, exchange),
                       "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n",
                       "bar.sync 0;\n"));
  CHECK(caught(launch, Kind::race));
}

TEST_CASE("an address of another block needs .shared::cluster, and a block that exists") {
  Launched launch = pair_of_blocks();
  launch.run(without(body_text(registers, exchange), "ld.shared::cluster.u32", "ld.shared.u32"));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::out_of_bounds);
  launch.run(without(body_text(registers, exchange), "xor.b32 %n, %rank, 1;", "mov.u32 %n, 2;"));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::bad_operand);
}

TEST_CASE("a cluster's blocks are all run by the first that is asked for") {
  Launched launch = pair_of_blocks();
  launch.request.blocks = {1};
  launch.run(body_text(registers, exchange));
  no_fault(launch);
  CHECK(launch.get<std::uint32_t>(0)[5] == 1005);
}

TEST_CASE("a multicast brings the same bytes to each block and tells each one's mbarrier") {
  const std::string lines =
      "mov.u32 %rank, %cluster_ctarank;\nsetp.eq.u32 %p, %tid, 0;\n"
      "@%p mbarrier.init.shared::cta.b64 [bar], 1;\n"
      "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
      "setp.ne.u32 %q, %rank, 0;\n@%q bra WAIT;\n"
      ".reg .b16 %mask;\nmov.u16 %mask, 3;\nld.param.u64 %base, [p1];\n"
      "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [data], [%base], 512, [bar], %mask;\n"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra WAIT;\n"
      "mov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\nld.shared.u32 %v, [%s];\n"
      "mad.lo.u32 %n, %rank, 128, 0;\nmul.wide.u32 %offset, %n, 4;\nadd.s64 %out, %out, %offset;\n"
      "st.global.u32 [%out], %v;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  Launched launch = pair_of_blocks();
  launch.watch(body_text(registers, lines));
  no_fault(launch);
  CHECK(launch.get<std::uint32_t>(0)[5] == 6);
  CHECK(launch.get<std::uint32_t>(0)[133] == 6);
  launch.watch(without(body_text(registers, lines), "mov.u16 %mask, 3;", "mov.u16 %mask, 1;"));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::deadlock);
}

TEST_CASE("st.async stores into another block and tells its mbarrier of the bytes") {
  const std::string lines =
      "mov.u32 %rank, %cluster_ctarank;\nsetp.eq.u32 %p, %tid, 0;\n"
      "@%p mbarrier.init.shared::cta.b64 [bar], 1;\n"
      "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
      "xor.b32 %n, %rank, 1;\nmov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\n"
      "mapa.shared::cluster.u32 %far, %s, %n;\nmov.u32 %bar, bar;\n"
      "mapa.shared::cluster.u32 %bar, %bar, %n;\nmad.lo.u32 %v, %rank, 1000, %tid;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%far], %v, [%bar];\n"
      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra WAIT;\n"
      "ld.shared.u32 %v, [%s];\n"
      "mad.lo.u32 %n, %rank, 128, 0;\nmul.wide.u32 %offset, %n, 4;\nadd.s64 %out, %out, %offset;\n"
      "st.global.u32 [%out], %v;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  Launched launch = pair_of_blocks();
  launch.watch(body_text(registers, lines));
  no_fault(launch);
  CHECK(launch.get<std::uint32_t>(0)[5] == 1005);
  CHECK(launch.get<std::uint32_t>(0)[133] == 5);
  Launched early = pair_of_blocks();
  early.watch(without(without(body_text(registers, lines), "@!%q bra WAIT;\n"),
                      "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n"));
  CHECK(caught(early, Kind::early_read));
}

TEST_CASE("bar.warp.sync is for the lanes of its mask") {
  Launched launch = launched(32);
  launch.run(body_text(registers, "bar.warp.sync 0xFFFF;\n"));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::bad_operand);
  launch.run(body_text(registers, "bar.warp.sync -1;\nst.global.u32 [%out], %tid;\n"));
  CHECK(!launch.result.trap);
}

TEST_CASE("a thread that polls an mbarrier gives way to those that it waits for") {
  const std::string lines =
      "setp.eq.u32 %p, %tid, 0;\n@%p mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n"
      "setp.ge.u32 %q, %tid, 32;\n@%q bra ARRIVE;\n"
      "POLL: mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], 0;\n@!%p bra POLL;\nbra DONE;\n"
      "ARRIVE: setp.eq.u32 %p, %tid, 32;\n@%p mbarrier.arrive.shared::cta.b64 %state, [bar];\n"
      "DONE: st.global.u32 [%out], %tid;\n";
  Launched launch = launched(64);
  launch.request.steps_max = 100000;
  launch.run(body_text(registers, lines));
  no_fault(launch);
  // Lanes of one warp that wait for one another, too.
  const std::string within =
      "setp.eq.u32 %p, %tid, 0;\n@%p mbarrier.init.shared::cta.b64 [bar], 1;\nbar.warp.sync -1;\n"
      "setp.ge.u32 %q, %tid, 16;\n@%q bra ARRIVE;\n"
      "POLL: mbarrier.test_wait.parity.shared::cta.b64 %p, [bar], 0;\n@!%p bra POLL;\nbra DONE;\n"
      "ARRIVE: setp.eq.u32 %p, %tid, 16;\n@%p mbarrier.arrive.shared::cta.b64 %state, [bar];\n"
      "DONE: st.global.u32 [%out], %tid;\n";
  Launched one = launched(32);
  one.request.steps_max = 100000;
  one.run(body_text(registers, within));
  no_fault(one);
}

}  // namespace lathe::ptx
