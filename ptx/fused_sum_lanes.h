#pragma once

// The fused dot-add of fused_sum.h for eight columns at once, of ordinary inputs: finite ones whose
// products and sums stay within the normal numbers of f32. The product of two factors is then exact
// in f32; times a power of two and cut to an integer it is what the step adds; and sums of such
// integers are exact in 32 bits, with C in a double. A product below the normal numbers may lose
// bits, but is cut to zero beside a sum that is large enough. Whatever is not ordinary is noticed
// and left to fused_sum.h.

#include <algorithm>
#include <cstring>
#include <limits>

#include "ptx/fused_sum.h"

namespace lathe::ptx::dot {

typedef float Floats __attribute__((vector_size(32)));
typedef std::int32_t Ints __attribute__((vector_size(32)));
typedef double Doubles __attribute__((vector_size(64)));
typedef std::int64_t Longs __attribute__((vector_size(64)));

// Vectors go from function to function by reference: how a value is passed depends on the
// processor.

inline bool any_lane(const Ints& mask) {
  std::int32_t all = 0;
  for (unsigned i = 0; i < columns; ++i) all |= mask[i];
  return all != 0;
}

/// The factors of A (by rows) or of B (by rows of eight columns): what they are in f32, and their
/// exponents, which are not normalised.
template <unsigned count>
struct Side {
  static_assert(count % columns == 0);
  std::array<Floats, count / columns> value;
  std::array<Ints, count / columns> exponent;
  std::int32_t highest = 0;  // Exponent of what is not zero.
  bool finite = false;

  const float* values() const { return reinterpret_cast<const float*>(value.data()); }
  const std::int32_t* exponents() const {
    return reinterpret_cast<const std::int32_t*>(exponent.data());
  }
};
using SideA = Side<m_max * k_max>;
using SideB = Side<k_max * columns>;

/// Exponents of a step's largest number between which all that is done here is exact.
inline constexpr std::int32_t exponent_min = -100, exponent_max = 120;
/// A product of which a factor is zero has an exponent below this, and no other has.
inline constexpr std::int32_t exponent_absent = absent / 2;

template <Type T, unsigned size>
void read_side(const std::uint32_t* bits, unsigned count, Side<size>& side) {
  constexpr FloatFormat format = format_of<T>();
  constexpr int fraction = format.precision - 1, sign = format.width - 1;
  constexpr std::int32_t magnitudes = (1 << sign) - 1, hidden = 1 << fraction;
  constexpr std::int32_t none = std::numeric_limits<std::int16_t>::max();
  Ints special{}, highest = Ints{} - none;
  for (unsigned i = 0; i < count / columns; ++i) {
    Ints x;
    std::memcpy(&x, bits + columns * i, sizeof x);
    if constexpr (T == Type::tf32) x >>= 13;
    Ints magnitude = x & magnitudes, biased = magnitude >> fraction;
    special |= magnitude > static_cast<std::int32_t>(format.max_bits);
    Ints exponent = (biased == 0 ? biased : biased - 1) + format.emin, zero = magnitude == 0;
    side.exponent[i] = zero ? Ints{} + absent : exponent;
    if constexpr (format.emin == -126) {  // The upper bits of an f32.
      side.value[i] = __builtin_bit_cast(Floats, x << (31 - sign));
      Ints high = zero ? Ints{} - none : exponent;
      highest = high > highest ? high : highest;
    } else {
      Ints significand = (magnitude & (hidden - 1)) | (biased == 0 ? Ints{} : Ints{} + hidden);
      Floats unit = __builtin_bit_cast(Floats, (exponent + (127 - fraction)) << 23);
      Floats value = __builtin_convertvector(significand, Floats) * unit;
      side.value[i] =
          __builtin_bit_cast(Floats, __builtin_bit_cast(Ints, value) | ((x >> sign) << 31));
    }
  }
  side.highest = format.emax;
  if constexpr (format.emin == -126) {
    side.highest = -none;
    for (unsigned j = 0; j < columns; ++j) side.highest = std::max(side.highest, highest[j]);
  }
  side.finite = !any_lane(special);
}

/// The first `count` elements, a multiple of eight.
template <unsigned size>
void read_side(Type type, const std::uint32_t* bits, unsigned count, Side<size>& side) {
  with_factor_type(type, [&]<Type T>() { read_side<T>(bits, count, side); });
}

/// An f32 result is cut. So is what becomes f16, but a last bit that stands for all that was cut
/// lets it be rounded from there as if from the sum.
template <bool half>
[[gnu::always_inline]] inline void put(const Product& how, const Doubles& sum, Row& row) {
  unsigned cut = half ? 29 : 52 - static_cast<unsigned>(how.steps.output_bits);
  std::int64_t low = (std::int64_t{1} << cut) - 1;
  Longs bits = __builtin_bit_cast(Longs, sum), kept = bits & ~low;
  if (half) kept |= (bits & low) == 0 ? Longs{} : Longs{} + (low + 1);
  Floats c = __builtin_convertvector(__builtin_bit_cast(Doubles, kept), Floats);
  std::memcpy(row.c.data(), &c, sizeof c);
  if (!half) return;
  for (float& each : row.c) {
    std::uint16_t once = half_of_single(each);
    each = (once & 0x7FFF) == 0 ? 0.0f : single_of_half(once);  // Too small: it leaves no sign.
  }
}

/// One step: C plus k products, a row of A by eight columns of B. Sets lanes of `left` where the
/// inputs are not ordinary.
template <unsigned k, bool half>
[[gnu::always_inline]] inline void step_lanes(const Product& how, const float* a_value,
                                              const std::int32_t* a_exponent, const Floats* b_value,
                                              const Ints* b_exponent, Row& row, Ints& left) {
  Floats c;
  std::memcpy(&c, row.c.data(), sizeof c);
  Ints magnitude = __builtin_bit_cast(Ints, c) & 0x7FFFFFFF;
  Ints biased = magnitude >> 23, zero = magnitude == 0;
  Ints top = (biased == 0 ? biased + 1 : biased) - 127;
  top = zero ? Ints{} + how.steps.zero_exponent : top;
  left |= biased == 0xFF;
  Ints product = Ints{} + 2 * absent;
  for (unsigned i = 0; i < k; ++i) {
    Ints exponent = b_exponent[i] + a_exponent[i];
    product = exponent > product ? exponent : product;
  }
  top = product > top ? product : top;
  Ints low = top < exponent_min;  // Then all must be zero.
  left |= low & (~zero | (product > exponent_absent));
  top = low ? Ints{} + exponent_min : top;
  Floats up = __builtin_bit_cast(Floats, (127 + how.steps.fraction_bits - top) << 23);
  Floats down = __builtin_bit_cast(Floats, (127 - how.steps.fraction_bits + top) << 23);
  // Sixteen products, each below four times the largest power of two, fit 32 bits.
  std::array<Ints, (k + 15) / 16> sums{};
  for (unsigned i = 0; i < k; ++i)
    sums[i / 16] += __builtin_convertvector(b_value[i] * a_value[i] * up, Ints);
  Doubles sum = __builtin_convertvector(__builtin_convertvector(c * up, Ints), Doubles);
  for (const Ints& each : sums) sum += __builtin_convertvector(each, Doubles);
  put<half>(how, sum * __builtin_convertvector(down, Doubles), row);
}

template <unsigned k, bool half>
bool multiply_steps(const Product& product, const SideA& a, const SideB& b, Rows& rows) {
  const Product how = product;  // Which no row is taken to overlap.
  Ints left{};
  for (unsigned i = 0; i < how.m; ++i)
    for (unsigned q = 0; q < how.k; q += k)
      step_lanes<k, half>(how, a.values() + i * how.k + q, a.exponents() + i * how.k + q,
                          &b.value[q], &b.exponent[q], rows[i], left);
  return !any_lane(left);
}

/// As multiply_each; false where the inputs are not ordinary, and `rows` are spoiled then.
inline bool multiply_lanes(const Product& how, const SideA& a, const SideB& b, Rows& rows) {
  if (!a.finite || !b.finite || how.by_halves || how.k % how.steps.k != 0) return false;
  if (a.highest + b.highest > exponent_max) return false;
  auto steps = [&]<unsigned k>() {
    return how.half ? multiply_steps<k, true>(how, a, b, rows)
                    : multiply_steps<k, false>(how, a, b, rows);
  };
  switch (how.steps.k) {
    case 4:
      return steps.template operator()<4>();
    case 8:
      return steps.template operator()<8>();
    case 16:
      return steps.template operator()<16>();
    case 32:
      return steps.template operator()<32>();
    default:
      return false;
  }
}

}  // namespace lathe::ptx::dot
