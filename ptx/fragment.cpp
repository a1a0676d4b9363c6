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

/// Row and column of element i of A in lane (g, t), by the width of an element.
struct Position {
  unsigned row, column;
};

Position a_position(const FragmentShape& s, unsigned g, unsigned t, unsigned i) {
  switch (width_of(s.a)) {
    case 8:
      if (s.k == 16) return {g + 8 * (i >> 2), 4 * t + (i & 3)};
      return {g + 8 * ((i >> 2) & 1), 4 * t + (i & 3) + 16 * (i >> 3)};
    case 16:
      if (s.k == 8) return {g + 8 * (i >> 1), 2 * t + (i & 1)};
      return {g + 8 * ((i >> 1) & 1), 2 * t + (i & 1) + 8 * (i >> 2)};
    default:  // tf32 and f64: one element a register, rows first.
      if (s.m == 8) return {g, t};
      return {g + 8 * (i & 1), t + 4 * (i >> 1)};
  }
}

Position b_position(const FragmentShape& s, unsigned g, unsigned t, unsigned i) {
  switch (width_of(s.a)) {
    case 8:
      if (s.k == 16) return {4 * t + i, g};
      return {4 * t + (i & 3) + 16 * (i >> 2), g};
    case 16:
      if (s.k == 8) return {2 * t + i, g};
      return {2 * t + (i & 1) + 8 * (i >> 1), g};
    default:
      return {t + 4 * i, g};
  }
}

Position d_position(unsigned g, unsigned t, unsigned i) {
  return {g + 8 * (i >> 1), 2 * t + (i & 1)};
}

}  // namespace

std::optional<FragmentShape> fragment_shape(std::string_view shape, Type d, Type a, Type b,
                                            Type c) {
  FragmentShape s;
  s.d = d, s.a = a, s.b = b, s.c = c;
  if (!read_shape(shape, s.m, s.n, s.k) || s.n != 8 || d != c) return std::nullopt;
  unsigned width = width_of(a), held = a == Type::f64 ? 64 : 32;
  if (width_of(b) != width || width < 8) return std::nullopt;
  s.a_registers = s.m * s.k * width / held / lane_count;
  s.b_registers = s.k * s.n * width / held / lane_count;
  s.d_registers = s.m * s.n * width_of(d) / (d == Type::f64 ? 64 : 32) / lane_count;
  return s;
}

FragmentMap make_fragment_map(const FragmentShape& s) {
  FragmentMap map;
  map.a.resize(std::size_t{s.m} * s.k);
  map.b.resize(std::size_t{s.k} * s.n);
  map.d.resize(std::size_t{s.m} * s.n);
  unsigned bytes = width_of(s.a) / 8, held = width_of(s.ab_register()) / 8;
  unsigned d_bytes = width_of(s.d) / 8, d_held = width_of(s.c_register()) / 8;
  auto place = [](unsigned i, unsigned element, unsigned held_bytes, unsigned lane) {
    unsigned at = i * element;
    return FragmentPlace{static_cast<std::uint8_t>(at / held_bytes),
                         static_cast<std::uint8_t>(at % held_bytes),
                         static_cast<std::uint8_t>(lane)};
  };
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    unsigned g = lane >> 2, t = lane & 3;
    for (unsigned i = 0; i < s.m * s.k / lane_count; ++i) {
      Position at = a_position(s, g, t, i);
      map.a[std::size_t{at.row} * s.k + at.column] = place(i, bytes, held, lane);
    }
    for (unsigned i = 0; i < s.k * s.n / lane_count; ++i) {
      Position at = b_position(s, g, t, i);
      map.b[std::size_t{at.row} * s.n + at.column] = place(i, bytes, held, lane);
    }
    for (unsigned i = 0; i < s.m * s.n / lane_count; ++i) {
      Position at = d_position(g, t, i);
      map.d[std::size_t{at.row} * s.n + at.column] = place(i, d_bytes, d_held, lane);
    }
  }
  return map;
}

}  // namespace lathe::ptx
