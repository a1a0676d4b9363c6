// Symptoms in a text, and which families a bottleneck justifies.

#include <catch2/catch.hpp>

#include "planner/diagnosis.h"
#include "planner/frontier.h"
#include "world.h"

namespace lathe::planner {
namespace {

using world::timing;

Features features(const std::string& ptx) {
  ptx::Parsed parsed = ptx::parse(ptx, "k.ptx");
  REQUIRE(parsed.errors.empty());
  return features_of(parsed.module, "k");
}

TEST_CASE("a serial chain, its divisor and its accesses are seen in a text") {
  Features seen = features(world::kernel());
  CHECK(seen.longest_chain == 4);
  CHECK(seen.divisions == 2);
  CHECK(seen.shared_divisors == 2);
  CHECK(seen.global_loads == 2);
  CHECK(seen.narrow_accesses == 3);
  CHECK(seen.plain_loads == 2);
  CHECK(seen.late_loads == 0);
}

TEST_CASE("another entry's instructions are not counted") {
  ptx::Parsed parsed = ptx::parse(world::kernel(), "k.ptx");
  CHECK(features_of(parsed.module, "other").instructions == 0);
}

TEST_CASE("a latency-bound kernel with a chain is sent to a tree first") {
  Features seen;
  seen.longest_chain = 15;
  Diagnosis diagnosis = diagnose(seen, timing(1000, 1000, "latency"));
  REQUIRE_FALSE(diagnosis.suggestions.empty());
  CHECK(diagnosis.suggestions[0].family == family::tree_reduction);
  CHECK(diagnosis.level == 2);
}

TEST_CASE("a short chain does not justify a tree") {
  Features seen;
  seen.longest_chain = 3;
  CHECK(diagnose(seen, timing(1000, 1000, "latency")).suggestions.empty());
}

TEST_CASE("special functions that bind justify a reciprocal") {
  Features seen;
  seen.divisions = 8;
  seen.longest_chain = 15;
  Diagnosis diagnosis = diagnose(seen, timing(1000, 1000, "xu"));
  CHECK(diagnosis.suggestions[0].family == family::reciprocal);
}

TEST_CASE("memory at its roof justifies nothing that saves arithmetic") {
  Features seen;
  seen.divisions = 8;
  seen.longest_chain = 15;
  Diagnosis diagnosis = diagnose(seen, timing(1000, 1000, "dram"));
  CHECK(diagnosis.suggestions.empty());
  CHECK(diagnosis.hypothesis.find("nothing known helps") != std::string::npos);
  seen.plain_loads = 4;
  diagnosis = diagnose(seen, timing(1000, 1000, "dram"));
  REQUIRE(diagnosis.suggestions.size() == 1);
  CHECK(diagnosis.suggestions[0].family == family::cached_access);
}

TEST_CASE("without a measured bound the evidence is of level 1") {
  Features seen;
  seen.divisions = 8;
  Diagnosis diagnosis = diagnose(seen, timing(1000, 1000, ""));
  CHECK(diagnosis.level == 1);
  CHECK(diagnosis.escalation.find("not measured") != std::string::npos);
}

TEST_CASE("a win lies beyond the noise and beyond the least gain") {
  CHECK(improves(timing(900, 1000), 0.002));
  CHECK_FALSE(improves(timing(999, 1000), 0.002));
  CHECK_FALSE(improves(timing(1000, 1000), 0));
  Timing wide = timing(900, 1000);
  wide.high_ns = 1000;
  CHECK_FALSE(improves(wide, 0.002));
  Timing ambiguous = timing(900, 1000);
  ambiguous.verdict = "ambiguous";
  CHECK_FALSE(improves(ambiguous, 0.002));
}

TEST_CASE("dominance wants intervals apart, and a proof outranks any time") {
  CHECK(dominates({true, timing(900, 1000)}, {true, timing(1000, 1000)}));
  CHECK_FALSE(dominates({true, timing(900, 1000)}, {true, timing(900, 1000)}));
  CHECK(dominates({true, timing(990, 1000)}, {false, timing(10, 1000)}));
  CHECK_FALSE(dominates({false, timing(10, 1000)}, {true, timing(990, 1000)}));
  CHECK(listed_before({true, timing(990, 1000)}, {false, timing(10, 1000)}));
}

TEST_CASE("a proposal survives its bytes, and other bytes are refused") {
  Proposal proposal = world::proposal("ptx");
  proposal.cost = {5, 6, 7, 1, false};
  proposal.remark = "remark";
  auto back = decode_proposal(encode(proposal));
  REQUIRE(back);
  CHECK(back->ptx == "ptx");
  CHECK(back->cost == proposal.cost);
  CHECK(back->remark == "remark");
  CHECK_FALSE(back->failure);
  auto failed = decode_proposal(encode(world::failure("budget")));
  REQUIRE(failed);
  CHECK(failed->failure->code == "budget");
  CHECK_FALSE(decode_proposal("nonsense"));
  CHECK_FALSE(decode_proposal(encode(proposal).substr(0, 10)));
}

}  // namespace
}  // namespace lathe::planner
