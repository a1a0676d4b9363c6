#pragma once

// The shell of the leases: orders in, offers out, results through the fence of the store.

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/interfaces.h"
#include "cluster/leases.h"

namespace lathe::actors {

/// The owner's clock, in nanoseconds; the only one that decides a deadline.
using Clock = std::function<std::uint64_t()>;
Clock steady_clock();

struct DispatcherSettings {
  std::uint64_t epoch = 0;          // Of the store: tokens of earlier owners are stale.
  std::uint64_t tokens_before = 0;  // Of this epoch: so are those of dispatchers that died.
  std::uint64_t lease_ms = 30'000;
  std::uint64_t claim_wait_ms = 10'000;  // After which a claim is answered with no work.
  Clock clock;
  std::function<void(const std::string& kind, const std::string& json)> tell;
};

struct DispatcherState {
  DispatcherState() = default;
  static inline const char* name = "dispatcher";

  struct Order {
    WorkOrder order;
    std::size_t losses = 0;
    bool offered = false, told = false;  // Told: that nobody who waits can do it.
    /// Units that were found or have been finished, and warp instructions that they took.
    std::uint64_t units = 0, steps = 0, bytes = 0;
    std::vector<caf::typed_response_promise<WorkEnd>> waiting;  // Equal work in flight merges.
  };
  struct Waiter {
    std::string node;
    cluster::Capabilities offers;
    std::uint64_t until_ns = 0;
    caf::typed_response_promise<Offer> promise;
  };

  DispatcherSettings settings;
  StoreActor store;
  std::unique_ptr<cluster::Leases> leases;
  std::map<Digest, Order> orders;
  std::deque<Waiter> waiters;
  std::set<std::string> offers_seen;               // Of all who asked for work.
  std::map<std::string, std::uint64_t> memory_of;  // What each node's work may take.
  bool draining = false;
};

DispatcherActor::behavior_type dispatcher_actor(
    DispatcherActor::stateful_pointer<DispatcherState> self, StoreActor store,
    DispatcherSettings settings);

}  // namespace lathe::actors
