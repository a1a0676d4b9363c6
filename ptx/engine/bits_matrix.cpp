// Matrix products in the bits domain: operands are gathered, multiplied, and laid back.

#include <array>

#include "ptx/bits.h"
#include "ptx/fragment.h"
#include "ptx/fused_sum_lanes.h"
#include "ptx/scaled_sum.h"

namespace lathe::ptx {
namespace {

using dot::columns, dot::m_max;

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

/// Calls `use` with an unsigned integer as wide as the elements.
template <class Use>
void with_word(Type type, Use use) {
  if (width_of(type) == 8) return use(std::uint8_t{});
  if (width_of(type) == 16) return use(std::uint16_t{});
  use(std::uint32_t{});
}

/// Elements at offsets from `from`, each in a word of its own.
template <class Offset>
void gather(Type type, const std::byte* from, const Offset* offsets, unsigned count,
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

float accumulator(std::uint32_t bits, Type type) {
  if (type == Type::f16) return single_of_half(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(bits);
}
std::uint32_t result_bits(float c, Type type) {
  return type == Type::f16 ? half_of_single(c) : std::bit_cast<std::uint32_t>(c);
}

/// Sixteen rows in f32: two registers hold eight of them, the first the even columns.
bool in_pairs(const FragmentShape& shape, Type type) {
  return shape.m == m_max && type == Type::f32;
}

/// C of whole registers, and D.
void read_rows(const Bits::Lanes& lanes, const FragmentOrder& order, const Spot* registers,
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
void write_rows(Bits::Lanes& lanes, const FragmentOrder& order, const Spot* registers,
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

/// D over C, fast where the inputs are ordinary; elsewhere `gather` is asked for the factors, which
/// say what the sides say.
template <class Gather>
void multiply_rows(const dot::Product& how, const dot::SideA& a, const dot::SideB& b,
                   dot::Rows& rows, Gather gather) {
  dot::Rows before = rows;
  if (dot::multiply_lanes(how, a, b, rows)) return;
  rows = before;
  dot::Factors factors;
  gather(factors);
  dot::multiply_each(how, factors, rows);
}

dot::Shorts eight_at(const std::byte* from) {
  dot::Shorts bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

/// Halves of whole registers: each has eight rows (of B columns) of eight elements, row after row;
/// of A the next eight rows follow, then the next eight columns.
void read_halves(const Bits::Lanes& lanes, Type type, const Spot* registers, unsigned k,
                 dot::SideA& side) {
  std::array<dot::Shorts, m_max * dot::k_max / 8> bits;
  unsigned across = k / 8;
  for (unsigned i = 0; i < m_max; ++i)
    for (unsigned q = 0; q < across; ++q)
      bits[i * across + q] =
          eight_at(lanes.bytes.data() + registers[i / 8 + 2 * q] + i % 8 * sizeof bits[0]);
  dot::read_halves(type, std::span(bits).first(m_max * across), side);
}
void read_halves(const Bits::Lanes& lanes, Type type, const Spot* registers, unsigned k,
                 dot::SideB& side) {
  std::array<std::array<dot::Shorts, 8>, dot::k_max / 8> bits;
  for (unsigned q = 0; q < k / 8; ++q) {
    for (unsigned j = 0; j < 8; ++j)
      bits[q][j] = eight_at(lanes.bytes.data() + registers[q] + j * sizeof bits[q][j]);
    dot::transpose(bits[q]);
  }
  dot::read_halves(type, std::span(bits[0].data(), k), side);
}

float half_at(const Bits::Lanes& lanes, Cell cell) {
  return single_of_half(static_cast<std::uint16_t>(bits_at(lanes, cell, 2)));
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
    float sum = accumulator(element_at(lanes, mma.c[i], mma.c_type), mma.c_type);
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

/// Factors and C by cells.
void gather_cells(const Bits::Lanes& lanes, const Mma& mma, dot::Factors& factors,
                  dot::Rows& rows) {
  for (unsigned i = 0; i < mma.m * mma.k; ++i)
    factors.a[i] = element_at(lanes, mma.a[i], mma.a_type);
  for (unsigned i = 0; i < mma.k * columns; ++i)
    factors.b[i] = element_at(lanes, mma.b[i], mma.b_type);
  for (unsigned i = 0; i < mma.m * columns; ++i)
    rows[i / columns].c[i % columns] =
        accumulator(element_at(lanes, mma.c[i], mma.c_type), mma.c_type);
}

void multiply_cells(Bits::Lanes& lanes, const Mma& mma) {
  if (mma.m == 8 && mma.k == 4 && mma.a_type == Type::f16) return multiply_fours(lanes, mma);
  dot::Product how = dot::product_of(mma);
  dot::Factors factors;
  dot::Rows rows;
  gather_cells(lanes, mma, factors, rows);
  dot::SideA a;
  dot::SideB b;
  if (mma.m * mma.k % columns == 0) {
    dot::read_side(mma.a_type, factors.a.data(), mma.m * mma.k, a);
    dot::read_side(mma.b_type, factors.b.data(), mma.k * columns, b);
  }
  multiply_rows(how, a, b, rows, [&](dot::Factors& all) { all = factors; });
  for (unsigned i = 0; i < mma.m * columns; ++i) {
    std::uint32_t bits = result_bits(rows[i / columns].c[i % columns], mma.d_type);
    std::memcpy(lanes.at(mma.d[i]), &bits, width_of(mma.d_type) / 8);
  }
}

/// The same of whole registers.
void multiply_registers(Bits::Lanes& lanes, const Mma& mma) {
  if (mma.m == 8 && mma.k == 4 && mma.a_type == Type::f16) return multiply_fours(lanes, mma);
  const FragmentOrder& order = *mma.order;
  const FragmentShape& shape = order.shape;
  const Spot *d = mma.registers, *a = d + shape.d_registers, *b = a + shape.a_registers;
  unsigned a_count = mma.m * mma.k, b_count = mma.k * columns;
  auto gather_all = [&](dot::Factors& factors) {
    Staged stage;
    stage.read(lanes, a, shape.a_registers);
    gather(mma.a_type, stage.bytes.data(), order.a.data(), a_count, factors.a.data());
    stage.read(lanes, b, shape.b_registers);
    gather(mma.b_type, stage.bytes.data(), order.b.data(), b_count, factors.b.data());
  };
  dot::SideA a_side;
  dot::SideB b_side;
  if (mma.m == m_max && dot::is_half(mma.a_type) && dot::is_half(mma.b_type)) {
    read_halves(lanes, mma.a_type, a, mma.k, a_side);
    read_halves(lanes, mma.b_type, b, mma.k, b_side);
  } else if (a_count % columns == 0) {
    dot::Factors factors;
    gather_all(factors);
    dot::read_side(mma.a_type, factors.a.data(), a_count, a_side);
    dot::read_side(mma.b_type, factors.b.data(), b_count, b_side);
  }
  dot::Rows rows;
  read_rows(lanes, order, b + shape.b_registers, rows);
  multiply_rows(dot::product_of(mma), a_side, b_side, rows, gather_all);
  write_rows(lanes, order, d, rows);
}

/// Element by element: products of blocks with scales are rare.
void multiply_scaled(Bits::Lanes& lanes, const Mma& mma) {
  const BlockScales& scales = *mma.scales;
  dot::ScaledFactors in{mma.a_type, mma.b_type, scales.type, mma.k, scales.blocks, {}, {}, {}, {}};
  auto byte_at = [&](Cell cell) { return static_cast<std::uint8_t>(bits_at(lanes, cell, 1)); };
  std::array<float, m_max * columns> result{};
  for (unsigned i = 0; i < mma.m; ++i) {
    for (unsigned k = 0; k < mma.k; ++k)
      in.a[k] = element_at(lanes, mma.a[i * mma.k + k], mma.a_type);
    for (unsigned s = 0; s < scales.blocks; ++s)
      in.a_scale[s] = byte_at(scales.a[i * scales.blocks + s]);
    for (unsigned j = 0; j < mma.n; ++j) {
      for (unsigned k = 0; k < mma.k; ++k)
        in.b[k] = element_at(lanes, mma.b[k * mma.n + j], mma.b_type);
      for (unsigned s = 0; s < scales.blocks; ++s) in.b_scale[s] = byte_at(scales.b[s * mma.n + j]);
      float c = std::bit_cast<float>(bits_at(lanes, mma.c[i * mma.n + j], 4));
      result[i * mma.n + j] = dot::scaled_sum(in, c, mma.without_c);
    }
  }
  for (unsigned i = 0; i < mma.m * mma.n; ++i) std::memcpy(lanes.at(mma.d[i]), &result[i], 4);
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

unsigned registers_of(const FragmentShape& shape) {
  return shape.d_registers + shape.a_registers + shape.b_registers + shape.c_registers;
}

bool all_defined(const Bits::Lanes& lanes, std::span<const Spot> registers) {
  Mask known = every_lane;
  for (Spot place : registers) known &= lanes.defined[place / 64];
  return known == every_lane;
}

/// Those of A, B and C.
std::span<const Spot> read_registers(const Mma& mma) {
  const FragmentShape& shape = mma.order->shape;
  return std::span(mma.registers, registers_of(shape)).subspan(shape.d_registers);
}

bool memory_defined(const Bits::Region& memory, std::span<const std::uint64_t> units) {
  if (memory.defined == nullptr) return true;
  std::uint64_t all = ~std::uint64_t{0};
  for (std::uint64_t unit : units) {
    std::array<std::uint64_t, 2> bytes;
    std::memcpy(bytes.data(), memory.defined + 16 * unit, 16);
    all &= bytes[0] & bytes[1];
  }
  return all == 0x0101010101010101u || units.empty();
}

void gather_a(const Bits::Lanes& lanes, const Bits::Region& memory, const WideMma& wide,
              dot::Factors& factors) {
  unsigned count = wide.m * wide.k;
  if (wide.a_offsets != nullptr)
    return gather(wide.a_type, memory.bytes, wide.a_offsets, count, factors.a.data());
  Staged stage;
  stage.read(lanes, wide.a_registers.data(), wide.order->shape.a_registers);
  gather(wide.a_type, stage.bytes.data(), wide.order->a.data(), count, factors.a.data());
}
void gather_b(const Bits::Region& memory, const WideMma& wide, unsigned begin,
              dot::Factors& factors) {
  for (unsigned q = 0; q < wide.k; ++q)
    gather(wide.b_type, memory.bytes, wide.b_offsets + q * wide.n + begin, columns,
           &factors.b[q * columns]);
}

/// Of eight offsets, `step` apart from one another in their list.
bool side_by_side(const std::uint32_t* offsets, std::size_t step) {
  std::uint32_t other = 0;
  for (unsigned i = 1; i < 8; ++i) other |= offsets[i * step] - offsets[0] - 2 * i;
  return other == 0;
}

void read_a(const Bits::Lanes& lanes, const Bits::Region& memory, const WideMma& wide,
            dot::SideA& side) {
  if (dot::is_half(wide.a_type) && wide.a_offsets == nullptr)
    return read_halves(lanes, wide.a_type, wide.a_registers.data(), wide.k, side);
  if (dot::is_half(wide.a_type)) {
    std::array<dot::Shorts, m_max * dot::k_max / 8> bits;
    auto eights = std::span(bits).first(wide.m * wide.k / 8);
    bool together = true;
    for (unsigned i = 0; i < eights.size(); ++i) {
      together = together && side_by_side(wide.a_offsets + 8 * i, 1);
      eights[i] = eight_at(memory.bytes + wide.a_offsets[8 * i]);
    }
    if (together) return dot::read_halves(wide.a_type, eights, side);
  }
  dot::Factors factors;
  gather_a(lanes, memory, wide, factors);
  dot::read_side(wide.a_type, factors.a.data(), wide.m * wide.k, side);
}

/// Eight columns of halves, of which eight lie side by side along K or along N; false where not.
bool read_b_halves(const Bits::Region& memory, const WideMma& wide, unsigned begin,
                   dot::SideB& side) {
  std::array<std::array<dot::Shorts, 8>, dot::k_max / 8> bits;
  for (unsigned q = 0; q < wide.k; q += 8) {
    const std::uint32_t* from = wide.b_offsets + std::size_t{q} * wide.n + begin;
    bool along_n = from[1] == from[0] + 2;
    std::size_t step = along_n ? wide.n : 1, within = along_n ? 1 : wide.n;
    for (unsigned i = 0; i < 8; ++i, from += step) {
      if (!side_by_side(from, within)) return false;
      bits[q / 8][i] = eight_at(memory.bytes + *from);
    }
    if (!along_n) dot::transpose(bits[q / 8]);
  }
  dot::read_halves(wide.b_type, std::span(bits[0].data(), wide.k), side);
  return true;
}

void read_b(const Bits::Region& memory, const WideMma& wide, unsigned begin, dot::SideB& side) {
  if (dot::is_half(wide.b_type) && read_b_halves(memory, wide, begin, side)) return;
  dot::Factors factors;
  gather_b(memory, wide, begin, factors);
  dot::read_side(wide.b_type, factors.b.data(), wide.k * columns, side);
}

}  // namespace

/// Sixteen rows of wgmma whose operands are all defined; the rest goes element by element.
bool Bits::multiply_wide(Lanes& lanes, const Region& memory, const WideMma& wide) {
  const FragmentOrder* order = wide.order;
  if (order == nullptr || counts(wide.a_type) || wide.m != m_max || wide.k > dot::k_max)
    return false;
  if (!memory_defined(memory, wide.a_units) || !memory_defined(memory, wide.b_units)) return false;
  if (wide.a_offsets == nullptr && !all_defined(lanes, wide.a_registers)) return false;
  if (!wide.zero_c && !all_defined(lanes, wide.d_registers)) return false;
  Mma mma;
  mma.m = wide.m, mma.n = columns, mma.k = wide.k;
  mma.a_type = wide.a_type, mma.b_type = wide.b_type;
  mma.c_type = wide.c_type, mma.d_type = wide.d_type;
  mma.architecture = wide.architecture, mma.warpgroup = true, mma.without_c = wide.zero_c;
  dot::Product how = dot::product_of(mma);
  dot::SideA a_side;
  dot::SideB b_side;
  read_a(lanes, memory, wide, a_side);
  for (unsigned begin = 0; begin < wide.n; begin += columns) {
    read_b(memory, wide, begin, b_side);
    const Spot* d = &wide.d_registers[begin / columns * order->shape.d_registers];
    dot::Rows rows{};
    if (!wide.zero_c) read_rows(lanes, *order, d, rows);
    multiply_rows(how, a_side, b_side, rows, [&](dot::Factors& factors) {
      gather_a(lanes, memory, wide, factors);
      gather_b(memory, wide, begin, factors);
    });
    write_rows(lanes, *order, d, rows);
  }
  for (Spot place : wide.d_registers) lanes.defined[place / 64] = every_lane;
  return true;
}

/// The same of tcgen05, whose sums in f16 would fill half of their registers.
bool Bits::multiply_tile(Lanes& lanes, const TileMma& tile) {
  const Mma& mma = tile.product;
  constexpr Mask rows_of_a = 0xFFFF, columns_of_b = 0xFF;
  auto defined = [&](TileMma::Corner corner, unsigned count, Mask mask) {
    Mask known = every_lane;
    for (unsigned i = 0; i < count; ++i)
      known &= lanes.defined[(corner.place + i * register_stride) / 64];
    return (mask & ~(known >> corner.lane)) == 0;
  };
  if (counts(mma.a_type) || mma.d_type != Type::f32 || mma.k > dot::k_max) return false;
  if (!defined(tile.a, tile.words, rows_of_a) || !defined(tile.b, tile.words, columns_of_b) ||
      (!mma.without_c && !defined(tile.d, columns, rows_of_a)))
    return false;
  auto at = [&](TileMma::Corner corner) {
    return lanes.bytes.data() + corner.place + 4 * corner.lane;
  };
  unsigned a_count = mma.m * mma.k, b_count = mma.k * columns;
  dot::Factors factors;
  gather(mma.a_type, at(tile.a), tile.a_offsets.data(), a_count, factors.a.data());
  gather(mma.b_type, at(tile.b), tile.b_offsets.data(), b_count, factors.b.data());
  dot::SideA a;
  dot::SideB b;
  dot::read_side(mma.a_type, factors.a.data(), a_count, a);
  dot::read_side(mma.b_type, factors.b.data(), b_count, b);
  dot::Rows rows{};
  std::byte* d = at(tile.d);
  for (unsigned i = 0; i < m_max * columns && !mma.without_c; ++i)
    std::memcpy(&rows[i / columns].c[i % columns], d + tile.d_offsets[i], 4);
  multiply_rows(dot::product_of(mma), a, b, rows, [&](dot::Factors& all) { all = factors; });
  for (unsigned i = 0; i < m_max * columns; ++i)
    std::memcpy(d + tile.d_offsets[i], &rows[i / columns].c[i % columns], 4);
  for (unsigned i = 0; i < columns; ++i)
    lanes.defined[(tile.d.place + i * register_stride) / 64] |= rows_of_a << tile.d.lane;
  return true;
}

void Bits::multiply(Lanes& lanes, const Mma& mma) {
  if (mma.order != nullptr && !counts(mma.a_type) && all_defined(lanes, read_registers(mma))) {
    multiply_registers(lanes, mma);
    for (Spot place : std::span(mma.registers, mma.order->shape.d_registers))
      lanes.defined[place / 64] = every_lane;
    return;
  }
  bool set = true;
  auto check = [&](const Cell* cells, unsigned count, Type type) {
    unsigned bytes = width_of(type) / 8;
    for (unsigned i = 0; i < count; ++i) set = set && defined(lanes, cells[i], bytes);
  };
  check(mma.a, mma.m * mma.k, mma.a_type);
  check(mma.b, mma.k * mma.n, mma.b_type);
  check(mma.c, mma.m * mma.n, mma.c_type);
  if (mma.scales != nullptr) {
    check(mma.scales->a, mma.m * mma.scales->blocks, mma.scales->type);
    check(mma.scales->b, mma.scales->blocks * mma.n, mma.scales->type);
    multiply_scaled(lanes, mma);
  } else if (mma.a_type == Type::f64)
    multiply_doubles(lanes, mma);
  else if (counts(mma.a_type))
    multiply_integers(lanes, mma);
  else
    multiply_cells(lanes, mma);
  // One undefined element makes all of the result undefined: a finer rule is never needed, since
  // kernels fill what they multiply.
  for (unsigned i = 0; i < mma.m * mma.n; ++i) mark(lanes, mma.d[i], width_of(mma.d_type) / 8, set);
}

}  // namespace lathe::ptx
