#pragma once

// What lies between barriers: the accesses that one barrier separates, and whether another barrier
// always comes before the next write.

#include <vector>

#include "planner/dataflow.h"

namespace lathe::planner {

/// Instructions that touch shared or global memory, or order it, reachable from `from` (which is
/// not one of them) without passing a barrier of the block. `open` says that a path goes on past
/// what is known.
struct Interval {
  std::vector<Index> touches;
  bool open = false;
};
Interval interval_after(const Flow& flow, Index from);
Interval interval_before(const Flow& flow, Index from);

/// Two accesses of which one writes, to memory that may be the same.
bool may_conflict(const Touch& a, const Touch& b);

/// Nothing reachable from `from` writes memory that may be shared before a barrier of the block.
bool barrier_before_shared_write(const Flow& flow, Index from);

}  // namespace lathe::planner
