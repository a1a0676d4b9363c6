#pragma once

// Integer functions of PTX as functions of bits: each takes its operands zero-extended to 64 bits
// and gives bits of which the caller keeps as many as the destination has.

#include <bit>
#include <cstdint>

#include "ptx/type.h"

namespace lathe::ptx::functions {

using U = std::uint64_t;
using S = std::int64_t;

constexpr U ones(unsigned width) { return width >= 64 ? ~U{0} : (U{1} << width) - 1; }

/// The value of a `width`-bit signed number.
constexpr S extended(U bits, unsigned width) {
  if (width >= 64) return static_cast<S>(bits);
  U sign = U{1} << (width - 1);
  return static_cast<S>(((bits & ones(width)) ^ sign) - sign);
}

template <Type T>
constexpr S value_of(U bits) {
  return is_signed(T) ? extended(bits, width_of(T)) : static_cast<S>(bits);
}

template <Type T>
constexpr U high_product(U a, U b) {
  constexpr unsigned width = width_of(T);
  if constexpr (width == 64) {
    __extension__ using Wide = unsigned __int128;
    U high = static_cast<U>((static_cast<Wide>(a) * b) >> 64);
    if (is_signed(T)) high -= (static_cast<S>(a) < 0 ? b : 0) + (static_cast<S>(b) < 0 ? a : 0);
    return high;
  } else {
    if (is_signed(T)) return static_cast<U>((value_of<T>(a) * value_of<T>(b)) >> width);
    return (a * b) >> width;
  }
}

/// mad.hi.sat.s32 and add.sat.s32: what does not fit is the nearest that does.
constexpr U clamped_to_s32(S x) {
  if (x > 2147483647) return 2147483647u;
  if (x < -2147483648LL) return 2147483648u;
  return static_cast<U>(x);
}

/// The low 24 bits of each, as 48; `high` takes bits 16 to 47.
template <Type T>
constexpr U product24(bool high, U a, U b) {
  S product = is_signed(T) ? extended(a, 24) * extended(b, 24)
                           : static_cast<S>((a & 0xFFFFFF) * (b & 0xFFFFFF));
  return static_cast<U>(high ? product >> 16 : product);
}

/// Division by zero gives all ones, as the device does; the most negative over -1 is itself.
template <Type T>
constexpr U quotient(U a, U b) {
  if (b == 0) return ones(width_of(T));
  if constexpr (is_signed(T)) {
    S x = value_of<T>(a), y = value_of<T>(b);
    return y == -1 ? U{0} - static_cast<U>(x) : static_cast<U>(x / y);
  } else {
    return a / b;
  }
}
template <Type T>
constexpr U remainder(U a, U b) {
  if (b == 0) return ones(width_of(T));
  if constexpr (is_signed(T)) {
    S x = value_of<T>(a), y = value_of<T>(b);
    return y == -1 ? 0 : static_cast<U>(x % y);
  } else {
    return a % b;
  }
}

template <Type T>
constexpr U absolute_difference(U a, U b) {
  if (is_signed(T)) {
    S x = value_of<T>(a), y = value_of<T>(b);
    return x < y ? static_cast<U>(y) - static_cast<U>(x) : static_cast<U>(x) - static_cast<U>(y);
  }
  return a < b ? b - a : a - b;
}

template <unsigned width>
constexpr U leading_zeros(U a) {
  return static_cast<U>(std::countl_zero(a)) - (64 - width);
}
template <unsigned width>
constexpr U reversed(U a) {
  U r = 0;
  for (unsigned i = 0; i < width; ++i) r |= (a >> i & 1) << (width - 1 - i);
  return r;
}

/// The position of the most significant non-sign bit, or all ones; or the shift that brings it up.
template <Type T>
constexpr U top_bit(bool shift_amount, U a) {
  constexpr unsigned width = width_of(T);
  if (is_signed(T) && value_of<T>(a) < 0) a = ~a & ones(width);
  if (a == 0) return 0xFFFFFFFFu;
  U position = 63 - static_cast<U>(std::countl_zero(a));
  return shift_amount ? width - 1 - position : position;
}

/// Positions and lengths of bit fields are taken modulo 256 in 32 bits, and whole in 64.
template <unsigned width>
constexpr U field_number(U number) {
  return width == 64 ? number : number & 0xFF;
}

/// bfe: `length` bits from `start`; for signed types the rest is the sign.
template <Type T>
constexpr U field_of(U a, U start, U length) {
  constexpr unsigned width = width_of(T);
  start = field_number<width>(start), length = field_number<width>(length);
  if (length == 0) return 0;
  U top = start + length - 1 < width - 1 ? start + length - 1 : width - 1;
  U sign = is_signed(T) ? a >> top & 1 : 0;
  U bits = start >= width ? 0 : a >> start;
  U kept = start >= width ? 0 : (length < width - start ? length : width - start);
  return (bits & ones(static_cast<unsigned>(kept))) |
         (sign != 0 ? ~ones(static_cast<unsigned>(kept)) : 0);
}

template <unsigned width>
constexpr U inserted(U a, U b, U start, U length) {
  start = field_number<width>(start), length = field_number<width>(length);
  if (start >= width || length == 0) return b;
  U kept = length < width - start ? length : width - start;
  U mask = ones(static_cast<unsigned>(kept)) << start;
  return (b & ~mask) | ((a << start) & mask);
}

/// szext: the low n bits, with sign or zeros above.
template <Type T>
constexpr U low_bits_extended(bool wrap, U a, U n) {
  if (wrap) n &= 31;
  if (n >= 32) return a;
  if (n == 0) return 0;
  return is_signed(T) ? static_cast<U>(extended(a, static_cast<unsigned>(n)))
                      : a & ones(static_cast<unsigned>(n));
}
/// bmsk: `length` ones from `start`.
constexpr U bit_mask(bool wrap, U start, U length) {
  if (wrap) start &= 31, length &= 31;
  if (start >= 32) return 0;
  if (length > 32) length = 32;
  return (ones(static_cast<unsigned>(length)) << start) & 0xFFFFFFFFu;
}

/// Four products of bytes (dp4a), or of two halves of `a` with two bytes of `b` (dp2a).
constexpr U dot4(bool a_signed, bool b_signed, U a, U b, U c) {
  S sum = static_cast<S>(c);
  for (unsigned i = 0; i < 4; ++i) {
    U x = a >> (8 * i) & 0xFF, y = b >> (8 * i) & 0xFF;
    sum += (a_signed ? extended(x, 8) : static_cast<S>(x)) *
           (b_signed ? extended(y, 8) : static_cast<S>(y));
  }
  return static_cast<U>(sum);
}
constexpr U dot2(bool a_signed, bool b_signed, bool high, U a, U b, U c) {
  S sum = static_cast<S>(c);
  for (unsigned i = 0; i < 2; ++i) {
    U x = a >> (16 * i) & 0xFFFF, y = b >> (8 * i + (high ? 16 : 0)) & 0xFF;
    sum += (a_signed ? extended(x, 16) : static_cast<S>(x)) *
           (b_signed ? extended(y, 8) : static_cast<S>(y));
  }
  return static_cast<U>(sum);
}

/// shf: 32 bits of the 64-bit word b:a, after a shift by c.
constexpr U funnel(bool left, bool wrap, U a, U b, U c) {
  U by = wrap ? c & 31 : (c < 32 ? c : 32);
  U both = b << 32 | a;
  return left ? (both << by) >> 32 : both >> by;
}

/// lop3: bit i of the result is the table's bit at (a, b, c). Without branches, in 32 bits.
constexpr U by_table(std::uint32_t table, U a, U b, U c) {
  auto x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b);
  auto z = static_cast<std::uint32_t>(c);
  std::uint32_t r = 0;
  for (unsigned i = 0; i < 8; ++i) {
    std::uint32_t wanted = 0u - (table >> i & 1);
    r |= wanted & ((i & 4) != 0 ? x : ~x) & ((i & 2) != 0 ? y : ~y) & ((i & 1) != 0 ? z : ~z);
  }
  return r;
}

/// prmt in the default mode, sign replication included.
constexpr U permuted(U a, U b, U selector) {
  U both = b << 32 | a, r = 0;
  for (unsigned i = 0; i < 4; ++i) {
    U s = selector >> (4 * i) & 15, byte = both >> (8 * (s & 7)) & 0xFF;
    if ((s & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
    r |= byte << (8 * i);
  }
  return r;
}

/// cvt.pack: a and b clamped to the type, a above b, and the low bits of c above them.
template <Type T>
constexpr U packed(U a, U b, U c) {
  constexpr unsigned width = T == Type::u2 || T == Type::s2   ? 2
                             : T == Type::u4 || T == Type::s4 ? 4
                                                              : width_of(T);
  constexpr bool sign = is_signed(T) || T == Type::s2 || T == Type::s4;
  constexpr S low = sign ? -(S{1} << (width - 1)) : 0;
  constexpr S high = (S{1} << (sign ? width - 1 : width)) - 1;
  auto clamped = [](U x) {
    S value = extended(x, 32);
    return static_cast<U>(value < low ? low : value > high ? high : value) & ones(width);
  };
  return clamped(b) | clamped(a) << width | (2 * width < 32 ? c << (2 * width) : 0);
}

/// fns: where the n-th set bit is, counted from `base` up or down.
constexpr U nth_set_bit(U mask, U base, U offset) {
  S n = extended(offset, 32), at = static_cast<S>(base & 0xFFFFFFFF);
  if (n == -2147483648LL) return 0;  // Its magnitude is no offset: so the device answers.
  if (n == 0) return at < 32 && (mask >> at & 1) != 0 ? static_cast<U>(at) : 0xFFFFFFFFu;
  S left = (n < 0 ? -n : n) - 1;
  for (S step = n < 0 ? -1 : 1; at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) == 0) continue;
    if (left == 0) return static_cast<U>(at);
    --left;
  }
  return 0xFFFFFFFFu;
}

/// The carry out of a + b + carry (or the borrow out of a - b - borrow) in `width` bits.
constexpr U carry_of(unsigned width, U a, U b, U carry) {
  U sum = (a + b + (carry & 1));
  if (width < 64) return sum >> width & 1;
  return (sum < a || (sum == a && (b != 0 && (carry & 1) != 0))) ? 1 : 0;
}
constexpr U borrow_of(U a, U b, U borrow) { return a < b || (a == b && (borrow & 1) != 0) ? 1 : 0; }

}  // namespace lathe::ptx::functions
