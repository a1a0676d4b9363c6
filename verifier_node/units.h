#pragma once

// What the units of a journal hold, as values and as bytes.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/trace.h"
#include "verifier_node/equality.h"

namespace lathe::verifier_node {

/// One block at one point, which ran, and of which no order was broken.
struct BlockUnit {
  KeptBlock block;
  bool follows_all = true, trusts_copies = false;  // As the order observer says so far.
};

/// A point at which nothing differed, stopped or raced.
struct PointUnit {
  PointResult result;
  std::vector<std::string> sampled;
};

/// Which pages of each tensor any run has touched so far, a byte each.
using TouchedPages = std::vector<std::string>;

/// Blocks in the bits domain, one after the other: what they left in memory.
struct RunUnit {
  struct Piece {
    std::uint32_t tensor = 0;
    std::uint64_t at = 0;
    std::string bytes;
  };
  std::vector<Piece> pieces;
  TouchedPages touched;
  bool follows_all = true;
  std::uint64_t steps = 0;
};

/// Of BlockUnit, PointUnit, RunUnit, TouchedPages and ptx::Traces.
template <class T>
std::string unit_bytes(const T& value);
/// Nothing where the bytes are another value's.
template <class T>
std::optional<T> read_unit(std::string_view bytes);

}  // namespace lathe::verifier_node
