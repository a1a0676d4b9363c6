#pragma once

// An observer that counts what a cost model needs.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "ptx/observer.h"
#include "ptx/program.h"

namespace lathe::ptx {

struct Counters {
  /// Warp instructions by class, those with no active lane apart.
  std::array<std::uint64_t, static_cast<std::size_t>(CostClass::count)> issued{};
  std::uint64_t predicated_off = 0;
  std::uint64_t thread_instructions = 0;
  /// 32-byte sectors of global memory, by access, of loads (asynchronous ones too) and stores.
  std::uint64_t load_sectors = 0, store_sectors = 0;
  std::uint64_t load_bytes = 0, store_bytes = 0;  // What threads asked for.
  std::uint64_t atomic_sectors = 0;
  /// Passes of shared memory: one a conflict-free 128 bytes, more with bank conflicts.
  std::uint64_t shared_passes = 0, shared_ideal = 0;
  std::uint64_t macs = 0;  // Multiply-adds of mma.
  std::uint64_t barriers = 0;
  std::uint64_t warps = 0, blocks = 0;

  std::uint64_t warp_instructions() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 1; i < issued.size(); ++i) sum += issued[i];
    return sum;
  }
};

class Counting : public NoObserver {
 public:
  static constexpr bool active = true;
  Counters counters;

  void on_block(const Program& program, std::uint64_t, std::uint32_t warps, std::uint32_t) {
    program_ = &program;
    counters.warps += warps;
    ++counters.blocks;
  }
  void on_issue(std::uint32_t, std::uint32_t instruction, Mask mask) {
    const Operation& op = program_->operations[instruction];
    if (op.cost == CostClass::none) return;
    ++counters.issued[static_cast<std::size_t>(op.cost)];
    counters.predicated_off += mask == 0;
    counters.thread_instructions += static_cast<std::uint64_t>(std::popcount(mask));
    if (op.cost == CostClass::barrier) ++counters.barriers;
    if (op.cost == CostClass::matrix && op.effect == Effect::multiply) {
      const Matrix& matrix = program_->matrices[op.matrix];
      // A warpgroup's product has several matrices, of one shape.
      counters.macs += std::uint64_t{matrix.m} * matrix.n * matrix.k *
                       std::max<std::uint64_t>(op.element_count, 1);
    }
  }
  void on_access(const Access& access) {
    if (access.space == Space::global) count_global(access);
    if (access.space == Space::shared) count_shared(access);
  }

 private:
  void count_global(const Access& access) {
    std::array<std::uint64_t, lane_count * 2> sectors{};
    std::size_t count = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      if ((access.mask >> lane & 1) == 0) continue;
      std::uint64_t first = (*access.addresses)[lane] / 32;
      std::uint64_t last = ((*access.addresses)[lane] + access.bytes - 1) / 32;
      for (std::uint64_t s = first; s <= last && count < sectors.size(); ++s) sectors[count++] = s;
    }
    auto end = sectors.begin() + static_cast<std::ptrdiff_t>(count);
    std::sort(sectors.begin(), end);
    auto distinct = static_cast<std::uint64_t>(std::unique(sectors.begin(), end) - sectors.begin());
    std::uint64_t bytes = static_cast<std::uint64_t>(std::popcount(access.mask)) * access.bytes;
    if (access.kind == AccessKind::read)
      counters.load_sectors += distinct, counters.load_bytes += bytes;
    else if (access.kind == AccessKind::write)
      counters.store_sectors += distinct, counters.store_bytes += bytes;
    else
      counters.atomic_sectors += distinct;
  }

  /// Wide accesses are served by groups of lanes that together move 128 bytes; within a group each
  /// bank gives one word a pass, and lanes that want the same word share it.
  void count_shared(const Access& access) {
    unsigned group = access.bytes <= 4 ? 32 : access.bytes <= 8 ? 16 : 8;
    for (unsigned begin = 0; begin < lane_count; begin += group) {
      std::array<std::array<std::uint64_t, 32>, 32> words;
      std::array<unsigned, 32> used{};
      unsigned most = 0;
      for (unsigned lane = begin; lane < begin + group; ++lane) {
        if ((access.mask >> lane & 1) == 0) continue;
        std::uint64_t first = (*access.addresses)[lane] / 4;
        for (unsigned i = 0; i < (access.bytes + 3) / 4; ++i) {
          std::uint64_t word = first + i, bank = word % 32;
          auto known = words[bank].begin();
          auto end = known + used[bank];
          if (std::find(known, end, word) == end && used[bank] < 32)
            words[bank][used[bank]++] = word;
          most = std::max(most, used[bank]);
        }
      }
      counters.shared_passes += most;
      counters.shared_ideal += most != 0;
    }
  }

  const Program* program_ = nullptr;
};

}  // namespace lathe::ptx
