// The edges of each type, and how vectors are drawn among and around them.

#include "tests/witness/vectors.h"

#include <bit>
#include <cmath>

#include "base/random.h"

namespace lathe::ptx::witness {
namespace {

std::uint64_t f32_bits(double x) { return std::bit_cast<std::uint32_t>(static_cast<float>(x)); }
std::uint64_t f64_bits(double x) { return std::bit_cast<std::uint64_t>(x); }

/// Numbers at which some format rounds, overflows or changes its step.
constexpr double turning[] = {1,
                              2,
                              0.5,
                              1.5,
                              3,
                              0.75,
                              0x1p-14,
                              0x1p-24,
                              0x1p-25,
                              10,
                              0.1,
                              3.14159265358979,
                              448,
                              464,
                              57344,
                              61440,
                              65504,
                              65520,
                              65536,
                              0x1p-6,
                              0x1p-9,
                              0x1p-10,
                              0x1.8p-10,
                              0x1p-16,
                              0x1p-17,
                              0x1.002p0,
                              0x1.001p0,
                              0x1.003p0,
                              0x1.01p0,
                              0x1.03p0,
                              0x1.08p0,
                              0x1.18p0,
                              127.5,
                              128.5,
                              255.5,
                              32767.5,
                              65535.5,
                              0x1p22,
                              0x1.000001p23,
                              0x1p24,
                              0x1.fffffep30,
                              0x1p31,
                              0x1p32,
                              0x1p53,
                              0x1p62,
                              0x1p63,
                              0x1p64,
                              0x1p-126,
                              0x1.fffffep-127,
                              0x1p-133,
                              6,
                              7.5,
                              28,
                              30,
                              2.5,
                              -126,
                              -150,
                              88,
                              104.5,
                              1.5707963267948966,
                              100};

/// Where the edges of a float have its infinities and NaN.
constexpr std::size_t first_special = 18, special_count = 10;

std::vector<std::uint64_t> float_edges(Type type) {
  std::vector<std::uint64_t> list;
  unsigned width = width_of(type), mantissa = type == Type::f16    ? 10
                                              : type == Type::bf16 ? 7
                                              : type == Type::f64  ? 52
                                                                   : 23;
  std::uint64_t sign = std::uint64_t{1} << (width - 1), one = std::uint64_t{1};
  std::uint64_t infinity = (sign - 1) & ~((one << mantissa) - 1), least_normal = one << mantissa;
  std::vector<std::uint64_t> plain{0,
                                   1,
                                   2,
                                   3,
                                   least_normal - 1,
                                   least_normal,
                                   least_normal + 1,
                                   least_normal >> 1,
                                   infinity - 1,
                                   infinity,
                                   infinity + 1,
                                   infinity | one << (mantissa - 1),
                                   (infinity | one << (mantissa - 1)) + 5,
                                   sign - 1};
  for (double x : turning) {
    std::uint64_t bits = 0;
    if (type == Type::f64)
      bits = f64_bits(std::fabs(x));
    else if (type == Type::f32 || type == Type::tf32)
      bits = f32_bits(std::fabs(x));
    else if (type == Type::bf16)
      bits = f32_bits(std::fabs(x)) >> 16;
    else if (std::fabs(x) < 65520 && std::fabs(x) >= 0x1p-14)  // f16, cut.
      bits = ((f32_bits(std::fabs(x)) >> 13) - (112u << 10)) & 0x7FFF;
    plain.push_back(bits);
  }
  for (std::uint64_t bits : plain) {
    list.push_back(bits);
    list.push_back(bits | sign);
  }
  return list;
}

std::vector<std::uint64_t> integer_edges(unsigned width) {
  std::vector<std::uint64_t> list{0,           1,
                                  2,           3,
                                  5,           7,
                                  8,           15,
                                  16,          24,
                                  31,          32,
                                  33,          63,
                                  64,          65,
                                  100,         127,
                                  128,         255,
                                  256,         0x5555555555555555u,
                                  0x8000,      0x7FFF,
                                  0xFFFF,      0x800000,
                                  0xFFFFFF,    0x80000000u,
                                  0x7FFFFFFFu, 0xFFFFFFFFu};
  std::uint64_t top = std::uint64_t{1} << (width - 1), all = top | (top - 1);
  for (std::uint64_t bits : {top, top - 1, top + 1, all, all - 1, all - 7, all << 8, top >> 1})
    list.push_back(bits & all);
  for (std::uint64_t& bits : list) bits &= all;
  return list;
}

std::uint64_t ones(unsigned width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

/// Any bits, or (for floats) an exponent that leaves results in range.
std::uint64_t any_bits(Type type, std::uint64_t r) {
  if (is_pair(type)) {
    unsigned half = width_of(type) / 2;
    return any_bits(half_of(type), r) | any_bits(half_of(type), r * 0x9E3779B97F4A7C15u >> 3)
                                            << half;
  }
  unsigned width = width_of(type);
  std::uint64_t bits = r & ones(width);
  if (!is_float(type) && type != Type::tf32) {
    unsigned cut = static_cast<unsigned>(r >> 58);  // Small numbers too.
    return (r >> 57 & 1) != 0 ? bits : bits & ones(cut == 0 ? 64 : cut);
  }
  if ((r >> 5 & 3) == 0) return bits;
  unsigned mantissa = type == Type::f16 ? 10 : type == Type::bf16 ? 7 : type == Type::f64 ? 52 : 23;
  unsigned bias = type == Type::f16 ? 15 : type == Type::f64 ? 1023 : 127;
  std::uint64_t spread = type == Type::f16 ? 12 : 40, exponent = bias - spread / 2 + r % spread;
  return ((r >> 7) & ones(mantissa)) | exponent << mantissa | (r >> 6 & 1) << (width - 1);
}

std::uint64_t edge(Type type, std::uint64_t r) {
  if (is_pair(type)) {
    unsigned half = width_of(type) / 2;
    return edge(half_of(type), r) | edge(half_of(type), r >> 20) << half;
  }
  std::span<const std::uint64_t> list = edges(type);
  return list[r % list.size()];
}

std::uint64_t special_use(Use use, std::uint64_t r) {
  static constexpr std::uint64_t segments[] = {31,     0,      0x1F, 0x1C1F, 0x1807, 0x180F,
                                               0x100F, 0x1E01, 7,    15,     0x1F1F, 3};
  static constexpr std::uint64_t amounts[] = {0,  1,  4,  7,  8,   15,  16,  31,  32,
                                              33, 63, 64, 65, 127, 128, 255, 256, 0xFFFFFFFFu};
  // Ascending pairs of two-bit positions.
  static constexpr std::uint64_t pairs[] = {0x4, 0x8, 0xC, 0x9, 0xD, 0xE};
  switch (use) {
    case Use::lane:
      return (r & 7) == 0 ? r >> 32 : r >> 8 & 31;
    case Use::segment:
      return segments[r % std::size(segments)];
    case Use::amount:
      return (r & 1) == 0 ? amounts[(r >> 8) % std::size(amounts)] : r >> 8 & 127;
    case Use::sparse: {
      std::uint64_t word = 0;
      for (unsigned i = 0; i < 8; ++i) word |= pairs[(r >> (8 * i) & 0xFF) % 6] << (4 * i);
      return word;
    }
    default:
      return r >> 9 & 1;
  }
}

/// A value that stands to the one before in a relation: equal, opposite, or a step beside.
std::uint64_t related(Type type, std::uint64_t before, std::uint64_t r) {
  std::uint64_t mask = ones(width_of(type)), sign = mask ^ (mask >> 1);
  if (is_pair(type)) sign |= sign >> (width_of(type) / 2);
  switch (r % 6) {
    case 0:
      return before & mask;
    case 1:
      return (before ^ sign) & mask;
    case 2:
      return (before + 1) & mask;
    case 3:
      return (before - 1) & mask;
    case 4:
      return (~before) & mask;
    default:
      return ((before ^ sign) + (r >> 8 & 7)) & mask;
  }
}

}  // namespace

std::span<const std::uint64_t> edges(Type type) {
  static std::vector<std::vector<std::uint64_t>> made(type_count);
  std::vector<std::uint64_t>& list = made[static_cast<std::size_t>(type)];
  if (list.empty()) {
    if (type == Type::pred)
      list = {0, 1};
    else if (is_float(type) || type == Type::tf32)
      list = float_edges(type);
    else
      list = integer_edges(width_of(type) > 64 ? 64 : width_of(type));
  }
  return list;
}

std::vector<std::vector<std::uint64_t>> operand_vectors(std::span<const Column> columns,
                                                        std::size_t count, std::uint64_t seed) {
  std::vector<std::vector<std::uint64_t>> all(columns.size(), std::vector<std::uint64_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    unsigned part = static_cast<unsigned>(i * 8 / count);
    for (std::size_t j = 0; j < columns.size(); ++j) {
      auto [type, use] = columns[j];
      std::uint64_t r = philox64(seed, j, i);
      std::uint64_t& out = all[j][i];
      if (use != Use::value || type == Type::pred)
        out = special_use(type == Type::pred ? Use::truth : use, r);
      else if (columns.size() == 1 && part < 4)
        out = is_pair(type) ? edge(type, r) : edge(type, i);
      else if (part < 4)
        out = edge(type, r);
      else if (part == 4 && j > 0 && columns[j - 1].type == type)
        out = related(type, all[j - 1][i], r);
      else if (part == 5 && is_float(type) && r % 3 == 0)
        out = edges(type)[first_special + (r >> 8) % special_count];  // NaN beside NaN.
      else
        out = any_bits(type, r);
    }
  }
  return all;
}

std::uint64_t matrix_element(Type type, unsigned kind, std::uint64_t seed, std::uint64_t index) {
  std::uint64_t r = philox64(seed, 77 + kind, index);
  unsigned width = width_of(type);
  if (is_integer(type)) return kind == 0 ? r % 7 : r & ones(width);
  unsigned mantissa = type == Type::f16    ? 10
                      : type == Type::bf16 ? 7
                      : type == Type::f64  ? 52
                      : type == Type::e4m3 ? 3
                      : type == Type::e5m2 ? 2
                                           : 23;
  std::uint64_t bias = ones(width - mantissa - 2), sign = (r >> 40 & 1) << (width - 1);
  std::uint64_t fraction = r & ones(mantissa);
  switch (kind) {
    case 0: {  // -2, -1, 0, 1, 2
      std::uint64_t size = r >> 20 & 3;
      return size == 0 ? 0 : (bias + (size == 2 ? 1 : 0)) << mantissa | sign;
    }
    case 1:
      return (bias - 3 + (r >> 20) % 6) << mantissa | fraction | sign;
    case 2:
      return (r >> 21 & 3) == 0 ? sign
                                : fraction | sign | ((r >> 23 & 3) == 0 ? bias << mantissa : 0);
    case 3:
      if ((r >> 21 & 15) == 0) return ones(width - 1 - mantissa) << mantissa | sign;
      if ((r >> 21 & 63) == 1) return ones(width - 1) | sign;
      return bias << mantissa | fraction | sign;
    case 4: {  // Equal sizes of both signs, far apart in exponent from the rest.
      std::uint64_t far = (index & 3) < 2 ? bias / 2 + bias / 4 : bias / 2;
      return (bias / 2 + far / 2 + (r >> 30) % 3) << mantissa |
             (philox64(seed, 5, index / 2) & ones(mantissa)) | (index & 1) << (width - 1);
    }
    default:
      return r & ones(width);
  }
}

std::uint64_t near_extreme(std::uint64_t r) {
  std::uint64_t away = (r >> 8) & ones(4 + static_cast<unsigned>(r % 14));
  return (r >> 40 & 1) != 0 ? 0x7FFFFFFFu - away : 0x80000000u + away;
}

}  // namespace lathe::ptx::witness
