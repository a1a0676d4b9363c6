#pragma once

// What of an instruction chooses its meaning: its type, modifiers, rounding and comparison.

#include <array>
#include <cstdint>
#include <string_view>

#include "ptx/type.h"

namespace lathe::ptx {

enum class Rounding : std::uint8_t { rn, rz, rm, rp, rna, rs };

enum class Comparison : std::uint8_t {
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  lo,  // Unsigned, whatever the type says.
  ls,
  hi,
  hs,
  equ,  // The u-forms hold where an operand is NaN.
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,  // Both are numbers.
  nan
};

/// For which order of two values a comparison holds: 1 less, 2 equal, 4 greater, 8 unordered.
constexpr unsigned holds_for(Comparison comparison) {
  // Four bits each, from eq to geu; a table in memory would be read once a lane.
  constexpr std::uint64_t outcomes = 0xECB9DA6431643152;
  auto at = static_cast<unsigned>(comparison);
  if (at < 16) return static_cast<unsigned>(outcomes >> (4 * at)) & 15;
  return comparison == Comparison::num ? 7 : 8;
}

/// The modifiers that a meaning may ask for. All others are settled when a row is chosen.
enum class Flag : std::uint8_t {
  ftz,
  sat,
  satfinite,
  relu,
  nan,          // min.NaN: NaN wins.
  xorsign_abs,  // min.xorsign.abs
  abs,          // redux.max.abs
  approx,
  full,
  to_integer,  // cvt.rni and its kin: round to an integral value.
  high,        // mul.hi, mad.hi
  wide,
  wrap,  // shf.l.wrap; the other is clamp.
  oob,   // fma.oob: what is NaN by out-of-bounds fill counts as zero.
  left,
  scaled,  // cvt with a scale factor of powers of two.
  count
};

struct Form {
  Type type = Type::b32;  // `.type`
  Type other =
      Type::b32;  // The second type, where there is one: cvt.f32.f16 has type f32, other f16.
  Rounding rounding = Rounding::rn;
  Comparison comparison = Comparison::eq;
  std::uint16_t row = 0;       // Which row of the table, and with `flags` which function.
  std::uint32_t flags = 0;     // By Flag.
  std::uint32_t constant = 0;  // An immediate that selects the function: lop3's table, prmt's mode.

  constexpr bool has(Flag flag) const { return (flags >> static_cast<unsigned>(flag) & 1) != 0; }
  constexpr void set(Flag flag) { flags |= 1u << static_cast<unsigned>(flag); }
  constexpr bool ftz() const { return has(Flag::ftz); }
};

}  // namespace lathe::ptx
