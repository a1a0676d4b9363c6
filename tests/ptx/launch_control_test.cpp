// clusterlaunchcontrol: a launch whose clusters all run refuses to cancel one, and says so through
// an mbarrier.

#include <numeric>

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

using Kind = OrderFinding::Kind;

const std::string registers =
    ".reg .b32 %v, %w, %s, %rank; .reg .b64 %a, %g; .reg .b128 %answer; .reg .pred %p, %q, %r;\n"
    ".shared .align 16 .b8 data[32];\n.shared .align 8 .b64 bar;\n";

std::string text_of(const std::string& lines) {
  return body_text(registers, lines, "sm_100a", "8.7");
}

Launched launched(const std::string& lines, AsyncSchedule schedule = AsyncSchedule::at_issue,
                  std::uint32_t blocks = 1) {
  std::vector<std::uint32_t> numbers(64);
  std::iota(numbers.begin(), numbers.end(), 1u);
  Launched launch;
  launch.add(std::vector<std::uint32_t>(64, 77));
  launch.add(numbers);
  launch.shape = {{blocks, 1, 1}, {32, 1, 1}, 0, {blocks, 1, 1}};
  launch.request.schedule = schedule;
  launch.watch(text_of(lines));
  return launch;
}

const std::string begin =
    "setp.eq.u32 %p, %tid, 0;\n@%p mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n";
const std::string ask =
    "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"
    "@%p clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 "
    "[data], [bar];\n";
const std::string wait =
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n@!%q bra WAIT;\n";
const std::string look =
    "ld.shared.b128 %answer, [data];\n"
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %r, %answer;\n";
const std::string tell = "selp.u32 %v, 1, 0, %r;\nst.global.u32 [%out], %v;\n";

}  // namespace

TEST_CASE("no cluster is cancelled where all of them run") {
  for (AsyncSchedule schedule :
       {AsyncSchedule::at_issue, AsyncSchedule::at_wait, AsyncSchedule::seeded}) {
    Launched launch = launched(begin + ask + wait + look + tell, schedule);
    no_fault(launch);
    for (std::uint32_t i = 0; i < 32; ++i) CHECK(launch.get<std::uint32_t>(0)[i] == 0);
  }
}

TEST_CASE("an answer that was not waited for is read too early") {
  for (AsyncSchedule schedule : {AsyncSchedule::at_issue, AsyncSchedule::at_wait}) {
    Launched launch = launched(begin + ask + look + tell, schedule);
    CHECK((launch.found(Kind::early_read) || ends(launch, TrapKind::undefined_value)));
  }
}

TEST_CASE("an answer has sixteen bytes, and its mbarrier expects them") {
  Launched short_of =
      launched(edited(begin + ask + wait + look + tell, "[bar], 16;", "[bar], 32;"));
  CHECK(ends(short_of, TrapKind::deadlock));
  CHECK(ends(launched(edited(begin + ask + wait + look, "[data], [bar]", "[data + 8], [bar]")),
             TrapKind::misaligned));
  CHECK(ends(launched(edited(ask, "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n",
                             "setp.eq.u32 %p, %tid, 0;\n")),
             TrapKind::bad_operand));
}

TEST_CASE("a cancellation that failed has no block, and is not asked for again") {
  const std::string all = begin + ask + wait + look;
  CHECK(ends(launched(all + "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %v, "
                            "%answer;\n"),
             TrapKind::bad_operand));
  CHECK(ends(launched(all + "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 "
                            "{%v, %w, %s, _}, %answer;\n"),
             TrapKind::bad_operand));
  std::string guarded = all + tell +
                        "@%r clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %v, "
                        "%answer;\n";
  no_fault(launched(guarded));
  CHECK(ends(launched(all + "bar.sync 0;\n" + ask), TrapKind::bad_operand));
  // Two that are on their way before either is looked at are two questions.
  std::string two = edited(begin + ask, "[bar], 16;", "[bar], 32;") +
                    edited(ask.substr(ask.find("@%p cluster")), "[data]", "[data + 16]") + wait +
                    look + tell;
  no_fault(launched(two));
}

TEST_CASE("what is no answer is not queried") {
  CHECK(ends(launched(begin +
                      "@%p st.shared.u32 [data], 5;\n@%p st.shared.u32 [data + 4], 0;\n"
                      "@%p st.shared.u64 [data + 8], 0;\nbar.sync 0;\n" +
                      look + tell),
             TrapKind::bad_operand));
  CHECK(ends(launched(begin + look + tell), TrapKind::undefined_value));
}

TEST_CASE("a multicast answers every block of the cluster") {
  const std::string cluster =
      "mov.u32 %rank, %cluster_ctarank;\n" + begin +
      "@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
      "setp.eq.and.u32 %p, %rank, 0, %p;\n"
      "@%p clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
      ".multicast::cluster::all.b128 [data], [bar];\n" +
      wait + look + "mul.wide.u32 %g, %rank, 128;\nadd.s64 %out, %out, %g;\n" + tell +
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  Launched launch = launched(cluster, AsyncSchedule::at_wait, 2);
  no_fault(launch);
  for (std::uint32_t word : launch.get<std::uint32_t>(0)) CHECK(word == 0);
  CHECK(ends(launched(edited(cluster, ".multicast::cluster::all", ""), AsyncSchedule::at_wait, 2),
             TrapKind::deadlock));
}

}  // namespace lathe::ptx
