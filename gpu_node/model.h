#pragma once

// The cost model of the emulated device: published rates of a GPU, what sampled blocks executed,
// and what the assembler said give a time. The time is that of the one resource that binds, so a
// saving on any other is worth nothing. It ranks and diagnoses; it never claims a measured speed.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu_node/targets.h"
#include "pipeline/gates.h"
#include "ptx/cost_observer.h"

namespace lathe::gpu_node {

/// Per multiprocessor and cycle, where not said otherwise.
struct Rates {
  std::string_view target, device;
  double multiprocessors = 0, clock_ghz = 0;
  double dram_bytes_per_ns = 0, l2_bytes_per_ns = 0;  // Of the whole device.
  double issue = 4;                                   // Warp instructions.
  double single = 4, half = 4, integer = 2, convert = 2, special = 0.5, double_ = 0;
  double requests = 1, passes = 1, shuffle = 1;  // Memory instructions, 128-byte passes.
  double matrix_macs = 0;                        // 16-bit operands through mma.sync.
  double launch_ns = 0;
};
std::optional<Rates> rates_of(std::string_view target);

/// Cycles and issue slots by class: one set for all targets.
const ptx::CostLatencies& latencies();

enum class Bound : std::uint8_t {
  dram,
  l2,
  issue,
  fma,
  alu,
  xu,
  lsu,
  shared,
  tensor,
  latency,
  count
};
std::string_view name_of(Bound bound);

struct Estimate {
  double time_ns = 0;  // Launch included.
  Bound bound = Bound::latency;
  std::array<double, static_cast<std::size_t>(Bound::count)> resource_ns{};
  double launch_ns = 0;
  Occupancy occupancy;
  std::uint64_t waves = 0;
  double critical_cycles = 0;  // Of a block, on average.
  ptx::CostCounters counters;
  Resources resources;
  double of(Bound one) const { return resource_ns[static_cast<std::size_t>(one)]; }
};

/// `buffer_bytes[i]` bounds what can be read of buffer i.
struct Shape {
  std::uint64_t blocks = 0;  // Of the grid.
  std::uint32_t threads = 0;
  std::uint64_t shared_bytes = 0;  // Static and dynamic, of a block.
  std::vector<std::uint64_t> buffer_bytes;
};

/// Pure: the same arguments give the same estimate.
Estimate estimate(const Rates& rates, const TargetLimits& limits, const Shape& shape,
                  const ptx::CostCounters& counters, const Resources& resources);

/// Relative difference below which two modelled times are "same".
inline constexpr double same_within = 0.005;

/// "faster", "slower" or "same": `candidate` against `incumbent`.
std::string_view compare_times(double candidate_ns, double incumbent_ns);

/// Why the times differ or do not, with the figures of the resource that binds.
std::string explain(const Estimate& candidate, const Estimate& incumbent);

/// The figures of an estimate for the record.
std::vector<std::pair<std::string, double>> figures_of(const Estimate& estimate);

}  // namespace lathe::gpu_node
