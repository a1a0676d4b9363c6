// The rewriting subagent: variant by variant, and the end of them said.

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <set>

#include "base/files.h"
#include "planner/planner.h"
#include "tests/places.h"

namespace lathe::planner {
namespace {

Assignment assignment(const std::string& name) {
  std::filesystem::path folder =
      std::filesystem::path(source_folder) / "suite" / "contracts" / name;
  auto contract = std::make_shared<Contract>();
  contract->reference = *read_text(folder / "reference.ptx");
  Assignment made;
  made.module =
      std::make_shared<ptx::Module>(ptx::parse(contract->reference, "reference.ptx").module);
  for (const ptx::Function& function : made.module->functions)
    if (function.entry) contract->entry = function.name;
  contract->target = std::string(made.module->target.at(0));
  made.contract = contract;
  return made;
}

TEST_CASE("a variant of a family is a candidate that differs from its parent and parses") {
  Assignment given = assignment("sum_fp16_sm_90a");
  given.family = family::tree_reduction;
  auto proposal = make_rewriter()->propose(given);
  REQUIRE(proposal);
  REQUIRE_FALSE(proposal->failure);
  CHECK(candidate_digest(proposal->ptx) != candidate_digest(given.contract->reference));
  CHECK(ptx::parse(proposal->ptx, "c.ptx").errors.empty());
  CHECK_FALSE(proposal->explanation.empty());
  CHECK(proposal->cost == Cost{});
}

TEST_CASE("past the last variant nothing is left, and a family that does not apply has none") {
  Assignment given = assignment("sum_fp16_sm_90a");
  given.family = family::tree_reduction;
  given.variant = 99;
  auto past = make_rewriter()->propose(given);
  REQUIRE(past);
  REQUIRE(past->failure);
  CHECK(past->failure->code == "none_left");
  given.family = family::reciprocal;
  given.variant = 0;
  CHECK(make_rewriter()->propose(given)->failure->code == "none_left");
}

TEST_CASE("what is offered can be proposed, each as a candidate of its own") {
  for (const char* name : {"sum_fp16_sm_90a", "softmax_fp16_sm_89", "silu_fp16_sm_100a"}) {
    Assignment given = assignment(name);
    std::map<std::string, std::uint32_t> next;
    std::set<Digest> candidates;
    std::vector<std::string> offered = offered_families(*given.module, *given.contract);
    for (const std::string& family : offered) {
      given.family = family;
      given.variant = next[family]++;
      auto proposal = make_rewriter()->propose(given);
      REQUIRE(proposal);
      REQUIRE_FALSE(proposal->failure);
      candidates.insert(candidate_digest(proposal->ptx));
    }
    CHECK(candidates.size() == offered.size());
  }
}

}  // namespace
}  // namespace lathe::planner
