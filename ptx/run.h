#pragma once

// One launch as the machine sees it, and how a block may end other than well.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ptx/domain.h"
#include "ptx/program.h"

namespace lathe::ptx {

struct Shape {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  std::array<std::uint32_t, 3> cluster{1, 1, 1};

  std::uint64_t blocks() const { return std::uint64_t{grid[0]} * grid[1] * grid[2]; }
  std::uint32_t threads() const { return block[0] * block[1] * block[2]; }
  std::uint32_t cluster_blocks() const { return cluster[0] * cluster[1] * cluster[2]; }
};

/// When asynchronous work is done: at once, or as late as a wait allows, with its destination
/// poisoned in between, or (seeded) at some moment between the two. A correct kernel gives the same
/// under all.
enum class AsyncSchedule : std::uint8_t { at_issue, at_wait, seeded };

enum class TrapKind : std::uint8_t {
  unsupported,        // The machine or the domain does not model it.
  undecided,          // The domain cannot say.
  undefined_value,    // Poison decided an address or a branch, or reached global memory.
  out_of_bounds,      // No buffer, or outside shared, local or parameters.
  misaligned,         // An address that its access does not divide.
  read_only,          // A store into a buffer that is not writable.
  divergent_barrier,  // An aligned barrier or whole-warp instruction without all of the warp.
  bad_operand,        // A barrier number above 15, a mask without the lane, ...
  deadlock,           // Nobody can go on.
  trapped,            // The kernel executed `trap`.
  exhausted,          // The step limit.
  stopped,            // The observer asked.
  count
};
std::string_view name_of(TrapKind kind);

struct Trap {
  TrapKind kind = TrapKind::unsupported;
  std::uint64_t block = 0;
  std::uint32_t thread = 0;  // Within the block.
  std::uint32_t line = 0, column = 0;
  std::string what;           // One sentence without a full stop.
  std::uint64_t address = 0;  // Of a memory trap.
};
/// "out_of_bounds at line 12, column 3, block 0, thread 5: ..."
std::string print(const Trap& trap);

struct Run {
  const Program& program;
  Shape shape;
  std::span<const Buffer> buffers;  // Disjoint, ascending by address.
  std::span<const std::byte> parameters;
  std::uint32_t shared_base = 1024;  // The address at which shared memory begins.
  AsyncSchedule schedule = AsyncSchedule::at_issue;
  std::uint64_t steps_max = 0;      // Warp instructions of a block; 0: no limit.
  std::uint64_t schedule_seed = 0;  // Of AsyncSchedule::seeded.
};

}  // namespace lathe::ptx
