#pragma once

// What the parts of the order observer share: how agents are named, and lanes of a mask.

#include <bit>
#include <cstdint>

#include "ptx/domain.h"

namespace lathe::ptx {

template <class Each>
void each_lane(Mask mask, Each&& each) {
  for (; mask != 0; mask &= mask - 1) each(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

/// Of an agent that a thread's new mbarriers are made by: a fence may pass them on alone.
constexpr std::uint64_t maker_name(std::uint64_t thread) { return 1ull << 63 | thread; }
constexpr std::uint64_t mbarrier_name(std::uint64_t offset) { return offset << 8; }
/// A unit's agent by the thread or warp that uses it; what a store reads and writes ends apart.
constexpr std::uint64_t unit_name(std::uint64_t user, unsigned unit, bool reads) {
  return user << 8 | unit << 1 | (reads ? 1u : 0u);
}

}  // namespace lathe::ptx
