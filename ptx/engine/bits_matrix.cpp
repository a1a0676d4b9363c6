// Matrix products in the bits domain: operands are gathered, multiplied, and laid back.

#include <array>

#include "ptx/engine/bits_fragments.h"
#include "ptx/scaled_sum.h"

namespace lathe::ptx {
namespace {

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

void read_a(const Bits::Lanes& lanes, const Bits::Region& memory, const WideMma& wide,
            dot::SideA& side) {
  unsigned count = wide.m * wide.k;
  bool half = dot::is_half(wide.a_type);
  if (half && wide.a_offsets == nullptr)
    return read_halves(lanes, wide.a_type, wide.a_registers.data(), wide.k, side);
  if (half && read_eights(memory, wide.a_type, wide.a_offsets, count, side)) return;
  dot::Factors factors;
  gather_a(lanes, memory, wide, factors);
  dot::read_side(wide.a_type, factors.a.data(), count, side);
}

/// Eight columns.
void read_b(const Bits::Region& memory, const WideMma& wide, unsigned begin, dot::SideB& side) {
  if (dot::is_half(wide.b_type) &&
      read_eights(memory, wide.b_type, wide.b_offsets + begin, wide.k, wide.n, side))
    return;
  dot::Factors factors;
  gather_b(memory, wide, begin, factors);
  dot::read_side(wide.b_type, factors.b.data(), wide.k * columns, side);
}

std::byte* corner_of(Bits::Lanes& lanes, TileMma::Corner corner) {
  return lanes.bytes.data() + corner.place + 4 * corner.lane;
}

/// Eight rows of A, a lane each, whose words hold two halves.
void read_lanes(Bits::Lanes& lanes, const TileMma& tile, unsigned upper, dot::SideB& side) {
  const std::byte* from = corner_of(lanes, tile.a) + upper * sizeof(dot::Ints);
  dot::with_halves(tile.product.a_type, side, [&](auto halves) {
    for (unsigned w = 0; w < tile.words; ++w) {
      dot::Ints words;
      std::memcpy(&words, from + w * register_stride, sizeof words);
      halves.put(2 * w, __builtin_convertvector(words, dot::Shorts));
      halves.put(2 * w + 1, __builtin_convertvector(words >> 16, dot::Shorts));
    }
    halves.end(tile.product.k * columns);
  });
}

/// Eight columns of B, a lane each: four words of four columns are turned at once.
void read_columns(Bits::Lanes& lanes, const TileMma& tile, unsigned begin, dot::SideA& side) {
  unsigned eights = tile.words / 4;  // Of a column.
  const std::byte* first = corner_of(lanes, tile.b) + 4 * begin;
  dot::with_halves(tile.product.b_type, side, [&](auto halves) {
    for (unsigned four = 0; four < 2; ++four)
      for (unsigned q = 0; q < eights; ++q) {
        const std::byte* from = first + 16 * four + 4 * q * register_stride;
        std::array<WhichFours, 4> w;
        for (unsigned i = 0; i < 4; ++i) std::memcpy(&w[i], from + i * register_stride, 16);
        WhichFours low = __builtin_shuffle(w[0], w[1], WhichFours{0, 4, 1, 5});
        WhichFours high = __builtin_shuffle(w[0], w[1], WhichFours{2, 6, 3, 7});
        WhichFours next_low = __builtin_shuffle(w[2], w[3], WhichFours{0, 4, 1, 5});
        WhichFours next_high = __builtin_shuffle(w[2], w[3], WhichFours{2, 6, 3, 7});
        auto put = [&](unsigned column, const WhichFours& words) {
          halves.put((4 * four + column) * eights + q, __builtin_bit_cast(dot::Shorts, words));
        };
        put(0, __builtin_shuffle(low, next_low, WhichFours{0, 1, 4, 5}));
        put(1, __builtin_shuffle(low, next_low, WhichFours{2, 3, 6, 7}));
        put(2, __builtin_shuffle(high, next_high, WhichFours{0, 1, 4, 5}));
        put(3, __builtin_shuffle(high, next_high, WhichFours{2, 3, 6, 7}));
      }
    halves.end(columns * tile.product.k);
  });
}

/// Eight columns of a tile as the transpose of eight columns by sixteen rows: columns of B by rows
/// of A, which lie side by side. False, and nothing is done, where the inputs are not ordinary.
bool multiply_lanes(Bits::Lanes& lanes, const TileMma& tile, const std::array<dot::SideB, 2>& a,
                    unsigned begin) {
  dot::Product how = dot::product_of(tile.product);
  how.m = columns;
  dot::SideA b;
  read_columns(lanes, tile, begin, b);
  std::byte* d = corner_of(lanes, tile.d) + begin * register_stride;
  std::array<dot::Rows, 2> sums;
  for (unsigned upper : {0u, 1u}) {
    for (unsigned j = 0; j < columns; ++j)
      if (tile.product.without_c)
        sums[upper][j] = {};
      else
        std::memcpy(&sums[upper][j], d + j * register_stride + upper * sizeof(dot::Row),
                    sizeof(dot::Row));
    if (!dot::multiply_lanes(how, b, a[upper], sums[upper])) return false;
  }
  for (unsigned upper : {0u, 1u})
    for (unsigned j = 0; j < columns; ++j)
      std::memcpy(d + j * register_stride + upper * sizeof(dot::Row), &sums[upper][j],
                  sizeof(dot::Row));
  return true;
}

/// Eight columns of a tile, of any inputs.
void multiply_part(Bits::Lanes& lanes, const TileMma& tile, unsigned begin) {
  const Mma& mma = tile.product;
  dot::Factors factors;
  unsigned a_count = mma.m * mma.k, b_count = mma.k * columns;
  gather(mma.a_type, corner_of(lanes, tile.a), tile.a_offsets.data(), a_count, factors.a.data());
  gather(mma.b_type, corner_of(lanes, tile.b) + 4 * begin, tile.b_offsets.data(), b_count,
         factors.b.data());
  dot::SideA a;
  dot::SideB b;
  dot::read_side(mma.a_type, factors.a.data(), a_count, a);
  dot::read_side(mma.b_type, factors.b.data(), b_count, b);
  dot::Rows rows{};
  std::byte* d = corner_of(lanes, tile.d) + begin * register_stride;
  for (unsigned i = 0; i < m_max * columns && !mma.without_c; ++i)
    std::memcpy(&rows[i / columns].c[i % columns], d + tile.d_offsets[i], 4);
  multiply_rows(dot::product_of(mma), a, b, rows, [&](dot::Factors& all) { all = factors; });
  for (unsigned i = 0; i < m_max * columns; ++i)
    std::memcpy(d + tile.d_offsets[i], &rows[i / columns].c[i % columns], 4);
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
  constexpr Mask rows_of_a = 0xFFFF;
  const Mask columns_of_b = every_lane >> (lane_count - mma.n);
  auto defined = [&](TileMma::Corner corner, unsigned count, Mask mask) {
    Mask known = every_lane;
    for (unsigned i = 0; i < count; ++i)
      known &= lanes.defined[(corner.place + i * register_stride) / 64];
    return (mask & ~(known >> corner.lane)) == 0;
  };
  if (counts(mma.a_type) || mma.d_type != Type::f32 || mma.k > dot::k_max) return false;
  if (!defined(tile.a, tile.words, rows_of_a) || !defined(tile.b, tile.words, columns_of_b) ||
      (!mma.without_c && !defined(tile.d, mma.n, rows_of_a)))
    return false;
  bool halves = dot::is_half(mma.a_type) && dot::is_half(mma.b_type) && mma.k == 2 * tile.words;
  std::array<dot::SideB, 2> a;
  if (halves)
    for (unsigned upper : {0u, 1u}) read_lanes(lanes, tile, upper, a[upper]);
  for (unsigned begin = 0; begin < mma.n; begin += columns)
    if (!halves || !multiply_lanes(lanes, tile, a, begin)) multiply_part(lanes, tile, begin);
  for (unsigned i = 0; i < mma.n; ++i)
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
