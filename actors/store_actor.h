#pragma once

// The shell of the store: one deed at a time, on a thread of its own, since a commit waits for the
// disk.

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <memory>

#include "actors/interfaces.h"

namespace lathe::actors {

struct StoreState {
  StoreState() = default;
  static inline const char* name = "store";
  std::shared_ptr<store::Store> store;
};

StoreActor::behavior_type store_actor(StoreActor::stateful_pointer<StoreState> self,
                                      std::shared_ptr<store::Store> store);

}  // namespace lathe::actors
