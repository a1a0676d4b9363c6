#pragma once

// What lower and resume share: the world that a run lives in, and how its end is shown.

#include <string>

#include "actors/run.h"
#include "cli/app.h"

namespace lathe::cli {

struct RunOptions {
  std::string store, cluster, listen, events;
  std::optional<std::uint32_t> slots;  // None: one a core.
  double lease_seconds = 30;
  std::uint64_t memory_mib = 0;
  bool json = false, quiet = false, verbose = false;
};

void add_run_options(App& app, RunOptions& options);

/// Errors: malformed where --listen and --cluster do not come together or the address does not
/// read.
Result<actors::World> make_world(const RunOptions& options);

/// Prints the frontiers of the run's contracts and gives the exit status.
int show_run_end(const RunOptions& options, const Result<actors::RunEnd>& end);

/// "HOST:PORT".
struct Address {
  std::string host;
  std::uint16_t port = 0;
};
Result<Address> parse_address(const std::string& text);

}  // namespace lathe::cli
