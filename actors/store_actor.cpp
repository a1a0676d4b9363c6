#include "actors/store_actor.h"

namespace lathe::actors {

StoreActor::behavior_type store_actor(StoreActor::stateful_pointer<StoreState> self,
                                      std::shared_ptr<store::Store> store) {
  static_assert(!std::is_aggregate_v<StoreState>);
  self->state.store = std::move(store);
  return {
      [self](Deed deed) -> DeedEnd { return {deed.run(*self->state.store)}; },
  };
}

}  // namespace lathe::actors
