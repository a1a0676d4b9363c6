#pragma once

// Counts what blocks execute, as a device's model asks it: instructions by class, sectors, bank
// conflicts, matrix work, and the longest chain of dependences through registers, barriers and
// copies. A warp issues in the order of the text, one instruction after another, and waits for its
// operands; only loads, and integers that make addresses, go ahead of what stands before them in
// their basic block, as an assembler puts them.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <unordered_set>
#include <vector>

#include "ptx/observer.h"
#include "ptx/program.h"

namespace lathe::ptx {

/// Cycles from issue to use, and issue slots of one instruction. One set serves all devices of one
/// kind; the model says where they were published.
struct CostLatencies {
  std::array<std::uint32_t, static_cast<std::size_t>(CostClass::count)> cycles{}, slots{};
  // Of a special function without .ftz, besides: its operand is scaled and scaled back.
  std::uint32_t subnormal_cycles = 0, subnormal_slots = 0;
  std::uint32_t dram = 0, l2 = 0, l1 = 0;  // A global load, by where it is served.
  std::uint32_t barrier = 0;               // From the last arrival to going on.
  std::uint32_t conflict = 0;              // Each further pass through shared memory.
  std::uint32_t request = 0;               // A load keeps its part of the load units so long.
  std::uint32_t block = 0;                 // Starting a block and letting it end.
  std::uint32_t unrolled = 1;              // Iterations that an assembler interleaves.
};

/// Sums over the blocks that were run.
struct CostCounters {
  std::uint64_t blocks = 0, warps = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(CostClass::count)> executed{};
  std::uint64_t slots = 0;            // Issue slots of all warps.
  std::uint64_t global_requests = 0;  // Warp instructions.
  std::uint64_t global_passes = 0;    // 128-byte lines that they touch.
  std::uint64_t l2_read_sectors = 0, l2_write_sectors = 0, l1_hit_sectors = 0;
  std::uint64_t shared_requests = 0, shared_passes = 0, bank_conflicts = 0;
  std::uint64_t matrix_macs = 0;      // Of mma.sync, as if 16-bit: 8-bit ones count half.
  std::uint64_t atomics = 0;          // Lanes.
  std::uint64_t critical_cycles = 0;  // Sum over blocks of the longest chain.
  std::uint64_t critical_cycles_max = 0;
  /// By buffer: sectors that these blocks read and wrote, each once.
  std::map<std::uint32_t, std::uint64_t> read_sectors, written_sectors;

  std::uint64_t of(CostClass cost) const { return executed[static_cast<std::size_t>(cost)]; }
  std::uint64_t instructions() const;
};

class CostObserver {
 public:
  static constexpr bool active = true;
  static constexpr bool compares_writes = false;

  explicit CostObserver(const CostLatencies& latencies) : latencies_(latencies) {}
  /// Forgets the run so far.
  void restart() { *this = CostObserver(CostLatencies(latencies_)); }
  const CostCounters& counters() const { return counters_; }

  void on_cluster(std::uint32_t) {}
  void on_block(const Program& program, std::uint64_t block, std::uint32_t warps,
                std::uint32_t threads);
  void on_block_end();
  void on_issue(std::uint32_t warp, std::uint32_t instruction, Mask active);
  void on_access(const Access& access);
  void on_barrier_arrive(std::uint32_t warp, std::uint32_t instruction, unsigned id, std::uint32_t,
                         Mask, bool);
  void on_barrier_complete(unsigned id, std::span<const Mask> arrived,
                           std::span<const Mask> waiting);
  void on_warp_barrier(std::uint32_t, std::uint32_t, Mask) {}
  void on_async_commit(std::uint32_t warp, std::uint32_t, Mask);
  void on_async_wait(std::uint32_t warp, std::uint32_t, Mask, std::uint32_t pending);
  void on_fence(std::uint32_t, std::uint32_t, Mask, char, Proxy) {}
  void on_mbarrier_init(std::uint32_t, std::uint32_t, std::uint64_t, std::uint32_t) {}
  void on_mbarrier_arrive(std::uint32_t warp, std::uint32_t, Mask, std::uint64_t offset,
                          std::uint64_t phase, bool);
  void on_mbarrier_wait(std::uint32_t warp, std::uint32_t, Mask, std::uint64_t offset,
                        std::uint64_t phase, bool);
  void on_unit(const UnitEvent& event);
  void on_branch(std::uint32_t warp, std::uint32_t, Mask, Mask);
  void on_exit(std::uint32_t, std::uint32_t, Mask) {}
  bool good() const { return true; }

 private:
  struct Warp {
    std::vector<std::uint64_t> ready;  // By register.
    std::uint64_t floor = 0;           // Loads of this basic block may go as early as this.
    std::uint64_t cursor = 0;          // Where the next instruction issues, in order.
    std::uint64_t requests = 0;        // Cycles of the load units since `floor`.
    std::deque<std::uint64_t> turns;   // When the last few basic blocks were through.
    std::uint64_t copies_ready = 0;    // Of the open group.
    std::deque<std::uint64_t> groups;  // Committed, oldest first.
    void restart(std::uint64_t at) {
      floor = cursor = at;
      requests = 0;
    }
  };
  using Sectors = std::unordered_set<std::uint64_t>;

  void finish_load(const Access& access, std::uint64_t cycles);
  void count_shared(const Access& access);
  void count_global(const Access& access);

  /// What an operation of the program costs; found once a program.
  struct Price {
    CostClass cost = CostClass::none;
    std::uint32_t cycles = 0, slots = 0;
    std::uint64_t matrix_macs = 0;
  };
  Price price_of(const Operation& operation) const;

  CostLatencies latencies_;
  CostCounters counters_;
  const Program* program_ = nullptr;
  std::vector<Price> prices_;  // By operation.
  std::vector<Warp> warps_;
  std::uint64_t issue_ = 0;                     // Of the warp instruction under way.
  std::map<unsigned, std::uint64_t> barriers_;  // Latest arrival by id.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> phases_;
  Sectors held_;  // In this block's L1.
  std::map<std::uint32_t, Sectors> read_, written_;
};

}  // namespace lathe::ptx
