#include "cluster/membership.h"

#include <catch2/catch.hpp>

namespace lathe::cluster {
namespace {

constexpr std::uint64_t second = 1'000'000'000;
const Capabilities offer{{"arch:sm_90a"}, 0};

TEST_CASE("a node that joins may take as much as its credit") {
  Membership members({});
  members.join("n", offer, 2, 0);
  CHECK(members.may_take("n", 1));
  CHECK_FALSE(members.may_take("n", 2));
  CHECK_FALSE(members.may_take("stranger", 0));
}

TEST_CASE("a silent node is lost when its time is up, and one that speaks is not") {
  Membership members({.silence_ns = 5 * second});
  members.join("quiet", offer, 1, 0);
  std::uint64_t connection = members.join("alive", offer, 1, 0);
  CHECK(members.heard("alive", connection, 4 * second));
  CHECK(members.silent(5 * second - 1).empty());
  CHECK(members.silent(5 * second) == std::vector<std::string>{"quiet"});
  CHECK(members.silent(5 * second).empty());
  CHECK_FALSE(members.may_take("quiet", 0));
}

TEST_CASE("what an older connection says is void") {
  Membership members({});
  std::uint64_t old = members.join("n", offer, 1, 0);
  std::uint64_t now = members.join("n", offer, 1, second);
  CHECK_FALSE(members.heard("n", old, 2 * second));
  CHECK_FALSE(members.left("n", old));
  CHECK(members.may_take("n", 0));
  CHECK(members.left("n", now));
  CHECK_FALSE(members.may_take("n", 0));
}

TEST_CASE("a node that was given up must join again") {
  Membership members({.silence_ns = 5 * second});
  std::uint64_t connection = members.join("n", offer, 1, 0);
  members.silent(5 * second);
  CHECK_FALSE(members.heard("n", connection, 6 * second));
  members.join("n", offer, 1, 7 * second);
  CHECK(members.may_take("n", 0));
}

TEST_CASE("a draining node takes nothing more") {
  Membership members({});
  members.join("n", offer, 1, 0);
  CHECK(members.drain("n"));
  CHECK_FALSE(members.may_take("n", 0));
  CHECK_FALSE(members.drain("stranger"));
}

TEST_CASE("three leases lost within ten minutes drain a node, spread wider they do not") {
  Membership quick({.window_ns = 600 * second}), slow({.window_ns = 600 * second});
  quick.join("n", offer, 1, 0);
  slow.join("n", offer, 1, 0);
  for (std::uint64_t i = 0; i < 3; ++i) {
    CHECK(quick.lease_lost("n", i * second) == (i == 2));
    CHECK_FALSE(slow.lease_lost("n", i * 300 * second));
  }
  CHECK(quick.find("n")->state == NodeState::draining);
  CHECK(slow.find("n")->state == NodeState::up);
}

TEST_CASE("known work is given on joining and then once in so many") {
  Membership members({.canary_every = 3});
  members.join("n", offer, 1, 0);
  CHECK(members.canary_due("n"));
  CHECK_FALSE(members.gave("n"));
  CHECK_FALSE(members.gave("n"));
  CHECK(members.gave("n"));
}

TEST_CASE("a wrong answer to known work quarantines and says what is in doubt") {
  Membership members({});
  members.join("n", offer, 1, 0);
  CHECK_FALSE(members.canary("n", true, 10));
  auto doubt = members.canary("n", false, 20);
  REQUIRE(doubt);
  CHECK(doubt->since_ns == 10);
  CHECK(members.find("n")->state == NodeState::quarantined);
}

TEST_CASE("a quarantined node comes back by right answers, not by joining again") {
  Membership members({.canaries_to_return = 2});
  members.join("n", offer, 1, 0);
  members.canary("n", false, 1);
  members.join("n", offer, 1, 2);
  CHECK(members.find("n")->state == NodeState::quarantined);
  CHECK(members.canary_due("n"));
  members.canary("n", true, 3);
  CHECK(members.find("n")->state == NodeState::quarantined);
  members.canary("n", true, 4);
  CHECK(members.find("n")->state == NodeState::up);
}

}  // namespace
}  // namespace lathe::cluster
