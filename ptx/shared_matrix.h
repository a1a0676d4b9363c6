#pragma once

// Where the elements of a matrix in shared memory lie: the descriptors of wgmma and tcgen05.

#include <array>
#include <cstdint>

namespace lathe::ptx {

/// A matrix in shared memory as its descriptor says (manual, 9.7.15.5.1).
struct SharedMatrix {
  std::uint64_t start = 0, leading = 0, stride = 0;  // Bytes.
  unsigned swizzle = 0;  // 0, or the 16-byte units of a swizzled row: 8, 4, 2.
  unsigned first = 0;    // Of mn, which counts from it.
  bool words = false;    // 128 bytes swizzled in units of 32, for 32-bit elements.
  bool supported = true;

  static SharedMatrix read(std::uint64_t bits) {
    SharedMatrix m;
    m.start = (bits & 0x3FFF) << 4;
    m.leading = (bits >> 16 & 0x3FFF) << 4;
    m.stride = (bits >> 32 & 0x3FFF) << 4;
    constexpr std::array<unsigned, 4> units{0, 8, 4, 2};
    m.swizzle = units[bits >> 62];
    m.supported = (bits >> 49 & 7) == 0;
    return m;
  }

  /// As the descriptors of tcgen05 say (9.7.16.4.1).
  static SharedMatrix read_tensor(std::uint64_t bits) {
    SharedMatrix m = read(bits);
    constexpr std::array<unsigned, 8> units{0, 8, 8, 0, 4, 0, 2, 0};
    unsigned mode = bits >> 61 & 7;
    m.swizzle = units[mode];
    m.words = mode == 1;
    m.supported = (bits >> 49 & 15) == 0 && (bits >> 46 & 7) == 1 && (mode % 2 == 0 || mode == 1);
    return m;
  }

  /// Where element (mn, k) of `es` bytes lies: a shared address. The exclusive or is over absolute
  /// address bits, so advancing the start inside a swizzled row is right.
  std::uint64_t at(unsigned mn, unsigned k, unsigned es, bool mn_major) const {
    unsigned t = 16 / es;
    mn += first;
    std::uint64_t offset;
    if (words) {
      offset = mn % (8 * t) * es + mn / (8 * t) * leading + k % 4 * 128 + k / 4 * stride;
      std::uint64_t at = start + offset;
      return at ^ ((at >> 7 & 3) << 5);
    }
    if (!mn_major && swizzle == 0)
      offset = mn % 8 * 16 + mn / 8 * stride + k % t * es + k / t * leading;
    else if (!mn_major)
      offset = mn % 8 * 16 * swizzle + mn / 8 * stride + k * es;
    else if (swizzle == 0)
      offset = mn % t * es + mn / t * stride + k % 8 * 16 + k / 8 * leading;
    else
      offset = mn % (t * swizzle) * es + mn / (t * swizzle) * leading + k % 8 * 16 * swizzle +
               k / 8 * stride;
    std::uint64_t address = start + offset;
    std::uint64_t mask = swizzle == 0 ? 0 : 16 * (swizzle - 1);
    return address ^ ((address >> 3) & mask);
  }
};

}  // namespace lathe::ptx
