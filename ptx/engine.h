#pragma once

// The machine over the bits domain behind plain functions: the emulated device. The code is built
// for AVX2 and for plain x86-64, and the processor decides at the first call which runs; both give
// the same bits.
//
// To add an engine (another domain or observer): a file in ptx/engine defines
// `LATHE_ENGINE_ENTRY(name)` with its signature, ptx/module.cmake builds it twice, and
// ptx/engine.cpp chooses.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ptx/counters.h"
#include "ptx/run.h"

namespace lathe::ptx {

/// A global buffer with its contents in host memory.
struct HostBuffer {
  Buffer buffer;
  std::span<std::byte> bytes;
};

struct RunRequest {
  const Program* program = nullptr;
  Shape shape;
  std::vector<HostBuffer> buffers;  // In any order; disjoint.
  std::vector<std::byte> parameters;
  std::vector<std::uint64_t> blocks;  // Which to run; empty: all.
  std::uint32_t shared_base = 1024;
  AsyncSchedule schedule = AsyncSchedule::at_issue;
  std::uint64_t schedule_seed = 0;
  std::uint64_t steps_max = 0;  // Warp instructions of the whole call.
  bool count = false;           // Fill RunResult::counters.
};

struct RunResult {
  std::optional<Trap> trap;  // Of the first block that did not end well; the rest did not run.
  std::uint64_t blocks = 0;  // That ended well.
  std::uint64_t steps = 0;
  Counters counters;
};

/// Runs blocks one after the other on the bits domain.
RunResult run_bits(const RunRequest& request);

/// "avx2" or "plain": what this process uses. LATHE_ENGINE=plain asks for the latter.
std::string_view engine_variant();

}  // namespace lathe::ptx
