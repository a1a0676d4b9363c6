#pragma once

// One slot of a node: claims work, runs it in a child process, renews the lease meanwhile, returns
// the result.
//
//   idle --Pull--> claiming --Offer--> running --ChildEnd--> returning --Completed--> idle
//                      \--none--> idle

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "actors/aside.h"
#include "actors/interfaces.h"

namespace lathe::actors {

/// How a slot runs an errand: in a child process, or in a test in any way it likes. Called on a
/// thread of its own.
using Runner = std::function<WorkReply(const Errand&)>;

/// Runs `lathe worker` of this program under limits. A child that dies is an error (unavailable),
/// never a verdict; one that reaches its limit of time or memory is undecided (exhausted). What it
/// has finished by then has been noted.
Runner child_runner(std::chrono::seconds wall_max, std::uint64_t memory_bytes_max);

struct NodeSettings {
  std::string name;
  std::set<std::string> offers;  // What it can do: an order that needs more is another's.
  Runner runner;
  std::function<void(const std::string& kind, const Offer&, const std::string& note)> tell;
  Aside aside;  // Of a simulation.
};

struct NodeState {
  NodeState() = default;
  static inline const char* name = "node";
  NodeSettings settings;
  DispatcherActor dispatcher;
  Offer work;             // Its token is 0 while the slot is idle.
  bool claiming = false;  // A claim is on its way: a second one could bring a second offer.
  bool draining = false;
};

NodeActor::behavior_type node_actor(NodeActor::stateful_pointer<NodeState> self,
                                    DispatcherActor dispatcher, NodeSettings settings);

}  // namespace lathe::actors
