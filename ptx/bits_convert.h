#pragma once

// cvt in the bits domain. Included by bits_value.h.

#include <limits>
#include <utility>

#include "ptx/bits_value.h"

namespace lathe::ptx {

__extension__ using Wide128 = unsigned __int128;

/// Any integer into any float, once rounded.
template <Type To, Type From>
inline BitsOf<To> float_from_integer(Form f, BitsOf<From> a) {
  if constexpr (To == Type::f32 || To == Type::f64)
    if (f.rounding == Rounding::rn)
      return finished<To>(f, {static_cast<typename BitsOf<To>::Held>(a.held)});
  bool negative = is_signed(From) && a.held < 0;
  std::uint64_t wide = static_cast<std::uint64_t>(static_cast<std::int64_t>(a.held));
  if constexpr (!is_signed(From)) wide = a.held;
  Wide128 magnitude = negative ? std::uint64_t{0} - wide : wide;
  return finished(f, BitsOf<To>::wrapped(round_magnitude<Wide128>(format_of<To>(), magnitude, 0,
                                                                  negative, f.rounding)));
}

inline double integral(double x, Rounding mode) {
  switch (mode) {
    case Rounding::rz:
      return std::trunc(x);
    case Rounding::rm:
      return std::floor(x);
    case Rounding::rp:
      return std::ceil(x);
    default:
      return std::nearbyint(x);
  }
}

/// `.ftz` of a conversion is of f32 alone, before and after.
template <Type T>
constexpr BitsOf<T> flushed_single(Form f, BitsOf<T> a) {
  if constexpr (T == Type::f32)
    return flushed(f, a);
  else
    return a;
}
template <Type T>
constexpr BitsOf<T> finished_conversion(Form f, BitsOf<T> r) {
  if (T != Type::f32) f.flags &= ~(1u << static_cast<unsigned>(Flag::ftz));
  return finished(f, r);
}

/// Clamped to the destination; NaN is zero, or the top bit alone where either side has 64 bits.
template <Type To, Type From>
inline BitsOf<To> integer_from_float(Form f, BitsOf<From> a) {
  using Held = typename BitsOf<To>::Held;
  double x = to_double(flushed_single(f, a));
  if (x != x) {
    if (width_of(To) == 64 || From == Type::f64)
      return BitsOf<To>::wrapped(std::uint64_t{1} << (width_of(To) - 1));
    return BitsOf<To>::wrapped(0);
  }
  x = integral(x, f.rounding);
  constexpr double low = static_cast<double>(std::numeric_limits<Held>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<Held>::max());
  if (x <= low) return {std::numeric_limits<Held>::min()};
  if (x >= high) return {std::numeric_limits<Held>::max()};
  return {static_cast<Held>(x)};
}

template <Type To, Type From>
inline BitsOf<To> integer_from_integer(Form f, BitsOf<From> a) {
  using Held = typename BitsOf<To>::Held;
  if (f.has(Flag::sat)) {
    constexpr Held low = std::numeric_limits<Held>::min(), high = std::numeric_limits<Held>::max();
    if (std::cmp_less(a.held, low)) return {low};
    if (std::cmp_greater(a.held, high)) return {high};
  }
  return {static_cast<Held>(a.held)};
}

/// e4m3 and e5m2 have no room for what is too large: it becomes the largest.
template <Type To>
inline BitsOf<To> clamped_to_finite(BitsOf<To> r, bool negative) {
  constexpr FloatFormat format = format_of<To>();
  std::uint64_t sign = negative ? std::uint64_t{1} << (format.width - 1) : 0;
  std::uint64_t rest = r.bits() & ((std::uint64_t{1} << (format.width - 1)) - 1);
  if (To != Type::tf32 && rest > format.max_bits)
    return BitsOf<To>::wrapped(sign | format.max_bits);
  return r;
}

/// The power of two at or above the magnitude (.rp) or at or below it (.rz); the sign is lost.
inline BitsOf<Type::ue8m0> power_of_two(Form f, double x) {
  unsigned top = f.has(Flag::satfinite) ? 0xFE : 0xFF;
  if (x != x) return BitsOf<Type::ue8m0>::wrapped(0xFF);
  if (x - x != 0) return BitsOf<Type::ue8m0>::wrapped(top);
  if (x == 0) return BitsOf<Type::ue8m0>::wrapped(0);
  int exponent;
  double fraction = std::frexp(std::fabs(x), &exponent);  // In [0.5, 1).
  int biased = exponent - 1 + 127;
  if (f.rounding == Rounding::rp && fraction != 0.5) ++biased;
  return BitsOf<Type::ue8m0>::wrapped(biased < 0 ? 0u
                                      : static_cast<unsigned>(biased) > top
                                          ? top
                                          : static_cast<unsigned>(biased));
}

/// 64 x, to nearest, between the negative and the positive largest; NaN is the positive.
inline BitsOf<Type::s2f6> fixed_point(Form f, double x) {
  double scaled = x != x ? 127 : std::nearbyint(x * 64);
  scaled = scaled > 127 ? 127 : scaled < -127 ? -127 : scaled;
  if (f.has(Flag::relu) && scaled < 0) scaled = 0;
  return BitsOf<Type::s2f6>::wrapped(static_cast<std::uint8_t>(static_cast<int>(scaled)));
}

/// Bits of the fraction of an IEEE format.
template <Type T>
constexpr int fraction_bits = format_of<T>().precision - 1;

/// NaN between two IEEE formats: its sign and the top of its payload, made quiet.
template <Type To, Type From>
constexpr BitsOf<To> moved_nan(BitsOf<From> a) {
  constexpr int up = fraction_bits<To> - fraction_bits<From>;
  std::uint64_t fraction = a.bits() & ((std::uint64_t{1} << fraction_bits<From>)-1);
  if constexpr (up >= 0)
    fraction <<= up;
  else
    fraction >>= -up;
  std::uint64_t quiet = std::uint64_t{1} << (fraction_bits<To> - 1);
  std::uint64_t sign = is_negative(a) ? std::uint64_t{1} << (width_of(To) - 1) : 0;
  return BitsOf<To>::wrapped(sign | (format_of<To>().max_bits + 1) | quiet | fraction);
}

/// What a device makes of NaN: canonical, but what goes to or comes from f64 keeps its payload, and
/// bf16 in f32 is only moved.
template <Type To, Type From>
inline BitsOf<To> converted_nan(Form f, BitsOf<From> a) {
  bool plain = !f.has(Flag::sat) && !f.has(Flag::relu) && !f.ftz();
  if constexpr (To == Type::f32 && From == Type::bf16)
    if (plain) return BitsOf<To>::wrapped(std::uint64_t{a.held} << 16);
  if constexpr (To == Type::f64 || (From == Type::f64 && !is_small_float(To) && To != Type::tf32)) {
    if (f.has(Flag::sat)) return BitsOf<To>::wrapped(0);
    if (To == Type::f64 && f.ftz()) return BitsOf<To>::wrapped(0x7FFFFFFFE0000000u);
    return moved_nan<To>(a);
  }
  if constexpr (To == Type::tf32) return BitsOf<To>::wrapped(0x7FFFE000u);
  return finished_conversion(f, canonical_nan<To>());
}

/// Round to nearest, ties away, of tf32 works on the bits: infinities and NaN are cut, and
/// .satfinite takes the next smaller of what has their exponent.
inline BitsOf<Type::tf32> nearest_tf32(Form f, BitsOf<Type::f32> a) {
  std::uint32_t bits = a.bits();
  if ((bits & 0x7F800000u) != 0x7F800000u) bits += 0x1000;
  bits &= 0xFFFFE000u;
  if (f.has(Flag::satfinite) && (bits & 0x7F800000u) == 0x7F800000u) bits -= 0x2000;
  return BitsOf<Type::tf32>::wrapped(bits);
}

template <Type To, Type From>
inline BitsOf<To> float_from_float(Form f, BitsOf<From> a) {
  if constexpr (To == Type::tf32)
    if (f.rounding == Rounding::rna) return nearest_tf32(f, a);
  if constexpr (To == From)  // A move, but for NaN of 16 bits.
    if (f.flags == 0) return width_of(To) == 16 && is_nan(a) ? canonical_nan<To>() : a;
  if constexpr (To != Type::f16) a = flushed_single(f, a);
  if constexpr (From == Type::f32 && (To == Type::f16 || To == Type::bf16))
    if (f.rounding == Rounding::rn && f.flags == 0)
      return {To == Type::f16 ? half_of_single(a.held) : bfloat_of_single(a.held)};
  if constexpr (To == Type::f32 && From == Type::f16)
    if (f.flags == 0) return is_nan(a) ? canonical_nan<To>() : BitsOf<To>{single_of_half(a.held)};
  if constexpr (To == Type::f32 && From == Type::bf16)
    if (f.flags == 0) return BitsOf<To>::wrapped(std::uint64_t{a.held} << 16);
  double x = to_double(a);
  if constexpr (To == Type::ue8m0) return power_of_two(f, x);
  if constexpr (To == Type::s2f6) return fixed_point(f, x);
  if (x != x) return converted_nan<To>(f, a);
  if constexpr (To == From)
    if (!f.has(Flag::to_integer)) return finished_conversion(f, a);
  if (f.has(Flag::to_integer)) {
    double whole = std::copysign(integral(x, f.rounding), x);
    return finished_conversion(f, rounded<To>(whole, 0, Rounding::rn));
  }
  if constexpr (To == Type::f64) {
    return finished_conversion<To>(f, {x});
  } else if constexpr (To == Type::f32) {
    if (x - x != 0) return finished_conversion<To>(f, {static_cast<float>(x)});
    // What is too small is flushed before it is rounded.
    if (f.ftz() && std::fabs(x) < 0x1p-126) x = std::copysign(0.0, x);
    return finished_conversion<To>(f, {directed<float, double>(x, 0, f.rounding)});
  } else {
    BitsOf<To> r = rounded<To>(x, 0, f.rounding);
    if (f.has(Flag::satfinite)) r = clamped_to_finite(r, x < 0);
    return finished_conversion(f, r);
  }
}

/// cvt.rs: `count` bits of the random operand, from bit `shift` on.
template <Type To>
inline BitsOf<To> convert_drawn(Form f, BitsOf<Type::f32> a, BitsOf<Type::b32> random,
                                unsigned shift, unsigned count) {
  double x = to_double(a);
  if (x - x != 0) return float_from_float<To>(f, a);
  auto bits = std::bit_cast<std::uint64_t>(x);  // A float is never subnormal as a double.
  std::uint64_t m = x == 0 ? 0 : (bits & ((std::uint64_t{1} << 52) - 1)) | std::uint64_t{1} << 52;
  auto e = static_cast<int>(bits >> 52 & 0x7FF) - 1075;
  std::uint64_t drawn = random.held >> shift & ((std::uint64_t{1} << count) - 1);
  auto r = BitsOf<To>::wrapped(round_drawn(format_of<To>(), m, e, std::signbit(x), drawn, count));
  if (f.has(Flag::satfinite)) r = clamped_to_finite(r, x < 0);
  return finished(f, r);
}

/// cvt.scaled: times the factor on the way up, divided by it on the way down.
template <Type To, Type From>
inline BitsOf<To> convert_scaled(Form f, BitsOf<From> a, BitsOf<Type::ue8m0> factor) {
  double scale = to_double(factor), x = to_double(a);
  if constexpr (To == Type::s2f6) {
    return fixed_point(f, x / scale);
  } else {
    BitsOf<To> r = rounded<To>(x * scale, 0, Rounding::rn);
    if (f.has(Flag::satfinite) && x * scale == x * scale) r = clamped_to_finite(r, x < 0);
    return finished(f, r);
  }
}

template <Type To, Type From>
inline BitsOf<To> convert(Form f, BitsOf<From> a) {
  constexpr bool to_float = !is_integer(To), from_float = !is_integer(From);
  if constexpr (to_float && from_float)
    return float_from_float<To>(f, a);
  else if constexpr (to_float)
    return float_from_integer<To>(f, a);
  else if constexpr (from_float)
    return integer_from_float<To>(f, a);
  else
    return integer_from_integer<To>(f, a);
}

}  // namespace lathe::ptx
