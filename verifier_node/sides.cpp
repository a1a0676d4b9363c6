// Indices of blocks and threads, and a launch's shape.

#include "verifier_node/sides.h"

namespace lathe::verifier_node {

ptx::Shape Sides::shape(Side side) const {
  const Launch& launch = at(side).launch;
  return {launch.grid, launch.block, launch.dynamic_shared_bytes, launch.cluster};
}

std::array<std::uint32_t, 3> block_index(const Launch& launch, std::uint64_t block) {
  return {static_cast<std::uint32_t>(block % launch.grid[0]),
          static_cast<std::uint32_t>(block / launch.grid[0] % launch.grid[1]),
          static_cast<std::uint32_t>(block / launch.grid[0] / launch.grid[1])};
}

std::array<std::uint32_t, 3> thread_index(const Launch& launch, std::uint32_t thread) {
  return {thread % launch.block[0], thread / launch.block[0] % launch.block[1],
          thread / launch.block[0] / launch.block[1]};
}

}  // namespace lathe::verifier_node
