#pragma once

// Blocks of a launch on the bits domain, as functions: what ptx/engine builds once a processor
// variant stands behind them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ptx/both_observers.h"
#include "ptx/cost_observer.h"
#include "ptx/footprint.h"
#include "ptx/order.h"
#include "ptx/run.h"

namespace lathe::ptx {

struct BitsEnd {
  std::optional<Trap> trap;  // Of the first block that trapped; the others were not run.
  std::uint64_t steps = 0;   // Warp instructions.
};

/// `memory[i]` backs run.buffers[i]. Blocks run in the order given.
BitsEnd emulate(const Run& run, std::span<std::byte* const> memory,
                std::span<const std::uint64_t> blocks, FootprintObserver& footprint);
BitsEnd emulate(const Run& run, std::span<std::byte* const> memory,
                std::span<const std::uint64_t> blocks,
                Both<FootprintObserver, OrderObserver>& observers);
BitsEnd emulate(const Run& run, std::span<std::byte* const> memory,
                std::span<const std::uint64_t> blocks,
                Both<FootprintObserver, CostObserver>& observers);

/// Several launches at once that differ in nothing but their memory: `memory[k][i]` backs
/// run.buffers[i] of launch k. Warp instructions of one; nothing, and their outputs mean nothing,
/// where control is not the same in all of them, where one traps, and where this processor has no
/// such engine: they are then to be run one by one.
std::optional<std::uint64_t> emulate_several(const Run& run,
                                             std::span<const std::vector<std::byte*>> memory,
                                             std::span<const std::uint64_t> blocks,
                                             FootprintObserver& footprint);

}  // namespace lathe::ptx
