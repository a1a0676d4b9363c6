#pragma once

// The coordinator's door to remote nodes: one actor, published over TLS, that turns the farm's
// messages into those of the dispatcher. A node is who its bundle's secret says, whatever it
// claims; it can answer for the leases that it holds and for nothing else. Requests and large
// results go as blobs.

#include <caf/actor_system.hpp>
#include <functional>
#include <memory>
#include <string>

#include "actors/interfaces.h"
#include "actors/run.h"

namespace lathe::actors {

using Tell = std::function<void(const std::string& kind, const std::string& json)>;

class Gateway {
 public:
  virtual ~Gateway() = default;
  /// From now on work comes from this dispatcher.
  virtual void serve(const DispatcherActor& dispatcher) = 0;
  /// Publishes an event to all who listen.
  virtual void publish(const std::string& kind, const std::string& json) = 0;
  /// Tells the nodes to leave and stops listening.
  virtual void close() = 0;
};

/// Errors: unavailable where the address is taken; of permission where the farm's keys cannot be
/// read.
Result<std::unique_ptr<Gateway>> open_gateway(caf::actor_system& system, const Listening& listening,
                                              std::uint64_t lease_ms, Tell tell);

}  // namespace lathe::actors
