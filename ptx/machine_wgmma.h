#pragma once

// wgmma: operands in shared memory by descriptor, one warp's sixteen rows at a time. A product is
// carried out when it is issued. That is one of the legal moments, and all others give the same
// where no register or byte of it is touched before its wait, which the order observer checks.
// Included by machine.h.

#include <algorithm>

#include "ptx/machine.h"

namespace lathe::ptx {

/// Reads elements of a matrix into cells; notes the 16-byte units that were touched.
template <class D, class O>
bool Machine<D, O>::gather(Warp& warp, const Operation& op, const SharedMatrix& matrix,
                           const std::vector<Cell>& cells, unsigned mn_begin, bool a_operand,
                           unsigned k_count, std::vector<std::uint64_t>& units) {
  unsigned es = op.element_bytes;
  bool bits = program_.matrices[op.matrix].a_type == Type::b1;
  bool mn_major = (op.form.constant & (a_operand ? 1u : 2u)) != 0;
  for (unsigned i = 0; i < cells.size(); ++i) {
    unsigned mn = a_operand ? i / k_count : i % 8, k = a_operand ? i % k_count : i / 8;
    if (bits) {  // Eight lie in the byte that the first of them brings.
      if (k % 8 != 0) continue;
      k /= 8;
    }
    std::uint64_t address = matrix.at(mn_begin + mn, k, es, mn_major);
    std::uint64_t offset = address - run_.shared_base;
    if (offset >= shared_bytes_ || shared_bytes_ - offset < es) {
      trap(TrapKind::out_of_bounds,
           "a matrix descriptor reaches shared address " + std::to_string(address) +
               ", which is in no allocation",
           op, 0, address);
      return false;
    }
    d_.read(*here().shared, offset, warp.lanes, cells[i], es);
    if constexpr (O::active) units.push_back(offset / 16);
  }
  return true;
}

template <class D, class O>
void Machine<D, O>::tell_units(const Operation& op, std::vector<std::uint64_t>& units, Unit unit,
                               unsigned lane, std::uint32_t rank) {
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  for (std::size_t begin = 0; begin < units.size(); begin += lane_count) {
    Addresses addresses{};
    std::array<std::uint32_t, lane_count> buffers{};
    Access access;
    for (unsigned i = 0; i < lane_count && begin + i < units.size(); ++i) {
      addresses[i] = units[begin + i] * 16 | std::uint64_t{rank} << rank_shift;
      access.mask |= Mask{1} << i;
    }
    access.space = Space::shared;
    access.proxy = Proxy::async;
    access.unit = unit;
    access.issuer = static_cast<std::uint8_t>(lane);
    access.instruction = number(op);
    access.warp = now_warp_;
    access.bytes = 16;
    access.addresses = &addresses;
    access.buffers = &buffers;
    o_.on_access(access);
  }
}

/// An operand that is the same in all lanes.
template <class D, class O>
std::optional<std::uint64_t> Machine<D, O>::uniform(Warp& warp, const Operation& op, Slot slot,
                                                    const char* what) {
  auto first = control(warp.lanes, slot, 0, op, what);
  for (unsigned lane = 1; first && lane < lane_count; ++lane) {
    auto bits = control(warp.lanes, slot, lane, op, what);
    if (!bits) return std::nullopt;
    if (*bits != *first) {
      trap(TrapKind::bad_operand, std::string(what) + " is not the same in all lanes", op, lane);
      return std::nullopt;
    }
  }
  return first;
}

/// B with the other sign, which is A with the other sign too. Small elements lie in bytes that have
/// these sign bits.
template <class D, class O>
void Machine<D, O>::flip_signs(Lanes& lanes, const Operation& op, const std::vector<Cell>& cells,
                               Type type, std::uint8_t signs) {
  auto flip = [&]<Type T>() {
    Form form;
    form.type = T;
    for (const Cell& cell : cells)
      d_.template store<T>(lanes, cell, negate(form, d_.template load<T>(lanes, cell)));
  };
  if (type == Type::f16) return flip.template operator()<Type::f16>();
  if (type == Type::bf16) return flip.template operator()<Type::bf16>();
  if (type == Type::tf32) return flip.template operator()<Type::f32>();
  for (const Cell& cell : cells) {
    auto bits = d_.exact(lanes, cell, 1);
    if (!bits) return trap(TrapKind::unsupported, "a negated operand of this type", op, 0);
    d_.put(lanes, cell, 1, *bits ^ signs);
  }
}

/// The threads with metadata must be there; and of B, twice as deep as A is stored, a row must lie
/// within what is swizzled.
template <class D, class O>
bool Machine<D, O>::sparse_fits(const Operation& op, const Matrix& matrix, const SharedMatrix& b) {
  unsigned threads = matrix.k / (4u * matrix.chunk);
  if (matrix.selector >= 4 / threads) {
    trap(TrapKind::bad_operand, "the selector of a sparse product names no threads", op, 0);
    return false;
  }
  bool mn_major = (op.form.constant & 2u) != 0;
  if (!mn_major && b.swizzle == 2) {
    trap(TrapKind::unsupported, "rows of 64 bytes in a matrix swizzled by 32", op, 0);
    return false;
  }
  return true;
}

template <class D, class O>
void Machine<D, O>::warpgroup_multiply(Warp& warp, const Operation& op, Mask active) {
  if (!whole(warp, op, active, "wgmma")) return;
  auto scale = uniform(warp, op, op.fixed[2], "the scale of D");
  auto b_bits = scale ? uniform(warp, op, op.fixed[1], "a matrix descriptor") : std::nullopt;
  if (!b_bits) return;
  SharedMatrix b = SharedMatrix::read(*b_bits), a;
  const Matrix& first = program_.matrices[op.matrix];
  std::vector<std::uint64_t> units;
  bool a_shared = op.fixed[0].present();
  if (a_shared) {
    auto a_bits = uniform(warp, op, op.fixed[0], "a matrix descriptor");
    if (!a_bits) return;
    a = SharedMatrix::read(*a_bits);
  }
  if (!a.supported || !b.supported)
    return trap(TrapKind::unsupported, "a matrix descriptor with a base offset", op, 0);
  bool sparse = first.chunk != 0;
  if (sparse && !sparse_fits(op, first, b)) return;
  if constexpr (O::active) {
    o_.on_unit(unit_event(UnitEvent::Kind::issue, Unit::warpgroup, op, active));
  }
  unsigned row = now_warp_ % warps_each_ % 4 * 16;
  bool zero = (*scale & 1) == 0, flips = (op.form.constant & 4) != 0;
  bool plain = !flips && !sparse && first.a_type != Type::b1;
  bool done =
      plain &&
      wide_.multiply(d_, warp.lanes, *here().shared, {run_.shared_base, shared_bytes_}, program_,
                     op, a_shared ? &a : nullptr, b, row, zero, O::active ? &units : nullptr);
  unsigned stored = sparse ? first.k / 2 : first.k;
  if (!done && a_shared && !gather(warp, op, a, first.a, row, true, stored, units)) return;
  for (unsigned slice = 0; slice < op.element_count && !done; ++slice) {
    const Matrix& matrix = program_.matrices[op.matrix + slice];
    if (!gather(warp, op, b, matrix.b, 8 * slice, false, matrix.k, units)) return;
    if (flips) flip_signs(warp.lanes, op, matrix.b, matrix.b_type);
    if (zero)
      for (const Cell& cell : matrix.d) d_.put(warp.lanes, cell, width_of(matrix.d_type) / 8, 0);
    if (sparse)
      multiply_sparse(warp, op, matrix, zero);
    else
      multiply_one(warp.lanes, op, matrix, zero);
  }
  if constexpr (O::active) tell_units(op, units, Unit::warpgroup, 0, rank());
}

/// wgmma.fence, commit_group and wait_group: what they order is the observer's to know.
template <class D, class O>
void Machine<D, O>::warpgroup(Warp& warp, const Operation& op, Mask active) {
  if (!whole(warp, op, active, "wgmma")) return;
  if constexpr (O::active) {
    UnitEvent event = unit_event(op.mode == Mode::sync         ? UnitEvent::Kind::fence
                                 : op.mode == Mode::wait_group ? UnitEvent::Kind::wait
                                                               : UnitEvent::Kind::commit,
                                 Unit::warpgroup, op, active);
    event.pending = op.form.constant;
    o_.on_unit(event);
  }
}

}  // namespace lathe::ptx
