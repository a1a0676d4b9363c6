#pragma once

// What tcgen05.mma does beside plain products: a sparse A, whose metadata lie in tensor memory, and
// block scales, which lie there too; elements of 4 and 6 bits, which lie in shared memory without
// room between them; columns of B that are left out, and rows of A that are shifted. Included by
// machine.h.

#include "ptx/machine.h"
#include "ptx/machine_matrix.h"
#include "ptx/machine_product.h"

namespace lathe::ptx {

/// The instruction descriptor of the scaled kinds (9.7.16.4.2); what is wrong with it, or null.
template <class D, class O>
const char* Machine<D, O>::TensorProduct::read_scaled(std::uint64_t bits) {
  group = form->group;
  d_type = Type::f32;
  scale_type = (bits >> 23 & 1) != 0 ? Type::ue8m0 : Type::ue4m3;
  scale_bytes = {static_cast<unsigned>(bits >> 29 & 3), static_cast<unsigned>(bits >> 4 & 3)};
  negated = (bits >> 13 & 1) != (bits >> 14 & 1);
  n = static_cast<unsigned>(bits >> 17 & 63) * 8;
  m = static_cast<unsigned>(bits >> 27 & 3) * 128;
  if (packed()) {
    if ((bits >> 7 & 7) != 1 || (bits >> 10 & 3) != 1) return "operands of e2m1 have the code 1";
    if ((bits >> 15 & 3) != 0) return "elements of four bits are not transposed";
    if (bits >> 31 != 0) return "products of 96 columns are not this target's";
    a_type = b_type = Type::e2m1;
    k = 64;
  } else {
    auto a_code = detail::tensor_type(form->kind, bits >> 7 & 7);
    auto b_code = detail::tensor_type(form->kind, bits >> 10 & 7);
    if (!a_code || !b_code) return "an instruction descriptor with a wrong type";
    a_type = *a_code, b_type = *b_code;
    a_transposed = (bits >> 15 & 1) != 0, b_transposed = (bits >> 16 & 1) != 0;
    if ((is_small(a_type) && a_transposed) || (is_small(b_type) && b_transposed))
      return "elements of 4 and 6 bits are not transposed";
    k = 32;
  }
  if (form->sparse) k *= 2;
  bool wide_scales = form->kind == "kind::mxf4nvf4" && form->blocks == 4;
  if (scale_type == Type::ue4m3 && !wide_scales) return "scales of this kind are ue8m0";
  for (unsigned byte : scale_bytes)
    if (byte % form->blocks != 0) return "the number of the scales names no whole part of a word";
  bool good_m = group == 1 ? m == 128 : m == 256 || (m == 128 && !form->sparse);
  unsigned step = group == 2 ? 16 : 8;
  if (!good_m || n < step || n > 256 || n % step != 0)
    return "an instruction descriptor with a wrong shape";
  return nullptr;
}

/// Where the scales of row `i` of A, or of column `i` of B, are read for what lies at `corner`:
/// each quarter of the lanes has a copy of its own. In two banks, each has those of its columns.
template <class D, class O>
TensorPlace Machine<D, O>::TensorProduct::scale_place(bool of_a, unsigned i,
                                                      TensorPlace corner) const {
  if (!of_a) i %= n / banks();
  unsigned quarter = corner.lane / lane_count;
  return {quarter * lane_count + i % lane_count, scale_columns[of_a ? 0 : 1] + i / lane_count};
}

template <class D, class O>
unsigned Machine<D, O>::TensorProduct::scale_registers(bool of_a) const {
  unsigned count = of_a ? block_rows() : n / banks();
  return (count + lane_count - 1) / lane_count;
}

/// The scales of a tile, as BlockScales wants them.
template <class D, class O>
void Machine<D, O>::TensorProduct::scale_cells(unsigned row, unsigned column, TensorPlace corner,
                                               std::vector<Cell>& of_a,
                                               std::vector<Cell>& of_b) const {
  unsigned count = form->blocks;
  for (unsigned i = 0; i < 16 * count; ++i) {
    TensorPlace at = scale_place(true, row + i / count, corner);
    of_a.push_back(tensor_cell(at.lane, at.column, scale_bytes[0] + i % count));
  }
  for (unsigned i = 0; i < 8 * count; ++i) {
    TensorPlace at = scale_place(false, column + i % 8, corner);
    of_b.push_back(tensor_cell(at.lane, at.column, scale_bytes[1] + i / 8));
  }
}

/// The granules of metadata and scales that a tile reads.
template <class D, class O>
void Machine<D, O>::TensorProduct::add_granules(unsigned row, unsigned column, TensorPlace corner,
                                                std::vector<std::uint64_t>& granules) const {
  for (unsigned c = 0; form->sparse && c < metadata_columns(); ++c)
    granules.push_back(tensor_granule(corner.lane, metadata_column + selector + c));
  if (form->blocks == 0) return;
  TensorPlace of_a = scale_place(true, row, corner), of_b = scale_place(false, column, corner);
  granules.push_back(tensor_granule(of_a.lane, of_a.column));
  granules.push_back(tensor_granule(of_b.lane, of_b.column));
}

/// The addresses of metadata and scales.
template <class D, class O>
bool Machine<D, O>::read_places(Warp& warp, TensorProduct& p) {
  const AsyncForm& form = *p.form;
  auto fails = [&](const char* what) {
    trap(TrapKind::bad_operand, what, *p.op, p.lane);
    return false;
  };
  Addresses where{};
  Mask self = Mask{1} << p.lane;
  if (form.sparse) {
    if (!addresses_of(warp, *p.op, form.metadata, self, where)) return false;
    p.metadata_column = where[p.lane] & 0xFFFF, p.metadata_lane = where[p.lane] >> 16 & 0xFFFF;
    if (p.metadata_lane != p.d_lane) return fails("metadata begin at another lane than D");
  }
  for (bool of_a : {true, false}) {
    if (form.blocks == 0) break;
    if (!addresses_of(warp, *p.op, of_a ? form.a_scales : form.b_scales, self, where)) return false;
    p.scale_columns[of_a ? 0 : 1] = where[p.lane] & 0xFFFF;
    // The two upper bits say which bytes there are scales, as the instruction descriptor does.
    if ((where[p.lane] >> 16 & 0x3FFF) != 0) return fails("scales begin at lane 0");
  }
  return true;
}

/// Rows of elements of 4 or 6 bits: units of sixteen and what is left of their sixteen bytes.
template <class D, class O>
bool Machine<D, O>::tensor_unpack(const TensorProduct& p, Block& from, Lanes& lanes,
                                  const SharedMatrix& matrix, Type type, unsigned rows,
                                  unsigned first_cell, std::vector<std::uint64_t>& units) {
  unsigned bits = type == Type::e2m1 ? 4 : 6, bytes = p.row_bytes(first_cell == 0);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned byte = 0; byte < bytes; ++byte) {
      std::uint64_t offset = matrix.at(row, byte & ~15u, 1, false) - run_.shared_base;
      if (offset >= shared_bytes_ || shared_bytes_ - offset < 16) {
        trap(TrapKind::out_of_bounds, "a matrix descriptor reaches beyond shared memory", *p.op,
             p.lane);
        return false;
      }
      if (!unpack(*p.op, p.lane, from, lanes, offset, byte % 16, bits,
                  operand_cell(first_cell, row, byte)))
        return false;
      if constexpr (O::active)
        if (units.empty() || units.back() != offset / 16) units.push_back(offset / 16);
    }
  return true;
}

/// Of two kept of four the codes are those of the manual's list, in which one pair stands in both
/// orders.
inline std::optional<unsigned> tensor_kept_column(unsigned chunk, unsigned code, unsigned stored) {
  constexpr std::array<std::uint8_t, 7> codes{0b0100, 0b1000, 0b1100, 0b1001,
                                              0b1101, 0b0110, 0b1110};
  if (std::find(codes.begin(), codes.end(), code) == codes.end()) return std::nullopt;
  return kept_column(chunk, code, stored);
}

/// The columns of B that are zero or shifted, and whether the rows of A may be.
template <class D, class O>
bool Machine<D, O>::read_columns(Warp& warp, TensorProduct& p) {
  if (p.form->shift && (p.m < 128 || p.banks() != 1)) {
    bool small = p.m < 128;
    trap(small ? TrapKind::bad_operand : TrapKind::unsupported,
         small ? "the rows of A are shifted where M is 128 or 256"
               : "shifted rows of A where D lies in two halves of the lanes",
         *p.op, p.lane);
    return false;
  }
  if (!p.form->zero_columns.present()) return true;
  auto bits = control(warp.lanes, p.form->zero_columns, p.lane, *p.op, "a zero-column mask");
  if (!bits) return false;
  ZeroColumns columns = ZeroColumns::read(*bits, p.m, p.n);
  if (columns.shift > std::min(p.shift_max, p.m == 32 ? 16u : 32u)) {
    trap(TrapKind::bad_operand, "the columns of B are shifted by more than its descriptor allows",
         *p.op, p.lane);
    return false;
  }
  p.zero = columns.zero;
  p.b.first = columns.shift;
  return true;
}

/// A tile of which A is sparse, or which is scaled, or both.
template <class D, class O>
void Machine<D, O>::tensor_special(const TensorProduct& p, Lanes& lanes, const Operation& op,
                                   const Matrix& tile, unsigned row, unsigned column,
                                   TensorPlace corner) {
  Mma mma = product_of(op, tile);
  mma.without_c = !p.accumulate;
  std::vector<Cell> a_scales, b_scales;
  BlockScales scales{p.scale_type, p.form->blocks, nullptr, nullptr};
  if (scales.blocks != 0) {
    p.scale_cells(row, column, corner, a_scales, b_scales);
    scales.a = a_scales.data(), scales.b = b_scales.data();
    mma.scales = &scales;
  }
  if (p.form->sparse)
    tensor_kept(p, lanes, mma, scales, corner);
  else
    d_.multiply(lanes, mma);
}

/// Row by row: those rows of B that the stored elements of A stand for. Four bits a chunk; of 16
/// bits and more the lanes of rows 0 to 7 have four chunks of their row and of the row eight below,
/// and the next eight lanes the other four; of fewer each row has its lane and two columns.
template <class D, class O>
void Machine<D, O>::tensor_kept(const TensorProduct& p, Lanes& lanes, const Mma& whole,
                                BlockScales scales, TensorPlace corner) {
  std::array<std::array<std::uint32_t, 2>, 16> words{};
  bool bytes = p.element_bytes() == 1;
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned c = 0; c < p.metadata_columns(); ++c) {
      Slot place{tensor_spot(corner.lane, p.metadata_column + p.selector + c), 4};
      auto word = control(lanes, place, corner.lane % lane_count + i, *p.op,
                          "the metadata of a sparse product");
      if (!word) return;
      words[i][c] = static_cast<std::uint32_t>(*word);
    }
  unsigned chunk = p.packed() ? 8 : bytes ? 4 : p.element_bytes() == 2 ? 4 : 2;
  unsigned stored = p.stored(), half = chunk / 2;
  std::vector<Cell> b(std::size_t{stored} * 8);
  for (unsigned row = 0; row < 16; ++row) {
    for (unsigned i = 0; i < stored; ++i) {
      unsigned c = i / half;
      std::uint32_t code = bytes
                               ? words[row][c / 8] >> 4 * (c % 8)
                               : words[row % 8 + 8 * (c / 4)][0] >> (16 * (row / 8) + 4 * (c % 4));
      auto kept = tensor_kept_column(chunk, code & 15, i % half);
      if (!kept)
        return trap(TrapKind::bad_operand, "the metadata of a sparse product are no indices", *p.op,
                    p.lane);
      std::copy_n(whole.b + (std::size_t{chunk} * c + *kept) * 8, 8, &b[i * 8]);
    }
    Mma mma = whole;
    mma.m = 1;
    mma.a += row * stored;
    mma.b = b.data();
    mma.c += row * 8, mma.d += row * 8;
    if (mma.scales != nullptr) mma.scales = &scales;
    d_.multiply(lanes, mma);
    scales.a += scales.a == nullptr ? 0 : scales.blocks;
  }
}

}  // namespace lathe::ptx
