#pragma once

// Operand vectors: the values that break arithmetic first, then values that stand in a relation,
// then any bits.

#include <cstdint>
#include <span>
#include <vector>

#include "ptx/type.h"

namespace lathe::ptx::witness {

/// What a column of operands is for.
enum class Use : std::uint8_t {
  value,
  lane,     // A lane's number of a shuffle, mostly below 32.
  segment,  // A shuffle's clamp and segment mask.
  amount,   // A shift's amount or a bit's position: around the widths.
  truth,    // 0 or 1.
  sparse,   // Positions of the two of four values that a sparse matrix keeps.
};

struct Column {
  Type type = Type::b32;
  Use use = Use::value;
};

/// Values of zero, ones, subnormals, infinities, NaN with payloads, extremes, halfway cases.
std::span<const std::uint64_t> edges(Type type);

/// The bits of each column for each of `count` vectors, in [column][vector]; those of 16 bytes are
/// a pair of equal halves.
std::vector<std::vector<std::uint64_t>> operand_vectors(std::span<const Column> columns,
                                                        std::size_t count, std::uint64_t seed);

/// Elements of a matrix by the manner of `kind`: 0 small integers, 1 random, 2 subnormals and
/// zeros, 3 infinities and NaN among numbers, 4 cancelling, 5 any bits.
std::uint64_t matrix_element(Type type, unsigned kind, std::uint64_t seed, std::uint64_t index);
inline constexpr unsigned matrix_kinds = 6;

/// An s32 from which a sum leaves the range, on either side; how far it is away is drawn too.
std::uint64_t near_extreme(std::uint64_t r);

}  // namespace lathe::ptx::witness
