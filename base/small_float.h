#pragma once

// Floating-point formats narrower than a double, exactly: each value of theirs is a double, and a
// double becomes the nearest of them, ties to even.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

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

namespace small_float {

/// ue8m0 has neither sign, zero nor subnormals: all its codes but 255 are powers of two.
inline bool is_power_only(const FloatFormat& format) { return !format.has_sign; }

inline std::uint32_t greatest_bits(const FloatFormat& format) {
  std::uint32_t all = (1u << (format.exponent_bits + format.mantissa_bits)) - 1;
  if (format.has_infinity) return (((1u << format.exponent_bits) - 1) << format.mantissa_bits) - 1;
  return format.has_nan ? all - 1 : all;
}

inline double finite_value(const FloatFormat& format, std::uint32_t exponent,
                           std::uint32_t mantissa) {
  int m = static_cast<int>(format.mantissa_bits);
  if (exponent == 0 && !is_power_only(format))
    return std::ldexp(static_cast<double>(mantissa), 1 - format.bias - m);
  auto wide = static_cast<std::uint64_t>(static_cast<int>(exponent) - format.bias + 1023);
  return std::bit_cast<double>(wide << 52 | std::uint64_t{mantissa} << (52 - m));
}

inline std::uint32_t nan_bits(const FloatFormat& format) {
  if (!format.has_nan) return greatest_bits(format);
  std::uint32_t all = (1u << (format.exponent_bits + format.mantissa_bits)) - 1;
  if (!format.has_infinity) return all;
  return (((1u << format.exponent_bits) - 1) << format.mantissa_bits) |
         (1u << (format.mantissa_bits - 1));
}

inline std::uint32_t encode_power(double value) {
  if (!(value > 0)) return 0;
  int exponent = std::ilogb(value);
  double low = std::ldexp(1.0, exponent);
  // Ties go to the even code.
  if (value - low > low / 2 || (value - low == low / 2 && (exponent + 127) % 2 != 0)) ++exponent;
  int code = exponent + 127;
  return static_cast<std::uint32_t>(code < 0 ? 0 : code > 254 ? 254 : code);
}

/// A finite magnitude rounded to even. The codes of a format are in the order of their values, so a
/// carry of the mantissa moves on to the exponent by itself.
inline std::uint32_t encode_magnitude(const FloatFormat& format, double magnitude) {
  auto bits = std::bit_cast<std::uint64_t>(magnitude);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  if (exponent == -1023) return 0;  // A double's subnormals are far below every format's least.
  std::uint64_t significand = (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
  int scale = std::max(exponent, 1 - format.bias);
  int shift = 52 - static_cast<int>(format.mantissa_bits) + scale - exponent;
  if (shift > 53) return 0;  // Below half of the least value.
  std::uint64_t units = significand >> shift, rest = significand - (units << shift);
  std::uint64_t half = std::uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (units & 1) != 0)) ++units;
  std::uint64_t code =
      (static_cast<std::uint64_t>(scale - (1 - format.bias)) << format.mantissa_bits) + units;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(code, 0x7FFFFFFF));
}

}  // namespace small_float

inline double FloatFormat::greatest() const {
  std::uint32_t bits = small_float::greatest_bits(*this);
  return small_float::finite_value(*this, bits >> mantissa_bits,
                                   bits & ((1u << mantissa_bits) - 1));
}

inline double FloatFormat::least_normal() const {
  return std::ldexp(1.0, has_sign ? 1 - bias : -bias);
}

inline double FloatFormat::least() const {
  return has_sign ? std::ldexp(1.0, 1 - bias - static_cast<int>(mantissa_bits)) : least_normal();
}

/// The value of the low bits.
inline double decode_float(const FloatFormat& format, std::uint32_t bits) {
  std::uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  std::uint32_t exponent = bits >> format.mantissa_bits & ((1u << format.exponent_bits) - 1);
  std::uint32_t magnitude = exponent << format.mantissa_bits | mantissa;
  bool negative =
      format.has_sign && (bits >> (format.exponent_bits + format.mantissa_bits) & 1) != 0;
  double value = 0;
  if (magnitude <= small_float::greatest_bits(format))
    value = small_float::finite_value(format, exponent, mantissa);
  else if (format.has_infinity && mantissa == 0)
    value = std::numeric_limits<double>::infinity();
  else
    value = std::numeric_limits<double>::quiet_NaN();
  return negative ? -value : value;
}

/// Round to nearest even. Above the greatest finite value: infinity where the format has it, else
/// the greatest. NaN where the format has none: the greatest, as PTX's .satfinite does.
inline std::uint32_t encode_float(const FloatFormat& format, double value) {
  if (std::isnan(value)) return small_float::nan_bits(format);
  if (small_float::is_power_only(format)) return small_float::encode_power(value);
  std::uint32_t sign =
      std::signbit(value) ? 1u << (format.exponent_bits + format.mantissa_bits) : 0u;
  double magnitude = std::fabs(value);
  std::uint32_t greatest = small_float::greatest_bits(format);
  std::uint32_t code =
      std::isinf(magnitude) ? greatest + 1 : small_float::encode_magnitude(format, magnitude);
  if (code > greatest) code = format.has_infinity ? greatest + 1 : greatest;
  return sign | code;
}

}  // namespace lathe
