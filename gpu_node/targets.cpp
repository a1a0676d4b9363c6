#include "gpu_node/targets.h"

#include <algorithm>
#include <array>

namespace lathe::gpu_node {
namespace {

// clang-format off
constexpr std::array<TargetLimits, 3> table{{
    //          registers unit  warps blocks shared       a block      reserved
    {"sm_89",   65536,    256,  48,   24,    100 * 1024,   99 * 1024,  1024},
    {"sm_90a",  65536,    256,  64,   32,    228 * 1024,  227 * 1024,  1024},
    {"sm_100a", 65536,    256,  64,   32,    228 * 1024,  227 * 1024,  1024},
}};
// clang-format on

std::uint64_t up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::optional<TargetLimits> limits_of(std::string_view target) {
  for (const TargetLimits& one : table)
    if (one.target == target) return one;
  return {};
}

Occupancy occupancy(const TargetLimits& limits, std::uint32_t threads, std::int64_t registers,
                    std::uint64_t shared_bytes) {
  std::uint32_t warps = (threads + 31) / 32;
  if (warps == 0) return {};
  // A warp's registers come from one of four partitions, so warps are placed by fours.
  std::uint64_t of_warp = up(32ull * std::max<std::int64_t>(registers, 1), limits.registers_unit);
  std::uint64_t warps_by_registers = limits.registers / 4 / of_warp * 4;
  std::uint64_t shared = up(shared_bytes + limits.shared_reserved, 128);
  Occupancy best{limits.blocks, 0, "blocks"};
  auto bound = [&](std::uint64_t blocks, std::string_view name) {
    if (blocks < best.blocks) best = {static_cast<std::uint32_t>(blocks), 0, name};
  };
  bound(limits.warps / warps, "warps");
  bound(warps_by_registers / warps, "registers");
  bound(shared_bytes > limits.shared_block_bytes ? 0 : limits.shared_bytes / shared, "shared");
  best.warps = best.blocks * warps;
  return best;
}

}  // namespace lathe::gpu_node
