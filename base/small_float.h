#pragma once

// Floating-point formats narrower than a double, exactly: each value of theirs is a double, and a
// double becomes the nearest of them, ties to even.

#include <cstdint>

namespace lathe {

struct FloatFormat {
  unsigned exponent_bits, mantissa_bits;
  int bias;
  bool has_infinity;  // Without it, a value above the greatest becomes the greatest.
  bool has_nan;       // e4m3: all ones but the sign; with infinity: any maximal exponent.
  bool has_sign = true;

  constexpr unsigned bits() const { return (has_sign ? 1u : 0u) + exponent_bits + mantissa_bits; }
  double greatest() const;
  double least_normal() const;
  double least() const;  // The least positive one: subnormal where there are any.
};

inline constexpr FloatFormat float16{5, 10, 15, true, true};
inline constexpr FloatFormat bfloat16{8, 7, 127, true, true};
inline constexpr FloatFormat float32{8, 23, 127, true, true};
inline constexpr FloatFormat e4m3{4, 3, 7, false, true};
inline constexpr FloatFormat e5m2{5, 2, 15, true, true};
inline constexpr FloatFormat e2m1{2, 1, 1, false, false};
inline constexpr FloatFormat e2m3{2, 3, 1, false, false};
inline constexpr FloatFormat e3m2{3, 2, 3, false, false};
/// A power of two: 2^(bits - 127); 255 is NaN.
inline constexpr FloatFormat ue8m0{8, 0, 127, false, true, false};

/// The value of the low bits.
double decode_float(const FloatFormat& format, std::uint32_t bits);
/// Round to nearest even. Above the greatest finite: infinity where the format has it, else the
/// greatest (as PTX's .satfinite); NaN where the format has none: positive greatest, as
/// cvt.satfinite does.
std::uint32_t encode_float(const FloatFormat& format, double value);

}  // namespace lathe
