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
  unsigned a_registers = 0, b_registers = 0, d_registers = 0;

  constexpr Type ab_register() const { return a == Type::f64 ? Type::f64 : Type::b32; }
  constexpr Type c_register() const { return d == Type::f64 ? Type::f64 : Type::b32; }
};

/// An element's register within its operand, the byte there, and the lane.
struct FragmentPlace {
  std::uint8_t slot = 0, byte = 0, lane = 0;
};

struct FragmentMap {
  std::vector<FragmentPlace> a, b, d;  // Row-major: m * k, k * n, m * n.
};

std::optional<FragmentShape> fragment_shape(std::string_view shape, Type d, Type a, Type b, Type c);
FragmentMap make_fragment_map(const FragmentShape& shape);

}  // namespace lathe::ptx
