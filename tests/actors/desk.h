#pragma once

// A dispatcher over a store in memory, in a simulated world: what its tests begin with.

#include <map>
#include <string>
#include <vector>

#include "actor_world.h"
#include "actors/dispatcher_actor.h"
#include "actors/store_actor.h"
#include "pipeline/codec.h"

namespace lathe::actors {

inline std::shared_ptr<store::Store> memory_store() {
  return std::shared_ptr<store::Store>(store::Store::in_memory());
}

inline WorkOrder order_of(const std::string& candidate, Gate gate = Gate::test,
                          std::uint64_t priority = 1) {
  WorkOrder order;
  order.key.candidate = sha256(candidate);
  order.key.contract = sha256("contract");
  order.key.gate = gate;
  order.key.parameters = "seed=0";
  order.request = std::make_shared<const std::string>("request of " + candidate);
  order.priority = priority;
  return order;
}

inline WorkReply passed_reply(Gate gate, std::string output = "made by the gate") {
  WorkReply reply;
  reply.outcome = WorkReply::Outcome::passed;
  reply.verdict.gate = gate;
  reply.verdict.answer = Verdict::Answer::passed;
  reply.verdict.evidence = {"passed", "passed", {}, "{}"};
  reply.passed = std::move(output);
  return reply;
}

inline WorkReply died_reply() {
  WorkReply reply;
  reply.error = {Fault::unavailable, "the worker died: signal 9", "", {}};
  return reply;
}

/// Kinds of events and how often each was told.
struct Heard {
  std::map<std::string, int> count;
  std::vector<std::string> lines;
  std::function<void(const std::string&, const std::string&)> ear() {
    return [this](const std::string& kind, const std::string& json) {
      ++count[kind];
      lines.push_back(kind + " " + json);
    };
  }
};

struct Desk {
  explicit Desk(std::uint64_t seed = 0, std::shared_ptr<store::Store> kept = memory_store(),
                std::uint64_t epoch = 1)
      : world(seed), store(std::move(kept)) {
    DispatcherSettings settings;
    settings.epoch = epoch;
    settings.lease_ms = 1000;
    settings.claim_wait_ms = 500;
    settings.clock = world.clock();
    settings.tell = heard.ear();
    store_keeper = world.spawn(store_actor, store);
    dispatcher = world.spawn(dispatcher_actor, store_keeper, settings);
    world.run();
  }

  ActorWorld::Pending<WorkEnd> order(const WorkOrder& order) {
    auto pending = world.ask_later<WorkEnd>(dispatcher, order);
    world.run();
    return pending;
  }
  ActorWorld::Pending<Offer> claim(const std::string& node,
                                   const std::set<std::string>& offers = {}) {
    auto pending = world.ask_later<Offer>(dispatcher, Claim{node, offers});
    world.run();
    return pending;
  }
  store::Completion complete(const std::string& node, const Offer& offer, WorkReply reply) {
    return world.ask<Completed>(dispatcher, Complete{node, offer.item, offer.token, reply})
        .completion;
  }
  std::optional<store::VerdictRecord> kept(const WorkOrder& order) {
    return *store::find_verdict(*store, order.key);
  }

  Heard heard;
  ActorWorld world;
  std::shared_ptr<store::Store> store;
  StoreActor store_keeper;
  DispatcherActor dispatcher;
};

}  // namespace lathe::actors
