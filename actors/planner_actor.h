#pragma once

// The shell of Planner: carries out its decisions and feeds back the answers. An answer is
// committed before the planner hears of it; what the store knows already is not asked again, so
// starting anew is resuming.

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/interfaces.h"
#include "actors/search.h"

namespace lathe::actors {

/// A candidate on its way: the bytes that the next gate takes.
struct Course {
  std::shared_ptr<const std::string> ptx;
  std::string payload;  // What the last passed gate before the fork made; screen's at first.
  Gate passed = Gate::screen;
  std::string resources_json;
};

struct PlannerState {
  PlannerState() = default;
  static inline const char* name = "planner";
  std::shared_ptr<const Search> search;
  StoreActor store;
  DispatcherActor dispatcher;
  std::unique_ptr<planner::Planner> planner;
  std::map<Digest, Course> courses;
  bool ended = false;
};

PlannerActor::behavior_type planner_actor(PlannerActor::stateful_pointer<PlannerState> self,
                                          std::shared_ptr<const Search> search, StoreActor store,
                                          DispatcherActor dispatcher);

/// The request of a gate and the key of its result; pure.
WorkRequest request_of(const Search& search, const Course& course, Gate gate,
                       const Digest& candidate, const std::string& incumbent_ptx);
store::ResultKey key_of(const Search& search, const WorkRequest& request, const Digest& candidate);

}  // namespace lathe::actors
