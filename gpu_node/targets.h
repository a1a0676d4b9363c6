#pragma once

// What a multiprocessor of each target holds: the limits of a launch and the figures of occupancy.
// Source: the CUDA programming guide's table of compute capabilities.

#include <cstdint>
#include <optional>
#include <string_view>

namespace lathe::gpu_node {

struct TargetLimits {
  std::string_view target;
  std::uint32_t registers = 65536;       // A multiprocessor's, and the most that a block may have.
  std::uint32_t registers_unit = 256;    // A warp's registers are handed out in units of this.
  std::uint32_t warps = 0, blocks = 0;   // The most that are resident.
  std::uint32_t shared_bytes = 0;        // A multiprocessor's.
  std::uint32_t shared_block_bytes = 0;  // The most that a block may have.
  std::uint32_t shared_reserved = 1024;  // Of each block, the system's.
};

/// Nothing for a target that lathe cannot lower for.
std::optional<TargetLimits> limits_of(std::string_view target);

/// Blocks that a multiprocessor holds at once; 0 where not one fits.
struct Occupancy {
  std::uint32_t blocks = 0, warps = 0;
  std::string_view limited_by;  // "registers", "shared", "warps", "blocks"
};
Occupancy occupancy(const TargetLimits& limits, std::uint32_t threads, std::int64_t registers,
                    std::uint64_t shared_bytes);

}  // namespace lathe::gpu_node
