#pragma once

// The fused dot-add of fused_sum.h for eight columns at once, of ordinary inputs: finite ones whose
// products and sums stay within the normal numbers of f32. The product of two factors is then exact
// in f32; times a power of two and cut to an integer it is what the step adds; and sums of such
// integers are exact in 32 bits, or with C in a double. A product below the normal numbers may lose
// bits, but is cut to zero beside a sum that is large enough. Whatever is not ordinary is noticed
// and left to fused_sum.h.
//
// What is called rows and columns here may be the other way round: a product is the transpose of
// one of the transposes.

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "ptx/fused_sum.h"

namespace lathe::ptx::dot {

typedef float Floats __attribute__((vector_size(32)));
typedef std::int32_t Ints __attribute__((vector_size(32)));
typedef std::int16_t Shorts __attribute__((vector_size(16)));
typedef double Doubles __attribute__((vector_size(64)));
typedef std::int64_t Longs __attribute__((vector_size(64)));

// Vectors go from function to function by reference: how a value is passed depends on the
// processor.

template <class Vector>
inline bool any_lane(const Vector& mask) {
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
  std::array<Shorts, count / columns> exponent;
  std::int32_t highest = 0;  // Exponent of what is not zero.
  bool finite = false;

  const float* values() const { return reinterpret_cast<const float*>(value.data()); }
  const std::int16_t* exponents() const {
    return reinterpret_cast<const std::int16_t*>(exponent.data());
  }
};
using SideA = Side<m_max * k_max>;
using SideB = Side<k_max * columns>;

/// Exponents of a step's largest number between which all that is done here is exact.
inline constexpr std::int32_t exponent_min = -100, exponent_max = 120;
/// A product of which a factor is zero has an exponent below this, and no other has.
inline constexpr std::int32_t exponent_absent = absent / 2;

/// Eight factors of a type; sets lanes of `special` where they are not finite.
template <Type T>
[[gnu::always_inline]] inline void read_eight(const Ints& bits, Floats& value, Shorts& exponent,
                                              Ints& special) {
  constexpr FloatFormat format = format_of<T>();
  constexpr int fraction = format.precision - 1, sign = format.width - 1;
  constexpr std::int32_t magnitudes = (1 << sign) - 1, hidden = 1 << fraction;
  Ints x = T == Type::tf32 ? bits >> 13 : bits;
  Ints magnitude = x & magnitudes, biased = magnitude >> fraction;
  special |= magnitude > static_cast<std::int32_t>(format.max_bits);
  Ints e = (biased == 0 ? biased : biased - 1) + format.emin;
  exponent = __builtin_convertvector(magnitude == 0 ? Ints{} + absent : e, Shorts);
  if constexpr (format.emin == -126) {  // The upper bits of an f32.
    value = __builtin_bit_cast(Floats, x << (31 - sign));
  } else {
    Ints significand = (magnitude & (hidden - 1)) | (biased == 0 ? Ints{} : Ints{} + hidden);
    Floats unit = __builtin_bit_cast(Floats, (e + (127 - fraction)) << 23);
    Floats scaled = __builtin_convertvector(significand, Floats) * unit;
    value = __builtin_bit_cast(Floats, __builtin_bit_cast(Ints, scaled) | ((x >> sign) << 31));
  }
}

/// The largest exponent of a type whose exponents matter; of the narrow ones all do well.
template <Type T, unsigned size>
void end_side(unsigned count, bool special, Side<size>& side) {
  constexpr FloatFormat format = format_of<T>();
  side.highest = format.emax;
  side.finite = !special;
  if constexpr (format.emin == -126) {
    Shorts highest = Shorts{} + static_cast<std::int16_t>(absent);
    for (unsigned i = 0; i < count / columns; ++i)
      highest = side.exponent[i] > highest ? side.exponent[i] : highest;
    side.highest = absent;
    for (unsigned j = 0; j < columns; ++j)
      side.highest = std::max(side.highest, std::int32_t{highest[j]});
  }
}

/// The first `count` elements, a multiple of eight.
template <unsigned size>
void read_side(Type type, const std::uint32_t* bits, unsigned count, Side<size>& side) {
  with_factor_type(type, [&]<Type T>() {
    Ints special{};
    for (unsigned i = 0; i < count / columns; ++i) {
      Ints x;
      std::memcpy(&x, bits + columns * i, sizeof x);
      read_eight<T>(x, side.value[i], side.exponent[i], special);
    }
    end_side<T>(count, any_lane(special), side);
  });
}

/// Whether Halves knows a type.
inline bool is_half(Type type) { return type == Type::f16 || type == Type::bf16; }

/// Fills a side of f16 or bf16 with eight elements after eight.
template <Type T, unsigned size>
class Halves {
 public:
  explicit Halves(Side<size>& side) : side_(side) {}

  [[gnu::always_inline]] void put(unsigned i, const Shorts& x) {
    constexpr FloatFormat format = format_of<T>();
    constexpr Shorts zeros{};
    Shorts magnitude = x & std::numeric_limits<std::int16_t>::max();
    Shorts biased = magnitude >> (format.precision - 1);
    special_ |= magnitude > static_cast<std::int16_t>(format.max_bits);
    Shorts e = (biased > 1 ? biased : zeros + 1) + static_cast<std::int16_t>(format.emin - 1);
    side_.exponent[i] = magnitude == 0 ? zeros + static_cast<std::int16_t>(absent) : e;
    if constexpr (T == Type::bf16) {
      side_.value[i] = __builtin_bit_cast(Floats, __builtin_convertvector(x, Ints) << 16);
    } else {
#ifdef __F16C__
      side_.value[i] = __builtin_bit_cast(Floats, _mm256_cvtph_ps(__builtin_bit_cast(__m128i, x)));
#else
      for (unsigned j = 0; j < columns; ++j)
        side_.value[i][j] = single_of_half(static_cast<std::uint16_t>(x[j]));
#endif
    }
  }
  /// After `count` elements.
  void end(unsigned count) { end_side<T>(count, any_lane(special_), side_); }

 private:
  Side<size>& side_;
  Shorts special_{};
};

/// Calls `use` with what fills a side of such a type.
template <unsigned size, class Use>
void with_halves(Type type, Side<size>& side, Use use) {
  if (type == Type::f16) return use(Halves<Type::f16, size>(side));
  use(Halves<Type::bf16, size>(side));
}

/// Rows become columns: to interleave the upper with the lower half is a third of the way.
inline void transpose(std::array<Shorts, 8>& rows) {
  for (unsigned third = 0; third < 3; ++third) {
    std::array<Shorts, 8> before = rows;
    for (unsigned i = 0; i < 4; ++i) {
      const Shorts &x = before[i], &y = before[i + 4];
      rows[2 * i] = __builtin_shuffle(x, y, Shorts{0, 8, 1, 9, 2, 10, 3, 11});
      rows[2 * i + 1] = __builtin_shuffle(x, y, Shorts{4, 12, 5, 13, 6, 14, 7, 15});
    }
  }
}

/// A result in f32 is cut. So is what becomes f16, but a last bit that stands for all that was cut
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

/// The same of a sum that is an integer of 32 bits, in f32: what was rounded up goes one down.
[[gnu::always_inline]] inline void put(const Product& how, const Ints& sum, const Floats& unit,
                                       Row& row) {
  Ints magnitude = sum < 0 ? -sum : sum;
  Floats nearest = __builtin_convertvector(magnitude, Floats);
  Ints bits = __builtin_bit_cast(Ints, nearest);
  bits += __builtin_convertvector(nearest, Ints) > magnitude;
  bits &= ~((1 << (23 - how.steps.output_bits)) - 1);
  Ints c = __builtin_bit_cast(Ints, __builtin_bit_cast(Floats, bits) * unit);
  c |= sum & std::numeric_limits<std::int32_t>::min();
  std::memcpy(row.c.data(), &c, sizeof c);
}
/// Sums up to here may have C added, and be rounded to f32, within 32 bits.
inline constexpr std::int32_t sum_max = 0x7BFFFF00;

/// The largest exponent of k products.
template <unsigned k>
[[gnu::always_inline]] inline void highest_product(const std::int16_t* a, const Shorts* b,
                                                   Ints& highest) {
#ifdef __AVX2__
  typedef std::int16_t Pairs __attribute__((vector_size(32)));
  Pairs tops{};
  for (unsigned begin = 0; begin < k; begin += 8) {
    constexpr unsigned some = k < 8 ? k : 8;
    __m128i once{};
    std::memcpy(&once, a + begin, 2 * some);
    __m256i eight = _mm256_broadcastsi128_si256(once);
    for (unsigned i = 0; i < some; i += 2) {  // Two products of each column at once.
      auto place = static_cast<std::int16_t>(0x0100 + 0x0202 * i);
      Pairs low = Pairs{} + place, first{-1, -1, -1, -1, -1, -1, -1, -1};
      low = first == -1 ? low : low + 0x0202;
      Pairs exponents;
      std::memcpy(&exponents, b + begin + i, sizeof exponents);
      exponents +=
          __builtin_bit_cast(Pairs, _mm256_shuffle_epi8(eight, __builtin_bit_cast(__m256i, low)));
      tops = begin + i == 0 ? exponents : exponents > tops ? exponents : tops;
    }
  }
  auto both = __builtin_bit_cast(__m256i, tops);
  __m128i more = _mm_max_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
  highest = __builtin_bit_cast(Ints, _mm256_cvtepi16_epi32(more));
#else
  Shorts top = b[0] + a[0];
  for (unsigned i = 1; i < k; ++i) {
    Shorts exponent = b[i] + a[i];
    top = exponent > top ? exponent : top;
  }
  highest = __builtin_convertvector(top, Ints);
#endif
}

/// One step: C plus k products, a row of A by eight columns of B. Sets lanes of `left` where the
/// inputs are not ordinary, or where a sum is too large for 32 bits unless `wide`.
template <unsigned k, bool half, bool wide>
[[gnu::always_inline]] inline void step_lanes(const Product& how, const float* a_value,
                                              const std::int16_t* a_exponent, const Floats* b_value,
                                              const Shorts* b_exponent, Row& row, Ints& left) {
  Floats c;
  std::memcpy(&c, row.c.data(), sizeof c);
  Ints magnitude = __builtin_bit_cast(Ints, c) & 0x7FFFFFFF;
  Ints biased = magnitude >> 23, zero = magnitude == 0;
  Ints top = (biased > 1 ? biased : Ints{} + 1) - 127;
  top = zero ? Ints{} + how.steps.zero_exponent : top;
  left |= biased == 0xFF;
  Ints product;
  highest_product<k>(a_exponent, b_exponent, product);
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
  Ints first = __builtin_convertvector(c * up, Ints);
  if constexpr (wide) {
    Doubles sum = __builtin_convertvector(first, Doubles);
    for (const Ints& each : sums) sum += __builtin_convertvector(each, Doubles);
    put<half>(how, sum * __builtin_convertvector(down, Doubles), row);
  } else {
    if (k > 8) left |= (sums[0] > sum_max) | (sums[0] < -sum_max);
    put(how, sums[0] + first, down, row);
  }
}

template <unsigned k, bool half, bool wide>
bool multiply_steps(const Product& product, const SideA& a, const SideB& b, Rows& rows) {
  const Product how = product;  // Which no row is taken to overlap.
  Ints left{};
  for (unsigned q = 0; q < how.k; q += k)  // Rows do not wait for one another.
    for (unsigned i = 0; i < how.m; ++i)
      step_lanes<k, half, wide>(how, a.values() + i * how.k + q, a.exponents() + i * how.k + q,
                                &b.value[q], &b.exponent[q], rows[i], left);
  return !any_lane(left);
}

/// As multiply_each; false where the inputs are not ordinary, and `rows` are spoiled then.
inline bool multiply_lanes(const Product& how, const SideA& a, const SideB& b, Rows& rows) {
  if (!a.finite || !b.finite || how.by_halves || how.k % how.steps.k != 0) return false;
  if (a.highest + b.highest > exponent_max) return false;
  auto steps = [&]<unsigned k>() {
    if (how.half) return multiply_steps<k, true, true>(how, a, b, rows);
    if constexpr (k > 16) return multiply_steps<k, false, true>(how, a, b, rows);
    if constexpr (k <= 8) return multiply_steps<k, false, false>(how, a, b, rows);
    Rows before = rows;
    if (multiply_steps<k, false, false>(how, a, b, rows)) return true;
    rows = before;
    return multiply_steps<k, false, true>(how, a, b, rows);
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
