// The table of gates, and the three ways out of one.

#include "pipeline/flow.h"

#include <catch2/catch.hpp>
#include <set>
#include <type_traits>

namespace lathe {
namespace {

TEST_CASE("every gate has a row under its own number and a name of its own") {
  std::set<std::string_view> names;
  for (const GateRow& row : flow) {
    CHECK(row_of(row.gate).name == row.name);
    CHECK(name_of(row.gate) == row.name);
    CHECK(names.insert(row.name).second);
    CHECK(row.wall_seconds_max > 0);
    CHECK(row.tries_max > 0);
  }
}

TEST_CASE("only what can end otherwise is tried again") {
  for (const GateRow& row : flow) CHECK((row.retry == Retry::never) == (row.tries_max == 1));
}

TEST_CASE("the order is in the types: what is not tested cannot be timed") {
  CHECK(std::is_base_of_v<Tested, Timed>);
  CHECK(std::is_base_of_v<Tested, Proved>);
  CHECK_FALSE(std::is_convertible_v<Sanitized, Tested>);
  CHECK_FALSE(std::is_convertible_v<Proposed, Screened>);
}

TEST_CASE("a step that was not passed goes by the next gate") {
  auto next = [](int value) -> Step<double> { return value + 0.5; };
  Step<int> passed = 3;
  auto then = std::move(passed).then(next);
  REQUIRE(then.passed() != nullptr);
  CHECK(*then.passed() == 3.5);
  Step<int> rejected = Rejected{{"value", "wrong", {}, "{}"}};
  auto stopped = std::move(rejected).then(next);
  REQUIRE(stopped.rejected() != nullptr);
  CHECK(stopped.rejected()->evidence.code == "value");
  Step<int> undecided = Undecided{Reason::exhausted, {}};
  CHECK(std::move(undecided).then(next).undecided()->reason == Reason::exhausted);
  Step<int> failed = Error{Fault::unavailable, "gone", "", {}};
  CHECK(std::move(failed).then(next).error()->fault == Fault::unavailable);
}

TEST_CASE("answers and reasons have the names that records use") {
  CHECK(name_of(Verdict::Answer::passed) == "passed");
  CHECK(name_of(Verdict::Answer::rejected) == "rejected");
  CHECK(name_of(Verdict::Answer::undecided) == "undecided");
  CHECK(name_of(Reason::not_witnessed) == "not_witnessed");
  CHECK(name_of(Reason::unmeasurable) == "unmeasurable");
}

}  // namespace
}  // namespace lathe
