// A lease fences: an item is in one pair of hands, its result counts once, and whoever is silent
// loses it.

#include "cluster/leases.h"

#include <catch2/catch.hpp>
#include <string>

#include "base/random.h"

namespace lathe::cluster {
namespace {

Digest item(int number) { return sha256(std::to_string(number)); }

TEST_CASE("work is given by priority, then by age") {
  Leases leases(1, {});
  leases.add(item(1), 1);
  leases.add(item(2), 5);
  leases.add(item(3), 5);
  CHECK(leases.claim("a", 0)->item == item(2));
  CHECK(leases.claim("a", 0)->item == item(3));
  CHECK(leases.claim("a", 0)->item == item(1));
  CHECK_FALSE(leases.claim("a", 0).has_value());
}

TEST_CASE("the same work is added once") {
  Leases leases(1, {});
  CHECK(leases.add(item(1), 1));
  CHECK_FALSE(leases.add(item(1), 1));
  REQUIRE(leases.claim("a", 0));
  CHECK_FALSE(leases.add(item(1), 1));
}

TEST_CASE("a lease that is renewed lives, one that is not goes to another under a new token") {
  LeaseLimits limits;
  limits.lease_ns = 100;
  Leases leases(1, limits);
  leases.add(item(1), 1);
  Grant first = *leases.claim("a", 0);
  CHECK(leases.renew(item(1), first.token, 90));
  CHECK(leases.expire(150).empty());
  REQUIRE(leases.expire(191).size() == 1);
  CHECK_FALSE(leases.renew(item(1), first.token, 192));
  Grant second = *leases.claim("b", 192);
  CHECK(second.token != first.token);
  CHECK(leases.complete(item(1), first.token) == Returned::stale);
  CHECK(leases.complete(item(1), second.token) == Returned::accepted);
  CHECK(leases.complete(item(1), second.token) == Returned::stale);
}

TEST_CASE("a token of an earlier owner is stale") {
  Leases before(1, {}), after(2, {});
  before.add(item(1), 1);
  after.add(item(1), 1);
  Grant old = *before.claim("a", 0);
  REQUIRE(after.claim("b", 0));
  CHECK(after.complete(item(1), old.token) == Returned::stale);
}

TEST_CASE("a lost node's work waits again at once, and is poison after three nodes") {
  Leases leases(1, {});
  leases.add(item(1), 1);
  for (std::string node : {"a", "b"}) {
    REQUIRE(leases.claim(node, 0));
    REQUIRE(leases.node_lost(node).size() == 1);
    CHECK(leases.waiting() == 1);
  }
  REQUIRE(leases.claim("c", 0));
  CHECK(leases.node_lost("c").front().poisoned);
  CHECK(leases.waiting() == 0);
  CHECK(leases.leased() == 0);
}

TEST_CASE("work that died on a node is given to it again only where nothing else waits") {
  Leases leases(1, {});
  leases.add(item(1), 9);
  leases.add(item(2), 1);
  REQUIRE(leases.claim("a", 0)->item == item(1));
  static_cast<void>(leases.node_lost("a"));
  CHECK(leases.claim("a", 0)->item == item(2));
  CHECK(leases.claim("a", 0)->item == item(1));
}

TEST_CASE("under any order of deeds an item is accepted at most once and never held twice") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    LeaseLimits limits;
    limits.lease_ns = 50;
    limits.nodes_lost_max = 100;
    limits.losses_max = 1000;
    Leases leases(1, limits);
    std::map<Digest, int> accepted;
    std::vector<Grant> grants;
    std::uint64_t now = 0;
    for (int i = 0; i < 20; ++i) leases.add(item(i), static_cast<std::uint64_t>(i % 3));
    for (std::uint64_t step = 0; step < 400; ++step) {
      auto drawn = philox(seed, 0, step);
      std::string node = "n" + std::to_string(drawn[0] % 4);
      now += drawn[3] % 10;
      if (drawn[1] % 5 == 0) {
        if (auto grant = leases.claim(node, now)) grants.push_back(*grant);
      } else if (drawn[1] % 5 == 1 && !grants.empty()) {
        const Grant& grant = grants[drawn[2] % grants.size()];
        if (leases.complete(grant.item, grant.token) == Returned::accepted) ++accepted[grant.item];
      } else if (drawn[1] % 5 == 2) {
        static_cast<void>(leases.expire(now));
      } else if (drawn[1] % 5 == 3 && drawn[2] % 10 == 0) {
        static_cast<void>(leases.node_lost(node));
      }
    }
    for (const auto& [digest, count] : accepted) CHECK(count == 1);
    CHECK(accepted.size() + leases.waiting() + leases.leased() == 20);
  }
}

}  // namespace
}  // namespace lathe::cluster
