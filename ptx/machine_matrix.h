#pragma once

// ldmatrix, stmatrix, movmatrix and mma.sync, dense and sparse. Included by machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

/// Lane 8 j + r gives the address of row r of matrix j; lane l gets elements (l / 4, 2 (l % 4) and
/// the next) of each, or with .trans those of the transposed matrix.
template <class D, class O>
void Machine<D, O>::load_matrix(Warp& warp, const Operation& op, Mask active) {
  if (!whole(warp, op, active, "ldmatrix")) return;
  if (op.mode != Mode::none) return load_bytes_matrix(warp, op);
  Addresses where{};
  Locations at;
  unsigned matrices = op.element_count;
  Mask rows = matrices == 4 ? every_lane : (Mask{1} << (8 * matrices)) - 1;
  if (!locate_all(warp, op, rows, 16, where, at)) return;
  const Slot* slots = program_.slots.data() + op.slot_begin;
  const Slot* landing = slots + matrices;
  for (unsigned j = 0; j < matrices; ++j) {
    if constexpr (requires { d_.read_matrix(warp.lanes, Spot{}, at.data(), op.flag); })
      if (d_.read_matrix(warp.lanes, landing[j].place, &at[8 * j], op.flag)) continue;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      unsigned g = lane / 4, t = lane % 4;
      if (!op.flag) {
        const Location& row = at[8 * j + g];
        d_.read(*row.region, row.offset + 4 * t, warp.lanes, landing[j].cell(lane), 4);
        continue;
      }
      for (unsigned half = 0; half < 2; ++half) {
        const Location& row = at[8 * j + 2 * t + half];
        d_.read(*row.region, row.offset + 2 * g, warp.lanes, landing[j].cell(lane, 2 * half), 2);
      }
    }
  }
  for (unsigned j = 0; j < matrices; ++j)
    copy_register(warp.lanes, slots[j], landing[j], every_lane);
  tell(op, rows, 16, at, where, AccessKind::read, 0, false);
}

/// Element `column` of a row of sixteen, as a byte: read, or cut out of 4 or 6 packed bits.
template <class D, class O>
bool Machine<D, O>::read_element(Warp& warp, const Operation& op, const Location& row,
                                 unsigned column, Cell to) {
  unsigned bits = op.form.constant;
  if (bits == 8) {
    d_.read(*row.region, row.offset + column, warp.lanes, to, 1);
    return true;
  }
  unsigned at = column * bits, count = at % 8 + bits > 8 ? 2 : 1;
  Cell stage = op.fixed[0].cell(to.lane);
  d_.read(*row.region, row.offset + at / 8, warp.lanes, stage, count);
  auto packed = d_.exact(warp.lanes, stage, count);
  if (!packed) {
    if (!d_.complaint())
      trap(TrapKind::undefined_value, "packed elements are no known number", op, to.lane);
    return false;
  }
  d_.put(warp.lanes, to, 1, *packed >> (at % 8) & ((1u << bits) - 1));
  return true;
}

/// .m16n16 (transposed: rows from sixteen lanes a matrix, two registers each) and .m8n16.
template <class D, class O>
void Machine<D, O>::load_bytes_matrix(Warp& warp, const Operation& op) {
  Addresses where{};
  Locations at;
  bool sixteen = op.mode == Mode::rows16;
  unsigned registers = op.element_count, matrices = sixteen ? registers / 2 : registers;
  unsigned lanes_read = matrices * (sixteen ? 16 : 8);
  Mask rows = lanes_read == 32 ? every_lane : (Mask{1} << lanes_read) - 1;
  if (!locate_all(warp, op, rows, 16, where, at)) return;
  const Slot* slots = program_.slots.data() + op.slot_begin;
  const Slot* landing = slots + registers;
  for (unsigned j = 0; j < registers; ++j)
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      unsigned g = lane / 4, t = lane % 4;
      for (unsigned b = 0; b < 4; ++b) {
        unsigned row = sixteen ? 16 * (j / 2) + 4 * t + 2 * (j % 2) + (b & 1) : 8 * j + g;
        unsigned column = sixteen ? g + 8 * (b >> 1) : 4 * t + b;
        if (!read_element(warp, op, at[row], column, landing[j].cell(lane, b))) return;
      }
    }
  for (unsigned j = 0; j < registers; ++j)
    for (unsigned lane = 0; lane < lane_count; ++lane)
      d_.copy(warp.lanes, slots[j].cell(lane), warp.lanes, landing[j].cell(lane), 4);
  tell(op, rows, 16, at, where, AccessKind::read, 0, false);
}

template <class D, class O>
void Machine<D, O>::store_matrix(Warp& warp, const Operation& op, Mask active) {
  if (!whole(warp, op, active, "stmatrix")) return;
  Addresses where{};
  Locations at;
  unsigned matrices = op.element_count;
  Mask rows = matrices == 4 ? every_lane : (Mask{1} << (8 * matrices)) - 1;
  if (!locate_all(warp, op, rows, 16, where, at)) return;
  const Slot* slots = program_.slots.data() + op.slot_begin;
  Mask unchanged = O::compares_writes ? rows : 0;
  auto put = [&](unsigned number, unsigned byte, Cell cell, unsigned bytes) {
    const Location& row = at[number];
    if constexpr (O::compares_writes)
      if (!d_.same(*row.region, row.offset + byte, warp.lanes, cell, bytes))
        unchanged &= ~(Mask{1} << number);
    d_.write(*row.region, row.offset + byte, warp.lanes, cell, bytes);
  };
  for (unsigned j = 0; j < matrices; ++j)
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      unsigned g = lane / 4, t = lane % 4;
      if (op.mode == Mode::rows16) {  // .m16n8.b8: four bytes of a register go to two rows.
        for (unsigned b = 0; b < 4; ++b)
          put(8 * j + 2 * t + (b & 1), g + 8 * (b >> 1), slots[j].cell(lane, b), 1);
        continue;
      }
      for (unsigned half = 0; half < 2; ++half)
        put(8 * j + (op.flag ? 2 * t + half : g), 2 * (op.flag ? g : 2 * t + half),
            slots[j].cell(lane, 2 * half), 2);
    }
  tell(op, rows, 16, at, where, AccessKind::write, unchanged, false);
}

template <class D, class O>
void Machine<D, O>::transpose_matrix(Warp& warp, const Operation& op, Mask active) {
  if (!whole(warp, op, active, "movmatrix")) return;
  Slot d = op.fixed[0], a = op.fixed[1], stage = op.fixed[2];
  for (unsigned lane = 0; lane < lane_count; ++lane)
    for (unsigned half = 0; half < 2; ++half) {
      unsigned row = 2 * (lane % 4) + half, column = lane / 4;  // Of the source.
      d_.copy(warp.lanes, stage.cell(lane, 2 * half), warp.lanes,
              a.cell(4 * row + column / 2, 2 * (column % 2)), 2);
    }
  for (unsigned lane = 0; lane < lane_count; ++lane)
    d_.copy(warp.lanes, d.cell(lane), warp.lanes, stage.cell(lane), 4);
}

/// wmma.load and wmma.store: each lane moves its own elements of a matrix at a uniform address, or
/// bytes of `element_count` elements.
template <class D, class O>
void Machine<D, O>::fragment(Warp& warp, const Operation& op, Mask active) {
  bool load = op.effect == Effect::load_fragment;
  if (!whole(warp, op, active, "wmma")) return;
  Addresses bases;
  if (!addresses_of(warp, op, op.address, active, bases)) return;
  auto stride = control(warp.lanes, op.fixed[0], 0, op, "the stride of a matrix");
  if (!stride) return;
  for (std::uint64_t base : bases)
    if (base != bases[0])
      return trap(TrapKind::bad_operand, "a matrix has one address for all lanes", op, 0, base);
  const Matrix& matrix = program_.matrices[op.matrix];
  unsigned bytes = op.element_bytes;
  std::array<unsigned, lane_count> owned{};  // Elements of each lane, by rows.
  std::vector<unsigned> elements(matrix.a.size());
  for (unsigned i = 0; i < matrix.a.size(); ++i) {
    unsigned lane = matrix.a[i].lane;
    elements[owned[lane]++ * lane_count + lane] = i;
  }
  AccessKind kind = load ? AccessKind::read : AccessKind::write;
  for (unsigned turn = 0; turn < owned[0]; ++turn) {
    const unsigned* now = &elements[std::size_t{turn} * lane_count];
    Addresses where{};
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      unsigned row = now[lane] / matrix.n, column = now[lane] % matrix.n;
      if (op.flag) std::swap(row, column);
      where[lane] = bases[0] + (row * (*stride / op.element_count) + column) * bytes;
    }
    auto move_all = [&](const auto& at) {
      for (unsigned lane = 0; lane < lane_count; ++lane) {
        const Cell& cell = matrix.a[now[lane]];
        if (load)
          d_.read(*at[lane].region, at[lane].offset, warp.lanes, cell, bytes);
        else
          d_.write(*at[lane].region, at[lane].offset, warp.lanes, cell, bytes);
      }
    };
    Common common;
    if (locate_common(op.space, op, active, bytes, !load, where, common)) {
      move_all(common);
      tell_common(op, active, bytes, common, kind, 0);
      continue;
    }
    Locations at;
    for (unsigned lane = 0; lane < lane_count; ++lane)
      if (!locate(op.space, where[lane], bytes, !load, op, lane, at[lane])) return;
    move_all(at);
    tell(op, active, bytes, at, where, kind, 0, false);
  }
}

template <class D, class O>
void Machine<D, O>::multiply(Warp& warp, const Operation& op, Mask active) {
  if (op.mode == Mode::sync) return warpgroup_multiply(warp, op, active);
  if (!whole(warp, op, active, "mma")) return;
  for (unsigned i = 0; i < op.element_count; ++i) {
    const Matrix& matrix = program_.matrices[op.matrix + i];
    if (matrix.chunk != 0)
      multiply_sparse(warp, op, matrix);
    else
      multiply_one(warp.lanes, op, matrix);
  }
}

template <class D, class O>
Mma Machine<D, O>::product_of(const Operation& op, const Matrix& matrix) const {
  Mma mma;
  mma.m = matrix.m, mma.n = matrix.n, mma.k = matrix.k;
  mma.a_type = matrix.a_type, mma.b_type = matrix.b_type;
  mma.c_type = matrix.c_type, mma.d_type = matrix.d_type;
  mma.saturate = op.flag;
  mma.warpgroup = op.mode == Mode::sync;
  mma.exclusive = matrix.exclusive;
  mma.rounding = op.form.rounding;
  mma.architecture = program_.target.number;
  mma.a = matrix.a.data(), mma.b = matrix.b.data();
  mma.c = matrix.c.data(), mma.d = matrix.d.data();
  mma.order = program_.order_of(matrix);
  mma.registers = matrix.registers.data();
  return mma;
}

template <class D, class O>
void Machine<D, O>::multiply_one(Lanes& lanes, const Operation& op, const Matrix& matrix,
                                 bool without_c) {
  Mma mma = product_of(op, matrix);
  mma.without_c = without_c;
  d_.multiply(lanes, mma);
}

/// Of a chunk of a sparse row, of which half is stored: which column the element `stored` stands
/// for, both counted within the chunk; nothing where the code has no meaning.
inline std::optional<unsigned> kept_column(unsigned chunk, unsigned code, unsigned stored) {
  unsigned first = code & 3, second = code >> 2;
  if (chunk == 2) {  // One of two, named by the two halves of a 32-bit element.
    if (code != 0b1110 && code != 0b0100) return std::nullopt;
    return first >> 1;
  }
  if (first == second) return std::nullopt;
  unsigned width = chunk / 4;  // Elements that go together: 1, or 2 of four bits.
  return width * (stored / width == 0 ? first : second) + stored % width;
}

/// Which column of the wide A an element of the stored half stands for; nothing where the metadata
/// have no meaning. Four bits a chunk. Of 16 bits and more, thread j of those that hold metadata
/// has chunks 4 j to 4 j + 3, of row g in its low and of row g + 8 in its high half; of 8 bits and
/// fewer, a pair of threads has eight chunks, the first of row g and the second of row g + 8.
inline std::optional<unsigned> sparse_column(const Matrix& matrix,
                                             const std::array<std::uint32_t, lane_count>& metadata,
                                             unsigned row, unsigned stored) {
  unsigned half = matrix.chunk / 2, chunk = stored / half;
  unsigned threads = matrix.k / (4 * matrix.chunk);
  unsigned lane = 4 * (row % 8) + (threads == 4 ? 0 : threads * matrix.selector), shift;
  if (width_of(matrix.a_type) >= 16) {
    lane += chunk / 4;
    shift = 16 * (row / 8) + 4 * (chunk % 4);
  } else {
    lane += 2 * (chunk / 8) + row / 8;
    shift = 4 * (chunk % 8);
  }
  std::uint32_t code = metadata[lane] >> shift & 15;
  if (matrix.ordered && matrix.chunk != 2 && (code & 3) > code >> 2) return std::nullopt;
  auto kept = kept_column(matrix.chunk, code, stored % half);
  if (kept) *kept += matrix.chunk * chunk;
  return kept;
}

/// Each row of A picks the rows of B that its elements stand for: sixteen products of one row.
template <class D, class O>
void Machine<D, O>::multiply_sparse(Warp& warp, const Operation& op, const Matrix& matrix,
                                    bool without_c) {
  std::array<std::uint32_t, lane_count> metadata{};
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    auto bits = control(warp.lanes, matrix.metadata, lane, op, "the metadata of a sparse product");
    if (!bits) return;
    metadata[lane] = static_cast<std::uint32_t>(*bits);
  }
  unsigned stored = matrix.k / 2;
  std::vector<Cell> b(std::size_t{stored} * matrix.n);
  for (unsigned row = 0; row < matrix.m; ++row) {
    for (unsigned i = 0; i < stored; ++i) {
      auto column = sparse_column(matrix, metadata, row, i);
      if (!column)
        return trap(TrapKind::bad_operand, "the metadata of a sparse product are no indices", op,
                    4 * (row % 8));
      for (unsigned j = 0; j < matrix.n; ++j)
        b[i * matrix.n + j] = matrix.b[*column * matrix.n + j];
    }
    Mma mma = product_of(op, matrix);
    mma.m = 1, mma.k = stored;
    mma.without_c = without_c;
    mma.a += row * stored;
    mma.b = b.data();
    mma.c += row * matrix.n;
    mma.d += row * matrix.n;
    d_.multiply(warp.lanes, mma);
  }
}

}  // namespace lathe::ptx
