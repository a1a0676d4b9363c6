#pragma once

// A person's own PTX through every gate, against the contract's incumbent and its reference;
// admitted if it earns it. No actor takes part: the gates run one after the other, each in a child
// process as on a node.

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/node_actor.h"
#include "pipeline/gates.h"

namespace lathe::actors {

struct TrialRequest {
  std::filesystem::path candidate, contract, store;
  std::uint64_t seed = 0;
  Runner runner;
  std::function<void(Gate)> begin;  // Before each gate.
  std::function<void(const Verdict&)> tell;
};

struct TrialEnd {
  Digest contract, candidate, incumbent;
  bool incumbent_is_reference = true;
  std::vector<Verdict> verdicts;  // In the order of the gates, up to the one that ended it.
  std::optional<Timing> timing;
  std::optional<Proof> proof;
  std::string resources_json;
  std::string difference;  // Unified, against the incumbent.
  bool admitted = false;
  std::string decision;  // One sentence.
};

/// Errors: as of reading the two files, of the store, and of a gate that gives no answer.
Result<TrialEnd> try_candidate(const TrialRequest& request);

}  // namespace lathe::actors
