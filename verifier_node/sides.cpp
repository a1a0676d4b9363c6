// Indices of blocks and threads, and a launch's shape.

#include "verifier_node/sides.h"

#include <algorithm>

namespace lathe::verifier_node {
namespace {

bool reaches_other_blocks(const Subject& subject, const ptx::Operation& op) {
  if (op.effect == ptx::Effect::bulk_copy) return subject.program.async_forms[op.matrix].reduces;
  return op.effect == ptx::Effect::atomic && op.space != ptx::Space::shared &&
         op.space != ptx::Space::cluster;
}

}  // namespace

bool adds_across_blocks(const Subject& subject) {
  const auto& operations = subject.program.operations;
  return std::any_of(operations.begin(), operations.end(),
                     [&](const ptx::Operation& op) { return reaches_other_blocks(subject, op); });
}

std::optional<std::uint32_t> narrow_atomic(const Subject& subject) {
  const auto& operations = subject.program.operations;
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    const ptx::Operation& op = operations[i];
    bool narrow = op.scope == 'c' || op.scope == 'l';  // .cta, .cluster
    if (op.effect == ptx::Effect::atomic && narrow && reaches_other_blocks(subject, op)) return i;
  }
  return std::nullopt;
}

ptx::Shape Sides::shape(Side side) const {
  const Launch& launch = at(side).launch;
  return {launch.grid, launch.block, launch.dynamic_shared_bytes, launch.cluster};
}

bool Sides::same_runs() const {
  return reference.launch == candidate.launch &&
         ptx::print(*reference.module) == ptx::print(*candidate.module);
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
