#pragma once

// The wide domain: a program's blocks with a double for every float, no rounding to the formats
// that it names and its literals read as the reals that they stand for. Errors of results in the
// bits domain are told against it. It is the shadow that the field domain (field.h) carries beside
// every number, for given inputs in place of secret ones.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptx/run.h"

namespace lathe::ptx {

struct WideTensor {
  Buffer buffer;
  Type type = Type::f32;
  std::span<const std::byte> bytes;  // What it holds before; empty: nothing may be read.
  bool changes = false;              // It is read and written.
};

struct WideRequest {
  const Program* program = nullptr;
  Shape shape;
  std::vector<WideTensor> tensors;  // Ascending by address.
  std::string parameters;
  std::vector<std::uint64_t> blocks;  // Which to run; empty: all.
  std::uint64_t steps_max = 0;        // Of one block; 0: no limit.
};

struct WideValue {
  std::uint32_t tensor = 0;
  std::uint64_t element = 0;
  double value = 0;
};

struct WideResult {
  std::optional<Trap> trap;  // Of the first block that did not end well; the rest did not run.
  std::vector<WideValue>
      values;  // Of tensors of floats, what each block wrote; none that blocks add up.
};

/// A float's bits used as an integer have no wide meaning: that is a trap (undecided), never a
/// guess.
WideResult run_wide(const WideRequest& request);

}  // namespace lathe::ptx
