#pragma once

// Float arithmetic of the bits domain. Included by bits_value.h.

#include "ptx/approximate.h"
#include "ptx/bits_value.h"

namespace lathe::ptx {

__extension__ using Quad = __float128;

/// The wide type in which a product of two is exact, or nearly everything is.
template <Type T>
using WideOf = std::conditional_t<T == Type::f64, Quad, double>;
template <Type T>
using NativeOf = std::conditional_t<T == Type::f64, double, float>;

template <Type T>
constexpr bool native = T == Type::f32 || T == Type::f64;

/// In a wide type: the value, and the sign of what it lost. Narrow formats round from there.
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> narrowed(Form f, WideOf<T> s, int lost) {
  if constexpr (native<T>)
    return {directed<NativeOf<T>, WideOf<T>>(s, lost, f.rounding)};
  else
    return rounded<T>(s, lost, f.rounding);
}

template <Type T>
inline WideOf<T> wide(BitsOf<T> a) {
  if constexpr (T == Type::f64)
    return static_cast<Quad>(a.held);
  else
    return to_double(a);
}

/// The sum of zeros of both signs, and an exact cancellation, is -0 only towards minus infinity.
template <Type T>
inline BitsOf<T> zero_sum(Form f, BitsOf<T> a, BitsOf<T> b) {
  bool both = is_negative(a) && is_negative(b), mixed = is_negative(a) != is_negative(b);
  bool negative = both || (mixed && f.rounding == Rounding::rm);
  return BitsOf<T>::wrapped(negative ? std::uint64_t{1} << (width_of(T) - 1) : 0);
}

/// What an operation on the sign makes of NaN: f64 keeps its payload, quietly.
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> quieted(BitsOf<T> a) {
  if constexpr (T == Type::f64)
    return BitsOf<T>::from(is_nan(a) ? a.bits() | 0x0008000000000000u : a.bits());
  else
    return is_nan(a) ? canonical_nan<T>() : a;
}
/// NaN as a sum or product gives it: of f64 the first operand's that is NaN, else the canonical
/// one.
template <Type T>
inline BitsOf<T> nan_among(BitsOf<T> first, BitsOf<T> second) {
  if constexpr (T == Type::f64) {
    if (is_nan(first)) return quieted(first);
    if (is_nan(second)) return quieted(second);
  }
  return canonical_nan<T>();
}

template <Type T>
[[gnu::noinline]] BitsOf<T> add_exactly(Form f, BitsOf<T> a, BitsOf<T> b) {
  int lost = 0;
  WideOf<T> x = wide(a), y = wide(b);
  if (x - x != 0 || y - y != 0) {
    double sum = to_double(a) + to_double(b);
    return sum != sum ? nan_among(b, a) : rounded<T>(sum, 0, Rounding::rn);
  }
  WideOf<T> s = two_sum(x, y, lost);
  if (s == 0 && lost == 0) {
    if (x != 0)
      return zero_sum(f, BitsOf<T>::wrapped(0),
                      BitsOf<T>::wrapped(std::uint64_t{1} << (width_of(T) - 1)));
    return zero_sum(f, a, b);
  }
  return narrowed<T>(f, s, lost);
}

template <Type T>
[[gnu::noinline]] BitsOf<T> mul_exactly(Form f, BitsOf<T> a, BitsOf<T> b) {
  WideOf<T> p = wide(a) * wide(b);
  if (p - p != 0) {
    double product = to_double(a) * to_double(b);
    return product != product ? nan_among(b, a) : rounded<T>(product, 0, Rounding::rn);
  }
  if (p == 0)
    return BitsOf<T>::wrapped(
        is_negative(a) != is_negative(b) ? std::uint64_t{1} << (width_of(T) - 1) : 0);
  return narrowed<T>(f, p, 0);
}

template <Type T>
[[gnu::noinline]] BitsOf<T> fused_exactly(Form f, BitsOf<T> a, BitsOf<T> b, BitsOf<T> c) {
  WideOf<T> p = wide(a) * wide(b), y = wide(c);
  if (p - p != 0 || y - y != 0) {
    auto r = static_cast<double>(p + y);
    if (r != r) return is_nan(b) ? quieted(b) : nan_among(c, a);
    return rounded<T>(r, 0, Rounding::rn);
  }
  int lost = 0;
  WideOf<T> s = two_sum(p, y, lost);
  if (s == 0 && lost == 0) {
    bool p_negative = is_negative(a) != is_negative(b);
    std::uint64_t sign = std::uint64_t{1} << (width_of(T) - 1);
    if (p != 0) return zero_sum(f, BitsOf<T>::wrapped(0), BitsOf<T>::wrapped(sign));
    return zero_sum(f, BitsOf<T>::wrapped(p_negative ? sign : 0), c);
  }
  return narrowed<T>(f, s, lost);
}

/// The processor gives the first NaN of two, the device the second.
template <Type T>
[[gnu::always_inline]] inline NativeOf<T> second_nan(BitsOf<T> b, NativeOf<T> result) {
  if constexpr (T == Type::f64)
    if (b.held != b.held) return quieted(b).held;
  return result;
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> add(Form f, BitsOf<T> a, BitsOf<T> b) {
  a = flushed(f, a), b = flushed(f, b);
  if constexpr (native<T>)
    if (f.rounding == Rounding::rn) return finished<T>(f, {second_nan(b, a.held + b.held)});
  return finished(f, add_exactly(f, a, b));
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> negate(Form f, BitsOf<T> a) {
  a = flushed(f, a);
  BitsOf<T> r = BitsOf<T>::wrapped(a.bits() ^ std::uint64_t{1} << (width_of(T) - 1));
  if constexpr (T == Type::f64)
    if (is_nan(a)) return quieted(a);
  return quieted(r);
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> sub(Form f, BitsOf<T> a, BitsOf<T> b) {
  a = flushed(f, a), b = flushed(f, b);
  if constexpr (native<T>)
    if (f.rounding == Rounding::rn) return finished<T>(f, {second_nan(b, a.held - b.held)});
  return finished(f, add_exactly(f, a, negate(Form{}, b)));
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> mul(Form f, BitsOf<T> a, BitsOf<T> b) {
  a = flushed(f, a), b = flushed(f, b);
  if constexpr (native<T>)
    if (f.rounding == Rounding::rn) return finished<T>(f, {second_nan(b, a.held * b.held)});
  return finished(f, mul_exactly(f, a, b));
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> fused(Form f, BitsOf<T> a, BitsOf<T> b, BitsOf<T> c) {
  a = flushed(f, a), b = flushed(f, b), c = flushed(f, c);
  if (f.rounding == Rounding::rn) {
    if constexpr (T == Type::f32) return finished<T>(f, {__builtin_fmaf(a.held, b.held, c.held)});
    if constexpr (T == Type::f64) {
      if (is_nan(b) || is_nan(c)) return is_nan(b) ? quieted(b) : quieted(c);
      return finished<T>(f, {__builtin_fma(a.held, b.held, c.held)});
    }
  }
  return finished(f, fused_exactly(f, a, b, c));
}

/// fma.oob: the NaN with which copies fill what lies out of bounds makes the result zero.
template <Type T>
inline BitsOf<T> fused_filled(Form f, BitsOf<T> a, BitsOf<T> b, BitsOf<T> c) {
  constexpr std::uint16_t fill = 0xFFFF;
  if (a.held == fill || b.held == fill) return BitsOf<T>::wrapped(0);
  return fused(f, a, b, c);
}

template <Type T>
[[gnu::always_inline]] inline BitsOf<T> divide(Form f, BitsOf<T> a, BitsOf<T> b) {
  a = flushed(f, a), b = flushed(f, b);
  NativeOf<T> q = static_cast<NativeOf<T>>(a.held / b.held);
  if constexpr (T == Type::f32) {  // Beyond 2^126 the device's quotient is zero.
    float size = std::fabs(b.held),
          zero = std::copysign(0.0f, a.held) * std::copysign(1.0f, b.held);
    bool beyond = f.has(Flag::approx) & (size > 0x1p126f) & (size < HUGE_VALF) & !is_nan(a);
    q = beyond ? (a.held - a.held == 0 ? zero : canonical_nan<T>().held) : q;
  }
  if (f.rounding != Rounding::rn && q - q == 0 && b.held - b.held == 0) {
    WideOf<T> x = wide(a), y = wide(b), s = x / y, r = x - static_cast<WideOf<T>>(q) * y;
    int side = sign_of(r) * (b.held < 0 ? -1 : 1);
    if (s != 0) q = directed<NativeOf<T>, WideOf<T>>(static_cast<WideOf<T>>(q), side, f.rounding);
  }
  bool overflowed = q - q != 0 && q == q && a.held - a.held == 0 && b.held != 0;
  if (f.rounding != Rounding::rn && overflowed) {
    constexpr FloatFormat format = format_of<T>();
    std::uint64_t sign = q < 0 ? std::uint64_t{1} << (width_of(T) - 1) : 0;
    return finished(f, BitsOf<T>::wrapped(sign | overflow_bits(format, f.rounding, q < 0)));
  }
  return finished<T>(f, {q});
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> reciprocal(Form f, BitsOf<T> a) {
  BitsOf<T> one{static_cast<NativeOf<T>>(1)};
  Form exact = f;
  exact.flags &= ~(1u << static_cast<unsigned>(Flag::approx));
  if constexpr (T == Type::f64) {
    if (f.has(Flag::approx)) {  // rcp.approx.ftz.f64: the upper half of the bits, both ways.
      std::uint64_t bits = a.bits() & 0xFFFFFFFF00000000u;
      if ((bits & 0x7FF0000000000000u) == 0) bits &= 0x8000000000000000u;
      BitsOf<T> r = divide(exact, one, BitsOf<T>::from(bits));
      if (is_nan(r)) return BitsOf<T>::from(0x7FFFFFFF00000000u);
      bits = r.bits() & 0xFFFFFFFF00000000u;
      if ((bits & 0x7FF0000000000000u) == 0) bits &= 0x8000000000000000u;
      return BitsOf<T>::from(bits);
    }
  }
  return divide(exact, one, a);
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> square_root(Form f, BitsOf<T> a) {
  a = flushed(f, a);
  NativeOf<T> q = std::sqrt(a.held);
  if (f.rounding != Rounding::rn && q - q == 0) {
    WideOf<T> r = wide(a) - static_cast<WideOf<T>>(q) * static_cast<WideOf<T>>(q);
    q = directed<NativeOf<T>, WideOf<T>>(static_cast<WideOf<T>>(q), sign_of(r), f.rounding);
  }
  if constexpr (T == Type::f64)
    if (q != q && !is_nan(a)) return canonical_nan<T>();
  return finished<T>(f, {q});
}

template <Type T>
[[gnu::always_inline]] inline BitsOf<T> absolute(Form f, BitsOf<T> a) {
  a = flushed(f, a);
  if constexpr (T == Type::f64)
    if (is_nan(a)) return quieted(a);
  return quieted(BitsOf<T>::wrapped(a.bits() & ~(std::uint64_t{1} << (width_of(T) - 1))));
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> copysign_of(BitsOf<T> a, BitsOf<T> b) {
  std::uint64_t sign = std::uint64_t{1} << (width_of(T) - 1);
  return BitsOf<T>::wrapped((b.bits() & ~sign) | (a.bits() & sign));
}

/// a before b, where -0 is before +0.
template <Type T>
[[gnu::always_inline]] inline bool before(BitsOf<T> a, BitsOf<T> b) {
  using Signed = std::make_signed_t<typename BitsOf<T>::Bits>;
  auto key = [](BitsOf<T> v) {
    auto bits = std::bit_cast<Signed>(v.bits());
    constexpr auto magnitude = std::numeric_limits<Signed>::max();
    return static_cast<Signed>(bits < 0 ? bits ^ magnitude : bits);
  };
  return key(a) < key(b);
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> extreme(Form f, bool want_first, BitsOf<T> a, BitsOf<T> b) {
  a = flushed(f, a), b = flushed(f, b);
  if constexpr (T == Type::f64) {
    if (is_nan(a)) return is_nan(b) ? quieted(b) : b;
    if (is_nan(b)) return a;
    return before(a, b) == want_first ? a : b;
  } else {
    std::uint64_t sign_bit = std::uint64_t{1} << (width_of(T) - 1);
    std::uint64_t sign = (a.bits() ^ b.bits()) & sign_bit;
    if (f.has(Flag::xorsign_abs) || f.has(Flag::abs))
      a = absolute(Form{}, a), b = absolute(Form{}, b);
    BitsOf<T> r = before(a, b) == want_first ? a : b;
    r = is_nan(a) ? b : is_nan(b) ? a : r;
    bool poisoned = f.has(Flag::nan) && (is_nan(a) || is_nan(b));
    r = poisoned || is_nan(r) ? BitsOf<T>::wrapped(format_of<T>().nan_bits) : r;
    if (f.has(Flag::xorsign_abs) && !is_nan(r)) r = BitsOf<T>::wrapped(r.bits() | sign);
    return r;
  }
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> minimum(Form f, BitsOf<T> a, BitsOf<T> b) {
  return extreme(f, true, a, b);
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> maximum(Form f, BitsOf<T> a, BitsOf<T> b) {
  return extreme(f, false, a, b);
}

/// A function that the device approximates: computed in double and rounded once.
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> approximated(Form f, double value) {
  if constexpr (T == Type::f32)
    return finished<T>(f, {static_cast<float>(value)});
  else
    return finished(f, rounded<T>(value, 0, Rounding::rn));
}
/// Functions of 16 bits are cut, not rounded, on the device; what is too large is infinite.
template <Type T>
inline BitsOf<T> cut(double value) {
  constexpr FloatFormat format = format_of<T>();
  bool fits = std::fabs(value) < std::ldexp(1.0, format.emax + 1);
  return rounded<T>(value, 0, fits ? Rounding::rz : Rounding::rn);
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> exponential2(Form f, BitsOf<T> a) {
  if constexpr (T == Type::bf16) f.set(Flag::ftz);
  double x = to_double(flushed(f, a));
  if constexpr (width_of(T) == 16) {
    double power = x > -0x1p-23 && x < 0 ? 1.0 : approximate::exponential2(x);
    return T == Type::bf16 && power < 0x1p-126 ? BitsOf<T>::wrapped(0) : cut<T>(power);
  }
  return approximated<T>(f, approximate::exponential2(x));
}
template <Type T>
inline BitsOf<T> logarithm2(Form f, BitsOf<T> a) {
  double x = to_double(flushed(f, a));
  if (x > 0 && x - x == 0) return approximated<T>(f, approximate::logarithm2(x));
  return approximated<T>(f, x == 0 ? -HUGE_VAL : x > 0 ? x : NAN);
}
/// The upper half of a double, as the approximations of f64 take and give it: no subnormals.
inline std::uint64_t upper_half(std::uint64_t bits) {
  bits &= 0xFFFFFFFF00000000u;
  return (bits & 0x7FF0000000000000u) == 0 ? bits & 0x8000000000000000u : bits;
}
template <Type T>
[[gnu::always_inline]] inline BitsOf<T> reciprocal_root(Form f, BitsOf<T> a) {
  if constexpr (T == Type::f64)
    if (f.ftz()) {
      double x = BitsOf<T>::from(upper_half(a.bits())).held, root = 1 / std::sqrt(x);
      if (x == 0) return {std::copysign(HUGE_VAL, x)};
      return BitsOf<T>::from(root != root ? 0x7FFFFFFF00000000u
                                          : upper_half(std::bit_cast<std::uint64_t>(root)));
    }
  double x = to_double(flushed(f, a));
  if (x == 0) return approximated<T>(f, is_negative(a) ? -HUGE_VAL : HUGE_VAL);
  double r = 1 / std::sqrt(x);
  if constexpr (T == Type::f64) return r != r ? canonical_nan<T>() : BitsOf<T>{r};
  return approximated<T>(f, r);
}
/// The device turns the argument into turns first, cut to f32, and takes subnormal ones as zero.
inline double in_turns(double x) {
  double product = x * static_cast<double>(0x1.45f306p-3f);
  auto turns = static_cast<float>(product);
  if (std::fabs(static_cast<double>(turns)) > std::fabs(product))
    turns = std::nextafter(turns, 0.0f);
  return std::fabs(turns) < 0x1p-126f ? std::copysign(0.0, x) : static_cast<double>(turns);
}
/// The angle of the turns' fraction.
inline double angle_of(double turns) {
  double fraction = turns - std::floor(turns + 0.5);
  return fraction * 6.28318530717958647693;
}
template <Type T>
inline BitsOf<T> sine(Form f, BitsOf<T> a) {
  double turns = in_turns(to_double(flushed(f, a)));
  if (turns == 0) return approximated<T>(f, turns);
  return approximated<T>(f, turns - turns == 0 ? approximate::sine_of(angle_of(turns), 0) : NAN);
}
template <Type T>
inline BitsOf<T> cosine(Form f, BitsOf<T> a) {
  double turns = in_turns(to_double(flushed(f, a)));
  return approximated<T>(f, turns - turns == 0 ? approximate::sine_of(angle_of(turns), 1) : NAN);
}
template <Type T>
inline BitsOf<T> hyperbolic_tangent(Form f, BitsOf<T> a) {
  double x = to_double(a);
  if (x == 0) return a;
  if constexpr (width_of(T) == 16) {
    std::uint32_t magnitude = a.bits() & 0x7FFFu, sign = a.bits() & 0x8000u;
    if (std::fabs(x) < 0.003935) return a;
    if (std::fabs(x) >= 8) return cut<T>(x < 0 ? -1.0 : 1.0);
    int step =
        T == Type::f16 ? approximate::half_tangent_step(magnitude) : (magnitude == 0x3F3F ? -1 : 0);
    std::uint32_t bits = cut<T>(approximate::hyperbolic_tangent(std::fabs(x))).bits();
    return x != x ? canonical_nan<T>()
                  : BitsOf<T>::wrapped(sign | (bits + static_cast<std::uint32_t>(step)));
  }
  return approximated<T>(f, approximate::hyperbolic_tangent(to_double(a)));
}

template <Type T>
[[gnu::always_inline]] inline bool compare(Form f, BitsOf<T> x, BitsOf<T> y) {
  using N = std::conditional_t<native<T>, NativeOf<T>, double>;
  x = flushed(f, x), y = flushed(f, y);
  N a, b;
  if constexpr (native<T>)
    a = x.held, b = y.held;
  else
    a = to_double(x), b = to_double(y);
  unsigned outcome = a < b ? 1u : a == b ? 2u : a > b ? 4u : 8u;
  return (outcome & holds_for(f.comparison)) != 0;
}

template <Type T>
inline bool is_special(Form f, BitsOf<T> x) {
  constexpr FloatFormat format = format_of<T>();
  std::uint64_t rest = x.bits() & ((std::uint64_t{1} << (width_of(T) - 1)) - 1);
  std::uint64_t normal = std::uint64_t{1} << (format.precision - 1);
  // clang-format off
  switch (f.constant) {
    case 0: return rest <= format.max_bits;
    case 1: return rest == format.max_bits + 1;
    case 2: return rest <= format.max_bits + 1;
    case 3: return rest > format.max_bits + 1;
    case 4: return rest == 0 || (rest >= normal && rest <= format.max_bits);  // Zero too.
    default: return rest != 0 && rest < normal;
  }
  // clang-format on
}

}  // namespace lathe::ptx
