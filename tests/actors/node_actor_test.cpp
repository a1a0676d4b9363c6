// A slot of a node: one piece of work at a time, renewed while it runs, returned until it is taken.

#include "actors/node_actor.h"

#include <catch2/catch.hpp>

#include "desk.h"

namespace lathe::actors {
namespace {

using std::chrono::milliseconds;

/// A desk with one node, whose runner answers with what it was asked.
struct Shop : Desk {
  explicit Shop(std::uint64_t seed = 0) : Desk(seed) {
    NodeSettings settings;
    settings.name = "n1";
    settings.runner = [this](const Errand& errand) {
      ++runs;
      return passed_reply(Gate::test, "did " + errand.request);
    };
    settings.tell = [this](const std::string& kind, const Offer&, const std::string& note) {
      notes.push_back(kind + " " + note);
    };
    settings.aside = world.aside();
    node = world.spawn(node_actor, dispatcher, settings);
  }
  void send(auto message) {
    caf::anon_send(node, message);
    world.run();
  }
  bool lives() { return world.lives(node); }

  NodeActor node;
  int runs = 0;
  std::vector<std::string> notes;
};

TEST_CASE("a node pulls, runs and returns, and pulls again") {
  Shop shop;
  shop.send(Pull{});
  auto first = shop.order(order_of("a"));
  auto second = shop.order(order_of("b"));
  REQUIRE(first.came());
  REQUIRE(second.came());
  CHECK(first->reply.passed == "did request of a");
  CHECK(shop.runs == 2);
}

TEST_CASE("a node asks again when there was nothing to do") {
  Shop shop;
  shop.send(Pull{});
  shop.world.pass(milliseconds(2500));
  CHECK(shop.order(order_of("a")).came());
}

TEST_CASE("a node that is told twice to pull takes one piece of work") {
  Shop shop;
  shop.world.runs_asides = false;
  caf::anon_send(shop.node, Pull{});
  shop.send(Pull{});
  auto first = shop.order(order_of("a"));
  auto second = shop.order(order_of("b"));
  auto other = shop.claim("n2");
  CHECK(other->token != 0);
  CHECK(std::count(shop.notes.begin(), shop.notes.end(), "claimed ") == 1);
}

TEST_CASE("a node renews what it works on for as long as that takes") {
  Shop shop;
  shop.send(Pull{});
  shop.world.runs_asides = false;
  auto end = shop.order(order_of("a"));
  shop.world.pass(milliseconds(10'000));
  CHECK_FALSE(end.came());
  shop.world.runs_asides = true;
  shop.world.run();
  CHECK(end.came());
  CHECK(shop.runs == 1);
  CHECK(shop.heard.count["lost"] == 0);
}

TEST_CASE("a node that stops beating loses its lease, and its result is stale") {
  Shop shop;
  shop.send(Pull{});
  shop.world.runs_asides = false;
  auto end = shop.order(order_of("a"));
  auto offer = shop.claim("n2");
  REQUIRE_FALSE(offer.came());
  // The lease runs out in the dispatcher's eyes, as when the node is frozen.
  caf::anon_send(shop.dispatcher, NodeLost{"n1"});
  shop.world.run();
  REQUIRE(offer.came());
  shop.world.runs_asides = true;
  shop.world.run();
  CHECK(shop.heard.count["stale"] == 1);
  CHECK(shop.notes.back() == "returned stale");
  CHECK_FALSE(end.came());
  CHECK(shop.complete("n2", *offer, passed_reply(Gate::test)) == store::Completion::accepted);
}

TEST_CASE("a node that drains finishes what it has, takes nothing more and leaves") {
  Shop shop;
  shop.send(Pull{});
  shop.world.runs_asides = false;
  auto end = shop.order(order_of("a"));
  auto next = shop.order(order_of("b"));
  shop.send(Drain{});
  CHECK(shop.lives());
  shop.world.runs_asides = true;
  shop.world.run();
  CHECK(end.came());
  CHECK_FALSE(next.came());
  CHECK_FALSE(shop.lives());
}

TEST_CASE("an idle node that drains leaves at once") {
  Shop shop;
  shop.send(Drain{});
  CHECK_FALSE(shop.lives());
}

TEST_CASE("a node that drains while it waits for work leaves none leased behind it") {
  Shop shop;
  shop.send(Pull{});
  shop.send(Drain{});
  auto end = shop.order(order_of("a"));
  shop.world.pass(milliseconds(600));
  CHECK_FALSE(shop.lives());
  CHECK((end.came() || shop.claim("n2")->token != 0));
}

/// Answers claims as it is told and nothing else at first.
DispatcherActor::behavior_type moody_dispatcher(DispatcherActor::pointer self, bool* answers,
                                                int* taken) {
  return {
      [](const WorkOrder&) -> WorkEnd { return {}; },
      [](const Claim&) -> Offer {
        return {sha256("a"), 7, Gate::test, 1000, std::make_shared<const std::string>("a")};
      },
      [](const Renew&) -> Renewed { return {true}; },
      [self, answers, taken](const Complete&) -> caf::result<Completed> {
        if (!*answers) return caf::make_error(caf::sec::request_timeout);
        ++*taken;
        self->quit();
        return Completed{store::Completion::accepted};
      },
      [](const Note&) -> Renewed { return {true}; },
      [](const NodeLost&) {},
      [](Expire) {},
      [](Drain) {},
  };
}

TEST_CASE("a node keeps its result until somebody has it") {
  ActorWorld world;
  bool answers = false;
  int taken = 0, runs = 0;
  auto moody = world.spawn(moody_dispatcher, &answers, &taken);
  NodeSettings settings;
  settings.name = "n1";
  settings.runner = [&runs](const Errand&) {
    ++runs;
    return passed_reply(Gate::test);
  };
  settings.tell = [](const std::string&, const Offer&, const std::string&) {};
  settings.aside = world.aside();
  auto node = world.spawn(node_actor, moody, settings);
  caf::anon_send(node, Pull{});
  world.pass(milliseconds(5000));
  CHECK(taken == 0);
  answers = true;
  world.pass(milliseconds(1000));
  CHECK(taken == 1);
  CHECK(runs == 1);
}

TEST_CASE("a child that gives no reply is an error, never a verdict") {
  // This test program stands where `lathe` would be: it knows of no such work.
  WorkRequest request;
  request.gate = Gate::verify;
  Runner runner = child_runner(std::chrono::seconds(30), 0);
  WorkReply reply = runner({encode(request)});
  CHECK(reply.outcome == WorkReply::Outcome::error);
  CHECK(reply.error.fault == Fault::unavailable);
}

}  // namespace
}  // namespace lathe::actors
