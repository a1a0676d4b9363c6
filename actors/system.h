#pragma once

// The actor system as this project needs it: the sharing scheduler, and, only where remote nodes
// take part, CAF's middleman over TLS with both sides' certificates checked. Without the three
// files no socket is opened.

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"

namespace lathe::actors {

/// PEM files: of this process, and of the farm's own authority.
struct Certificates {
  std::filesystem::path certificate, key, authority;
};

class System {
 public:
  explicit System(const std::optional<Certificates>& certificates);
  /// CAF's own end can wait for a frozen peer for ever. What matters is durable by then, so a
  /// system that talks to peers is left as it is, and the process ends without it (cli/main.cpp).
  ~System();
  caf::actor_system& actors() { return *system_; }

 private:
  std::unique_ptr<caf::actor_system_config> config_;
  std::unique_ptr<caf::actor_system> system_;
  bool talks_ = false;
};

/// Errors: unavailable (permission) where a file is missing or unreadable.
Result<std::unique_ptr<System>> make_system(const std::optional<Certificates>& certificates);

}  // namespace lathe::actors
