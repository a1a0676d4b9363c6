// Symptoms in a text, and which families a bottleneck justifies.

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "base/files.h"
#include "planner/diagnosis.h"
#include "planner/frontier.h"
#include "planner/prompt.h"
#include "tests/places.h"
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
  CHECK(seen.plain_accesses == 3);
}

TEST_CASE("a product that is added and a difference that is multiplied are seen as pairs") {
  std::string text = world::kernel();
  CHECK(features(text).contractions == 0);
  std::size_t end = text.find("  ret;");
  text.insert(end, "  mul.f32 %f10, %f1, %f2;\n  add.f32 %f11, %f10, %f2;\n");
  CHECK(features(text).contractions == 1);
  text.insert(end, "  sub.f32 %f12, %f1, %f2;\n  mul.f32 %f13, %f12, %f2;\n");
  CHECK(features(text).contractions == 2);
}

TEST_CASE("an access with a hint is not plain, and a store to shared memory is none") {
  std::string text = world::kernel();
  std::size_t at = text.find("ld.global.f32 %f1");
  text.insert(at + 9, ".L1::no_allocate");
  CHECK(features(text).plain_accesses == 2);
  text.insert(text.find("  ret;"), "  st.shared.f32 [%rd1], %f1;\n");
  CHECK(features(text).plain_accesses == 2);
}

TEST_CASE("every shipped kernel is read, and what is seen fits what is offered") {
  std::filesystem::path root = std::filesystem::path(source_folder) / "suite" / "contracts";
  std::size_t kernels = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    INFO(entry.path());
    std::string text = *read_text(entry.path() / "reference.ptx");
    ptx::Parsed parsed = ptx::parse(text, "reference.ptx");
    REQUIRE(parsed.errors.empty());
    Contract contract;
    for (const ptx::Function& function : parsed.module.functions)
      if (function.entry) contract.entry = function.name;
    contract.target = std::string(parsed.module.target.at(0));
    Features seen = features_of(parsed.module, contract.entry);
    // A family that is offered is suggested, whatever binds but the roofs.
    Diagnosis diagnosis = diagnose(seen, timing(1000, 1000, "latency"));
    for (const std::string& family : offered_families(parsed.module, contract)) {
      INFO(family);
      CHECK(std::any_of(diagnosis.suggestions.begin(), diagnosis.suggestions.end(),
                        [&](const Suggestion& s) { return s.family == family; }));
    }
    CHECK(candidate_digest(condense(text)) == candidate_digest(text));
    ++kernels;
  }
  CHECK(kernels >= 12);
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
  seen.plain_accesses = 4;
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
