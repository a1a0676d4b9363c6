#pragma once

// The run supervisor: starts the actors of a run, restarts them from the store when one dies, and
// ends the run once.
//
//   supervisor -- store actor, dispatcher, one planner a contract, local node slots, publisher,
//   gateway

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "actors/dispatcher_actor.h"
#include "actors/node_actor.h"
#include "actors/planner_actor.h"
#include "actors/store_actor.h"

namespace lathe::actors {

struct Run {
  std::shared_ptr<store::Store> store;
  std::vector<std::shared_ptr<const Search>> searches;
  DispatcherSettings dispatcher;
  Runner runner;
  std::set<std::string> offers;  // Of the local slots.
  std::uint32_t slots = 2;
  std::function<void(const std::string& kind, const std::string& json)> tell;
  /// Called with each new dispatcher, so that a gateway may serve remote nodes from it.
  std::function<void(DispatcherActor)> serve;
  std::uint32_t restarts_max = 3;
  /// Called once, when every search has ended or one cannot go on.
  std::function<void(Result<std::vector<planner::Finish>>)> end;
};

/// One search has ended.
struct SearchEnded {
  std::uint64_t generation = 0;
  std::size_t search = 0;
  Result<planner::Finish> finish = Error{};
};
struct StopRun {};

using SupervisorActor = caf::typed_actor<
    // Starts everything, or starts it again.
    caf::reacts_to<Begin>,
    // Notes the end of a search; the last one ends the run.
    caf::reacts_to<SearchEnded>,
    // Ends the searches when their rounds close, and leaves the run to be resumed.
    caf::reacts_to<StopRun>>;

struct SupervisorState {
  SupervisorState() = default;
  static inline const char* name = "supervisor";
  Run run;
  std::uint64_t generation = 0;
  std::uint32_t restarts = 0;
  StoreActor store;
  DispatcherActor dispatcher;
  std::vector<PlannerActor> planners;
  std::vector<NodeActor> nodes;
  std::vector<std::optional<planner::Finish>> finished;
  bool stopping = false;
  bool ended = false;
};

SupervisorActor::behavior_type supervisor(SupervisorActor::stateful_pointer<SupervisorState> self,
                                          Run run);

}  // namespace lathe::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::SearchEnded)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::StopRun)
