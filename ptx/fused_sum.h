#pragma once

// The truncated fused dot-add of the tensor cores, bit for bit.
//
// One step takes c and some products: all are aligned to the largest exponent among them, truncated
// towards zero to F fraction bits, and summed exactly; an f32 result is truncated, an f16 result
// rounded to nearest even. How K is split into steps and F depend on the architecture (MMA-Sim,
// arXiv 2511.10909). Here is the whole meaning, one element at a time; fused_sum_lanes.h is the
// same for eight columns at once where the inputs are of ordinary size.

#include <array>

#include "ptx/bits_value.h"
#include "ptx/domain.h"

namespace lathe::ptx::dot {

inline constexpr unsigned columns = 8;  // Every product modelled is one of n = 8, or several.
inline constexpr unsigned k_max = 32, m_max = 16;

/// The exponent of a factor that is zero: it takes no part in the largest.
inline constexpr std::int32_t absent = -4000;

/// The bits of A and of B, by rows; each element lies in the low bits of its word.
struct Factors {
  alignas(64) std::array<std::uint32_t, m_max * k_max> a;
  alignas(64) std::array<std::uint32_t, k_max * columns> b;
};

/// A row of C before, and of D after.
struct Row {
  alignas(32) std::array<float, columns> c;
};
using Rows = std::array<Row, m_max>;

/// What of an instruction and its architecture matters.
struct Steps {
  int fraction_bits;  // F
  unsigned k;         // Products of one step.
  int output_bits;    // Fraction bits of an f32 result.
  /// Of a C that is zero: mma.sync aligns to it as to the smallest number, wgmma leaves it out.
  std::int32_t zero_exponent = -126;
};
struct Product {
  unsigned m = 0, k = 0;
  Type a_type{}, b_type{};
  bool half = false;  // The sum is of f16.
  /// Hopper has no products of bytes: they become f16, first the first two of each four columns and
  /// then the others, from zero; C is added at the end, to nearest.
  bool by_halves = false;
  Steps steps{};
};

inline Product product_of(const Mma& mma) {
  // From a C of f32 the sum is one of f32, and only what it gives becomes f16: wmma has that.
  bool half = mma.d_type == Type::f16 && mma.c_type == Type::f16;
  Product product{mma.m, mma.k, mma.a_type, mma.b_type, half, false, {}};
  bool byte = width_of(mma.a_type) == 8;
  product.by_halves = byte && mma.architecture == 90 && !mma.warpgroup;
  if (mma.architecture >= 90 && mma.warpgroup) {
    product.steps = {byte ? 13 : 25, mma.k, byte ? 13 : 23, absent};
  } else if (mma.architecture >= 90) {
    product.steps = {25, product.by_halves ? mma.k / 2 : mma.k, 23, mma.without_c ? absent : -126};
  } else {
    unsigned most = width_of(mma.a_type) == 32 ? 4 : byte ? 16 : 8;
    product.steps = {byte ? 13 : 24, mma.k < most ? mma.k : most, byte ? 13 : 23};
  }
  return product;
}

/// Column i of A and row i of B in the order in which they are multiplied.
inline unsigned place_in_order(const Product& how, unsigned i) {
  return how.by_halves ? i / 4 * 2 + i % 2 + (i % 4 < 2 ? 0 : how.k / 2) : i;
}

struct Numbers {
  std::int32_t fraction_bits = 0;
  std::array<std::int32_t, k_max * m_max> significand, exponent;
  std::array<double, k_max * m_max> value;
  bool special = false;
};

/// Of an exponent that a normal double has.
inline double power_of_two(std::int32_t exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

template <Type T>
void split(Numbers& out, unsigned i, std::uint32_t bits) {
  constexpr FloatFormat format = format_of<T>();
  constexpr int p = format.precision;
  if constexpr (T == Type::tf32) bits >>= 13;
  std::uint32_t rest = bits & ((1u << (format.width - 1)) - 1), biased = rest >> (p - 1);
  static_assert(format.width <= 19);
  bool negative = (bits >> (format.width - 1) & 1) != 0;
  auto m = static_cast<std::int32_t>(rest & ((1u << (p - 1)) - 1));
  out.fraction_bits = p - 1;
  out.special |= rest > format.max_bits;
  if (biased != 0) m |= 1 << (p - 1);
  std::int32_t e = biased == 0 ? format.emin : static_cast<std::int32_t>(biased) - 1 + format.emin;
  out.significand[i] = negative ? -m : m;
  out.exponent[i] = m == 0 ? absent : e;
  if (rest > format.max_bits)
    out.value[i] = format.has_infinity && rest == format.max_bits + 1
                       ? (negative ? -HUGE_VAL : HUGE_VAL)
                       : NAN;
  else
    out.value[i] = static_cast<double>(out.significand[i]) * power_of_two(e - (p - 1));
}

/// Calls `use` with the type as a constant.
template <class Use>
auto with_factor_type(Type type, Use use) {
  switch (type) {
    case Type::e2m1:
      return use.template operator()<Type::e2m1>();
    case Type::e2m3:
      return use.template operator()<Type::e2m3>();
    case Type::e3m2:
      return use.template operator()<Type::e3m2>();
    case Type::f16:
      return use.template operator()<Type::f16>();
    case Type::bf16:
      return use.template operator()<Type::bf16>();
    case Type::tf32:
      return use.template operator()<Type::tf32>();
    case Type::e4m3:
      return use.template operator()<Type::e4m3>();
    default:
      return use.template operator()<Type::e5m2>();
  }
}

inline float truncated(std::int64_t sum, int exponent, int fraction_bits, int output_bits) {
  if (sum == 0) return 0.0f;
  bool negative = sum < 0;
  std::uint64_t m = negative ? std::uint64_t{0} - static_cast<std::uint64_t>(sum)
                             : static_cast<std::uint64_t>(sum);
  int top = 63 - std::countl_zero(m), e = top + exponent - fraction_bits;
  if (top > output_bits) m &= ~((std::uint64_t{1} << (top - output_bits)) - 1);
  std::uint64_t bits;
  if (e >= -126 && e <= 127) {
    std::uint64_t fraction = top >= 23 ? m >> (top - 23) : m << (23 - top);
    bits = static_cast<std::uint64_t>(e + 127) << 23 | (fraction & 0x7FFFFF);
    if (negative) bits |= 0x80000000u;
  } else {
    bits = round_magnitude<std::uint64_t>(format_of<Type::f32>(), m, exponent - fraction_bits,
                                          negative, e > 127 ? Rounding::rn : Rounding::rz);
  }
  if ((bits & 0x7FFFFFFF) == 0) bits = 0;  // What is too small leaves no sign.
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

/// A row of the result, one step: all columns at once.
inline void step(const Numbers& a, const Numbers& b, unsigned a_begin, unsigned b_begin,
                 const Product& how, Row& row) {
  const Steps& steps = how.steps;
  unsigned k = steps.k;
  std::array<std::int32_t, columns> top{}, c_significand{}, c_exponent{};
  for (unsigned j = 0; j < columns; ++j) {
    auto bits = std::bit_cast<std::uint32_t>(row.c[j]);
    auto biased = static_cast<std::int32_t>(bits >> 23 & 0xFF);
    auto m = static_cast<std::int32_t>(bits & 0x7FFFFF);
    if (biased != 0) m |= 1 << 23;
    c_significand[j] = (bits >> 31) != 0 ? -m : m;
    c_exponent[j] = m == 0 ? steps.zero_exponent : biased == 0 ? -126 : biased - 127;
    top[j] = c_exponent[j];
  }
  for (unsigned i = 0; i < k; ++i)
    for (unsigned j = 0; j < columns; ++j) {
      std::int32_t e = a.exponent[a_begin + i] + b.exponent[b_begin + i * columns + j];
      top[j] = e > top[j] ? e : top[j];
    }
  int left = steps.fraction_bits - a.fraction_bits - b.fraction_bits;
  std::array<std::int64_t, columns> sum{};
  for (unsigned j = 0; j < columns; ++j) {
    int by = top[j] - c_exponent[j] - (steps.fraction_bits - 23);
    std::int64_t m = c_significand[j] < 0 ? -std::int64_t{c_significand[j]} : c_significand[j];
    m = m == 0 || by > 40 ? 0 : by >= 0 ? m >> by : m << -by;
    sum[j] = c_significand[j] < 0 ? -m : m;
  }
  for (unsigned begin = 0; begin < k; begin += 8) {  // Eight products fit 32 bits.
    std::array<std::int32_t, columns> part{};
    for (unsigned i = begin; i < begin + 8 && i < k; ++i)
      for (unsigned j = 0; j < columns; ++j) {
        std::uint32_t at = b_begin + i * columns + j;
        std::int32_t product = a.significand[a_begin + i] * b.significand[at];
        std::int32_t by = top[j] - a.exponent[a_begin + i] - b.exponent[at];
        auto m = static_cast<std::uint32_t>(product < 0 ? -product : product);
        m = left >= 0 ? m << left : m;
        by = left >= 0 ? by : by - left;
        m = by > 31 ? 0 : m >> (by & 31);
        part[j] += product < 0 ? -static_cast<std::int32_t>(m) : static_cast<std::int32_t>(m);
      }
    for (unsigned j = 0; j < columns; ++j) sum[j] += part[j];
  }
  for (unsigned j = 0; j < columns; ++j) {
    if (!(row.c[j] - row.c[j] == 0)) continue;  // An earlier step overflowed.
    if (!how.half) {
      row.c[j] = truncated(sum[j], top[j], steps.fraction_bits, steps.output_bits);
      continue;
    }
    bool negative = sum[j] < 0;
    auto m = static_cast<std::uint64_t>(negative ? -sum[j] : sum[j]);
    auto bits = round_magnitude<std::uint64_t>(
        format_of<Type::f16>(), m, top[j] - steps.fraction_bits, negative, Rounding::rn);
    if ((bits & 0x7FFF) == 0) bits = 0;  // What is too small leaves no sign.
    row.c[j] = static_cast<float>(to_double(BitsOf<Type::f16>::wrapped(bits)));
  }
}

/// Where an input of a step is infinite or NaN the exact sum decides: NaN or an infinity of its
/// sign. Elsewhere the row stays as it is.
inline Row special_row(const Numbers& a, const Numbers& b, unsigned a_begin, unsigned b_begin,
                       unsigned k, const Row& c) {
  Row row = c;
  for (unsigned j = 0; j < columns; ++j) {
    double sum = static_cast<double>(c.c[j]);
    for (unsigned i = 0; i < k; ++i)
      sum += a.value[a_begin + i] * b.value[b_begin + i * columns + j];
    if (sum - sum == 0) continue;
    row.c[j] = sum != sum ? std::bit_cast<float>(0x7FFFFFFFu) : static_cast<float>(sum);
  }
  return row;
}

/// A row of the result, step by step. `special`: an input is infinite or NaN.
inline Row product_row(const Numbers& a, const Numbers& b, const Product& how, unsigned i,
                       const Row& c, bool special) {
  Row row = c;
  for (unsigned k = 0; k < how.k; k += how.steps.k) {
    unsigned a_begin = i * how.k + k, b_begin = k * columns;
    Row exact = special ? special_row(a, b, a_begin, b_begin, how.steps.k, row) : row;
    step(a, b, a_begin, b_begin, how, row);
    for (unsigned j = 0; j < columns; ++j)
      if (!(exact.c[j] - exact.c[j] == 0)) row.c[j] = exact.c[j];
  }
  return row;
}

/// C added to products that were summed from zero, to nearest; either may have overflowed.
inline Row added_late(const Product& how, const Row& products, const Row& c) {
  Row row;
  for (unsigned j = 0; j < columns; ++j) {
    double sum = static_cast<double>(products.c[j]) + static_cast<double>(c.c[j]);
    row.c[j] = products.c[j] + c.c[j];
    if (how.half && sum == sum)
      row.c[j] = static_cast<float>(to_double(rounded<Type::f16>(sum, 0, Rounding::rn)));
    if (sum != sum) row.c[j] = std::bit_cast<float>(0x7FFFFFFFu);
  }
  return row;
}

/// The first `how.m` rows of D from those of C, whatever the inputs are.
inline void multiply_each(const Product& how, const Factors& factors, Rows& rows) {
  Numbers a, b;
  with_factor_type(how.a_type, [&]<Type T>() {
    for (unsigned i = 0; i < how.m * how.k; ++i)
      split<T>(a, i / how.k * how.k + place_in_order(how, i % how.k), factors.a[i]);
  });
  with_factor_type(how.b_type, [&]<Type T>() {
    for (unsigned i = 0; i < how.k * columns; ++i)
      split<T>(b, place_in_order(how, i / columns) * columns + i % columns, factors.b[i]);
  });
  bool special = a.special || b.special;
  for (unsigned i = 0; i < how.m; ++i)
    for (float c : rows[i].c) special |= !(c - c == 0);
  for (unsigned i = 0; i < how.m; ++i) {
    Row sum = product_row(a, b, how, i, how.by_halves ? Row{} : rows[i], special);
    rows[i] = how.by_halves ? added_late(how, sum, rows[i]) : sum;
  }
}

}  // namespace lathe::ptx::dot
