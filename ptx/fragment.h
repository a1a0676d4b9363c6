#pragma once

// Where each element of an mma.sync operand lies: which register, which bytes, which lane. The maps
// are those of the manual's figures; a test checks that each is a bijection.

#include <optional>
#include <string_view>
#include <vector>

#include "ptx/domain.h"

namespace lathe::ptx {

/// One shape with its types.
struct FragmentShape {
  unsigned m = 0, n = 0, k = 0;
  Type d{}, a{}, b{}, c{};
  bool a_columns = false, b_rows = false;  // m8n8k4 of f16: A by columns, B by rows.
  unsigned a_registers = 0, b_registers = 0, c_registers = 0, d_registers = 0;
  unsigned products = 1;  // m8n8k4 of f16 is four independent ones.

  constexpr Type ab_register() const { return a == Type::f64 ? Type::f64 : Type::b32; }
  constexpr Type c_register() const { return d == Type::f64 ? Type::f64 : Type::b32; }
};

/// An element's register within its operand, the byte there, the lane, and the bit in the byte.
struct FragmentPlace {
  std::uint8_t slot = 0, byte = 0, lane = 0, bit = 0;
};

struct FragmentMap {
  std::vector<FragmentPlace> a, b, c, d;  // Row-major: m * k, k * n, m * n.
};

/// Bits that an element takes up in a register: small floats lie in bytes of their own.
constexpr unsigned element_bits(Type t) {
  return t == Type::b1 ? 1 : t == Type::s4 || t == Type::u4 ? 4 : width_of(t);
}

/// Where the elements lie when the registers of each operand, of 32 lanes and 32 bits, stand one
/// after the other: byte offsets, row-major. Of elements of whole bytes.
struct FragmentOrder {
  FragmentShape shape;
  std::vector<std::uint16_t> a, b, c, d;
};
inline constexpr unsigned register_stride = lane_count * 4;

std::optional<FragmentShape> fragment_shape(std::string_view shape, Type d, Type a, Type b, Type c);
FragmentMap make_fragment_map(const FragmentShape& shape);
/// Nothing where elements are no whole bytes, or registers are wider.
std::optional<FragmentOrder> make_fragment_order(const FragmentShape& shape);
/// The map of one of the four products of m8n8k4.
FragmentMap make_quad_map(const FragmentShape& shape, unsigned quad);

}  // namespace lathe::ptx
