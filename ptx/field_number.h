#pragma once

// A number of the field domain: residues of one real modulo the point's primes, a real shadow that
// follows it, and what is known of its sign, precision and degree.

#include <algorithm>
#include <array>
#include <cstdint>

#include "ptx/field_residues.h"
#include "ptx/type.h"

namespace lathe::ptx::field {

enum class Special : std::uint8_t { finite, plus_infinity, minus_infinity, nan, poison };

/// Proved of a number at every input, never read off a shadow.
enum Sign : std::uint8_t {
  positive = 1,  // Implies not_negative.
  not_negative = 2,
  negative = 4,  // Implies not_positive.
  not_positive = 8,
  integral = 16,
  literal_bits = 32,  // A literal, or computed from literals only.
  clear_sign = 64,    // Its sign bit is never set, as -0 has it.
  steps = 128,        // An integer multiple of 2^23: what moves an f32's exponent.
};
using Signs = std::uint8_t;
constexpr Signs sign_part = positive | not_negative | negative | not_positive | clear_sign;

/// Roundings on the longest path to here, by how many significant bits they keep: at most 24, 11, 8
/// and 4. The first only says whether there was one.
struct Rounds {
  std::array<std::uint8_t, 4> count{};
  bool operator==(const Rounds&) const = default;
};
constexpr std::array<unsigned, 4> round_bits{24, 11, 8, 4};

constexpr Rounds longest(Rounds a, Rounds b) {
  for (unsigned i = 0; i < 4; ++i) a.count[i] = std::max(a.count[i], b.count[i]);
  return a;
}
/// One more rounding to so many bits.
constexpr Rounds rounded(Rounds a, unsigned bits) {
  if (bits <= 24) a.count[0] = 1;
  for (unsigned i = 1; i < 4; ++i)
    if (bits <= round_bits[i] && a.count[i] < 255) ++a.count[i];
  return a;
}

struct Number {
  double shadow = 0;
  Residues r{};            // 0 where not valid.
  std::uint32_t term = 0;  // Its part that is a multiple of a maximum: index of Terms; 0: none.
  std::uint32_t set = 0;   // It is the maximum of this set: index of Maxima; 0: none.
  std::uint16_t numerator = 1, denominator = 0;  // Degrees.
  Slots valid = 0;                               // Slots that have a residue.
  Slots taint = 0;    // Slots that may have lost a sign: never equal, never different.
  Slots dormant = 0;  // Slots where a logarithm lost one: exp2 turns it into taint.
  Special special = Special::finite;
  Signs signs = 0;
  std::uint8_t kind = static_cast<std::uint8_t>(Type::f32);  // The format that it is held in.
  std::uint8_t fits = 24;                                    // It has at most so many bits.
  bool pending : 1 = false;   // Residues are the set's, computed when asked for.
  bool reversed : 1 = false;  // Of `set`: it is -M(set), a minimum.
  bool square : 1 = false;    // That it is not negative may rest on a square.
  Rounds rounds;

  bool finite() const { return special == Special::finite; }
  bool infinite() const {
    return special == Special::plus_infinity || special == Special::minus_infinity;
  }
  bool is(Sign sign) const { return (signs & sign) != 0; }
  bool zero() const { return finite() && is(literal_bits) && shadow == 0; }
  Type type() const { return static_cast<Type>(kind); }
};
static_assert(sizeof(Number) == 64);

/// Formats whose values are numbers here.
constexpr bool holds_number(Type type) {
  return is_float(type) || type == Type::tf32 || type == Type::e4m3 || type == Type::e5m2;
}

/// Significant bits of a format.
constexpr unsigned significant_bits(Type type) {
  switch (type) {
    case Type::f64:
      return 53;
    case Type::f32:
      return 24;
    case Type::f16:
    case Type::tf32:
      return 11;
    case Type::bf16:
      return 8;
    case Type::e4m3:
      return 4;
    case Type::e5m2:
      return 3;
    default:
      return 24;
  }
}

constexpr std::uint16_t add_degrees(unsigned a, unsigned b) {
  return static_cast<std::uint16_t>(std::min(a + b, 65535u));
}

constexpr Signs negated(Signs s) {
  Signs rest = s & static_cast<Signs>(~sign_part);
  if ((s & positive) != 0) rest |= negative;
  if ((s & not_negative) != 0) rest |= not_positive;
  if ((s & negative) != 0) rest |= positive;
  if ((s & not_positive) != 0) rest |= not_negative;
  return rest;
}
constexpr Signs sum_signs(Signs a, Signs b) {
  Signs both = a & b;
  Signs s = both & (integral | literal_bits | not_negative | not_positive | clear_sign | steps);
  if ((both & not_negative) != 0 && ((a | b) & positive) != 0) s |= positive;
  if ((both & not_positive) != 0 && ((a | b) & negative) != 0) s |= negative;
  return s;
}
constexpr Signs product_signs(Signs a, Signs b) {
  auto has = [](Signs s, Signs what) { return (s & what) != 0; };
  Signs s = a & b & (integral | literal_bits | clear_sign);
  if ((has(a, steps) && has(b, integral)) || (has(b, steps) && has(a, integral))) s |= steps;
  if ((has(a, not_negative) && has(b, not_negative)) ||
      (has(a, not_positive) && has(b, not_positive)))
    s |= not_negative;
  if ((has(a, not_negative) && has(b, not_positive)) ||
      (has(a, not_positive) && has(b, not_negative)))
    s |= not_positive;
  if ((has(a, positive) && has(b, positive)) || (has(a, negative) && has(b, negative)))
    s |= positive;
  if ((has(a, positive) && has(b, negative)) || (has(a, negative) && has(b, positive)))
    s |= negative;
  return s;
}
constexpr Signs maximum_signs(Signs a, Signs b) {
  Signs both = a & b, any = a | b;
  return (any & (positive | not_negative | clear_sign)) | (both & (negative | not_positive)) |
         (both & (integral | literal_bits | steps));
}
/// An f32's bits move by so much from one exponent to the next.
constexpr std::int64_t step_of_exponent = std::int64_t{1} << 23;

constexpr Signs signs_of(double value) {
  if (value > 0) return positive | not_negative;
  if (value < 0) return negative | not_positive;
  return not_negative | not_positive;
}

}  // namespace lathe::ptx::field
