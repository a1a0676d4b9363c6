// The fragment maps of mma.sync (PTX ISA 9.7.14.5), by lane = 4 * g + t.

#include "ptx/fragment.h"

#include <charconv>

namespace lathe::ptx {
namespace {

bool read_shape(std::string_view text, unsigned& m, unsigned& n, unsigned& k) {
  const char* end = text.data() + text.size();
  auto number = [&](const char* at, char letter, unsigned& out) {
    if (at == end || *at != letter) return end;
    return std::from_chars(at + 1, end, out).ptr;
  };
  const char* at = number(text.data(), 'm', m);
  at = number(at, 'n', n);
  return number(at, 'k', k) == end && m != 0 && n != 0 && k != 0;
}

/// Row and column of element i of an operand in lane (g, t).
struct Position {
  unsigned row, column;
};

/// Registers alternate between the upper and the lower eight rows, and then go four times as many
/// columns to the right as a register has elements.
Position a_position(const FragmentShape& s, unsigned g, unsigned t, unsigned i) {
  unsigned each = width_of(s.ab_register()) / element_bits(s.a), r = i / each, e = i % each;
  if (s.m == 8) return {g, each * t + e};
  return {g + 8 * (r & 1), each * t + e + 4 * each * (r >> 1)};
}

Position b_position(const FragmentShape& s, unsigned g, unsigned t, unsigned i) {
  unsigned each = width_of(s.ab_register()) / element_bits(s.b), r = i / each, e = i % each;
  return {each * t + e + 4 * each * r, g};
}

Position d_position(unsigned g, unsigned t, unsigned i) {
  return {g + 8 * (i >> 1), 2 * t + (i & 1)};
}

FragmentPlace place_of(unsigned i, Type element, Type held, unsigned lane) {
  unsigned at = i * element_bits(element), width = width_of(held);
  FragmentPlace place{static_cast<std::uint8_t>(at / width),
                      static_cast<std::uint8_t>(at % width / 8), static_cast<std::uint8_t>(lane),
                      static_cast<std::uint8_t>(at % 8)};
  if (element == Type::e2m1) place.bit = 2;  // Bits 5 to 2 of its byte.
  return place;
}

}  // namespace

std::optional<FragmentShape> fragment_shape(std::string_view shape, Type d, Type a, Type b,
                                            Type c) {
  FragmentShape s;
  s.d = d, s.a = a, s.b = b, s.c = c;
  if (!read_shape(shape, s.m, s.n, s.k) || s.n != 8) return std::nullopt;
  unsigned bits = element_bits(a), held = width_of(s.ab_register());
  if (element_bits(b) != bits) return std::nullopt;
  s.products = shape == "m8n8k4" && a == Type::f16 ? 4 : 1;
  auto count = [&](unsigned elements, unsigned width, unsigned holds) {
    return s.products * elements * width / holds / lane_count;
  };
  s.a_registers = count(s.m * s.k, bits, held);
  s.b_registers = count(s.k * s.n, bits, held);
  s.c_registers = count(s.m * s.n, width_of(c), width_of(s.c_register()));
  s.d_registers = count(s.m * s.n, width_of(d), width_of(s.c_register()));
  return s;
}

FragmentMap make_fragment_map(const FragmentShape& s) {
  FragmentMap map;
  map.a.resize(std::size_t{s.m} * s.k);
  map.b.resize(std::size_t{s.k} * s.n);
  map.c.resize(std::size_t{s.m} * s.n);
  map.d.resize(std::size_t{s.m} * s.n);
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    unsigned g = lane >> 2, t = lane & 3;
    for (unsigned i = 0; i < s.m * s.k / lane_count; ++i) {
      Position at = a_position(s, g, t, i);
      map.a[std::size_t{at.row} * s.k + at.column] = place_of(i, s.a, s.ab_register(), lane);
    }
    for (unsigned i = 0; i < s.k * s.n / lane_count; ++i) {
      Position at = b_position(s, g, t, i);
      map.b[std::size_t{at.row} * s.n + at.column] = place_of(i, s.b, s.ab_register(), lane);
    }
    for (unsigned i = 0; i < s.m * s.n / lane_count; ++i) {
      Position at = d_position(g, t, i);
      map.c[std::size_t{at.row} * s.n + at.column] = place_of(i, s.c, s.c_register(), lane);
      map.d[std::size_t{at.row} * s.n + at.column] = place_of(i, s.d, s.c_register(), lane);
    }
  }
  return map;
}

std::optional<FragmentOrder> make_fragment_order(const FragmentShape& s) {
  bool bytes = element_bits(s.a) >= 8 && s.a != Type::e2m1 && s.b != Type::e2m1;
  if (!bytes || s.ab_register() != Type::b32 || s.c_register() != Type::b32) return std::nullopt;
  FragmentMap map = make_fragment_map(s);
  auto offsets = [](const std::vector<FragmentPlace>& places) {
    std::vector<std::uint16_t> list;
    list.reserve(places.size());
    for (FragmentPlace at : places)
      list.push_back(
          static_cast<std::uint16_t>(at.slot * register_stride + at.lane * 4u + at.byte));
    return list;
  };
  return FragmentOrder{s, offsets(map.a), offsets(map.b), offsets(map.c), offsets(map.d)};
}

FragmentMap make_quad_map(const FragmentShape& s, unsigned quad) {
  FragmentMap map;
  map.a.resize(32), map.b.resize(32), map.c.resize(64), map.d.resize(64);
  auto accumulator = [](Type type, unsigned lane, unsigned upper, unsigned i) {
    if (type == Type::f16) return Position{lane % 4 + upper, i};
    return Position{(lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)};
  };
  for (unsigned j = 0; j < 8; ++j) {
    unsigned upper = j < 4 ? 0 : 4, lane = 4 * quad + j % 4 + 4 * upper, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
      FragmentPlace place = place_of(i, Type::f16, Type::b32, lane);
      map.a[s.a_columns ? (i + upper) * 4 + t : (t + upper) * 4 + i] = place;
      map.b[s.b_rows ? t * 8 + i + upper : i * 8 + t + upper] = place;
    }
    for (unsigned i = 0; i < 8; ++i) {
      Position c = accumulator(s.c, lane, upper, i), d = accumulator(s.d, lane, upper, i);
      map.c[c.row * 8 + c.column] = place_of(i, s.c, Type::b32, lane);
      map.d[d.row * 8 + d.column] = place_of(i, s.d, Type::b32, lane);
    }
  }
  return map;
}

}  // namespace lathe::ptx
