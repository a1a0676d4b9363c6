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

/// Clamped to the destination; NaN is zero, or the top bit alone for 64 bits on either side.
template <Type To, Type From>
inline BitsOf<To> integer_from_float(Form f, BitsOf<From> a) {
  using Held = typename BitsOf<To>::Held;
  double x = to_double(flushed(f, a));
  if (x != x) {
    if (width_of(To) == 64 || (From == Type::f64 && width_of(To) == 32))
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

template <Type To, Type From>
inline BitsOf<To> float_from_float(Form f, BitsOf<From> a) {
  a = flushed(f, a);
  if constexpr (To == From)
    if (!f.has(Flag::to_integer)) return To == Type::f64 ? a : finished(f, a);
#ifdef __F16C__
  if constexpr (To == Type::f16 && From == Type::f32)
    if (f.rounding == Rounding::rn && f.flags == 0)
      return a.held != a.held ? BitsOf<To>::wrapped(0x7FFF)
                              : BitsOf<To>::wrapped(_cvtss_sh(a.held, _MM_FROUND_TO_NEAREST_INT));
#endif
  double x = to_double(a);
  if constexpr (To == Type::f32 && From == Type::f16)  // Exact.
    if (f.flags == 0) return x != x ? canonical_nan<To>() : BitsOf<To>{static_cast<float>(x)};
  if constexpr (To == Type::f64 && From == Type::f32) {
    if (x != x)  // The payload survives a widening.
      return BitsOf<To>::from(0x7FF8000000000000u | std::uint64_t{a.bits() & 0x80000000u} << 32 |
                              std::uint64_t{a.bits() & 0x3FFFFFu} << 29);
  }
  if constexpr (To == Type::f64 && From == Type::f64)
    if (x != x) return BitsOf<To>::from(a.bits() | 0x0008000000000000u);
  if (x != x) return finished(f, canonical_nan<To>());
  if (f.has(Flag::to_integer)) {
    double whole = integral(x, f.rounding);
    whole = std::copysign(whole, x);
    Form plain = f;
    plain.rounding = Rounding::rn;
    return finished(plain, rounded<To>(whole, 0, Rounding::rn));
  }
  if constexpr (To == Type::f64) {
    return finished<To>(f, {x});
  } else if constexpr (To == Type::f32) {
    if (x - x != 0) return finished<To>(f, {static_cast<float>(x)});
    return finished<To>(f, {directed<float, double>(x, 0, f.rounding)});
  } else {
    BitsOf<To> r = rounded<To>(x, 0, f.rounding);
    if (f.has(Flag::satfinite)) r = clamped_to_finite(r, x < 0);
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
