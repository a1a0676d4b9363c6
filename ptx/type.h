#pragma once

// PTX types, sets of them, and the width of what holds them.

#include <array>
#include <cstdint>
#include <string_view>

namespace lathe::ptx {

using std::string_view_literals::operator""sv;

enum class Type : std::uint8_t {
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  bf16,
  f32,
  f64,
  tf32,
  f16x2,
  bf16x2,
  f32x2,
  e4m3,
  e5m2,
  e4m3x2,
  e5m2x2,
  u16x2,
  s16x2,
  pred,
  // What only conversions and matrix products know. One of 4 or 6 bits lies in a byte of its own
  // but where it is packed by twos or fours.
  e2m1,
  e2m3,
  e3m2,
  ue8m0,
  ue4m3,
  s2f6,
  e2m1x2,
  e2m3x2,
  e3m2x2,
  ue8m0x2,
  s2f6x2,
  e2m1x4,
  e2m3x4,
  e3m2x4,
  e4m3x4,
  e5m2x4,
  s2,
  u2,
  s4,
  u4,
  b1
};
// clang-format off
inline constexpr std::array type_names{
    "b8"sv, "b16"sv, "b32"sv, "b64"sv, "b128"sv, "u8"sv, "u16"sv, "u32"sv, "u64"sv, "s8"sv,
    "s16"sv, "s32"sv, "s64"sv, "f16"sv, "bf16"sv, "f32"sv, "f64"sv, "tf32"sv, "f16x2"sv,
    "bf16x2"sv, "f32x2"sv, "e4m3"sv, "e5m2"sv, "e4m3x2"sv, "e5m2x2"sv, "u16x2"sv, "s16x2"sv,
    "pred"sv, "e2m1"sv, "e2m3"sv, "e3m2"sv, "ue8m0"sv, "ue4m3"sv, "s2f6"sv, "e2m1x2"sv,
    "e2m3x2"sv, "e3m2x2"sv, "ue8m0x2"sv, "s2f6x2"sv, "e2m1x4"sv, "e2m3x4"sv, "e3m2x4"sv,
    "e4m3x4"sv, "e5m2x4"sv, "s2"sv, "u2"sv, "s4"sv, "u4"sv, "b1"sv};
// clang-format on
inline constexpr std::size_t type_count = type_names.size();
constexpr std::string_view name_of(Type t) { return type_names[static_cast<std::size_t>(t)]; }

/// Bits of a value. A predicate is held in 32 so that it vectorises like the rest.
constexpr unsigned width_of(Type t) {
  // clang-format off
  constexpr std::array<std::uint8_t, type_count> widths{
      8, 16, 32, 64, 128, 8, 16, 32, 64, 8, 16, 32, 64, 16, 16, 32, 64, 32, 32, 32, 64,
      8, 8, 16, 16, 32, 32, 32, 8, 8, 8, 8, 8, 8, 8, 16, 16, 16, 16, 16, 32, 32, 32, 32,
      8, 8, 8, 8, 8};
  // clang-format on
  return widths[static_cast<std::size_t>(t)];
}
/// Bytes of a register lane that holds the type: no register is narrower than two bytes.
constexpr unsigned cell_bytes(Type t) {
  unsigned bytes = width_of(t) / 8;
  return bytes < 2 ? 2 : bytes;
}
constexpr bool is_signed(Type t) { return t >= Type::s8 && t <= Type::s64; }
constexpr bool is_unsigned(Type t) { return t >= Type::u8 && t <= Type::u64; }
constexpr bool is_untyped(Type t) { return t <= Type::b128; }
constexpr bool is_integer(Type t) { return t <= Type::s64 && t != Type::b128; }
/// A single float that arithmetic exists for.
constexpr bool is_float(Type t) { return t >= Type::f16 && t <= Type::f64; }
constexpr bool is_pair(Type t) {
  return (t >= Type::f16x2 && t <= Type::f32x2) || (t >= Type::e4m3x2 && t <= Type::s16x2) ||
         (t >= Type::e2m1x2 && t <= Type::s2f6x2);
}
/// Four packed: only results of conversions, and moved.
constexpr bool is_quad(Type t) { return t >= Type::e2m1x4 && t <= Type::e5m2x4; }
/// A number of 8 bits or fewer that no arithmetic but that of matrices exists for.
constexpr bool is_small_float(Type t) {
  return t == Type::e4m3 || t == Type::e5m2 || (t >= Type::e2m1 && t <= Type::s2f6);
}
/// Of a packed type, what each half is.
constexpr Type half_of(Type t) {
  switch (t) {
    case Type::f16x2:
      return Type::f16;
    case Type::bf16x2:
      return Type::bf16;
    case Type::f32x2:
      return Type::f32;
    case Type::e4m3x2:
      return Type::e4m3;
    case Type::e5m2x2:
      return Type::e5m2;
    case Type::u16x2:
      return Type::u16;
    case Type::s16x2:
      return Type::s16;
    case Type::e2m1x2:
    case Type::e2m1x4:
      return Type::e2m1;
    case Type::e2m3x2:
    case Type::e2m3x4:
      return Type::e2m3;
    case Type::e3m2x2:
    case Type::e3m2x4:
      return Type::e3m2;
    case Type::e4m3x4:
      return Type::e4m3;
    case Type::e5m2x4:
      return Type::e5m2;
    case Type::ue8m0x2:
      return Type::ue8m0;
    case Type::s2f6x2:
      return Type::s2f6;
    default:
      return t;
  }
}
/// The integer type of twice the width: u32 gives u64.
constexpr Type twice(Type t) { return static_cast<Type>(static_cast<unsigned>(t) + 1); }
/// The untyped type of the same width, as moves see it.
constexpr Type untyped_of(Type t) {
  switch (width_of(t)) {
    case 8:
      return Type::b8;
    case 16:
      return Type::b16;
    case 32:
      return Type::b32;
    case 64:
      return Type::b64;
    default:
      return Type::b128;
  }
}

using Types = std::uint64_t;
constexpr Types any_of(auto... types) { return ((Types{1} << static_cast<unsigned>(types)) | ...); }
constexpr bool contains(Types set, Type t) { return (set >> static_cast<unsigned>(t) & 1) != 0; }

inline constexpr Types untyped = any_of(Type::b16, Type::b32, Type::b64);
inline constexpr Types integers =
    any_of(Type::u16, Type::u32, Type::u64, Type::s16, Type::s32, Type::s64);
inline constexpr Types narrow_integers = any_of(Type::u16, Type::u32, Type::s16, Type::s32);
inline constexpr Types words = any_of(Type::u32, Type::s32);
inline constexpr Types words_and_longs = any_of(Type::u32, Type::s32, Type::u64, Type::s64);
inline constexpr Types floats = any_of(Type::f32, Type::f64);
inline constexpr Types halves = any_of(Type::f16, Type::bf16, Type::f16x2, Type::bf16x2);
inline constexpr Types any = untyped | integers | floats;

}  // namespace lathe::ptx
