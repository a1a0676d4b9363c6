// A whole search by actors: it ends where it should, whatever the order of events, and a search
// that was killed at any step ends with the same store as one that was not.

#include <algorithm>
#include <set>

#include "desk.h"
#include "farm.h"

namespace lathe::actors {
namespace {

using namespace farm;

struct Whole {
  std::string text;
  planner::Finish finish;
  std::uint64_t steps = 0;
};

Whole whole_run(std::uint64_t seed, std::uint64_t schedule, int nodes = 2) {
  auto used = contract();
  auto [store, run] = begun({used});
  Whole whole;
  {
    Life life(schedule, search_of(seed, run, used), store, 1, nodes);
    whole.steps = life.run();
    REQUIRE(life.end().result);
    REQUIRE(*life.end().result);
    whole.finish = **life.end().result;
  }
  whole.text = exported(*store);
  return whole;
}

TEST_CASE("a search ends, and its best is the fastest that passed every gate") {
  auto used = contract();
  auto [store, run] = begun({used});
  Life life(1, search_of(5, run, used), store, 1);
  life.run();
  REQUIRE(life.end().result);
  const planner::Finish& finish = **life.end().result;
  INFO(finish.reason);
  CHECK_FALSE(finish.failed);
  REQUIRE(finish.best);
  auto entries = *store::frontier(*store, used->identity());
  REQUIRE_FALSE(entries.empty());
  CHECK(entries.front().key.candidate == *finish.best);
  CHECK(std::is_sorted(entries.begin(), entries.end(), [](const auto& left, const auto& right) {
    return left.key.time_ps < right.key.time_ps;
  }));
  for (const auto& entry : entries) {
    CHECK(entry.key.time_ps < 1'000'000);
    CHECK(entry.record.proof.size() > 0);
  }
}

TEST_CASE("what is admitted has a passed verdict of every gate in the store") {
  auto used = contract();
  auto [store, run] = begun({used});
  Life life(2, search_of(6, run, used), store, 1);
  life.run();
  const auto entries = *store::frontier(*store, used->identity());
  for (const auto& entry : entries) {
    std::set<std::uint64_t> passed;
    auto rows = *store->rows<store::VerdictKey>(
        store::prefix<store::VerdictKey>(used->identity(), entry.key.candidate));
    for (const auto& [key, record] : rows)
      if (decode_verdict(record.verdict)->answer == Verdict::Answer::passed)
        passed.insert(key.gate);
    CHECK(passed == std::set<std::uint64_t>{1, 2, 3, 4, 5, 6});
  }
}

TEST_CASE("the order of events and the number of nodes leave no trace") {
  Whole first = whole_run(7, 1);
  for (std::uint64_t schedule = 2; schedule <= 8; ++schedule) {
    Whole other = whole_run(7, schedule, static_cast<int>(schedule % 3) + 1);
    CHECK(other.text == first.text);
    CHECK(other.finish.best == first.finish.best);
  }
}

TEST_CASE("another seed is another search") { CHECK(whole_run(7, 1).text != whole_run(8, 1).text); }

/// Kills the search after each of these numbers of steps, then lets it end.
std::string killed_run(std::uint64_t seed, std::uint64_t schedule,
                       const std::vector<std::uint64_t>& kills) {
  auto used = contract();
  auto [store, run] = begun({used});
  std::uint64_t epoch = 0;
  for (std::uint64_t steps : kills) {
    ++epoch;
    Life life(schedule + epoch, search_of(seed, run, used), store, epoch);
    life.run(steps);
  }
  Life life(schedule, search_of(seed, run, used), store, epoch + 1);
  life.run();
  REQUIRE(life.end().result);
  REQUIRE(*life.end().result);
  return exported(*store);
}

TEST_CASE("a search that is killed at any step and started anew ends with the same store") {
  Whole whole = whole_run(7, 1);
  REQUIRE(whole.steps > 200);
  std::uint64_t stride = std::max<std::uint64_t>(1, whole.steps / 120);
  for (std::uint64_t steps = 0; steps <= whole.steps; steps += stride) {
    CAPTURE(steps);
    REQUIRE(killed_run(7, steps, {steps}) == whole.text);
  }
}

TEST_CASE("a search that is killed again and again ends with the same store") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    Whole whole = whole_run(seed, seed);
    std::vector<std::uint64_t> kills;
    for (std::uint64_t i = 0; i < 6; ++i) kills.push_back(philox64(seed, 2, i) % whole.steps);
    REQUIRE(killed_run(seed, 100 * seed, kills) == whole.text);
  }
}

TEST_CASE("an answer that is in the store is not asked for again") {
  auto used = contract();
  auto [store, run] = begun({used});
  {
    Life life(1, search_of(7, run, used), store, 1);
    life.run();
  }
  auto search = search_of(7, run, used);
  int asked = 0;
  search->propose = [&asked](const planner::Assignment& assignment) {
    ++asked;
    return propose_made_up(assignment);
  };
  Life life(2, search, store, 2, 0);  // No node: a gate that is run would never end.
  life.run();
  REQUIRE(life.end().result);
  CHECK(asked == 0);
}

TEST_CASE("a decoy that passes keeps the search from starting") {
  auto used = contract();
  auto [store, run] = begun({used});
  auto search = search_of(7, run, used);
  search->decoys.push_back({"honest", marked(used->reference, 1)});
  Life life(1, search, store, 1);
  life.run();
  REQUIRE(life.end().result);
  CHECK((**life.end().result).failed);
  CHECK((**life.end().result).reason.find("honest") != std::string::npos);
}

TEST_CASE("a subagent that cannot be reached ends the search with its error, and stores nothing") {
  auto used = contract();
  auto [store, run] = begun({used});
  auto search = search_of(7, run, used);
  search->propose = [](const planner::Assignment&) -> Result<planner::Proposal> {
    return Error{Fault::unavailable, "the endpoint is away", "", {}};
  };
  {
    Life life(1, search, store, 1);
    life.run();
    REQUIRE(life.end().result);
    REQUIRE_FALSE(*life.end().result);
    CHECK(life.end().result->error().what == "the endpoint is away");
  }
  CHECK(store->rows<store::ProposalKey>()->empty());
  Life again(1, search_of(7, run, used), store, 2);
  again.run();
  CHECK(*again.end().result);
  CHECK(exported(*store) == whole_run(7, 1).text);
}

TEST_CASE("a worker that dies now and then changes nothing of the outcome") {
  auto used = contract();
  auto [store, run] = begun({used});
  auto calls = std::make_shared<int>(0);
  Runner frail = [calls](const Errand& errand) {
    if (++*calls % 3 == 0) return died_reply();
    return run_made_up(errand);
  };
  Life life(3, search_of(7, run, used), store, 1, 3, frail);
  life.run();
  REQUIRE(life.end().result);
  CHECK(exported(*store) == whole_run(7, 1).text);
}

}  // namespace
}  // namespace lathe::actors
