#pragma once

// The way in which a block joins one value of each of its warps: a lane of every warp stores, all
// wait, the first lanes load and reduce by shuffles, the first stores, all wait, all load.

#include <string>
#include <string_view>
#include <vector>

#include "planner/subagents/draft.h"
#include "planner/thread_values.h"

namespace lathe::planner {

struct ReductionStep {
  Index shuffle = 0, join = 0;
  std::uint64_t distance = 0;
  bool own_first = true;  // join d, own, other; else join d, other, own.
};

/// Every index is of one block of the flow, in this order.
struct Exchange {
  Index store = 0, barrier = 0, load = 0;
  std::vector<ReductionStep> steps;
  Index result_store = 0, result_barrier = 0, result_load = 0;
  std::uint32_t warps = 0;
  std::string_view variable;
  std::int64_t offset = 0;  // Of the first warp's word from the variable.
};

/// All exchanges whose addresses and guards are known for every thread and are as described.
std::vector<Exchange> find_exchanges(const Flow& flow, Threads& threads);

}  // namespace lathe::planner
