#pragma once

// Values of the bits domain and their operations (the list in domain.h). Round to nearest goes
// through the processor; every other rounding is exact arithmetic (rounding.h). NaN results are the
// device's canonical ones.

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "ptx/form.h"
#include "ptx/rounding.h"

namespace lathe::ptx {

template <unsigned width>
using UnsignedOf = std::conditional_t<
    width == 8, std::uint8_t,
    std::conditional_t<width == 16, std::uint16_t,
                       std::conditional_t<width == 32, std::uint32_t, std::uint64_t>>>;

struct BitsValues {
  template <Type T>
  struct Value;
};

template <Type T>
struct BitsValues::Value {
  using Bits = UnsignedOf<width_of(T)>;
  using Held = std::conditional_t<
      T == Type::f32, float,
      std::conditional_t<T == Type::f64, double,
                         std::conditional_t<is_signed(T), std::make_signed_t<Bits>, Bits>>>;
  Held held;

  static constexpr Value from(Bits bits) { return {std::bit_cast<Held>(bits)}; }
  constexpr Bits bits() const { return std::bit_cast<Bits>(held); }
  /// As a register holds it: 8 bits are extended to 16.
  constexpr auto in_cell() const {
    if constexpr (width_of(T) == 8 && !is_float(T) && is_integer(T))
      return static_cast<std::uint16_t>(held);
    else
      return bits();
  }
  /// Integer results wrap: they are computed without sign.
  static constexpr Value wrapped(std::uint64_t bits) { return from(static_cast<Bits>(bits)); }

  friend constexpr Value operator+(Value a, Value b) {
    return wrapped(std::uint64_t{a.bits()} + b.bits());
  }
  friend constexpr Value operator-(Value a, Value b) {
    return wrapped(std::uint64_t{a.bits()} - b.bits());
  }
  friend constexpr Value operator*(Value a, Value b) {
    if constexpr (width_of(T) == 64)
      return wrapped(std::uint64_t{a.bits()} * b.bits());
    else
      return wrapped(std::uint32_t{a.bits()} * std::uint32_t{b.bits()});
  }
  friend constexpr Value operator-(Value a) { return wrapped(0 - std::uint64_t{a.bits()}); }
  friend constexpr Value operator&(Value a, Value b) { return wrapped(a.bits() & b.bits()); }
  friend constexpr Value operator|(Value a, Value b) { return wrapped(a.bits() | b.bits()); }
  friend constexpr Value operator^(Value a, Value b) { return wrapped(a.bits() ^ b.bits()); }
  friend constexpr Value operator~(Value a) { return wrapped(~std::uint64_t{a.bits()}); }
  friend constexpr bool operator<(Value a, Value b) { return a.held < b.held; }
  friend constexpr bool operator==(Value a, Value b) { return a.held == b.held; }
};

template <Type T>
using BitsOf = BitsValues::Value<T>;

template <Type T>
constexpr BitsOf<T> literal(BitsOf<T>, std::uint64_t bits) {
  return BitsOf<T>::wrapped(bits);
}
template <Type T>
constexpr BitsOf<T> select(bool which, BitsOf<T> yes, BitsOf<T> no) {
  return which ? yes : no;
}
template <Type T>
constexpr BitsOf<T> select(BitsOf<Type::pred> which, BitsOf<T> yes, BitsOf<T> no) {
  return (which.held & 1) != 0 ? yes : no;
}
template <Type T>
constexpr auto widen(BitsOf<T> a) {
  using Wide = BitsOf<twice(T)>;
  return Wide{static_cast<typename Wide::Held>(a.held)};
}
/// Beyond the width all is shifted out; a shift of 32 bits stays one of 32 in vector code.
template <Type T>
constexpr BitsOf<T> shift_left(BitsOf<T> a, BitsOf<Type::u32> by) {
  using W = UnsignedOf<(width_of(T) < 32 ? 32 : width_of(T))>;
  W shifted = W{a.bits()} << (by.held & (8 * sizeof(W) - 1));
  return BitsOf<T>::wrapped(by.held < width_of(T) ? shifted : 0);
}
template <Type T>
constexpr BitsOf<T> shift_right(BitsOf<T> a, BitsOf<Type::u32> by) {
  using W = UnsignedOf<(width_of(T) < 32 ? 32 : width_of(T))>;
  if constexpr (is_signed(T)) {
    return {static_cast<typename BitsOf<T>::Held>(
        a.held >> (by.held < width_of(T) ? by.held : width_of(T) - 1))};
  } else {
    W shifted = W{a.bits()} >> (by.held & (8 * sizeof(W) - 1));
    return BitsOf<T>::wrapped(by.held < width_of(T) ? shifted : 0);
  }
}
template <Type Td, class Function, Type... Ts>
constexpr BitsOf<Td> exactly(Form, Function function, BitsOf<Ts>... a) {
  return BitsOf<Td>::wrapped(function(std::uint64_t{a.bits()}...));
}
template <Type To, Type From>
constexpr BitsOf<To> recast(BitsOf<From> a) {
  return BitsOf<To>::from(a.bits());
}

// Between f32 and its narrow kin, without branches and without the processor's own conversions,
// which go one by one: these vectorise.

/// What is small stands behind a one that is taken off again.
[[gnu::always_inline]] constexpr float single_of_half(std::uint16_t half) {
  std::uint32_t magnitude = half & 0x7FFFu, sign = (half & 0x8000u) << 16;
  std::uint32_t small = magnitude < 0x400 ? ~0u : 0u, great = magnitude >= 0x7C00 ? ~0u : 0u;
  std::uint32_t normal = (magnitude << 13) + (112u << 23) + (small & 1u << 23);
  auto one = std::bit_cast<float>(small & 113u << 23);
  auto bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(normal) - one);
  return std::bit_cast<float>((bits + (great & 112u << 23)) | sign);
}
/// To nearest even; NaN is the canonical one.
[[gnu::always_inline]] constexpr std::uint16_t half_of_single(float x) {
  auto bits = std::bit_cast<std::uint32_t>(x);
  std::uint32_t magnitude = bits & 0x7FFFFFFFu, sign = bits >> 16 & 0x8000u;
  std::uint32_t normal = (magnitude + 0xFFF + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
  // The last place of 0.5 is the smallest f16.
  std::uint32_t small =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  std::uint32_t r = magnitude < 0x38800000u ? small : normal;
  r = magnitude >= 0x477FF000u ? 0x7C00u : r;
  return static_cast<std::uint16_t>(magnitude > 0x7F800000u ? 0x7FFFu : r | sign);
}
[[gnu::always_inline]] constexpr std::uint16_t bfloat_of_single(float x) {
  auto bits = std::bit_cast<std::uint32_t>(x);
  std::uint32_t r = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return static_cast<std::uint16_t>((bits & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FFFu : r);
}

/// What the narrow formats are in f32: exactly.
template <Type T>
[[gnu::always_inline]] inline double to_double(BitsOf<T> a) {
  if constexpr (T == Type::f32 || T == Type::f64) {
    return static_cast<double>(a.held);
  } else if constexpr (T == Type::f16) {
    return static_cast<double>(single_of_half(a.held));
  } else if constexpr (T == Type::bf16) {
    return static_cast<double>(std::bit_cast<float>(std::uint32_t{a.held} << 16));
  } else if constexpr (T == Type::tf32) {
    return static_cast<double>(std::bit_cast<float>(a.bits() & 0xFFFFE000u));
  } else if constexpr (T == Type::ue8m0) {  // A power of two.
    return a.held == 0xFF ? NAN : std::ldexp(1.0, static_cast<int>(a.held) - 127);
  } else if constexpr (T == Type::s2f6) {  // 2 bits before the point, 6 behind it.
    return static_cast<double>(static_cast<std::int8_t>(a.held)) / 64;
  } else {
    constexpr FloatFormat format = format_of<T>();
    constexpr int p = format.precision;
    std::uint64_t bits = a.held;
    bool negative = T != Type::ue4m3 && (bits >> (format.width - 1) & 1) != 0;
    std::uint64_t rest = bits & ((std::uint64_t{1} << (format.width - 1)) - 1);
    std::uint64_t fraction = rest & ((std::uint64_t{1} << (p - 1)) - 1), biased = rest >> (p - 1);
    double value;
    if (rest > format.max_bits)
      value = format.has_infinity && rest == format.max_bits + 1 ? HUGE_VAL : NAN;
    else if (biased == 0)
      value = std::ldexp(static_cast<double>(fraction), format.emin - (p - 1));
    else
      value = std::bit_cast<double>((biased + 1023 + static_cast<unsigned>(format.emin) - 1) << 52 |
                                    fraction << (53 - p));
    return negative ? -value : value;
  }
}

template <Type T>
constexpr BitsOf<T> canonical_nan() {
  if constexpr (T == Type::tf32)
    return BitsOf<T>::wrapped(0x7FFFFFFF);
  else
    return BitsOf<T>::wrapped(format_of<T>().nan_bits);
}

/// A double and the side on which the exact value lies, as a value of a format.
template <Type T>
inline BitsOf<T> rounded(double x, int side, Rounding mode) {
  if (x != x) return canonical_nan<T>();
  if (x - x != 0) {
    bool negative = x < 0;
    constexpr FloatFormat format = format_of<T>();
    std::uint64_t sign = negative ? std::uint64_t{1} << (format.width - 1) : 0;
    std::uint64_t bits = sign | (format.has_infinity ? format.max_bits + 1 : format.nan_bits);
    return BitsOf<T>::wrapped(T == Type::tf32 ? bits << 13 : bits);
  }
  std::uint64_t bits = round_double<T>(x, side, mode);
  return BitsOf<T>::wrapped(T == Type::tf32 ? bits << 13 : bits);
}

/// `.ftz` turns a subnormal into a zero of its sign.
template <Type T>
[[gnu::always_inline]] constexpr BitsOf<T> flushed(Form f, BitsOf<T> a) {
  if constexpr (T == Type::f32) {
    std::uint32_t bits = a.bits();
    bool flush = f.ftz() & ((bits & 0x7F800000u) == 0);
    return BitsOf<T>::from(flush ? bits & 0x80000000u : bits);
  } else if constexpr (T == Type::f16) {
    bool flush = f.ftz() & ((a.held & 0x7C00u) == 0);
    return BitsOf<T>::wrapped(flush ? a.held & 0x8000u : a.held);
  } else {
    return a;
  }
}

template <Type T>
constexpr bool is_nan(BitsOf<T> a) {
  if constexpr (T == Type::f32 || T == Type::f64) {
    return a.held != a.held;
  } else {
    constexpr FloatFormat format = format_of<T>();
    return (a.bits() & ((std::uint64_t{1} << (format.width - 1)) - 1)) >
           format.max_bits + (format.has_infinity ? 1 : 0);
  }
}
template <Type T>
constexpr bool is_negative(BitsOf<T> a) {
  constexpr int top = is_small_float(T) ? format_of<T>().width : static_cast<int>(width_of(T));
  return (a.bits() >> (top - 1) & 1) != 0;
}

/// After rounding: canonical NaN, .ftz, .sat to [0, 1] (NaN to 0), .relu.
template <Type T>
[[gnu::always_inline]] constexpr BitsOf<T> finished(Form f, BitsOf<T> r) {
  constexpr FloatFormat format = format_of<T>();
  if constexpr (T != Type::f64) r = is_nan(r) ? BitsOf<T>::wrapped(format.nan_bits) : r;
  r = flushed(f, r);
  if (f.has(Flag::relu) && !is_nan(r) && is_negative(r)) r = BitsOf<T>::wrapped(0);
  if (f.has(Flag::sat)) {
    std::uint64_t one = static_cast<std::uint64_t>(-format.emin + 1) << (format.precision - 1);
    if (is_nan(r) || is_negative(r))
      r = BitsOf<T>::wrapped(0);
    else if (r.bits() > one)
      r = BitsOf<T>::wrapped(one);
  }
  return r;
}

}  // namespace lathe::ptx

#include "ptx/bits_convert.h"
#include "ptx/bits_float.h"
