// The rewrites on the shipped references: what they find there, and that an assembler takes it.

#include <map>
#include <set>

#include "rewriting.h"

namespace lathe::planner {
namespace {

using namespace rewriting;

std::map<std::string, std::size_t> families(const std::filesystem::path& path) {
  ptx::Parsed parsed = reference(path);
  REQUIRE(parsed.errors.empty());
  std::string entry(parsed.module.functions.front().name);
  std::map<std::string, std::size_t> found;
  for (const Rewrite& rewrite : rewrites(parsed.module, entry, parsed.module.target[0]))
    ++found[rewrite.family];
  return found;
}

TEST_CASE("every reference has rewrites, of the families that fit it") {
  for (const std::filesystem::path& path : untuned_references()) {
    INFO(path.string());
    std::string name = path.parent_path().filename();
    std::map<std::string, std::size_t> found = families(path);
    CHECK_FALSE(found.empty());
    auto has = [&](std::string_view family) { return found.contains(std::string(family)); };
    if (name.starts_with("sum")) {
      CHECK(has(family::tree_reduction));
      CHECK(has(family::fewer_barriers));
      CHECK(has(family::hoisted_loads));
      CHECK_FALSE(has(family::reciprocal));
    }
    if (name.starts_with("softmax")) {
      CHECK(has(family::tree_reduction));
      CHECK(has(family::fewer_barriers));
      CHECK(has(family::reciprocal));
      CHECK(has(family::fma));
    }
    if (name.starts_with("silu")) {
      CHECK(has(family::reciprocal));
      CHECK(has(family::fma));
      CHECK_FALSE(has(family::fewer_barriers));
      CHECK_FALSE(has(family::tree_reduction));
    }
    if (name.starts_with("gemm")) CHECK(has(family::cached_access));
  }
}

TEST_CASE("the same module gives the same rewrites in the same order") {
  for (const std::filesystem::path& path : references()) {
    ptx::Parsed one = reference(path), other = reference(path);
    std::string entry(one.module.functions.front().name);
    std::vector<Rewrite> a = rewrites(one.module, entry, "sm_90a"),
                         b = rewrites(other.module, entry, "sm_90a");
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      CHECK(*ptx::apply(one.module, a[i].edits) == *ptx::apply(other.module, b[i].edits));
  }
}

TEST_CASE("an assembler takes what the rewrites make of every reference") {
  if (assembler().empty()) {
    std::cout << "LATHE-SKIP: no ptxas on this machine\n";
    return;
  }
  for (const std::filesystem::path& path : references()) {
    ptx::Parsed parsed = reference(path);
    std::string entry(parsed.module.functions.front().name);
    std::string target(parsed.module.target[0]);
    // One of each family: a gemm takes a second each time.
    std::set<std::string> seen;
    for (const Rewrite& rewrite : rewrites(parsed.module, entry, target)) {
      if (!seen.insert(rewrite.family).second) continue;
      INFO(path.string() << " " << rewrite.family << ": " << rewrite.effect);
      CHECK(complaint(*ptx::apply(parsed.module, rewrite.edits), target) == "");
    }
  }
}

TEST_CASE("rewrites can follow one another until none of the reducing kinds is left") {
  for (const std::filesystem::path& path : untuned_references()) {
    ptx::Parsed parsed = reference(path);
    std::string entry(parsed.module.functions.front().name);
    std::string target(parsed.module.target[0]);
    std::size_t rounds = 0;
    for (; rounds < 12; ++rounds) {
      std::vector<Rewrite> found = rewrites(parsed.module, entry, target);
      if (found.empty()) break;
      Result<std::string> next = ptx::apply(parsed.module, found.front().edits);
      REQUIRE(next);
      parsed = ptx::parse(*next, "next.ptx");
      REQUIRE(parsed.errors.empty());
    }
    INFO(path.string());
    CHECK(rounds < 12);
    if (!assembler().empty() && path.string().find("gemm") == std::string::npos)
      CHECK(complaint(ptx::print(parsed.module), target) == "");
  }
}

}  // namespace
}  // namespace lathe::planner
