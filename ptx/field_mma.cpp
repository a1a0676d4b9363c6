// Matrix products of the field domain: operands are gathered once and multiplied as dense matrices;
// what cannot be dense goes element by element.

#include <emmintrin.h>

#include <algorithm>
#include <cmath>

#include "base/wide_loops.h"
#include "ptx/field.h"
#include "ptx/field_gathered.h"
#include "ptx/fragment.h"

namespace lathe::ptx::field {
namespace {

const __m128i* tags_at(const Plane& plane, Cell cell) {
  return reinterpret_cast<const __m128i*>(&plane.tags[cell.at()]);
}
/// Of the four bytes of a number.
__m128i four_tags(std::uint32_t id) {
  return _mm_or_si128(_mm_set1_epi32(static_cast<int>(id << 3)), _mm_set_epi32(3, 2, 1, 0));
}

}  // namespace

/// What cells are is said by tags from now on.
void Field::settle(const Lanes& lanes, const Cell* cells, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) lanes.settled(cells[i].at(), 1);
}

/// The number at a cell, by its bytes' tags.
std::uint32_t Field::id_at(const Plane& plane, std::size_t at, Type type) {
  if (is_integer(type)) return integer_id_at(plane, at, type);
  const Tag* tags = &plane.tags[at];
  Tag first = tags[0];
  bool input = (first & 7) == 0 && first >> 3 >= first_input && first >> 3 < lasting;
  if (width_of(type) == 8 && input) return first >> 3;
  if (type == Type::f16 || type == Type::bf16) {
    if (first == 0 && tags[1] == 0) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, &plane.bits[at], 2);
      return half_literal(bits, type);
    }
    if (input && tags[1] == first + 1) return first >> 3;
  }
  return read_number(&plane.bits[at], tags, type);
}

std::vector<Number> Field::numbers_of(const std::vector<std::uint32_t>& ids, Type type) {
  std::vector<Number> numbers;
  numbers.reserve(ids.size());
  for (std::uint32_t id : ids) {
    if (is_integer(type)) {
      numbers.push_back(integer_of(id, type));
      continue;
    }
    Number number =
        id >= first_input && id < lasting && !any_symbolic_ ? input_number(id) : number_settled(id);
    if (type == Type::tf32 && number.fits > 11) number.rounds = rounded(number.rounds, 11);
    numbers.push_back(number);
  }
  return numbers;
}

/// An element of an integer product: a word, or a sum of an earlier one.
Number Field::integer_of(std::uint32_t id, Type type) {
  std::optional<Number> number;
  if (is_word(id)) {
    number = number_of(word(id), type);
  } else if (id != poison_id()) {
    number = this->number(id);
    if (number->type() != Type::s32) number.reset();
  }
  if (number) return *number;
  complain(ComplaintKind::undecided, "an integer matrix product of bits that are not known");
  return arithmetic_.integer(0, Type::f32);
}

/// Of integer data: the words and the sums of earlier products.
std::uint32_t Field::integer_id_at(const Plane& plane, std::size_t at, Type type) {
  const Tag* tags = &plane.tags[at];
  Tag first = tags[0];
  unsigned bytes = width_of(type) / 8;
  bool whole = first != 0 && first != poison_tag && (first & 7) == 0;
  for (unsigned i = 0; i < bytes; ++i) whole &= tags[i] == first + i;
  bool word = whole && is_word(first >> 3);
  if (whole && !word) return first >> 3;
  if (word && words_.width(this->word(first >> 3).pattern) == 8 * bytes) return first >> 3;
  std::optional<Word> made = word_of(&plane.bits[at], tags, bytes);
  return made ? keep(*made) : poison_id();
}

/// Of ids_.
Operand Field::operand(unsigned k, Type type, bool is_a) {
  std::shared_ptr<TileOperand> fresh;
  unsigned kind = static_cast<unsigned>(type) * 2 + (is_a ? 0 : 1);
  bool lasts =
      std::all_of(ids_.begin(), ids_.end(), [](std::uint32_t id) { return id >= first_input; });
  Operand operand = tiles_->operand(ids_, kind, lasts, fresh);
  if (fresh) tiles_->fill(*fresh, numbers_of(ids_, type), k, is_a);
  return operand;
}

/// Of registers.
Operand Field::operand_at(const Plane& plane, const Cell* cells, unsigned k, Type type, bool is_a) {
  unsigned count = k * (is_a ? tile_rows : tile_columns);
  unsigned kind = static_cast<unsigned>(type) * 2 + (is_a ? 0 : 1);
  Gathered::FromCells& held = gathered_->at(plane, cells, count, kind);
  if (held.holds(plane, cells, count)) return held.operand;
  ids_.resize(count);
  for (unsigned i = 0; i < count; ++i) {
    lane_ = cells[i].lane;
    ids_[i] = id_at(plane, cells[i].at(), type);
  }
  held.take(plane, cells, count, width_of(type) / 8);
  held.operand = operand(k, type, is_a);
  return held.operand;
}

namespace {

/// Of a matrix in shared memory: the pieces that it lies in, as they are now.
void note_place(Gathered::FromMemory& held, const Field::Region& memory, std::uint64_t now,
                const std::uint32_t* offsets, std::size_t count, unsigned bytes) {
  constexpr std::uint64_t piece_bytes = Field::piece_bytes;
  held.time = now;
  held.plane = memory.plane.get();
  if (!held.pieces.empty()) return;
  std::vector<bool> touched(memory.stamps.size());
  for (std::size_t i = 0; i < count; ++i)
    for (unsigned at : {offsets[i], offsets[i] + bytes - 1}) touched[at / piece_bytes] = true;
  for (std::size_t i = 0; i < touched.size(); ++i)
    if (touched[i]) held.pieces.push_back(static_cast<std::uint32_t>(i));
}

}  // namespace

/// Sixteen rows of A, in shared memory or in registers.
Operand Field::rows_of(Lanes& lanes, Region& memory, const WideMma& wide) {
  if (wide.a_offsets == nullptr)
    return operand_at(*lanes.registers, wide.a, wide.k, wide.a_type, true);
  Gathered::FromMemory& held = gathered_->at(wide.a_offsets);
  if (held.holds(memory.plane.get(), memory.stamps)) return held.slices[0];
  ids_.resize(std::size_t{wide.m} * wide.k);
  for (unsigned i = 0; i < ids_.size(); ++i)
    ids_[i] = id_at(*memory.plane, wide.a_offsets[i], wide.a_type);
  note_place(held, memory, clock_, wide.a_offsets, ids_.size(), width_of(wide.a_type) / 8);
  held.slices.assign(1, operand(wide.k, wide.a_type, true));
  return held.slices[0];
}

/// All of B, eight columns at a time.
const std::vector<Operand>& Field::columns_of(Region& memory, const WideMma& wide) {
  Gathered::FromMemory& held = gathered_->at(wide.b_offsets);
  if (held.holds(memory.plane.get(), memory.stamps)) return held.slices;
  note_place(held, memory, clock_, wide.b_offsets, std::size_t{wide.k} * wide.n,
             width_of(wide.b_type) / 8);
  held.slices.clear();
  for (unsigned begin = 0; begin < wide.n; begin += tile_columns) {
    ids_.resize(std::size_t{wide.k} * tile_columns);
    for (unsigned q = 0; q < wide.k; ++q)
      for (unsigned j = 0; j < tile_columns; ++j)
        ids_[q * tile_columns + j] =
            id_at(*memory.plane, wide.b_offsets[q * wide.n + begin + j], wide.b_type);
    held.slices.push_back(operand(wide.k, wide.b_type, false));
  }
  return held.slices;
}

/// Whether C is one tile as it came.
bool Field::whole_tile(const Plane& plane, const Mma& mma) {
  std::uint32_t first = plane.tags[mma.c[0].at()] >> 3;
  if (width_of(mma.c_type) != 32 || first < first_tile || first >= first_word ||
      (first - first_tile) % tile_elements != 0)
    return false;
  __m128i differ = _mm_setzero_si128();
  for (unsigned i = 0; i < tile_elements; ++i)
    differ = _mm_or_si128(
        differ, _mm_xor_si128(_mm_loadu_si128(tags_at(plane, mma.c[i])), four_tags(first + i)));
  return _mm_movemask_epi8(_mm_cmpeq_epi32(differ, _mm_setzero_si128())) == 0xFFFF;
}

void Field::multiply_tile(Lanes& lanes, const Mma& mma, const TileOperand& a, const TileOperand& b,
                          bool zero_c) {
  Plane& plane = *lanes.registers;
  bool integer = is_integer(mma.c_type);
  bool keeps = mma.d_type == Type::f32 || mma.d_type == Type::s32;
  const Tile* from = nullptr;
  std::vector<Number> start;
  if (!zero_c) {
    bool tile = whole_tile(plane, mma), zero = true, finite = true;
    std::uint32_t first = plane.tags[mma.c[0].at()] >> 3;
    ids_.resize(tile ? 0 : tile_elements);
    for (unsigned i = 0; i < ids_.size(); ++i) {
      lane_ = mma.c[i].lane;
      ids_[i] = id_at(plane, mma.c[i].at(), mma.c_type);
      zero &= ids_[i] == ids_[0];
    }
    if (!tile) first = ids_[0];
    if (integer) zero &= is_word(first) && words_.known_bits(word(first).pattern) == 0;
    if (tile) {
      from = &tiles_->at((first - first_tile) / tile_elements);
    } else if (!zero || (!integer && !number(first).zero())) {
      start = numbers_of(ids_, mma.c_type);
      for (const Number& number : start) finite &= number.finite();
    }
    if (!finite)
      return multiply_each(lanes, mma, numbers_of(a.ids, mma.a_type), numbers_of(b.ids, mma.b_type),
                           false);
  }
  if (tiles_->large()) collect_tiles();
  std::uint32_t tile = tiles_->multiply(from, std::move(start), a, b, mma.k, integer);
  if (integer && tiles_->at(tile).bound >= 0x1p31)
    complain(ComplaintKind::undecided, "an integer matrix product that may pass 2^31");
  std::uint32_t id = first_tile + tile * tile_elements;
  for (unsigned i = 0; i < tile_elements; ++i) {
    if (!keeps) {
      put_number(lanes, mma.d[i], tiles_->element(tile, i), mma.d_type);
      continue;
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(&plane.tags[mma.d[i].at()]), four_tags(id + i));
  }
}

namespace {

/// Whether a product may be carried out by halves: what one writes, the other does not read.
bool halves_part(const Mma& mma) {
  std::vector<std::size_t> written, read;
  auto take = [](std::vector<std::size_t>& to, const Cell* cells, unsigned count) {
    for (unsigned i = 0; i < count; ++i) to.push_back(cells[i].number());
  };
  take(written, mma.d, mma.m * mma.n);
  take(read, mma.a, mma.m * mma.k);
  take(read, mma.b, mma.k * mma.n);
  bool in_place = true;
  for (unsigned i = 0; i < mma.m * mma.n; ++i) in_place &= mma.c[i].at() == mma.d[i].at();
  if (!in_place) take(read, mma.c, mma.m * mma.n);
  std::sort(read.begin(), read.end());
  return std::none_of(written.begin(), written.end(), [&](std::size_t place) {
    return std::binary_search(read.begin(), read.end(), place);
  });
}

/// wmma's sixteen columns as two products of eight.
void multiply_halves(Field& field, Field::Lanes& lanes, const Mma& whole) {
  std::vector<Cell> b(std::size_t{whole.k} * tile_columns), c(tile_elements), d(tile_elements);
  for (unsigned begin = 0; begin < whole.n; begin += tile_columns) {
    for (unsigned q = 0; q < whole.k; ++q)
      std::copy_n(whole.b + std::size_t{q} * whole.n + begin, tile_columns, &b[q * tile_columns]);
    for (unsigned i = 0; i < tile_rows; ++i) {
      std::copy_n(whole.c + std::size_t{i} * whole.n + begin, tile_columns, &c[i * tile_columns]);
      std::copy_n(whole.d + std::size_t{i} * whole.n + begin, tile_columns, &d[i * tile_columns]);
    }
    Mma half = whole;
    half.n = tile_columns;
    half.b = b.data(), half.c = c.data(), half.d = d.data();
    half.order = nullptr;
    half.registers = nullptr;
    field.multiply(lanes, half);
  }
}

}  // namespace

void Field::multiply(Lanes& lanes, const Mma& mma) {
  if (point_->small_primes() && mma.m == tile_rows && mma.n == 2 * tile_columns &&
      mma.k <= tile_k_max && mma.k % 4 == 0 && !is_integer(mma.c_type) && halves_part(mma))
    return multiply_halves(*this, lanes, mma);
  collect_if_large();
  settle(lanes, mma.a, std::size_t{mma.m} * mma.k);
  settle(lanes, mma.b, std::size_t{mma.k} * mma.n);
  for (const Cell* cells : {mma.c, mma.d}) settle(lanes, cells, std::size_t{mma.m} * mma.n);
  bool integer = is_integer(mma.c_type);
  if (integer && multiply_exactly(lanes, mma)) return;
  if (!integer && (!holds_number(mma.a_type) || !holds_number(mma.b_type)))
    return complain(ComplaintKind::unsupported, "the field domain has no such matrix product yet");
  if (integer && ptx::element_bits(mma.a_type) < 8)
    return complain(ComplaintKind::undecided,
                    "a matrix product of fewer than 8 bits that are not exact");
  arithmetic_.summary().products += std::uint64_t{mma.m} * mma.n * mma.k;
  auto take = [&](const Cell* cells, unsigned count, Type type) {
    ids_.resize(count);
    for (unsigned i = 0; i < count; ++i) {
      lane_ = cells[i].lane;
      ids_[i] = id_at(*lanes.registers, cells[i].at(), type);
    }
  };
  bool dense = point_->small_primes() && mma.m == tile_rows && mma.n == tile_columns &&
               mma.k <= tile_k_max && mma.k % 4 == 0;
  if (mma.scales != nullptr) return multiply_scaled(lanes, mma);
  if (integer && !dense)
    return complain(ComplaintKind::undecided,
                    "an integer matrix product of bits that are not exact");
  if (!dense) {
    take(mma.a, mma.m * mma.k, mma.a_type);
    std::vector<Number> a = numbers_of(ids_, mma.a_type);
    take(mma.b, mma.k * mma.n, mma.b_type);
    return multiply_each(lanes, mma, a, numbers_of(ids_, mma.b_type), false);
  }
  Operand a = operand_at(*lanes.registers, mma.a, mma.k, mma.a_type, true);
  Operand b = operand_at(*lanes.registers, mma.b, mma.k, mma.b_type, false);
  if (!a->finite || !b->finite)
    return multiply_each(lanes, mma, numbers_of(a->ids, mma.a_type), numbers_of(b->ids, mma.b_type),
                         false);
  multiply_tile(lanes, mma, *a, *b, false);
}

/// Scales that are known are powers of two, by which elements are multiplied.
void Field::multiply_scaled(Lanes& lanes, const Mma& mma) {
  const BlockScales& scales = *mma.scales;
  auto take = [&](const Cell* cells, unsigned count, Type type, auto scale_of) {
    ids_.resize(count);
    for (unsigned i = 0; i < count; ++i) {
      lane_ = cells[i].lane;
      ids_[i] = id_at(*lanes.registers, cells[i].at(), type);
    }
    std::vector<Number> numbers = numbers_of(ids_, type);
    for (unsigned i = 0; i < count && !complaint(); ++i) {
      auto bits = exact(lanes, scale_of(i), 1);
      std::optional<double> scale;
      if (bits && scales.type == Type::ue8m0 && *bits != 0xFF)
        scale = std::ldexp(1.0, static_cast<int>(*bits) - 127);
      if (!scale) {
        complain(ComplaintKind::unsupported, "block scales that are data, or no numbers");
        break;
      }
      numbers[i] = arithmetic_.mul(numbers[i], arithmetic_.literal(*scale, Type::f32));
    }
    return numbers;
  };
  unsigned each = mma.k / scales.blocks;
  std::vector<Number> a = take(mma.a, mma.m * mma.k, mma.a_type, [&](unsigned i) {
    return scales.a[i / mma.k * scales.blocks + i % mma.k / each];
  });
  std::vector<Number> b = take(mma.b, mma.k * mma.n, mma.b_type, [&](unsigned i) {
    return scales.b[i / mma.n / each * mma.n + i % mma.n];
  });
  if (!complaint()) multiply_each(lanes, mma, a, b, mma.without_c);
}

bool Field::multiply_wide(Lanes& lanes, Region& memory, const WideMma& wide) {
  if (wide.a_offsets == nullptr) settle(lanes, wide.a, std::size_t{wide.m} * wide.k);
  if (!wide.zero_c) settle(lanes, wide.c, std::size_t{wide.m} * wide.n);
  settle(lanes, wide.d, std::size_t{wide.m} * wide.n);
  bool integer = is_integer(wide.c_type);
  if (integer && multiply_exactly(lanes, memory, wide)) return true;
  bool numbers = integer || (holds_number(wide.a_type) && holds_number(wide.b_type));
  if (!point_->small_primes() || !numbers || wide.m != tile_rows || wide.k > tile_k_max ||
      wide.k % 4 != 0)
    return false;
  collect_if_large();
  arithmetic_.summary().products += std::uint64_t{wide.m} * wide.n * wide.k;
  Operand a = rows_of(lanes, memory, wide);
  const std::vector<Operand> columns = columns_of(memory, wide);  // Places may be forgotten.
  Mma mma;
  mma.m = tile_rows, mma.n = tile_columns, mma.k = wide.k;
  mma.a_type = wide.a_type, mma.b_type = wide.b_type;
  mma.c_type = wide.c_type, mma.d_type = wide.d_type;
  std::array<Cell, tile_elements> c, d;
  mma.c = c.data(), mma.d = d.data();
  for (unsigned begin = 0; begin < wide.n; begin += tile_columns) {
    for (unsigned i = 0; i < tile_rows; ++i) {
      std::copy_n(wide.c + std::size_t{i} * wide.n + begin, tile_columns, &c[i * tile_columns]);
      std::copy_n(wide.d + std::size_t{i} * wide.n + begin, tile_columns, &d[i * tile_columns]);
    }
    const TileOperand& b = *columns[begin / tile_columns];
    if (!a->finite || !b.finite) {
      multiply_each(lanes, mma, numbers_of(a->ids, wide.a_type), numbers_of(b.ids, wide.b_type),
                    wide.zero_c);
    } else {
      multiply_tile(lanes, mma, *a, b, wide.zero_c);
    }
  }
  return true;
}

/// An exact element of an integer product.
bool Field::integer_at(const Plane& plane, std::size_t at, Type type, std::int32_t& value,
                       unsigned bit) {
  unsigned bytes = width_of(type) / 8;
  for (unsigned i = 0; i < bytes; ++i)
    if (plane.tags[at + i] != 0) {
      if (!any_symbolic_)
        complain(
            plane.tags[at + i] == poison_tag ? ComplaintKind::undefined : ComplaintKind::undecided,
            "an integer matrix product of bits that are not exact");
      return false;
    }
  std::uint32_t bits = 0;
  std::memcpy(&bits, &plane.bits[at], bytes);
  if (unsigned width = ptx::element_bits(type); width < 8) bits = bits >> bit & ((1u << width) - 1);
  value = type == Type::s8 ? static_cast<std::int8_t>(bits) : static_cast<std::int32_t>(bits);
  if (type == Type::s4 && bits >= 8) value -= 16;
  return true;
}

namespace {

/// d[m][n] += a[m][k] * b[k][n], wrapping.
LATHE_WIDE_LOOPS void add_integers(const std::int32_t* a, const std::int32_t* b, std::int64_t* d,
                                   unsigned m, unsigned n, unsigned k) {
  for (unsigned i = 0; i < m; ++i)
    for (unsigned q = 0; q < k; ++q) {
      std::int32_t left = a[i * k + q];
      for (unsigned j = 0; j < n; ++j) d[i * n + j] += left * b[q * n + j];
    }
}

std::uint32_t as_word(std::int64_t sum, bool saturate) {
  if (saturate) sum = std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX);
  return static_cast<std::uint32_t>(sum);
}

}  // namespace

bool Field::multiply_exactly(Lanes& lanes, const Mma& mma) {
  std::vector<std::int32_t> a(std::size_t{mma.m} * mma.k), b(std::size_t{mma.k} * mma.n);
  std::vector<std::int64_t> d(std::size_t{mma.m} * mma.n);
  auto take = [&](const Cell* cells, Type type, std::vector<std::int32_t>& out) {
    for (std::size_t i = 0; i < out.size(); ++i)
      if (!integer_at(*lanes.registers, cells[i].at(), type, out[i], cells[i].bit)) return false;
    return true;
  };
  if (!take(mma.a, mma.a_type, a) || !take(mma.b, mma.b_type, b)) return !any_symbolic_;
  for (unsigned i = 0; i < d.size(); ++i) {
    std::int32_t c = 0;
    if (!integer_at(*lanes.registers, mma.c[i].at(), Type::s32, c)) return !any_symbolic_;
    d[i] = c;
  }
  if (mma.exclusive) {  // Of bits, x ^ y is x + y - 2 x y.
    for (unsigned i = 0; i < d.size() * mma.k; ++i) {
      unsigned row = i / mma.k / mma.n, column = i / mma.k % mma.n, q = i % mma.k;
      d[i / mma.k] += a[row * mma.k + q] + b[q * mma.n + column];
    }
    for (std::int32_t& x : a) x *= -2;
  }
  add_integers(a.data(), b.data(), d.data(), mma.m, mma.n, mma.k);
  for (unsigned i = 0; i < d.size(); ++i) put(lanes, mma.d[i], 4, as_word(d[i], mma.saturate));
  return true;
}

bool Field::multiply_exactly(Lanes& lanes, Region& memory, const WideMma& wide) {
  std::vector<std::int32_t> a(std::size_t{wide.m} * wide.k), b(std::size_t{wide.k} * wide.n);
  std::vector<std::int64_t> d(std::size_t{wide.m} * wide.n);
  for (unsigned i = 0; i < a.size(); ++i)
    if (!(wide.a_offsets != nullptr
              ? integer_at(*memory.plane, wide.a_offsets[i], wide.a_type, a[i])
              : integer_at(*lanes.registers, wide.a[i].at(), wide.a_type, a[i])))
      return !any_symbolic_;
  for (unsigned i = 0; i < b.size(); ++i)
    if (!integer_at(*memory.plane, wide.b_offsets[i], wide.b_type, b[i])) return !any_symbolic_;
  for (unsigned i = 0; i < d.size() && !wide.zero_c; ++i) {
    std::int32_t c = 0;
    if (!integer_at(*lanes.registers, wide.c[i].at(), Type::s32, c)) return !any_symbolic_;
    d[i] = c;
  }
  add_integers(a.data(), b.data(), d.data(), wide.m, wide.n, wide.k);
  for (unsigned i = 0; i < d.size(); ++i) put(lanes, wide.d[i], 4, as_word(d[i], wide.saturate));
  return true;
}

/// Infinities, NaN and poison follow IEEE rules, one product at a time.
void Field::multiply_each(Lanes& lanes, const Mma& mma, const std::vector<Number>& a,
                          const std::vector<Number>& b, bool zero_c) {
  std::vector<Number> results;
  for (unsigned i = 0; i < mma.m; ++i)
    for (unsigned j = 0; j < mma.n; ++j) {
      const Cell& cell = mma.c[i * mma.n + j];
      Number sum = zero_c ? arithmetic_.literal(0, mma.c_type)
                          : number_settled(id_at(*lanes.registers, cell.at(), mma.c_type));
      for (unsigned q = 0; q < mma.k; ++q)
        sum = arithmetic_.add(arithmetic_.mul(a[i * mma.k + q], b[q * mma.n + j]), sum);
      results.push_back(sum);
    }
  for (unsigned i = 0; i < mma.m * mma.n; ++i) put_number(lanes, mma.d[i], results[i], mma.d_type);
}

void Field::put_number(Lanes& lanes, Cell cell, const Number& number, Type type) {
  std::uint32_t id = keep(Arithmetic::in_format(number, type, false));
  Tag* tags = &lanes.settled(cell.at(), width_of(type) / 8).tags[cell.at()];
  for (unsigned i = 0; i < width_of(type) / 8; ++i)
    tags[i] = id == poison_id() ? poison_tag : id << 3 | i;
}

}  // namespace lathe::ptx::field
