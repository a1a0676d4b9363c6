#pragma once

// A run from outside: plain functions that start the actors, wait, and give back what came of it.
// The only door to this folder for the command line; no CAF type passes it.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/planner.h"
#include "store/store.h"

namespace lathe::actors {

/// Where remote nodes may join: the folder of `lathe cluster init`, and the address to listen on.
struct Listening {
  std::filesystem::path cluster;
  std::string host;
  std::uint16_t port = 0;
  std::string events;  // A ZeroMQ endpoint to publish on, or empty.
};

/// What does not decide results, and may differ when a run goes on elsewhere.
struct World {
  std::filesystem::path store;
  std::uint32_t slots = 2;  // Local node slots; 0 leaves all work to remote nodes.
  std::uint64_t lease_ms = 30'000;
  std::uint64_t memory_bytes = 0;  // Of a gate on a local slot; 0: no limit.
  std::optional<Listening> listening;
  /// Progress: "plan", "proposal", "claimed", "returned", "verdict", "round", "node", ..: from any
  /// thread.
  std::function<void(const std::string& kind, const std::string& json)> tell;
  /// Becomes 1 when the run should end after what is in flight.
  const std::atomic<int>* stop = nullptr;
};

struct LowerRequest {
  std::vector<std::filesystem::path> contracts;
  std::uint32_t rounds = 4, branches = 4;
  Policy policy = Policy::gate;
  std::uint64_t seed = 0;
  std::string model = "none";      // cli.md, "Models".
  std::uint64_t budget_micro = 0;  // Dollars are millionths; 0 allows no request that costs.
  World world;
};

struct SearchEnd {
  Digest contract;
  std::string name, target;
  std::string reason;
  std::optional<Digest> best;
  bool failed = false;
};
struct RunEnd {
  std::uint64_t run = 0;
  std::vector<SearchEnd> searches;
  bool was_finished = false;  // Nothing was left to do.
  bool interrupted = false;   // A person stopped it; it can be resumed.
};

/// Starts a run and sees it to its end.
Result<RunEnd> lower(const LowerRequest& request);

/// Goes on with a run (the newest without a number) from what the store knows. Errors: malformed
/// where there is none.
Result<RunEnd> resume(std::optional<std::uint64_t> run, const World& world);

/// A node that takes work from a coordinator until it is told to leave. Errors: unavailable
/// (permission) where the coordinator does not accept its certificate.
struct NodeRequest {
  std::filesystem::path bundle;
  std::uint32_t slots = 1;
  std::uint64_t memory_bytes = 0;  // Of a gate; 0: no limit.
  std::uint64_t wait_ms = 60'000;  // For a coordinator that was there and is gone.
  std::function<void(const std::string& kind, const std::string& json)> tell;
  const std::atomic<int>* stop = nullptr;
};
Result<Done> serve_node(const NodeRequest& request);

}  // namespace lathe::actors
