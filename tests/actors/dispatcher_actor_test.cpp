// Orders, leases and the fence: each result is committed once, whoever dies meanwhile.

#include "actors/dispatcher_actor.h"

#include <catch2/catch.hpp>

#include "desk.h"

namespace lathe::actors {
namespace {

using std::chrono::milliseconds;
using Completion = store::Completion;

TEST_CASE("an order is offered, done, committed and answered") {
  Desk desk;
  WorkOrder order = order_of("a");
  auto end = desk.order(order);
  auto offer = desk.claim("n1");
  REQUIRE(offer.came());
  CHECK(*offer->request == "request of a");
  CHECK(offer->gate == Gate::test);
  CHECK_FALSE(end.came());
  CHECK(desk.complete("n1", *offer, passed_reply(Gate::test)) == Completion::accepted);
  REQUIRE(end.came());
  CHECK(end->reply.passed == "made by the gate");
  REQUIRE(desk.kept(order));
  CHECK(*desk.store->blob(desk.kept(order)->output) == "made by the gate");
}

TEST_CASE("equal orders are one piece of work with several answers") {
  Desk desk;
  auto first = desk.order(order_of("a"));
  auto second = desk.order(order_of("a"));
  auto offer = desk.claim("n1");
  auto none = desk.claim("n2");
  CHECK_FALSE(none.came());
  desk.complete("n1", *offer, passed_reply(Gate::test));
  CHECK(first.came());
  CHECK(second.came());
}

TEST_CASE("orders that differ in a parameter alone are two pieces of work") {
  Desk desk;
  WorkOrder other = order_of("a");
  other.key.parameters = "seed=1";
  auto first = desk.order(order_of("a")), second = desk.order(other);
  auto offer = desk.claim("n1"), another = desk.claim("n2");
  REQUIRE(another.came());
  CHECK(offer->item != another->item);
}

TEST_CASE("the claim is in the store before the node hears of it") {
  Desk desk;
  auto end = desk.order(order_of("a"));
  auto offer = desk.world.ask_later<Offer>(desk.dispatcher, Claim{"n1", {}});
  bool leased_first = false;
  while (!offer.came() && desk.world.step()) {
    bool leased = *store::state_of(*desk.store, store::result_key(order_of("a").key)) ==
                  store::WorkState::leased;
    if (leased && !offer.came()) leased_first = true;
  }
  CHECK(offer.came());
  CHECK(leased_first);
}

TEST_CASE("a claim without work waits a while and is answered with none") {
  Desk desk;
  auto offer = desk.claim("n1");
  desk.world.pass(milliseconds(300));
  CHECK_FALSE(offer.came());
  desk.world.pass(milliseconds(500));
  REQUIRE(offer.came());
  CHECK(offer->token == 0);
}

TEST_CASE("a claim that waits is answered as soon as there is work") {
  Desk desk;
  auto offer = desk.claim("n1");
  auto end = desk.order(order_of("a"));
  REQUIRE(offer.came());
  CHECK(offer->token != 0);
}

TEST_CASE("work is given to a node that can do it, and not to the one before it in the queue") {
  Desk desk;
  WorkOrder order = order_of("a", Gate::assemble);
  order.needs = {"gate:assemble", "tool:ptxas 13.0.88"};
  auto bare = desk.claim("n1", {"gate:assemble", "tool:ptxas 12.8.93"});
  auto able = desk.claim("n2", {"gate:assemble", "gate:test", "tool:ptxas 13.0.88"});
  auto end = desk.order(order);
  CHECK_FALSE(bare.came());
  REQUIRE(able.came());
  CHECK(able->item == store::result_key(order.key));
  auto other = desk.order(order_of("b"));
  REQUIRE(bare.came());
  CHECK(bare->item == store::result_key(order_of("b").key));
}

TEST_CASE("work that nobody can do waits, is said once, and goes to the first who can") {
  Desk desk;
  WorkOrder order = order_of("a");
  order.needs = {"device:GPU-1", "gate:test"};
  auto end = desk.order(order);
  auto bare = desk.claim("n1", {"gate:test"});
  desk.world.pass(milliseconds(400));
  CHECK_FALSE(bare.came());
  CHECK(desk.heard.count["waits"] == 1);
  bool said = false;
  for (const std::string& line : desk.heard.lines)
    said = said || line.find("offers device:GPU-1\"") != std::string::npos;
  CHECK(said);
  auto able = desk.claim("n2", order.needs);
  CHECK(able.came());
}

TEST_CASE("urgent work goes first, then what came first") {
  Desk desk;
  desk.order(order_of("low", Gate::test, 1));
  desk.order(order_of("high", Gate::test, 5));
  desk.order(order_of("later", Gate::test, 5));
  CHECK(*desk.claim("n1")->request == "request of high");
  CHECK(*desk.claim("n1")->request == "request of later");
  CHECK(*desk.claim("n1")->request == "request of low");
}

TEST_CASE("a lease that runs out goes to another, and the late result is stale") {
  Desk desk;
  WorkOrder order = order_of("a");
  auto end = desk.order(order);
  auto late = desk.claim("slow");
  desk.world.pass(milliseconds(1500));
  auto offer = desk.claim("quick");
  REQUIRE(offer.came());
  CHECK(offer->token > late->token);
  CHECK(desk.complete("slow", *late, passed_reply(Gate::test, "late")) == Completion::stale);
  CHECK_FALSE(desk.kept(order));
  CHECK_FALSE(end.came());
  CHECK(desk.complete("quick", *offer, passed_reply(Gate::test, "in time")) ==
        Completion::accepted);
  CHECK(end->reply.passed == "in time");
  CHECK(desk.heard.count["stale"] == 1);
  CHECK(desk.heard.count["completed"] == 1);
}

TEST_CASE("a stale result is stale after the other one was accepted, too") {
  Desk desk;
  auto end = desk.order(order_of("a"));
  auto late = desk.claim("slow");
  desk.world.pass(milliseconds(1500));
  auto offer = desk.claim("quick");
  desk.complete("quick", *offer, passed_reply(Gate::test, "in time"));
  CHECK(desk.complete("slow", *late, passed_reply(Gate::test, "late")) == Completion::stale);
  CHECK(*desk.store->blob(desk.kept(order_of("a"))->output) == "in time");
}

TEST_CASE("a lease that is renewed in time stays") {
  Desk desk;
  auto end = desk.order(order_of("a"));
  auto offer = desk.claim("n1");
  for (int i = 0; i < 5; ++i) {
    desk.world.pass(milliseconds(600));
    CHECK(desk.world.ask<Renewed>(desk.dispatcher, Renew{"n1", offer->item, offer->token}).held);
  }
  CHECK(desk.complete("n1", *offer, passed_reply(Gate::test)) == Completion::accepted);
}

TEST_CASE("a renewal that comes too late, or of somebody else's lease, is refused") {
  Desk desk;
  auto end = desk.order(order_of("a"));
  auto offer = desk.claim("n1");
  CHECK_FALSE(
      desk.world.ask<Renewed>(desk.dispatcher, Renew{"n2", offer->item, offer->token}).held);
  desk.world.pass(milliseconds(1500));
  CHECK_FALSE(
      desk.world.ask<Renewed>(desk.dispatcher, Renew{"n1", offer->item, offer->token}).held);
}

TEST_CASE("a node answers for its own leases and for nobody else's") {
  Desk desk;
  auto end = desk.order(order_of("a"));
  auto offer = desk.claim("n1");
  CHECK(desk.complete("n2", *offer, passed_reply(Gate::test)) == Completion::stale);
  CHECK_FALSE(end.came());
}

TEST_CASE("a result that is delivered twice counts once") {
  Desk desk;
  auto end = desk.order(order_of("a"));
  auto offer = desk.claim("n1");
  CHECK(desk.complete("n1", *offer, passed_reply(Gate::test)) == Completion::accepted);
  CHECK(desk.complete("n1", *offer, passed_reply(Gate::test)) == Completion::duplicate);
  CHECK(desk.heard.count["completed"] == 1);
}

TEST_CASE("what a lost node held is given to another at once") {
  Desk desk;
  auto end = desk.order(order_of("a"));
  auto lost = desk.claim("n1");
  auto waiting = desk.claim("n2");
  caf::anon_send(desk.dispatcher, NodeLost{"n1"});
  desk.world.run();
  REQUIRE(waiting.came());
  CHECK(waiting->item == lost->item);
  CHECK(desk.complete("n1", *lost, passed_reply(Gate::test)) == Completion::stale);
  CHECK(desk.complete("n2", *waiting, passed_reply(Gate::test)) == Completion::accepted);
}

TEST_CASE("a lost node's claim takes no work with it") {
  Desk desk;
  auto gone = desk.claim("n1");
  caf::anon_send(desk.dispatcher, NodeLost{"n1"});
  desk.world.run();
  auto end = desk.order(order_of("a"));
  CHECK((!gone.came() || gone->token == 0));
  CHECK(desk.claim("n2")->token != 0);
}

TEST_CASE("a worker that dies says nothing of the candidate: its work is done again") {
  Desk desk;
  auto end = desk.order(order_of("a"));
  auto offer = desk.claim("n1");
  desk.complete("n1", *offer, died_reply());
  CHECK_FALSE(end.came());
  CHECK_FALSE(desk.kept(order_of("a")));
  auto again = desk.claim("n1");
  REQUIRE(again.came());
  CHECK(desk.complete("n1", *again, passed_reply(Gate::test)) == Completion::accepted);
  CHECK(end.came());
}

TEST_CASE("work that dies again and again ends as an error, and is not stored as an answer") {
  Desk desk;
  auto end = desk.order(order_of("a"));
  int tries = 0;
  for (; !end.came() && tries < 20; ++tries) {
    auto offer = desk.claim("n1");
    REQUIRE(offer.came());
    desk.complete("n1", *offer, died_reply());
  }
  REQUIRE(end.came());
  CHECK(tries == 6);
  CHECK(end->reply.outcome == WorkReply::Outcome::error);
  CHECK(end->reply.error.fault == Fault::exhausted);
  CHECK_FALSE(desk.kept(order_of("a")));
}

TEST_CASE("work whose lease died on three nodes is given up") {
  Desk desk;
  auto end = desk.order(order_of("a"));
  for (const char* node : {"n1", "n2", "n3"}) {
    CHECK_FALSE(end.came());
    auto offer = desk.claim(node);
    REQUIRE(offer.came());
    caf::anon_send(desk.dispatcher, NodeLost{node});
    desk.world.run();
  }
  REQUIRE(end.came());
  CHECK(end->reply.error.fault == Fault::exhausted);
}

TEST_CASE("work that was given up stays so, in the same words, and stops nothing else") {
  Desk desk;
  auto first = desk.order(order_of("a"));
  for (const char* node : {"n1", "n2", "n3"}) {
    desk.claim(node);
    caf::anon_send(desk.dispatcher, NodeLost{node});
    desk.world.run();
  }
  auto again = desk.order(order_of("a"));
  REQUIRE(again.came());
  CHECK(again->reply.error.what == first->reply.error.what);
  auto end = desk.order(order_of("b"));
  auto offer = desk.claim("n1");
  desk.complete("n1", *offer, passed_reply(Gate::test));
  CHECK(end.came());
}

TEST_CASE("an order for work that has just ended is answered from the store") {
  Desk desk;
  auto first = desk.order(order_of("a"));
  auto offer = desk.claim("n1");
  desk.complete("n1", *offer, passed_reply(Gate::test));
  auto second = desk.order(order_of("a"));
  REQUIRE(second.came());
  CHECK(second->reply.outcome == WorkReply::Outcome::passed);
  CHECK(second->reply.passed == "made by the gate");
}

TEST_CASE("a dispatcher that starts again gives out what the one before it had leased") {
  auto kept = memory_store();
  Offer before;
  {
    Desk desk(0, kept, 1);
    auto end = desk.order(order_of("a"));
    before = *desk.claim("n1");
  }
  Desk desk(0, kept, 2);
  auto end = desk.order(order_of("a"));
  auto offer = desk.claim("n2");
  REQUIRE(offer.came());
  CHECK(offer->item == before.item);
  CHECK(desk.complete("n1", before, passed_reply(Gate::test, "of the past")) == Completion::stale);
  CHECK(desk.complete("n2", *offer, passed_reply(Gate::test, "of today")) == Completion::accepted);
  CHECK(end->reply.passed == "of today");
}

TEST_CASE("a dispatcher of the same epoch does not hand out a dead one's tokens again") {
  auto kept = memory_store();
  Desk desk(0, kept);
  auto end = desk.order(order_of("a"));
  Offer before = *desk.claim("n1");
  DispatcherSettings settings{1, 1000, 1000, 500, desk.world.clock(), desk.heard.ear()};
  auto next = desk.world.spawn(dispatcher_actor, desk.store_keeper, settings);
  desk.world.run();
  auto again = desk.world.ask_later<WorkEnd>(next, order_of("a"));
  desk.world.run();
  auto offer = desk.world.ask<Offer>(next, Claim{"n1", {}});
  CHECK(offer.token != before.token);
}

TEST_CASE("one who drains hands out nothing and keeps nobody waiting") {
  Desk desk;
  auto waiting = desk.claim("n1");
  caf::anon_send(desk.dispatcher, Drain{});
  desk.world.run();
  REQUIRE(waiting.came());
  CHECK(waiting->token == 0);
  auto end = desk.order(order_of("a"));
  auto late = desk.claim("n1");
  CHECK_FALSE(late.came());
}

TEST_CASE("work that the store has lost ends its order and no later claim") {
  Desk desk;
  auto end = desk.order(order_of("a"));
  store::Batch batch;
  Digest item = store::result_key(order_of("a").key);
  REQUIRE(*store::quarantine(*desk.store, batch, item));
  REQUIRE(desk.store->commit(std::move(batch)));
  auto none = desk.claim("n1");
  REQUIRE(none.came());
  CHECK(none->token == 0);
  CHECK(end.came());
  desk.world.pass(milliseconds(3000));
  auto other = desk.order(order_of("b"));
  CHECK(desk.claim("n2")->token != 0);
}

TEST_CASE("under any order of events each piece of work is committed once") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Desk desk(seed);
    std::vector<ActorWorld::Pending<WorkEnd>> ends;
    for (int i = 0; i < 6; ++i)
      ends.push_back(desk.world.ask_later<WorkEnd>(desk.dispatcher, order_of(std::to_string(i))));
    std::vector<std::pair<std::string, Offer>> held;
    for (std::uint64_t i = 0; i < 60; ++i) {
      std::uint64_t draw = philox64(seed, 9, i);
      std::string node = "n" + std::to_string(draw % 2);
      if (draw % 11 == 0) desk.world.pass(milliseconds(1500));
      if (auto offer = desk.claim(node); offer.came() && offer->token != 0)
        held.push_back({node, *offer});
      if (held.empty() || draw % 3 == 0) continue;
      auto& [holder, offer] = held[draw / 16 % held.size()];
      desk.complete(holder, offer, passed_reply(Gate::test));
    }
    for (auto& [holder, offer] : held) desk.complete(holder, offer, passed_reply(Gate::test));
    int ended = 0;
    for (auto& end : ends) ended += end.came();
    CHECK(desk.heard.count["completed"] <= 6);
    CHECK(desk.heard.count["completed"] <= ended);
    for (int i = 0; i < 6; ++i)
      if (ends[static_cast<std::size_t>(i)].came() &&
          ends[static_cast<std::size_t>(i)]->reply.outcome == WorkReply::Outcome::passed)
        CHECK(desk.kept(order_of(std::to_string(i))).has_value());
  }
}

}  // namespace
}  // namespace lathe::actors
