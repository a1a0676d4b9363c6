// What a wait may say, what an arrival passes on, and who must know of an mbarrier before he tells
// it. Each kernel that is right stands beside one that lacks a step.

#include <numeric>

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

using Kind = OrderFinding::Kind;

const std::string registers =
    ".reg .b32 %v, %s, %bar, %far, %rank, %n; .reg .b64 %state; .reg .pred %p, %q;\n"
    ".shared .align 128 .b8 data[512];\n.shared .align 8 .b64 bar;\n";

std::string changed(std::string text, const std::string& from, const std::string& to = "") {
  std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

Launched launched(std::uint32_t blocks = 1) {
  std::vector<std::uint32_t> values(128 * blocks);
  Launched launch;
  launch.add(values);
  std::iota(values.begin(), values.end(), 1u);
  launch.add(values);
  launch.shape = {{blocks, 1, 1}, {128, 1, 1}, 0, {blocks, 1, 1}};
  return launch;
}

Launched watched(const std::string& lines, AsyncSchedule schedule = AsyncSchedule::at_issue,
                 std::uint32_t blocks = 1) {
  Launched launch = launched(blocks);
  launch.request.schedule = schedule;
  launch.watch(body_text(registers, lines));
  return launch;
}

bool good(const Launched& launch) {
  for (const OrderFinding& finding : launch.findings) UNSCOPED_INFO(name_of(finding.kind));
  if (launch.result.trap) UNSCOPED_INFO(print(*launch.result.trap));
  return !launch.result.trap && launch.findings.empty();
}

constexpr std::array schedules{AsyncSchedule::at_issue, AsyncSchedule::at_wait,
                               AsyncSchedule::seeded};

/// Bytes by a bulk copy, and by the threads: every thread reads the other's.
const std::string begin =
    "setp.eq.u32 %p, %tid, 0;\n@%p mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n"
    "ld.param.u64 %base, [p1];\n"
    "@%p mbarrier.arrive.expect_tx.shared::cta.b64 %state, [bar], 512;\n"
    "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [data], [%base], 512, "
    "[bar];\n";
const std::string end =
    "mov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\nld.shared.u32 %v, [%s];\n"
    "st.global.u32 [%out], %v;\n";
const std::string wait = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n";
const std::string again = "@!%q bra WAIT;\n";

}  // namespace

TEST_CASE("a wait whose answer nobody looks at waits for nothing") {
  for (AsyncSchedule schedule : schedules) {
    CHECK(good(watched(begin + wait + again + end, schedule)));
    Launched once = watched(begin + wait + end, schedule);
    CHECK((once.found(Kind::early_read) || once.result.trap));
  }
}

TEST_CASE("an answer may be looked at in any way, if nothing is read before it is yes") {
  const std::string twice =
      "mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@%q bra READ;\n" + wait + again +
      "READ:\n";
  CHECK(good(watched(begin + twice + end)));
  const std::string test = changed(wait, "try_wait", "test_wait");
  CHECK(good(watched(begin + test + again + end)));
  CHECK_FALSE(good(watched(begin + test + end)));
  // Two tries are no better than one, where the second may give up as well.
  CHECK_FALSE(
      good(watched(begin + wait + "@%q bra READ;\n" + changed(wait, "WAIT: ") + "READ:\n" + end)));
  // Half of the threads look.
  CHECK_FALSE(good(watched(begin + wait + "setp.lt.u32 %p, %tid, 64;\n@%p bra READ;\n" + again +
                           "READ:\n" + end)));
}

TEST_CASE("a loop over two mbarriers comes to its end though each wait gives up once") {
  const std::string two =
      ".shared .align 8 .b64 more;\nsetp.eq.u32 %p, %tid, 0;\n"
      "@%p mbarrier.init.shared::cta.b64 [bar], 1;\n@%p mbarrier.init.shared::cta.b64 [more], 1;\n"
      "bar.sync 0;\n@%p mbarrier.arrive.shared::cta.b64 %state, [bar];\n"
      "@%p mbarrier.arrive.shared::cta.b64 %state, [more];\n.reg .pred %both;\n"
      "LOOK: mbarrier.test_wait.parity.shared::cta.b64 %q, [bar], 0;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 %both, [more], 0;\n"
      "and.pred %both, %both, %q;\n@!%both bra LOOK;\nst.global.u32 [%out], %tid;\n";
  CHECK(good(watched(two)));
}

TEST_CASE("a copy over what threads wrote needs their fence, or its issuer's") {
  const std::string clear =
      "mov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\nst.shared.u32 [%s], 0;\n";
  const std::string fence = "fence.proxy.async.shared::cta;\n";
  const std::string lines = clear + fence + begin + wait + again + end;
  CHECK(good(watched(lines)));
  CHECK(watched(changed(lines, fence)).found(Kind::unfenced));
  CHECK(good(watched(clear + changed(begin, "bar.sync 0;\n", "bar.sync 0;\n" + fence) + wait +
                     again + end)));
}

namespace {

/// Block 0 has bytes brought to both blocks, whose mbarriers each has made.
const std::string made =
    "mov.u32 %rank, %cluster_ctarank;\nsetp.eq.u32 %p, %tid, 0;\n"
    "@%p mbarrier.init.shared::cta.b64 [bar], 1;\n"
    "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 512;\n";
const std::string arrive = "barrier.cluster.arrive.release.aligned;\n";
const std::string brought =
    "barrier.cluster.wait.aligned;\nsetp.ne.u32 %q, %rank, 0;\n@%q bra WAIT;\n"
    ".reg .b16 %mask;\nmov.u16 %mask, 3;\nld.param.u64 %base, [p1];\n"
    "@%p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
    " [data], [%base], 512, [bar], %mask;\n" +
    wait + again +
    "mov.u32 %s, data;\nmad.lo.u32 %s, %tid, 4, %s;\nld.shared.u32 %v, [%s];\n"
    "mad.lo.u32 %n, %rank, 128, 0;\nmul.wide.u32 %offset, %n, 4;\nadd.s64 %out, %out, %offset;\n"
    "st.global.u32 [%out], %v;\n"
    "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
const std::string relaxed = "barrier.cluster.arrive.relaxed.aligned;\n";
const std::string init_fence = "@%p fence.mbarrier_init.release.cluster;\n";

Launched both(const std::string& lines) { return watched(lines, AsyncSchedule::at_issue, 2); }

}  // namespace

TEST_CASE("another block's mbarrier is told only behind what makes it known") {
  CHECK(good(both(made + arrive + brought)));
  CHECK(good(both(made + init_fence + relaxed + brought)));
  CHECK(good(both(made + "fence.acq_rel.cluster;\n" + relaxed + brought)));
  CHECK(both(made + relaxed + brought).found(Kind::race));
  CHECK(both(made + "fence.acq_rel.cta;\n" + relaxed + brought).found(Kind::race));
  CHECK(
      both("fence.mbarrier_init.release.cluster;\n" + made + relaxed + brought).found(Kind::race));
}

TEST_CASE("the fence of new mbarriers passes on nothing else") {
  const std::string exchange =
      "mov.u32 %rank, %cluster_ctarank;\nsetp.eq.u32 %p, %tid, 0;\nmov.u32 %s, data;\n"
      "mad.lo.u32 %s, %tid, 4, %s;\nst.shared.u32 [%s], %tid;\nFENCE" +
      relaxed +
      "barrier.cluster.wait.aligned;\nxor.b32 %n, %rank, 1;\n"
      "mapa.shared::cluster.u32 %far, %s, %n;\nld.shared::cluster.u32 %v, [%far];\n"
      "mad.lo.u32 %n, %rank, 128, 0;\nmul.wide.u32 %offset, %n, 4;\nadd.s64 %out, %out, %offset;\n"
      "st.global.u32 [%out], %v;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  CHECK(good(both(changed(exchange, "FENCE", "fence.acq_rel.cluster;\n"))));
  CHECK(
      both(changed(exchange, "FENCE", "fence.mbarrier_init.release.cluster;\n")).found(Kind::race));
  CHECK(both(changed(exchange, "FENCE")).found(Kind::race));
  // A fence passes on what was done before it.
  const std::string early =
      changed(changed(exchange, "FENCE"), "st.shared", "fence.acq_rel.cluster;\nst.shared");
  CHECK(both(early).found(Kind::race));
}

TEST_CASE("another block's shared memory is there from its begin to its end") {
  const std::string sync = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  const std::string store =
      "mov.u32 %rank, %cluster_ctarank;\nxor.b32 %n, %rank, 1;\nmov.u32 %s, data;\n"
      "mad.lo.u32 %s, %tid, 4, %s;\nmapa.shared::cluster.u32 %far, %s, %n;\n";
  const std::string use = "st.shared::cluster.u32 [%far], %tid;\n";
  CHECK(good(both(store + sync + use + sync)));
  CHECK(both(store + use + sync).found(Kind::absent));
  CHECK(both(store + sync + use).found(Kind::absent));
  // One thread that stays is enough, and a barrier of the own block says nothing of the other.
  CHECK(good(both(store + sync + use +
                  "barrier.cluster.arrive.aligned;\nsetp.lt.u32 %p, %tid, 32;\n"
                  "@!%p bra GONE;\nbarrier.cluster.wait.aligned;\nGONE:\n")));
  CHECK(both(store + "bar.sync 0;\n" + use + sync).found(Kind::absent));
}

}  // namespace lathe::ptx
