#include "base/small_float.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace lathe {
namespace {

/// ue8m0 has neither sign, zero nor subnormals: all its codes but 255 are powers of two.
bool is_power_only(const FloatFormat& format) { return !format.has_sign; }

std::uint32_t greatest_bits(const FloatFormat& format) {
  std::uint32_t all = (1u << (format.exponent_bits + format.mantissa_bits)) - 1;
  if (format.has_infinity) return (((1u << format.exponent_bits) - 1) << format.mantissa_bits) - 1;
  return format.has_nan ? all - 1 : all;
}

double finite_value(const FloatFormat& format, std::uint32_t exponent, std::uint32_t mantissa) {
  int m = static_cast<int>(format.mantissa_bits);
  if (exponent == 0 && !is_power_only(format))
    return std::ldexp(static_cast<double>(mantissa), 1 - format.bias - m);
  auto wide = static_cast<std::uint64_t>(static_cast<int>(exponent) - format.bias + 1023);
  return std::bit_cast<double>(wide << 52 | std::uint64_t{mantissa} << (52 - m));
}

std::uint32_t nan_bits(const FloatFormat& format) {
  if (!format.has_nan) return greatest_bits(format);
  std::uint32_t all = (1u << (format.exponent_bits + format.mantissa_bits)) - 1;
  if (!format.has_infinity) return all;
  return (((1u << format.exponent_bits) - 1) << format.mantissa_bits) |
         (1u << (format.mantissa_bits - 1));
}

std::uint32_t encode_power(double value) {
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
std::uint32_t encode_magnitude(const FloatFormat& format, double magnitude) {
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

}  // namespace

double FloatFormat::greatest() const {
  std::uint32_t bits = greatest_bits(*this);
  return finite_value(*this, bits >> mantissa_bits, bits & ((1u << mantissa_bits) - 1));
}

double FloatFormat::least_normal() const { return std::ldexp(1.0, has_sign ? 1 - bias : -bias); }

double FloatFormat::least() const {
  return has_sign ? std::ldexp(1.0, 1 - bias - static_cast<int>(mantissa_bits)) : least_normal();
}

double decode_float(const FloatFormat& format, std::uint32_t bits) {
  std::uint32_t mantissa = bits & ((1u << format.mantissa_bits) - 1);
  std::uint32_t exponent = bits >> format.mantissa_bits & ((1u << format.exponent_bits) - 1);
  std::uint32_t magnitude = exponent << format.mantissa_bits | mantissa;
  bool negative =
      format.has_sign && (bits >> (format.exponent_bits + format.mantissa_bits) & 1) != 0;
  double value = 0;
  if (magnitude <= greatest_bits(format))
    value = finite_value(format, exponent, mantissa);
  else if (format.has_infinity && mantissa == 0)
    value = std::numeric_limits<double>::infinity();
  else
    value = std::numeric_limits<double>::quiet_NaN();
  return negative ? -value : value;
}

std::uint32_t encode_float(const FloatFormat& format, double value) {
  if (std::isnan(value)) return nan_bits(format);
  if (is_power_only(format)) return encode_power(value);
  std::uint32_t sign =
      std::signbit(value) ? 1u << (format.exponent_bits + format.mantissa_bits) : 0u;
  double magnitude = std::fabs(value);
  std::uint32_t greatest = greatest_bits(format);
  std::uint32_t code = std::isinf(magnitude) ? greatest + 1 : encode_magnitude(format, magnitude);
  if (code > greatest) code = format.has_infinity ? greatest + 1 : greatest;
  return sign | code;
}

}  // namespace lathe
