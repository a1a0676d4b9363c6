// mma.sync in the bits domain: the truncated fused dot-add of the tensor cores, bit for bit.
//
// One step takes c and some products: all are aligned to the largest exponent among them, truncated
// towards zero to F fraction bits, and summed exactly; an f32 result is truncated, an f16 result
// rounded to nearest even. How K is split into steps and F depend on the architecture (MMA-Sim,
// arXiv 2511.10909).

#include <array>

#include "ptx/bits.h"

namespace lathe::ptx {
namespace {

constexpr unsigned columns = 8;  // Every mma.sync modelled has n = 8.
constexpr unsigned k_max = 32, m_max = 16;

/// The exponent of a factor that is zero: it takes no part in the largest.
constexpr std::int32_t absent = -4000;

struct Numbers {
  std::int32_t fraction_bits = 0;
  std::array<std::int32_t, k_max * m_max> significand{}, exponent{};
  std::array<double, k_max * m_max> value{};
  bool special = false;
};

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
    out.value[i] = std::ldexp(static_cast<double>(out.significand[i]), e - (p - 1));
}

void split(Type type, Numbers& out, unsigned i, std::uint32_t bits) {
  switch (type) {
    case Type::e2m1:
      return split<Type::e2m1>(out, i, bits);
    case Type::e2m3:
      return split<Type::e2m3>(out, i, bits);
    case Type::e3m2:
      return split<Type::e3m2>(out, i, bits);
    case Type::f16:
      return split<Type::f16>(out, i, bits);
    case Type::bf16:
      return split<Type::bf16>(out, i, bits);
    case Type::tf32:
      return split<Type::tf32>(out, i, bits);
    case Type::e4m3:
      return split<Type::e4m3>(out, i, bits);
    default:
      return split<Type::e5m2>(out, i, bits);
  }
}

/// What of the architecture matters to one instruction.
struct Steps {
  int fraction_bits;  // F
  unsigned k;         // Products of one step.
  int output_bits;    // Fraction bits of an f32 result.
  /// Of a C that is zero: mma.sync aligns to it as to the smallest number, wgmma leaves it out.
  std::int32_t zero_exponent = -126;
};

/// Hopper has no products of bytes: they become f16, first the first two of each four columns and
/// then the others, from zero; C is added at the end, to nearest.
bool by_halves(const Mma& mma) {
  return width_of(mma.a_type) == 8 && mma.architecture == 90 && !mma.warpgroup;
}

Steps steps_of(const Mma& mma) {
  bool byte = width_of(mma.a_type) == 8;
  if (mma.architecture >= 90 && mma.warpgroup)
    return {byte ? 13 : 25, mma.k, byte ? 13 : 23, absent};
  if (mma.architecture >= 90)
    return {25, by_halves(mma) ? mma.k / 2 : mma.k, 23, mma.without_c ? absent : -126};
  unsigned most = width_of(mma.a_type) == 32 ? 4 : byte ? 16 : 8;
  return {byte ? 13 : 24, mma.k < most ? mma.k : most, byte ? 13 : 23};
}

float truncated(std::int64_t sum, int exponent, int fraction_bits, int output_bits) {
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
struct Row {
  std::array<float, columns> c;
};

void step(const Numbers& a, const Numbers& b, unsigned a_begin, unsigned b_begin, unsigned k,
          const Steps& steps, bool half_result, Row& row) {
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
    if (!half_result) {
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
Row special_row(const Numbers& a, const Numbers& b, unsigned a_begin, unsigned b_begin, unsigned k,
                const Row& c) {
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

std::uint32_t bits_at(const Bits::Lanes& lanes, Cell cell, unsigned bytes) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, lanes.at(cell), bytes);
  return bits;
}

/// An element of any type that lies in 32 bits or fewer.
std::uint32_t element_at(const Bits::Lanes& lanes, Cell cell, Type type) {
  unsigned bits = type == Type::b1                                             ? 1
                  : type == Type::s4 || type == Type::u4 || type == Type::e2m1 ? 4
                                                                               : width_of(type);
  if (bits >= 8) return bits_at(lanes, cell, bits / 8);
  return bits_at(lanes, cell, 1) >> cell.bit & ((1u << bits) - 1);
}

float accumulator_at(const Bits::Lanes& lanes, Cell cell, Type type) {
  if (type == Type::f16)
    return static_cast<float>(to_double(BitsOf<Type::f16>::wrapped(bits_at(lanes, cell, 2))));
  return std::bit_cast<float>(bits_at(lanes, cell, 4));
}

/// Column i of A and row i of B in the order in which they are multiplied.
unsigned place_in_order(const Mma& mma, unsigned i) {
  return by_halves(mma) ? i / 4 * 2 + i % 2 + (i % 4 < 2 ? 0 : mma.k / 2) : i;
}

/// A row of the result, step by step. `special`: an input is infinite or NaN.
Row product_row(const Numbers& a, const Numbers& b, const Mma& mma, unsigned i, const Row& c,
                bool special) {
  bool half = mma.d_type == Type::f16;
  Steps steps = steps_of(mma);
  Row row = c;
  for (unsigned k = 0; k < mma.k; k += steps.k) {
    unsigned a_begin = i * mma.k + k, b_begin = k * columns;
    Row exact = special ? special_row(a, b, a_begin, b_begin, steps.k, row) : row;
    step(a, b, a_begin, b_begin, steps.k, steps, half, row);
    for (unsigned j = 0; j < columns; ++j)
      if (!(exact.c[j] - exact.c[j] == 0)) row.c[j] = exact.c[j];
  }
  return row;
}

/// C added to products that were summed from zero, to nearest; either may have overflowed.
Row added_late(const Mma& mma, const Row& products, const Row& c) {
  Row row;
  for (unsigned j = 0; j < columns; ++j) {
    double sum = static_cast<double>(products.c[j]) + static_cast<double>(c.c[j]);
    row.c[j] = products.c[j] + c.c[j];
    if (mma.d_type == Type::f16 && sum == sum)
      row.c[j] = static_cast<float>(to_double(rounded<Type::f16>(sum, 0, Rounding::rn)));
    if (sum != sum) row.c[j] = std::bit_cast<float>(0x7FFFFFFFu);
  }
  return row;
}

float half_at(const Bits::Lanes& lanes, Cell cell) {
  return static_cast<float>(to_double(BitsOf<Type::f16>::wrapped(bits_at(lanes, cell, 2))));
}

/// m8n8k4 of f16, which none of our chips has: the assembler makes it of single operations in f32.
/// For a result in f32 a chain of products from zero, to which C is added; for one in f16 two
/// pairs of products, added to C one after the other.
void multiply_fours(Bits::Lanes& lanes, const Mma& mma) {
  std::array<std::uint32_t, 64> result{};
  bool half = mma.d_type == Type::f16;
  for (unsigned i = 0; i < mma.m * mma.n; ++i) {
    std::array<float, 4> a{}, b{};
    for (unsigned k = 0; k < 4; ++k) {
      a[k] = half_at(lanes, mma.a[i / mma.n * mma.k + k]);
      b[k] = half_at(lanes, mma.b[k * mma.n + i % mma.n]);
    }
    float sum = accumulator_at(lanes, mma.c[i], mma.c_type);
    if (half) {
      sum += __builtin_fmaf(a[1], b[1], a[0] * b[0]);
      sum += __builtin_fmaf(a[3], b[3], a[2] * b[2]);
      result[i] = rounded<Type::f16>(static_cast<double>(sum), 0, Rounding::rn).held;
      continue;
    }
    float products = 0;
    for (unsigned k = 0; k < 4; ++k) products = __builtin_fmaf(a[k], b[k], products);
    sum += products;
    result[i] = sum != sum ? 0x7FFFFFFFu : std::bit_cast<std::uint32_t>(sum);
  }
  for (unsigned i = 0; i < mma.m * mma.n; ++i)
    std::memcpy(lanes.at(mma.d[i]), &result[i], half ? 2 : 4);
}

void multiply_floats(Bits::Lanes& lanes, const Mma& mma) {
  if (mma.m == 8 && mma.k == 4 && mma.a_type == Type::f16) return multiply_fours(lanes, mma);
  Numbers a, b;
  for (unsigned i = 0; i < mma.m * mma.k; ++i)
    split(mma.a_type, a, i / mma.k * mma.k + place_in_order(mma, i % mma.k),
          element_at(lanes, mma.a[i], mma.a_type));
  for (unsigned i = 0; i < mma.k * mma.n; ++i)
    split(mma.b_type, b, place_in_order(mma, i / mma.n) * mma.n + i % mma.n,
          element_at(lanes, mma.b[i], mma.b_type));
  bool half = mma.d_type == Type::f16;
  std::array<Row, m_max> rows;
  bool special = a.special || b.special;
  for (unsigned i = 0; i < mma.m * columns; ++i) {
    float& c = rows[i / columns].c[i % columns];
    c = accumulator_at(lanes, mma.c[i], mma.c_type);
    special |= !(c - c == 0);
  }
  bool late = by_halves(mma);
  for (unsigned i = 0; i < mma.m; ++i) {
    Row sum = product_row(a, b, mma, i, late ? Row{} : rows[i], special);
    rows[i] = late ? added_late(mma, sum, rows[i]) : sum;
  }
  for (unsigned i = 0; i < mma.m * columns; ++i) {
    float c = rows[i / columns].c[i % columns];
    std::uint32_t bits = std::bit_cast<std::uint32_t>(c);
    if (half)
      bits = c != c ? 0x7FFF : rounded<Type::f16>(static_cast<double>(c), 0, Rounding::rn).held;
    std::memcpy(lanes.at(mma.d[i]), &bits, half ? 2 : 4);
  }
}

int integer_at(const Bits::Lanes& lanes, Cell cell, Type type) {
  auto bits = static_cast<int>(element_at(lanes, cell, type));
  if (type == Type::s8) return static_cast<std::int8_t>(bits);
  return type == Type::s4 && bits >= 8 ? bits - 16 : bits;
}

void multiply_integers(Bits::Lanes& lanes, const Mma& mma) {
  std::vector<int> a(std::size_t{mma.m} * mma.k), b(std::size_t{mma.k} * mma.n);
  for (unsigned i = 0; i < a.size(); ++i) a[i] = integer_at(lanes, mma.a[i], mma.a_type);
  for (unsigned k = 0; k < mma.k; ++k)
    for (unsigned j = 0; j < mma.n; ++j)  // By columns.
      b[j * mma.k + k] = integer_at(lanes, mma.b[k * mma.n + j], mma.b_type);
  std::array<std::uint32_t, m_max * columns> result{};
  for (unsigned i = 0; i < mma.m * mma.n; ++i) {
    std::int64_t sum = static_cast<std::int32_t>(bits_at(lanes, mma.c[i], 4));
    const int *x = &a[i / mma.n * mma.k], *y = &b[i % mma.n * mma.k];
    for (unsigned k = 0; k < mma.k; ++k) sum += mma.exclusive ? x[k] ^ y[k] : x[k] * y[k];
    if (mma.saturate) sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    result[i] = static_cast<std::uint32_t>(sum);
  }
  for (unsigned i = 0; i < mma.m * mma.n; ++i) std::memcpy(lanes.at(mma.d[i]), &result[i], 4);
}

void multiply_doubles(Bits::Lanes& lanes, const Mma& mma) {
  auto at = [&](Cell cell) {
    BitsOf<Type::f64> value;
    std::memcpy(&value.held, lanes.at(cell), 8);
    return value;
  };
  Form form;
  form.type = Type::f64;
  form.rounding = mma.rounding;
  std::array<double, m_max * columns> result{};
  for (unsigned i = 0; i < mma.m * mma.n; ++i) {
    BitsOf<Type::f64> sum = at(mma.c[i]);
    for (unsigned k = 0; k < mma.k; ++k)
      sum = fused(form, at(mma.a[i / mma.n * mma.k + k]), at(mma.b[k * mma.n + i % mma.n]), sum);
    result[i] = sum.held;
  }
  for (unsigned i = 0; i < mma.m * mma.n; ++i) std::memcpy(lanes.at(mma.d[i]), &result[i], 8);
}

bool counts(Type type) {
  return is_integer(type) || type == Type::s4 || type == Type::u4 || type == Type::b1;
}

}  // namespace

void Bits::multiply(Lanes& lanes, const Mma& mma) {
  bool set = true;
  auto check = [&](const Cell* cells, unsigned count, Type type) {
    unsigned bytes = width_of(type) / 8;
    for (unsigned i = 0; i < count; ++i) set = set && defined(lanes, cells[i], bytes);
  };
  check(mma.a, mma.m * mma.k, mma.a_type);
  check(mma.b, mma.k * mma.n, mma.b_type);
  check(mma.c, mma.m * mma.n, mma.c_type);
  if (mma.a_type == Type::f64)
    multiply_doubles(lanes, mma);
  else if (counts(mma.a_type))
    multiply_integers(lanes, mma);
  else
    multiply_floats(lanes, mma);
  // One undefined element makes all of the result undefined: a finer rule is never needed, since
  // kernels fill what they multiply.
  for (unsigned i = 0; i < mma.m * mma.n; ++i) mark(lanes, mma.d[i], width_of(mma.d_type) / 8, set);
}

}  // namespace lathe::ptx
