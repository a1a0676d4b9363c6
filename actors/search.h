#pragma once

// One search: a contract, its settings, and the world that it runs in. The same for a run and for
// its resumption.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/aside.h"
#include "planner/planner.h"

namespace lathe::actors {

/// What one search works on.
struct Search {
  std::uint64_t run = 0;
  std::shared_ptr<const Contract> contract;
  Digest identity;
  planner::Settings settings;
  std::vector<planner::Decoy> decoys;
  std::string assembler;  // "ptxas 13.0.88": chosen once a run.
  std::string engine;     // This program's version: part of every result's key.
  std::uint64_t steps_max = 0;
  /// Called aside for each assignment.
  std::function<Result<planner::Proposal>(const planner::Assignment&)> propose;
  Aside aside;  // Of a simulation; else a thread for each.
  /// Progress for people.
  std::function<void(const std::string& kind, const std::string& json)> tell;
  /// Once, at the end: the reason, or the error that stopped the search.
  std::function<void(Result<planner::Finish>)> end;
};

}  // namespace lathe::actors
