#pragma once

// The columns of B for which a stationary product of tcgen05 takes zeros (manual, 9.7.16.4.3). The
// manual's words for the two spans and its examples contradict one another; the examples, CUTLASS
// and the fields' names agree, and are followed.

#include <array>
#include <bitset>
#include <cstdint>

namespace lathe::ptx {

struct ZeroColumns {
  static constexpr unsigned columns_max = 256;
  std::bitset<columns_max> zero;
  unsigned shift = 0;  // Column c of the product is column c + shift of B.

  /// Of a product of m rows by n columns, whose columns go by sub-masks: one of 128 rows, two of
  /// 64, four of 32. Each begins with its first span, less what its start count leaves out.
  static ZeroColumns read(std::uint64_t bits, unsigned m, unsigned n) {
    ZeroColumns read;
    read.shift = bits >> 56 & 63;
    if ((bits >> 39 & 1) == 0) return read;
    std::array<unsigned, 2> spans{static_cast<unsigned>(bits >> 48 & 255) + 1,   // Used.
                                  static_cast<unsigned>(bits >> 40 & 255) + 1};  // Skipped.
    unsigned parts = 128 / m, each = n / parts;
    for (unsigned part = 0; part < parts; ++part) {
      unsigned first = bits >> (32 + part) & 1, start = bits >> (8 * part) & 255;
      for (unsigned column = 0; column < each; ++column) {
        unsigned at = (start + column) % (spans[0] + spans[1]);
        read.zero[part * each + column] = (at < spans[first] ? first : 1 - first) == 1;
      }
    }
    return read;
  }
};

}  // namespace lathe::ptx
