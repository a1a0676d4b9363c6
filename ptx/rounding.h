#pragma once

// Exact rounding to the formats of PTX in every mode, without touching the processor's rounding
// mode. Round to nearest even of f32 and f64 is left to the hardware.

#include <bit>
#include <cmath>
#include <cstdint>

#include "ptx/form.h"

namespace lathe::ptx {

struct FloatFormat {
  int precision;  // With the hidden bit.
  int emin;       // Exponent of the smallest normal number.
  int emax;
  bool has_infinity;
  std::uint64_t max_bits;  // The largest finite number.
  std::uint64_t nan_bits;  // The canonical NaN.
  int width;
};

template <Type T>
constexpr FloatFormat format_of() {
  if constexpr (T == Type::f16)
    return {11, -14, 15, true, 0x7BFF, 0x7FFF, 16};
  else if constexpr (T == Type::bf16)
    return {8, -126, 127, true, 0x7F7F, 0x7FFF, 16};
  else if constexpr (T == Type::f32)
    return {24, -126, 127, true, 0x7F7FFFFF, 0x7FFFFFFF, 32};
  else if constexpr (T == Type::f64)
    return {53, -1022, 1023, true, 0x7FEFFFFFFFFFFFFF, 0xFFF8000000000000, 64};
  else if constexpr (T == Type::tf32)
    return {11, -126, 127, true, 0x7F7FE000 >> 13, 0x7FFFFFFF, 19};
  else if constexpr (T == Type::e4m3)
    return {4, -6, 8, false, 0x7E, 0x7F, 8};
  else if constexpr (T == Type::ue4m3)  // Its sign bit is ignored.
    return {4, -6, 8, false, 0x7E, 0x7F, 8};
  else if constexpr (T == Type::e2m3)  // These three have no NaN: it becomes the largest.
    return {4, 0, 2, false, 0x1F, 0x1F, 6};
  else if constexpr (T == Type::e3m2)
    return {3, -2, 4, false, 0x1F, 0x1F, 6};
  else if constexpr (T == Type::e2m1)
    return {2, 0, 2, false, 0x7, 0x7, 4};
  else
    return {3, -14, 15, true, 0x7B, 0x7F, 8};
}

constexpr bool rounds_away(Rounding mode, bool negative, bool odd, int rest_against_half,
                           bool rest) {
  switch (mode) {
    case Rounding::rn:
      return rest_against_half > 0 || (rest_against_half == 0 && odd && rest);
    case Rounding::rna:
      return rest && rest_against_half >= 0;
    case Rounding::rm:
      return negative && rest;
    case Rounding::rp:
      return !negative && rest;
    default:
      return false;
  }
}

constexpr std::uint64_t overflow_bits(const FloatFormat& format, Rounding mode, bool negative) {
  bool to_max = mode == Rounding::rz || (mode == Rounding::rm && !negative) ||
                (mode == Rounding::rp && negative) || !format.has_infinity;
  return to_max ? format.max_bits : format.max_bits + 1;
}

/// The bits of kept * 2^unit, where kept has at most one bit more than the format's precision.
constexpr std::uint64_t composed(const FloatFormat& format, std::uint64_t kept, int unit,
                                 bool negative, Rounding mode) {
  std::uint64_t sign = negative ? std::uint64_t{1} << (format.width - 1) : 0;
  int p = format.precision;
  std::uint64_t hidden = std::uint64_t{1} << (p - 1), bits = kept;
  if (kept >= hidden)
    bits =
        (static_cast<std::uint64_t>(unit + (p - 1) - format.emin + 1) << (p - 1)) + (kept - hidden);
  if (bits > format.max_bits) bits = overflow_bits(format, mode, negative);
  return sign | bits;
}

template <class U>
constexpr int bit_length(U m) {
  if constexpr (sizeof(U) > 8) {
    auto high = static_cast<std::uint64_t>(m >> 64);
    return high != 0 ? 64 + static_cast<int>(std::bit_width(high))
                     : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(m)));
  } else {
    return static_cast<int>(std::bit_width(m));
  }
}

/// The bits of m * 2^e rounded to a format, sign included. `U` is wide enough for m.
template <class U>
constexpr std::uint64_t round_magnitude(const FloatFormat& format, U m, int e, bool negative,
                                        Rounding mode) {
  if (m == 0) return negative ? std::uint64_t{1} << (format.width - 1) : 0;
  int length = bit_length(m), top = length - 1 + e, p = format.precision;
  int unit = (top < format.emin ? format.emin : top) - (p - 1);
  int shift = unit - e;
  std::uint64_t kept;
  if (shift <= 0) {
    kept = static_cast<std::uint64_t>(m) << -shift;
  } else if (shift > length + 1) {
    kept = rounds_away(mode, negative, false, -1, true) ? 1 : 0;
  } else {
    U rest = m & ((U{1} << shift) - 1), half = U{1} << (shift - 1);
    kept = shift >= length ? 0 : static_cast<std::uint64_t>(m >> shift);
    int against = rest > half ? 1 : rest == half ? 0 : -1;
    if (rounds_away(mode, negative, (kept & 1) != 0, against, rest != 0)) ++kept;
  }
  return composed(format, kept, unit, negative, mode);
}

/// Stochastic rounding: `count` random bits are added to the topmost of those that are cut off, and
/// a carry rounds away from zero.
constexpr std::uint64_t round_drawn(const FloatFormat& format, std::uint64_t m, int e,
                                    bool negative, std::uint64_t random, unsigned count) {
  if (m == 0) return negative ? std::uint64_t{1} << (format.width - 1) : 0;
  int top = bit_length(m) - 1 + e, p = format.precision;
  int unit = (top < format.emin ? format.emin : top) - (p - 1), shift = unit - e;
  std::uint64_t kept = m, cut = 0;
  int bits = static_cast<int>(count);
  if (shift > 0) {
    kept = shift < 64 ? m >> shift : 0;
    int by = shift - bits;
    std::uint64_t rest = shift < 64 ? m & ((std::uint64_t{1} << shift) - 1) : m;
    cut = by >= 64 ? 0 : by >= 0 ? rest >> by : rest << -by;
  } else {
    kept = m << -shift;
  }
  if (shift > 0 && cut + random >= std::uint64_t{1} << count) ++kept;
  return composed(format, kept, unit, negative, Rounding::rn);
}

/// A finite double, and on which side of it the exact value lies (-1, 0, 1), rounded to a format.
template <Type T>
std::uint64_t round_double(double x, int side, Rounding mode) {
  constexpr FloatFormat format = format_of<T>();
  auto bits = std::bit_cast<std::uint64_t>(x);
  bool negative = (bits >> 63) != 0;
  int e = static_cast<int>(bits >> 52 & 0x7FF);
  std::uint64_t m = bits & ((std::uint64_t{1} << 52) - 1);
  if (e == 0)
    e = 1;
  else
    m |= std::uint64_t{1} << 52;
  if (m == 0 && side != 0) {  // An exact value too small for a double.
    negative = side < 0;
    return round_magnitude<std::uint64_t>(format, 1, -1400, negative, mode);
  }
  m <<= 2;
  if (side != 0) m = (side > 0) != negative ? m | 1 : m - 1;
  return round_magnitude<std::uint64_t>(format, m, e - 1075 - 2, negative, mode);
}

constexpr int sign_of(auto x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

/// s + the sign of what s lost, rounded to the narrower N in a directed mode.
template <class N, class W>
N directed(W s, int lost, Rounding mode) {
  N q = static_cast<N>(s);
  W rest = s - static_cast<W>(q);
  int side = rest != 0 ? sign_of(rest) : lost;
  if (side == 0) return q;
  N infinity = static_cast<N>(INFINITY);
  switch (mode) {
    case Rounding::rm:
      return side < 0 ? std::nextafter(q, -infinity) : q;
    case Rounding::rp:
      return side > 0 ? std::nextafter(q, infinity) : q;
    case Rounding::rz:
      if (s > 0 && side < 0) return std::nextafter(q, -infinity);
      if (s < 0 && side > 0) return std::nextafter(q, infinity);
      return q;
    default:
      return q;
  }
}

/// a + b and the sign of what the sum lost (Knuth's two-sum).
template <class W>
W two_sum(W a, W b, int& lost) {
  W s = a + b, bb = s - a;
  lost = sign_of((a - (s - bb)) + (b - bb));
  return s;
}

}  // namespace lathe::ptx
