#pragma once

// What blocks do whatever their data are. Two blocks of one kind carry out the same instructions
// for the same lanes, on places equally far from the first one that each touches in a buffer, and
// every known operand that meets data is the same: they compute one function, on other elements.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ptx/run.h"

namespace lathe::ptx {

struct TraceRequest {
  const Program* program = nullptr;
  Shape shape;
  std::span<const Buffer> buffers;  // Disjoint, ascending by address.
  std::span<const std::byte> parameters;
  /// By buffer. Null: data, of which nothing is known.
  std::vector<const std::byte*> contents;
  std::vector<std::uint64_t> element_bytes;  // By buffer.
  std::vector<bool> changes;                 // By buffer: who reads what of it is wanted too.
  AsyncSchedule schedule = AsyncSchedule::at_issue;
  bool doubts_waits = false;         // Each wait that may give up does so once.
  std::uint64_t key = 0;             // Secret.
  std::uint64_t steps_max = 0;       // Of a block.
  std::uint64_t begin = 0, end = 0;  // Blocks.
};

/// Bytes of a buffer, from where a block first touched it on.
struct TraceRange {
  std::uint32_t buffer = 0;
  std::int64_t begin = 0, end = 0;
  bool operator==(const TraceRange&) const = default;
};

struct TraceKind {
  std::array<std::uint64_t, 2> name{};
  std::vector<TraceRange> written, read;  // Disjoint, ascending; read: of buffers that change.
};

struct Traces {
  static constexpr std::uint64_t untouched = ~std::uint64_t{0};
  /// Of the first block that did not end well, or whose control asked for data. None follows it.
  std::optional<Trap> trap;
  std::uint64_t steps = 0;
  std::vector<TraceKind> kinds;
  std::vector<std::uint32_t> kind_of;  // By block.
  std::vector<std::uint64_t> bases;    // By block, then by buffer: offset first touched.
};

Traces trace_blocks(const TraceRequest& request);

}  // namespace lathe::ptx
