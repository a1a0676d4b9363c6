#pragma once

// What sums cost as floats that they do not cost as reals: a sum that is far smaller than what it
// is made of keeps the roundings of the latter.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace lathe::ptx::field {

struct Cancellation {
  /// Sums of numbers that had been rounded, and how many bits smaller they were than the larger of
  /// the two.
  struct Sums {
    std::int64_t bits = 0;
    std::uint64_t count = 0;
    double mean() const {
      return count == 0 ? 0 : static_cast<double>(bits) / static_cast<double>(count);
    }
  };
  std::vector<Sums> by_instruction;
  /// The first instruction that made what is 0 over the reals and not as doubles: of such a sum
  /// roundings alone are left.
  std::int64_t leftover = -1;

  /// A sum that lost so many bits may be more than one among many.
  static constexpr int much = 8;
  static int exponent_of(double value) {
    return static_cast<int>(std::bit_cast<std::uint64_t>(value) >> 52 & 0x7FF);
  }

  void note(std::int64_t instruction, std::int64_t bits, std::uint64_t count) {
    if (instruction < 0) return;
    auto at = static_cast<std::size_t>(instruction);
    if (at >= by_instruction.size()) by_instruction.resize(at + 1);
    by_instruction[at].bits += bits;
    by_instruction[at].count += count;
  }
  void note_leftover(std::int64_t instruction) {
    if (instruction >= 0 && (leftover < 0 || instruction < leftover)) leftover = instruction;
  }
  void add(const Cancellation& more) {
    for (std::size_t i = 0; i < more.by_instruction.size(); ++i)
      if (const Sums& sums = more.by_instruction[i]; sums.count != 0)
        note(static_cast<std::int64_t>(i), sums.bits, sums.count);
    note_leftover(more.leftover);
  }
};

}  // namespace lathe::ptx::field
