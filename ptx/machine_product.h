#pragma once

// Matrix products in tensor memory (tcgen05.mma), as products of sixteen rows by eight columns;
// what is special about a sparse A and about scales is in machine_sparse.h. Included by machine.h.

#include <algorithm>
#include <bitset>

#include "ptx/machine.h"
#include "ptx/machine_tensor.h"
#include "ptx/zero_columns.h"

namespace lathe::ptx {

/// One tcgen05.mma with its operands read.
template <class D, class O>
struct Machine<D, O>::TensorProduct {
  const Operation* op = nullptr;
  const AsyncForm* form = nullptr;
  unsigned lane = 0;
  unsigned m = 0, n = 0, k = 0;  // Of the whole product; of a sparse A twice what is stored.
  unsigned group = 1;            // Blocks that take part.
  Type a_type{}, b_type{}, d_type{};
  bool a_transposed = false, b_transposed = false, negated = false, saturate = false;
  bool accumulate = false;
  SharedMatrix a, b;
  unsigned a_column = 0, a_lane = 0, d_column = 0, d_lane = 0;
  std::array<std::uint32_t, 8> disabled{};
  std::bitset<ZeroColumns::columns_max> zero;  // Columns of B.
  unsigned shift_max = 0;                      // Of the columns of B.
  unsigned metadata_column = 0, metadata_lane = 0, selector = 0;
  Type scale_type{};
  std::array<unsigned, 2> scale_columns{}, scale_bytes{};  // Of A and of B.

  unsigned element_bytes() const { return width_of(a_type) / 8; }
  unsigned block_rows() const { return m / group; }
  unsigned stored() const { return form->sparse ? k / 2 : k; }  // Columns of A.
  /// Two elements of four bits a byte; else every element has bytes of its own.
  bool packed() const { return form->kind == "kind::mxf4" || form->kind == "kind::mxf4nvf4"; }
  unsigned byte_of(unsigned i) const { return packed() ? i / 2 : i * element_bytes(); }
  std::uint8_t bit_of(unsigned i, Type type) const {
    return packed() ? i % 2 * 4 : type == Type::e2m1 ? 2 : 0;
  }
  /// What of a row of B is kept in its cells.
  unsigned row_bytes(bool of_a) const { return form->sparse && !of_a ? 64 : 32; }
  bool plain() const {
    return !form->sparse && form->blocks == 0 && !is_small(a_type) && !is_small(b_type);
  }
  /// Of fewer than eight bits, which lie apart in shared memory.
  static bool is_small(Type type) {
    return type == Type::e2m1 || type == Type::e2m3 || type == Type::e3m2;
  }
  /// The sign bits of a byte of B.
  std::uint8_t signs() const { return packed() ? 0x88 : is_small(b_type) ? 0x20 : 0x80; }
  /// The lane of row `i` of A, of those that begin at `lane`: one before it where they are shifted
  /// down. The first has none before it and stays, as in tcgen05.shift.
  unsigned lane_of_a(unsigned lane, unsigned i) const {
    unsigned at = lane - d_lane + a_lane + i;
    return form->shift && at != 0 ? at - 1 : at;
  }
  /// Banks of lanes, each with a part of the columns (layouts B, E and G).
  unsigned banks() const {
    if (form->stationary) return tensor_lanes / m;
    return group == 2 && m == 128 && !form->sparse ? 2 : 1;
  }
  const char* read_scaled(std::uint64_t bits);
  TensorPlace scale_place(bool of_a, unsigned i, TensorPlace corner) const;
  void scale_cells(unsigned row, unsigned column, TensorPlace corner, std::vector<Cell>& a,
                   std::vector<Cell>& b) const;
  unsigned scale_registers(bool of_a) const;
  unsigned metadata_columns() const { return element_bytes() == 1 ? 2 : 1; }
  void add_granules(unsigned row, unsigned column, TensorPlace corner,
                    std::vector<std::uint64_t>& granules) const;
  /// Where row `row` of this block's part lies, for column `column` of N.
  TensorPlace place(unsigned row, unsigned column) const {
    unsigned each = n / banks(), lanes = tensor_lanes / banks();
    if (banks() > 1) return {row + lanes * (column / each), column % each};
    if (block_rows() == 64) return {row % 16 + 32 * (row / 16), column};
    return {row, column};
  }
  /// The same within the part of tensor memory where D lies.
  TensorPlace corner(unsigned row, unsigned column) const {
    TensorPlace corner = place(row, column);
    corner.lane += d_lane, corner.column += d_column;
    return corner;
  }
};

namespace detail {

inline std::optional<Type> tensor_type(std::string_view kind, unsigned code) {
  if (kind == "kind::tf32") return code == 2 ? std::optional(Type::tf32) : std::nullopt;
  if (kind == "kind::f16")
    return code == 0   ? std::optional(Type::f16)
           : code == 1 ? std::optional(Type::bf16)
                       : std::nullopt;
  if (kind == "kind::i8") return code == 0 ? Type::u8 : Type::s8;
  constexpr std::array small{Type::e4m3, Type::e5m2, Type::b8, Type::e2m3, Type::e3m2, Type::e2m1};
  return code < small.size() && code != 2 ? std::optional(small[code]) : std::nullopt;
}

}  // namespace detail

/// The instruction descriptor (9.7.16.4.2), and what of it is not allowed.
template <class D, class O>
bool Machine<D, O>::read_descriptor(TensorProduct& p, std::uint64_t bits) {
  const Operation& op = *p.op;
  auto fails = [&](TrapKind kind, const char* what) {
    trap(kind, what, op, p.lane);
    return false;
  };
  if (((bits >> 2 & 1) != 0) != p.form->sparse)
    return fails(TrapKind::bad_operand, "an instruction descriptor of the other sparsity");
  if (p.form->blocks != 0) {
    const char* what = p.read_scaled(bits);
    return what == nullptr || fails(TrapKind::bad_operand, what);
  }
  const std::string& kind = p.form->kind;
  auto a = detail::tensor_type(kind, bits >> 7 & 7), b = detail::tensor_type(kind, bits >> 10 & 7);
  if (!a || !b) return fails(TrapKind::unsupported, "operands of this type in tcgen05.mma");
  constexpr std::array d_types{Type::f16, Type::f32, Type::s32, Type::b32};
  p.a_type = *a, p.b_type = *b, p.d_type = d_types[bits >> 4 & 3];
  bool integer = kind == "kind::i8";
  if (p.d_type == Type::b32 || integer != (p.d_type == Type::s32) ||
      (p.d_type == Type::f16 && (kind == "kind::tf32" || *a == Type::bf16)))
    return fails(TrapKind::bad_operand, "an instruction descriptor with a wrong type of D");
  p.saturate = (bits >> 3 & 1) != 0;
  p.negated = (bits >> 13 & 1) != (bits >> 14 & 1);
  p.a_transposed = (bits >> 15 & 1) != 0, p.b_transposed = (bits >> 16 & 1) != 0;
  p.n = static_cast<unsigned>(bits >> 17 & 63) * 8,
  p.m = static_cast<unsigned>(bits >> 24 & 31) * 16;
  p.k = (p.form->sparse ? 64 : 32) / p.element_bytes();
  p.selector = bits & 3;
  p.group = p.form->group;
  constexpr std::array shifts{0u, 8u, 16u, 32u};
  p.shift_max = shifts[bits >> 30 & 3];
  bool stationary = p.form->stationary;
  bool good_m = p.group == 2 ? p.m == 128 || p.m == 256
                             : p.m == 64 || p.m == 128 || (stationary && p.m == 32);
  unsigned step = p.group == 2 || p.m == 128 || p.m == 256 ? 16 : 8;
  if (stationary && p.n != 64 && p.n != 128 && (p.n != 256 || p.form->sparse)) good_m = false;
  if (!good_m || p.n < step || p.n > 256 || p.n % step != 0)
    return fails(TrapKind::bad_operand, "an instruction descriptor with a wrong shape");
  if (integer && p.negated) return fails(TrapKind::bad_operand, "integer operands are not negated");
  if ((p.is_small(*a) && p.a_transposed) || (p.is_small(*b) && p.b_transposed))
    return fails(TrapKind::bad_operand, "elements of 4 and 6 bits are not transposed");
  if (p.form->sparse && p.element_bytes() == 1 && p.selector != 0)
    return fails(TrapKind::bad_operand, "a sparsity selector of bytes is 0");
  return true;
}

/// Rows of an operand from shared memory into its cells.
template <class D, class O>
bool Machine<D, O>::tensor_gather(const TensorProduct& p, Block& from, Lanes& lanes,
                                  const SharedMatrix& matrix, bool mn_major, unsigned rows,
                                  unsigned first_cell, Type type,
                                  std::vector<std::uint64_t>& units) {
  unsigned es = p.element_bytes(), step = mn_major || matrix.words ? es : 4;
  unsigned bytes = p.row_bytes(first_cell == 0);
  if constexpr (NotesControl<D>)
    if (tensor_blank(p, from, lanes, matrix, mn_major, rows, first_cell, bytes)) return true;
  if (!p.packed() && p.is_small(type))
    return tensor_unpack(p, from, lanes, matrix, type, rows, first_cell, units);
  bool words = !mn_major && !matrix.words;
  if (words && tensor_words(from, lanes, matrix, es, rows, first_cell, bytes, units)) return true;
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned byte = 0; byte < bytes; byte += step) {
      std::uint64_t address = matrix.at(row, byte / es, es, mn_major) + byte % es;
      std::uint64_t offset = address - run_.shared_base;
      if (offset >= shared_bytes_ || shared_bytes_ - offset < step) {
        trap(TrapKind::out_of_bounds,
             "a matrix descriptor reaches shared address " + std::to_string(address) +
                 ", which is in no allocation",
             *p.op, p.lane, address);
        return false;
      }
      d_.read(*from.shared, offset, lanes, operand_cell(first_cell, row, byte), step);
      if constexpr (O::active)
        if (units.empty() || units.back() != offset / 16) units.push_back(offset / 16);
    }
  return true;
}

/// Where nothing of the operand is defined, for a domain that has no data.
template <class D, class O>
bool Machine<D, O>::tensor_blank(const TensorProduct& p, Block& from, Lanes& lanes,
                                 const SharedMatrix& matrix, bool mn_major, unsigned rows,
                                 unsigned first_cell, unsigned bytes) {
  unsigned es = p.element_bytes();
  const auto* units = wide_.units_of(matrix, {0, rows, bytes / es, es, mn_major, false},
                                     {run_.shared_base, shared_bytes_});
  if (units == nullptr || !d_.blank(*from.shared, *units)) return false;
  for (unsigned row = 0; row < rows;) {
    unsigned lane = (first_cell + row) % lane_count;
    unsigned count = std::min(lane_count - lane, rows - row);
    Mask mask = (count == lane_count ? every_lane : (Mask{1} << count) - 1) << lane;
    for (unsigned byte = 0; byte < bytes; byte += 4)
      d_.lose(lanes, operand_cell(first_cell, row, byte).place, 4, mask);
    row += count;
  }
  return true;
}

/// One block's part: its rows of A, all of B.
template <class D, class O>
bool Machine<D, O>::tensor_operands(TensorProduct& p, std::uint32_t rank) {
  Block& block = blocks_[rank];
  TensorMemory* memory = block.tensor ? &*block.tensor : nullptr;
  unsigned columns = p.n / p.banks();
  if (!tensor_columns(*p.op, memory, p.d_column, columns)) return false;
  if (p.form->sparse &&
      !tensor_columns(*p.op, memory, p.metadata_column + p.selector, p.metadata_columns()))
    return false;
  for (bool of_a : {true, false})
    if (p.form->blocks != 0 &&
        !tensor_columns(*p.op, memory, p.scale_columns[of_a ? 0 : 1], p.scale_registers(of_a)))
      return false;
  std::vector<std::uint64_t> units;
  if (!p.form->a_in_tensor) {
    if (!tensor_gather(p, block, memory->lanes, p.a, p.a_transposed, p.block_rows(), 0, p.a_type,
                       units))
      return false;
    if constexpr (O::active) tell_units(*p.op, units, Unit::tensor, p.lane, rank);
  } else if (!tensor_columns(*p.op, memory, p.a_column, operand_columns)) {
    return false;
  }
  std::uint32_t first = p.group == 2 ? rank & ~1u : rank;
  for (std::uint32_t i = 0; i < p.group; ++i) {
    units.clear();
    unsigned rows = p.n / p.group;
    if (!tensor_gather(p, blocks_[first + i], memory->lanes, p.b, p.b_transposed, rows,
                       a_rows + i * rows, p.b_type, units))
      return false;
    if constexpr (O::active)
      if (first + i == rank) tell_units(*p.op, units, Unit::tensor, p.lane, rank);
  }
  for (unsigned row = 0; row < p.n && p.zero.any(); ++row)
    for (unsigned byte = 0; byte < p.row_bytes(false) && p.zero[row]; byte += 4)
      d_.put(memory->lanes, operand_cell(a_rows, row, byte), 4, 0);
  if (!p.negated) return true;
  std::vector<Cell> cells;
  for (unsigned row = 0; row < p.n; ++row)
    for (unsigned byte = 0; byte < p.row_bytes(false); byte += p.element_bytes())
      cells.push_back(operand_cell(a_rows, row, byte));
  flip_signs(memory->lanes, *p.op, cells, p.b_type, p.signs());
  return true;
}

/// Where the elements of a tile lie, from its corners.
template <class D, class O>
struct Machine<D, O>::TileOffsets {
  std::vector<std::uint16_t> a, b, d;

  TileOffsets(unsigned k, unsigned es) {
    auto at = [](unsigned byte, unsigned lane) {
      return static_cast<std::uint16_t>(byte / 4 * lane_count * 4 + lane * 4 + byte % 4);
    };
    for (unsigned i = 0; i < 16 * k; ++i) a.push_back(at(i % k * es, i / k));
    for (unsigned i = 0; i < 8 * k; ++i) b.push_back(at(i / 8 * es, i % 8));
    for (unsigned i = 0; i < 128; ++i) d.push_back(at(i % 8 * 4, i / 8));
  }
};

/// The cells of a tile, and of which row on those of A are.
template <class D, class O>
struct Machine<D, O>::TileCells {
  Matrix tile;
  std::uint32_t row = none;
};

/// A tile of which all is written and nothing scaled, for a domain that offers it.
template <class D, class O>
bool Machine<D, O>::tensor_tile(const TensorProduct& p, Lanes& lanes, const TileOffsets& offsets,
                                unsigned row, unsigned column, unsigned width) {
  if constexpr (requires { d_.multiply_tile(lanes, TileMma{}); }) {
    TensorPlace corner = p.corner(row, column);
    Mask off = p.disabled[corner.lane / 32] >> corner.lane % 32 & 0xFFFF;
    if (!p.plain() || p.form->shift || off != 0 || (p.accumulate && p.form->scale_input != 0))
      return false;
    auto corner_of = [](Cell cell) { return TileMma::Corner{cell.place, cell.lane}; };
    TileMma tile;
    tile.a =
        corner_of(p.form->a_in_tensor ? tensor_cell(corner.lane - p.d_lane + p.a_lane, p.a_column)
                                      : operand_cell(0, row, 0));
    tile.b = corner_of(operand_cell(a_rows, column, 0));
    tile.d = corner_of(tensor_cell(corner.lane, corner.column));
    tile.words = operand_columns;
    Mma& mma = tile.product;
    mma.m = 16, mma.n = width, mma.k = p.k;
    mma.a_type = p.a_type, mma.b_type = p.b_type, mma.c_type = mma.d_type = p.d_type;
    mma.architecture = program_.target.number, mma.without_c = !p.accumulate;
    tile.a_offsets = offsets.a, tile.b_offsets = offsets.b, tile.d_offsets = offsets.d;
    return d_.multiply_tile(lanes, tile);
  } else {
    return false;
  }
}

template <class D, class O>
void Machine<D, O>::tensor_tiles(TensorProduct& p, std::uint32_t rank) {
  Lanes& lanes = blocks_[rank].tensor->lanes;
  const TileOffsets offsets(p.k, p.element_bytes());
  TileCells cells;
  std::vector<std::uint64_t> granules, read;
  for (unsigned row = 0; row < p.block_rows(); row += 16)
    for (unsigned column = 0, width = 0; column < p.n; column += width) {
      // Of B a lane holds a column, and what is taken at once lies in one register.
      width = p.banks() > 1 ? 8 : std::min(lane_count - column % lane_count, p.n - column);
      bool whole = tensor_tile(p, lanes, offsets, row, column, width);
      for (unsigned eight = column; eight < column + width; eight += 8) {
        TensorPlace corner = p.corner(row, eight);
        if constexpr (O::active) {
          for (unsigned i = 0; i < 8; ++i)
            granules.push_back(tensor_granule(corner.lane, corner.column + i));
          for (unsigned c = 0; p.form->a_in_tensor && c < operand_columns; ++c)
            for (unsigned i = 0; i < (p.form->shift ? 16 : 1); i += 15)
              read.push_back(tensor_granule(p.lane_of_a(corner.lane, i), p.a_column + c));
          p.add_granules(row, eight, corner, read);
        }
        if (!whole) tensor_elements(p, lanes, cells, row, eight, corner);
      }
    }
  if constexpr (O::active) {
    if (!read.empty()) tell_tensor(*p.op, Unit::tensor, p.lane, rank, read, AccessKind::read);
    tell_tensor(*p.op, Unit::tensor, p.lane, rank, granules, AccessKind::write);
  }
}

/// A tile by the cells of its elements.
template <class D, class O>
void Machine<D, O>::tensor_elements(const TensorProduct& p, Lanes& lanes, TileCells& cells,
                                    unsigned row, unsigned column, TensorPlace corner) {
  unsigned stored = p.stored(), d_bytes = width_of(p.d_type) / 8;
  Matrix& tile = cells.tile;
  if (cells.row == none) {
    tile = {16, 8, stored, p.d_type, p.a_type, p.b_type, p.d_type, {}, {}, {}, {}};
    tile.a.resize(16 * stored), tile.b.resize(8 * p.k), tile.c.resize(128), tile.d.resize(128);
  }
  bool same_rows = cells.row == row && p.banks() == 1;
  cells.row = row;
  for (unsigned i = 0; i < 16 * stored && !same_rows; ++i) {
    unsigned byte = p.byte_of(i % stored);
    tile.a[i] = p.form->a_in_tensor ? tensor_cell(p.lane_of_a(corner.lane, i / stored),
                                                  p.a_column + byte / 4, byte % 4)
                                    : operand_cell(0, row + i / stored, byte);
    tile.a[i].bit = p.bit_of(i % stored, p.a_type);
  }
  for (unsigned i = 0; i < 8 * p.k; ++i) {
    tile.b[i] = operand_cell(a_rows, column + i % 8, p.byte_of(i / 8));
    tile.b[i].bit = p.bit_of(i / 8, p.b_type);
  }
  for (unsigned i = 0; i < 128; ++i) {
    unsigned lane = corner.lane + i / 8;
    bool off = (p.disabled[lane / 32] >> lane % 32 & 1) != 0;
    tile.c[i] = tensor_cell(lane, corner.column + i % 8);
    tile.d[i] = tile.c[i];
    if (off) tile.d[i].place = sink_spots + i % 8 * lane_count * 4;
    if (!p.accumulate) {
      tile.c[i] = tile.d[i];
      d_.put(lanes, tile.d[i], d_bytes, 0);
    } else if (p.form->scale_input != 0) {
      scale_down(lanes, tile.c[i], p.d_type, p.form->scale_input);
    }
  }
  Operation with = *p.op;
  with.flag = p.saturate;
  with.mode = Mode::none;
  if (p.form->sparse || p.form->blocks != 0)
    tensor_special(p, lanes, with, tile, row, column, corner);
  else
    multiply_one(lanes, with, tile, !p.accumulate);
}

/// D times a power of two, before the products are added.
template <class D, class O>
void Machine<D, O>::scale_down(Lanes& lanes, Cell cell, Type type, std::uint32_t by) {
  Cell factor{sink_spots, 4, 0, cell.lane};
  Form form;
  form.type = type;
  d_.put(lanes, factor, 4, type == Type::f16 ? (15u - std::min(by, 14u)) << 10 : (127u - by) << 23);
  auto scale = [&]<Type T>() {
    d_.template store<T>(
        lanes, cell,
        mul(form, d_.template load<T>(lanes, cell), d_.template load<T>(lanes, factor)));
  };
  if (type == Type::f16) return scale.template operator()<Type::f16>();
  scale.template operator()<Type::f32>();
}

/// The operands of one lane's product.
template <class D, class O>
bool Machine<D, O>::read_product(Warp& warp, TensorProduct& p) {
  const Operation& op = *p.op;
  const AsyncForm& form = *p.form;
  auto word = [&](Slot slot, const char* what) {
    return control(warp.lanes, slot, p.lane, op, what);
  };
  auto descriptor = word(form.descriptor, "an instruction descriptor");
  if (!descriptor || !read_descriptor(p, *descriptor)) return false;
  auto b = word(form.b_descriptor, "a matrix descriptor");
  auto accumulate = word(form.accumulate, "whether D is added");
  if (!b || !accumulate) return false;
  p.accumulate = (*accumulate & 1) != 0;
  p.b = SharedMatrix::read_tensor(*b);
  if (!form.a_in_tensor) {
    auto a = word(form.a_descriptor, "a matrix descriptor");
    if (!a) return false;
    p.a = SharedMatrix::read_tensor(*a);
  }
  if ((!form.a_in_tensor && !p.a.supported) || !p.b.supported) {
    trap(TrapKind::unsupported, "a matrix descriptor of this mode", op, p.lane);
    return false;
  }
  if (p.form->sparse && !p.b_transposed && p.b.swizzle == 2) {
    trap(TrapKind::unsupported, "rows of 64 bytes in a matrix swizzled by 32", op, p.lane);
    return false;
  }
  unsigned lane_step = p.block_rows() == 64 && p.banks() == 1 ? 16 : 32;
  if (p.d_lane % lane_step != 0 || p.d_lane >= 32 || p.a_lane % lane_step != 0 || p.a_lane >= 32) {
    trap(TrapKind::bad_operand, "a first lane of tensor memory that M does not allow", op, p.lane);
    return false;
  }
  if (!read_places(warp, p) || !read_columns(warp, p)) return false;
  for (std::size_t i = 0; i < form.disabled.size() && i < 8; ++i) {
    auto bits = word(form.disabled[i], "the lanes that are disabled");
    if (!bits) return false;
    p.disabled[i] = static_cast<std::uint32_t>(*bits);
  }
  return true;
}

template <class D, class O>
void Machine<D, O>::tensor_multiply(Warp& warp, const Operation& op, Mask active) {
  const AsyncForm& form = program_.async_forms[op.matrix];
  Addresses where{}, a_where{};
  if (!addresses_of(warp, op, op.address, active, where)) return;
  if (form.a_in_tensor && !addresses_of(warp, op, form.a_tensor, active, a_where)) return;
  for (unsigned lane = 0; lane < lane_count && !trap_; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    TensorProduct p;
    p.op = &op, p.form = &form, p.lane = lane;
    p.d_column = where[lane] & 0xFFFF, p.d_lane = where[lane] >> 16 & 0xFFFF;
    p.a_column = a_where[lane] & 0xFFFF, p.a_lane = a_where[lane] >> 16 & 0xFFFF;
    if (!read_product(warp, p)) return;
    std::uint32_t first = p.group == 2 ? rank() & ~1u : rank();
    if (first + p.group > blocks_.size())
      return trap(TrapKind::bad_operand, "there is no pair of blocks in this cluster", op, lane);
    if constexpr (O::active) {
      UnitEvent event = unit_event(UnitEvent::Kind::issue, Unit::tensor, op, Mask{1} << lane);
      event.macs = std::uint64_t{p.m} * p.n * 16;
      o_.on_unit(event);
    }
    Flight flight;
    flight.warp = now_warp_;
    flight.lane = lane;
    flight.carry_out = [this, p, first]() mutable {
      for (std::uint32_t i = 0; i < p.group; ++i) {
        TensorProduct part = p;
        if (p.group == 2) std::copy_n(p.disabled.begin() + 4 * i, 4, part.disabled.begin());
        if (!tensor_operands(part, first + i)) return;
        tensor_tiles(part, first + i);
      }
    };
    launch(std::move(flight));
  }
}

}  // namespace lathe::ptx
