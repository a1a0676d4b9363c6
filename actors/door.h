#pragma once

// The published actor behind the gateway. It speaks strings, each one message of cluster/wire.h.
//
//   unknown --hello--> admitted --down, or the same name again--> unknown

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "actors/interfaces.h"
#include "cluster/identity.h"

namespace lathe::actors {

/// What the door is built on; the blobs and the clock are arguments, so that a test may do without
/// sockets.
struct DoorSettings {
  /// The farm's admissions, read anew for each hello, so that a revocation holds at once.
  std::function<Result<cluster::Cluster>()> cluster;
  std::function<std::uint64_t()> now_s;
  std::function<Digest(const std::string& bytes)> publish;
  std::function<std::optional<std::string>(const Digest&)> take;
  std::uint64_t lease_ms = 30'000;
  std::function<void(const std::string& kind, const std::string& json)> tell;
};

/// From the gateway to its door: where work comes from; none: there is no more.
struct Serve {
  DispatcherActor dispatcher;
};

struct DoorState {
  DoorState() = default;
  static inline const char* name = "door";
  DoorSettings settings;
  DispatcherActor dispatcher;
  struct Node {
    std::string name;
    std::set<std::string> offers;
  };
  std::map<caf::actor_addr, Node> nodes;  // Who is at the other end of a connection.
  std::map<Digest, Digest> journals;      // Of offered items: what lies on the shelf for them.
  std::uint64_t connections = 0;
  bool draining = false;
};

caf::behavior door(caf::stateful_actor<DoorState>* self, DoorSettings settings);

}  // namespace lathe::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(lathe::actors::Serve)
