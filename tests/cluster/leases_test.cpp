#include "cluster/leases.h"

#include <catch2/catch.hpp>
#include <map>

#include "base/random.h"

namespace lathe::cluster {
namespace {

constexpr std::uint64_t second = 1'000'000'000;
const Capabilities anything{{"arch:sm_90a", "gate:test"}, 1 << 20};

Item item(const std::string& name, std::uint64_t priority = 0) {
  return {sha256(name), priority, {}, true, {}};
}

TEST_CASE("work is given by priority, then by age") {
  Leases leases({});
  leases.add(item("old"));
  leases.add(item("young"));
  leases.add(item("urgent", 1));
  CHECK(leases.claim("n", anything, 0)->item == sha256("urgent"));
  CHECK(leases.claim("n", anything, 0)->item == sha256("old"));
  CHECK(leases.claim("n", anything, 0)->item == sha256("young"));
  CHECK_FALSE(leases.claim("n", anything, 0));
}

TEST_CASE("a node is given only what it can do") {
  Leases leases({});
  Item hopper = item("hopper", 9);
  hopper.need.names = {"arch:sm_90a"};
  Item large = item("large", 8);
  large.need.memory_bytes = 2 << 20;
  leases.add(hopper);
  leases.add(large);
  leases.add(item("any"));
  CHECK(leases.claim("ada", {{"arch:sm_89"}, 1 << 20}, 0)->item == sha256("any"));
  CHECK_FALSE(leases.claim("ada", {{"arch:sm_89"}, 1 << 20}, 0));
  CHECK(leases.claim("h", {{"arch:sm_90a", "gate:test"}, 0}, 0)->item == sha256("hopper"));
  CHECK(leases.claim("big", {{}, 2 << 20}, 0)->item == sha256("large"));
}

TEST_CASE("work that came back for more memory is for those who have it") {
  Leases leases({});
  leases.add(item("x"));
  Lease lease = *leases.claim("small", {{}, 100}, 0);
  CHECK_FALSE(leases.need_memory(lease.item, 101));  // It is held.
  REQUIRE(leases.give_back("small", lease.item, lease.token));
  CHECK(leases.need_memory(lease.item, 101));
  CHECK(leases.check().empty());
  CHECK_FALSE(leases.claim("small", {{}, 100}, 0));
  CHECK(leases.claim("large", {{}, 101}, 0)->item == lease.item);
  CHECK_FALSE(leases.need_memory(sha256("y"), 1));
  CHECK(leases.check().empty());
}

TEST_CASE("equal work merges while it waits, runs, and when it is done") {
  Leases leases({});
  CHECK(leases.add(item("x")));
  CHECK_FALSE(leases.add(item("x")));
  Lease lease = *leases.claim("n", anything, 0);
  CHECK_FALSE(leases.add(item("x")));
  leases.complete("n", lease.item, lease.token);
  CHECK_FALSE(leases.add(item("x")));
  CHECK(leases.add(item("y")));
}

TEST_CASE("an answer is accepted once, then it is a duplicate") {
  Leases leases({});
  leases.add(item("x"));
  Lease lease = *leases.claim("n", anything, 0);
  CHECK(leases.complete("n", lease.item, lease.token) == Outcome::accepted);
  CHECK(leases.complete("n", lease.item, lease.token) == Outcome::duplicate);
}

TEST_CASE("an answer for nothing that was asked is unknown") {
  Leases leases({});
  CHECK(leases.complete("n", sha256("x"), 1) == Outcome::unknown);
}

TEST_CASE("a lease runs out at its deadline and not before") {
  Leases leases({.lease_ns = 30 * second});
  leases.add(item("x"));
  leases.claim("n", anything, 0);
  CHECK(leases.expire(30 * second - 1).empty());
  std::vector<Ended> ended = leases.expire(30 * second);
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].fate == Ended::Fate::ready);
  CHECK(leases.ready_count() == 1);
}

TEST_CASE("the late answer of an expired lease is stale, before and after it is given again") {
  Leases leases({});
  leases.add(item("x"));
  Lease first = *leases.claim("slow", anything, 0);
  leases.expire(first.deadline_ns);
  CHECK(leases.complete("slow", first.item, first.token) == Outcome::stale);
  Lease again = *leases.claim("fast", anything, first.deadline_ns);
  CHECK(again.token > first.token);
  CHECK(leases.complete("slow", first.item, first.token) == Outcome::stale);
  CHECK(leases.complete("fast", again.item, again.token) == Outcome::accepted);
  CHECK(leases.complete("slow", first.item, first.token) == Outcome::stale);
}

TEST_CASE("another node's token is worth nothing") {
  Leases leases({});
  leases.add(item("x"));
  Lease lease = *leases.claim("holder", anything, 0);
  CHECK(leases.complete("thief", lease.item, lease.token) == Outcome::stale);
  CHECK_FALSE(leases.renew("thief", lease.item, lease.token, 1));
  CHECK_FALSE(leases.give_back("thief", lease.item, lease.token));
  CHECK(leases.complete("holder", lease.item, lease.token) == Outcome::accepted);
}

TEST_CASE("a renewed lease lives on, an expired one is not renewed") {
  Leases leases({.lease_ns = 30 * second});
  leases.add(item("x"));
  Lease lease = *leases.claim("n", anything, 0);
  CHECK(leases.renew("n", lease.item, lease.token, 20 * second) == 50 * second);
  CHECK(leases.expire(49 * second).empty());
  CHECK_FALSE(leases.renew("n", lease.item, lease.token, 50 * second));
}

TEST_CASE("a clock that jumps back shortens no lease") {
  Leases leases({.lease_ns = 30 * second});
  leases.add(item("x"));
  Lease lease = *leases.claim("n", anything, 20 * second);
  CHECK(leases.renew("n", lease.item, lease.token, 0) == 50 * second);
}

TEST_CASE("the work of a lost node is ready at once, and other nodes keep theirs") {
  Leases leases({});
  leases.add(item("x"));
  leases.add(item("y"));
  leases.claim("dead", anything, 0);
  Lease kept = *leases.claim("well", anything, 0);
  CHECK(leases.node_lost("dead").size() == 1);
  CHECK(leases.ready_count() == 1);
  CHECK(leases.complete("well", kept.item, kept.token) == Outcome::accepted);
}

TEST_CASE("work whose lease died on three different nodes is quarantined") {
  Leases leases({});
  leases.add(item("x"));
  for (const char* node : {"a", "a", "b"}) {
    leases.claim(node, anything, 0);
    CHECK(leases.node_lost(node)[0].fate == Ended::Fate::ready);
  }
  Lease last = *leases.claim("c", anything, 0);
  CHECK(leases.node_lost("c")[0].fate == Ended::Fate::quarantined);
  CHECK(leases.is_quarantined(sha256("x")));
  CHECK(leases.complete("c", last.item, last.token) == Outcome::stale);
  CHECK_FALSE(leases.claim("d", anything, 0));
  CHECK_FALSE(leases.add(item("x")));
}

TEST_CASE("what a draining node returns counts against nobody and keeps its place") {
  Leases leases({});
  leases.add(item("x"));
  leases.add(item("y"));
  for (const char* node : {"a", "b", "c", "d"}) {
    Lease lease = *leases.claim(node, anything, 0);
    CHECK(lease.item == sha256("x"));
    CHECK(leases.give_back(node, lease.item, lease.token)->fate == Ended::Fate::ready);
  }
}

TEST_CASE("a straggler is hedged on another node, and the first answer counts") {
  Leases leases({});
  leases.add(item("x"));
  Lease slow = *leases.claim("slow", anything, 0);
  CHECK_FALSE(leases.hedge("other", anything, 0, 5));  // Not old enough.
  CHECK_FALSE(leases.hedge("slow", anything, 1, 5));   // The same node.
  Lease other = *leases.hedge("other", anything, 1, 5);
  CHECK_FALSE(leases.hedge("third", anything, 9, 9));  // Hedged already.
  CHECK(leases.complete("other", other.item, other.token) == Outcome::accepted);
  CHECK(leases.complete("slow", slow.item, slow.token) == Outcome::stale);
}

TEST_CASE("what may not be hedged is not") {
  Leases leases({});
  Item timing = item("x");
  timing.may_hedge = false;
  leases.add(timing);
  leases.claim("slow", anything, 0);
  CHECK_FALSE(leases.hedge("other", anything, 1, 5));
}

TEST_CASE("a hedged item stays leased while one holder lives") {
  Leases leases({});
  leases.add(item("x"));
  leases.claim("slow", anything, 0);
  Lease other = *leases.hedge("other", anything, 1, 5);
  CHECK(leases.node_lost("slow")[0].fate == Ended::Fate::still_leased);
  CHECK(leases.complete("other", other.item, other.token) == Outcome::accepted);
}

TEST_CASE("tokens of an earlier process are stale, restored leases are honoured") {
  Leases earlier({.epoch = 1});
  earlier.add(item("x"));
  earlier.add(item("y"));
  Lease x = *earlier.claim("n", anything, 0), y = *earlier.claim("n", anything, 0);
  Leases later({.epoch = 2});
  CHECK(later.restore(item("x"), x));
  later.add(item("y"));
  CHECK(later.complete("n", x.item, x.token) == Outcome::accepted);
  CHECK(later.complete("n", y.item, y.token) == Outcome::stale);
  CHECK(later.claim("n", anything, 0)->token > y.token);
  Lease ours = x;
  ours.item = sha256("z");
  ours.token = 2ull << 32;
  CHECK_FALSE(later.restore(item("z"), ours));
}

TEST_CASE("cancelled work is gone, and its holder's answer unknown") {
  Leases leases({});
  leases.add(item("x"));
  leases.add(item("y"));
  Lease lease = *leases.claim("n", anything, 0);
  CHECK(leases.cancel(sha256("x")));
  CHECK(leases.cancel(sha256("y")));
  CHECK_FALSE(leases.cancel(sha256("y")));
  CHECK(leases.complete("n", lease.item, lease.token) == Outcome::unknown);
  CHECK(leases.check().empty());
}

TEST_CASE("the next deadline is the earliest") {
  Leases leases({.lease_ns = 10});
  CHECK_FALSE(leases.next_deadline_ns());
  leases.add(item("x"));
  leases.add(item("y"));
  leases.claim("n", anything, 5);
  leases.claim("n", anything, 3);
  CHECK(leases.next_deadline_ns() == 13);
}

/// A farm in one loop: nodes that answer, die, freeze, answer late and answer twice.
struct Storm {
  explicit Storm(std::uint64_t seed) : seed(seed), leases(ten_seconds()) {}
  static LeaseSettings ten_seconds() {
    LeaseSettings settings;
    settings.lease_ns = 10 * second;
    return settings;
  }
  std::uint64_t draw(std::uint64_t below) { return philox64(seed, 7, ++drawn) % below; }

  void step() {
    std::string node(1, static_cast<char>('a' + draw(5)));
    now += draw(3 * second);
    switch (draw(8)) {
      case 0:
      case 1:
        added += leases.add(item(std::to_string(draw(200)), draw(3)));
        break;
      case 2:
      case 3:
        if (auto lease = leases.claim(node, anything, now)) given(*lease);
        break;
      case 4:
        if (!told.empty()) answer(told[draw(told.size())]);
        break;
      case 5:
        if (!told.empty()) {
          const Lease& lease = told[draw(told.size())];
          leases.renew(lease.node, lease.item, lease.token, now);
        }
        break;
      case 6:
        draw(4) == 0 ? leases.node_lost(node) : leases.expire(now);
        break;
      default:
        if (auto lease = leases.hedge(node, anything, now - std::min(now, second), now))
          given(*lease);
    }
  }

  void given(const Lease& lease) {
    CHECK(lease.token > newest);
    newest = lease.token;
    told.push_back(lease);
  }

  void answer(const Lease& lease) {
    Outcome outcome = leases.complete(lease.node, lease.item, lease.token);
    if (outcome == Outcome::accepted) CHECK(++accepted[lease.item] == 1);
    trace += std::string(name_of(outcome)) + " ";
  }

  std::uint64_t seed, drawn = 0, now = 0, newest = 0, added = 0;
  Leases leases;
  std::vector<Lease> told;
  std::map<Digest, int> accepted;
  std::string trace;
};

TEST_CASE("under any storm no item is lost or accepted twice, and tokens only grow") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Storm storm(seed);
    for (int i = 0; i < 400; ++i) {
      storm.step();
      if (std::string broken = storm.leases.check(); !broken.empty()) FAIL(seed << ": " << broken);
    }
    const Leases& leases = storm.leases;
    CHECK(leases.ready_count() + leases.leased_count() + leases.done_count() +
              leases.quarantined_count() ==
          storm.added);
    CHECK(storm.accepted.size() == leases.done_count());
  }
}

TEST_CASE("the same storm twice is the same history") {
  Storm one(3), two(3);
  for (int i = 0; i < 400; ++i) one.step(), two.step();
  CHECK(one.trace == two.trace);
  CHECK_FALSE(one.trace.empty());
}

}  // namespace
}  // namespace lathe::cluster
