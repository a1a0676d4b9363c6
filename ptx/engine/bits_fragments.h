#pragma once

// How the operands of matrix products lie in registers and in shared memory, for bits_matrix.cpp.

#include <array>
#include <cstring>

#include "ptx/bits.h"
#include "ptx/fragment.h"
#include "ptx/fused_sum_lanes.h"

namespace lathe::ptx {
namespace {

using dot::columns, dot::m_max;

inline std::uint32_t bits_at(const Bits::Lanes& lanes, Cell cell, unsigned bytes) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, lanes.at(cell), bytes);
  return bits;
}

/// An element of any type that lies in 32 bits or fewer.
inline std::uint32_t element_at(const Bits::Lanes& lanes, Cell cell, Type type) {
  unsigned bits = type == Type::b1                                             ? 1
                  : type == Type::s4 || type == Type::u4 || type == Type::e2m1 ? 4
                                                                               : width_of(type);
  if (bits >= 8) return bits_at(lanes, cell, bits / 8);
  return bits_at(lanes, cell, 1) >> cell.bit & ((1u << bits) - 1);
}

/// Calls `use` with an unsigned integer as wide as the elements.
template <class Use>
inline void with_word(Type type, Use use) {
  if (width_of(type) == 8) return use(std::uint8_t{});
  if (width_of(type) == 16) return use(std::uint16_t{});
  use(std::uint32_t{});
}

/// Elements at offsets from `from`, each in a word of its own.
template <class Offset>
inline void gather(Type type, const std::byte* from, const Offset* offsets, unsigned count,
                   std::uint32_t* to) {
  with_word(type, [&]<class Word>(Word word) {
    for (unsigned i = 0; i < count; ++i) {
      std::memcpy(&word, from + offsets[i], sizeof word);
      to[i] = word;
    }
  });
}

/// The registers of an operand, one after the other.
struct Staged {
  static constexpr unsigned registers_max = 8;
  alignas(32) std::array<std::byte, registers_max * register_stride> bytes;

  void read(const Bits::Lanes& lanes, const Spot* registers, unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      std::memcpy(&bytes[i * register_stride], lanes.bytes.data() + registers[i], register_stride);
  }
  void write(Bits::Lanes& lanes, const Spot* registers, unsigned count) const {
    for (unsigned i = 0; i < count; ++i)
      std::memcpy(lanes.bytes.data() + registers[i], &bytes[i * register_stride], register_stride);
  }
};

typedef float Fours __attribute__((vector_size(16)));
typedef std::int32_t WhichFours __attribute__((vector_size(16)));

inline float accumulator(std::uint32_t bits, Type type) {
  if (type == Type::f16) return single_of_half(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(bits);
}
inline std::uint32_t result_bits(float c, Type type) {
  return type == Type::f16 ? half_of_single(c) : std::bit_cast<std::uint32_t>(c);
}

/// Sixteen rows in f32: two registers hold eight of them, the first the even columns.
inline bool in_pairs(const FragmentShape& shape, Type type) {
  return shape.m == m_max && type == Type::f32;
}

/// C of whole registers, and D.
inline void read_rows(const Bits::Lanes& lanes, const FragmentOrder& order, const Spot* registers,
                      dot::Rows& rows) {
  if (in_pairs(order.shape, order.shape.c)) {
    for (unsigned i = 0; i < m_max; ++i) {
      Fours even, odd;
      const Spot* pair = registers + i / 8 * 2;
      std::memcpy(&even, lanes.bytes.data() + pair[0] + i % 8 * sizeof even, sizeof even);
      std::memcpy(&odd, lanes.bytes.data() + pair[1] + i % 8 * sizeof odd, sizeof odd);
      Fours low = __builtin_shuffle(even, odd, WhichFours{0, 4, 1, 5});
      Fours high = __builtin_shuffle(even, odd, WhichFours{2, 6, 3, 7});
      std::memcpy(&rows[i].c[0], &low, sizeof low);
      std::memcpy(&rows[i].c[4], &high, sizeof high);
    }
    return;
  }
  Staged stage;
  stage.read(lanes, registers, order.shape.c_registers);
  std::array<std::uint32_t, m_max * columns> bits;
  auto count = static_cast<unsigned>(order.c.size());
  gather(order.shape.c, stage.bytes.data(), order.c.data(), count, bits.data());
  for (unsigned i = 0; i < count; ++i)
    rows[i / columns].c[i % columns] = accumulator(bits[i], order.shape.c);
}
inline void write_rows(Bits::Lanes& lanes, const FragmentOrder& order, const Spot* registers,
                       const dot::Rows& rows) {
  Type type = order.shape.d;
  if (in_pairs(order.shape, type)) {
    for (unsigned i = 0; i < m_max; ++i) {
      Fours low, high;
      std::memcpy(&low, &rows[i].c[0], sizeof low);
      std::memcpy(&high, &rows[i].c[4], sizeof high);
      Fours even = __builtin_shuffle(low, high, WhichFours{0, 2, 4, 6});
      Fours odd = __builtin_shuffle(low, high, WhichFours{1, 3, 5, 7});
      const Spot* pair = registers + i / 8 * 2;
      std::memcpy(lanes.bytes.data() + pair[0] + i % 8 * sizeof even, &even, sizeof even);
      std::memcpy(lanes.bytes.data() + pair[1] + i % 8 * sizeof odd, &odd, sizeof odd);
    }
    return;
  }
  Staged stage;
  with_word(type, [&]<class Word>(Word word) {
    for (unsigned i = 0; i < order.d.size(); ++i) {
      word = static_cast<Word>(result_bits(rows[i / columns].c[i % columns], type));
      std::memcpy(&stage.bytes[order.d[i]], &word, sizeof word);
    }
  });
  stage.write(lanes, registers, order.shape.d_registers);
}

inline dot::Shorts eight_at(const std::byte* from) {
  dot::Shorts bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

/// Halves of whole registers: each has eight rows (of B columns) of eight elements, row after row;
/// of A the next eight rows follow, then the next eight columns.
inline void read_halves(const Bits::Lanes& lanes, Type type, const Spot* registers, unsigned k,
                        dot::SideA& side) {
  unsigned across = k / 8;
  dot::with_halves(type, side, [&](auto halves) {
    for (unsigned r = 0; r < 2 * across; ++r) {
      const std::byte* from = lanes.bytes.data() + registers[r];
      for (unsigned i = 0; i < 8; ++i)
        halves.put((r % 2 * 8 + i) * across + r / 2, eight_at(from + 16 * i));
    }
    halves.end(m_max * k);
  });
}
inline void read_halves(const Bits::Lanes& lanes, Type type, const Spot* registers, unsigned k,
                        dot::SideB& side) {
  dot::with_halves(type, side, [&](auto halves) {
    for (unsigned q = 0; q < k / 8; ++q) {
      std::array<dot::Shorts, 8> eights;
      for (unsigned j = 0; j < 8; ++j)
        eights[j] = eight_at(lanes.bytes.data() + registers[q] + 16 * j);
      dot::transpose(eights);
      for (unsigned i = 0; i < 8; ++i) halves.put(8 * q + i, eights[i]);
    }
    halves.end(k * columns);
  });
}

/// Where eight of an operand's elements lie.
inline void read_offsets(const std::uint32_t* offsets, dot::Ints& eight) {
  std::memcpy(&eight, offsets, sizeof eight);
}

/// Rows of halves in memory, of which eight elements lie side by side; false where they do not.
inline bool read_eights(const Bits::Region& memory, Type type, const std::uint32_t* offsets,
                        unsigned count, dot::SideA& side) {
  constexpr dot::Ints steps{0, 2, 4, 6, 8, 10, 12, 14};
  dot::Ints apart{};
  dot::with_halves(type, side, [&](auto halves) {
    for (unsigned i = 0; i < count; i += 8) {
      dot::Ints here;
      read_offsets(offsets + i, here);
      apart |= here - static_cast<std::int32_t>(offsets[i]) - steps;
      halves.put(i / 8, eight_at(memory.bytes + offsets[i]));
    }
    halves.end(count);
  });
  return !dot::any_lane(apart);
}

/// Eight columns of `n`, of which eight elements lie side by side along K or along N; false where
/// they do not.
inline bool read_eights(const Bits::Region& memory, Type type, const std::uint32_t* offsets,
                        unsigned k, unsigned n, dot::SideB& side) {
  constexpr dot::Ints steps{0, 2, 4, 6, 8, 10, 12, 14};
  bool along_n = offsets[1] == offsets[0] + 2;
  dot::Ints apart{};
  dot::with_halves(type, side, [&](auto halves) {
    for (unsigned q = 0; q < k; q += 8) {
      std::array<dot::Shorts, 8> eights;
      const std::uint32_t* from = offsets + std::size_t{q} * n;
      dot::Ints first, here;
      read_offsets(from, first);
      for (unsigned i = 0; i < 8; ++i) {
        const std::uint32_t* row = from + std::size_t{i} * n;
        read_offsets(row, here);
        if (along_n)
          apart |= here - static_cast<std::int32_t>(*row) - steps;
        else
          apart |= here - first - 2 * static_cast<std::int32_t>(i);
        eights[i] = eight_at(memory.bytes + (along_n ? *row : from[i]));
      }
      if (!along_n) dot::transpose(eights);
      for (unsigned i = 0; i < 8; ++i) halves.put(q + i, eights[i]);
    }
    halves.end(k * columns);
  });
  return !dot::any_lane(apart);
}

}  // namespace
}  // namespace lathe::ptx
