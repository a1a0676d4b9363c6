#pragma once

// wgmma: operands in shared memory by descriptor, one warp's sixteen rows at a time. A product is
// carried out when it is issued, so a buffer that is overwritten before its wait is not seen here.
// Included by machine.h.

#include <algorithm>

#include "ptx/machine.h"

namespace lathe::ptx {

/// A matrix in shared memory as its descriptor says (manual, 9.7.15.5.1).
struct SharedMatrix {
  std::uint64_t start = 0, leading = 0, stride = 0;  // Bytes.
  unsigned swizzle = 0;  // 0, or the 16-byte units of a swizzled row: 8, 4, 2.
  bool supported = true;

  static SharedMatrix read(std::uint64_t bits) {
    SharedMatrix m;
    m.start = (bits & 0x3FFF) << 4;
    m.leading = (bits >> 16 & 0x3FFF) << 4;
    m.stride = (bits >> 32 & 0x3FFF) << 4;
    constexpr std::array<unsigned, 4> units{0, 8, 4, 2};
    m.swizzle = units[bits >> 62];
    m.supported = (bits >> 49 & 7) == 0;
    return m;
  }

  /// Where element (mn, k) of `es` bytes lies: a shared address. The exclusive or is over absolute
  /// address bits, so advancing the start inside a swizzled row is right.
  std::uint64_t at(unsigned mn, unsigned k, unsigned es, bool mn_major) const {
    unsigned t = 16 / es;
    std::uint64_t offset;
    if (!mn_major && swizzle == 0)
      offset = mn % 8 * 16 + mn / 8 * stride + k % t * es + k / t * leading;
    else if (!mn_major)
      offset = mn % 8 * 16 * swizzle + mn / 8 * stride + k * es;
    else if (swizzle == 0)
      offset = mn % t * es + mn / t * stride + k % 8 * 16 + k / 8 * leading;
    else
      offset = mn % (t * swizzle) * es + mn / (t * swizzle) * leading + k % 8 * 16 * swizzle +
               k / 8 * stride;
    std::uint64_t address = start + offset;
    std::uint64_t mask = swizzle == 0 ? 0 : 16 * (swizzle - 1);
    return address ^ ((address >> 3) & mask);
  }
};

/// Reads elements of a matrix into cells; notes the 16-byte units that were touched.
template <class D, class O>
bool Machine<D, O>::gather(Warp& warp, const Operation& op, const SharedMatrix& matrix,
                           const std::vector<Cell>& cells, unsigned mn_begin, bool a_operand,
                           unsigned k_count, std::vector<std::uint64_t>& units) {
  unsigned es = op.element_bytes;
  bool mn_major = (op.form.constant & (a_operand ? 1u : 2u)) != 0;
  for (unsigned i = 0; i < cells.size(); ++i) {
    unsigned mn = a_operand ? i / k_count : i % 8, k = a_operand ? i % k_count : i / 8;
    std::uint64_t address = matrix.at(mn_begin + mn, k, es, mn_major);
    std::uint64_t offset = address - run_.shared_base;
    if (offset >= shared_bytes_ || shared_bytes_ - offset < es) {
      trap(TrapKind::out_of_bounds,
           "a matrix descriptor reaches shared address " + std::to_string(address) +
               ", which is in no allocation",
           op, 0, address);
      return false;
    }
    d_.read(*shared_, offset, warp.lanes, cells[i], es);
    if constexpr (O::active) units.push_back(offset / 16);
  }
  return true;
}

template <class D, class O>
void Machine<D, O>::tell_units(const Operation& op, std::vector<std::uint64_t>& units) {
  std::sort(units.begin(), units.end());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  for (std::size_t begin = 0; begin < units.size(); begin += lane_count) {
    Addresses addresses{};
    std::array<std::uint32_t, lane_count> buffers{};
    Access access;
    for (unsigned i = 0; i < lane_count && begin + i < units.size(); ++i) {
      addresses[i] = units[begin + i] * 16;
      access.mask |= Mask{1} << i;
    }
    access.space = Space::shared;
    access.proxy = Proxy::async;
    access.instruction = number(op);
    access.warp = now_warp_;
    access.bytes = 16;
    access.addresses = &addresses;
    access.buffers = &buffers;
    o_.on_access(access);
  }
}

template <class D, class O>
void Machine<D, O>::warpgroup_multiply(Warp& warp, const Operation& op, Mask active) {
  if (!whole(warp, op, active, "wgmma")) return;
  auto uniform = [&](Slot slot, const char* what) -> std::optional<std::uint64_t> {
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
  };
  auto scale = uniform(op.fixed[2], "the scale of D");
  auto b_bits = scale ? uniform(op.fixed[1], "a matrix descriptor") : std::nullopt;
  if (!b_bits) return;
  SharedMatrix b = SharedMatrix::read(*b_bits), a;
  const Matrix& first = program_.matrices[op.matrix];
  std::vector<std::uint64_t> units;
  if (op.fixed[0].present()) {
    auto a_bits = uniform(op.fixed[0], "a matrix descriptor");
    if (!a_bits) return;
    a = SharedMatrix::read(*a_bits);
    if (!gather(warp, op, a, first.a, now_warp_ % 4 * 16, true, first.k, units)) return;
  }
  if (!a.supported || !b.supported)
    return trap(TrapKind::unsupported, "a matrix descriptor with a base offset", op, 0);
  for (unsigned slice = 0; slice < op.element_count; ++slice) {
    const Matrix& matrix = program_.matrices[op.matrix + slice];
    if (!gather(warp, op, b, matrix.b, 8 * slice, false, matrix.k, units)) return;
    if ((*scale & 1) == 0)
      for (const Cell& cell : matrix.d) d_.put(warp.lanes, cell, width_of(matrix.d_type) / 8, 0);
    multiply_one(warp, op, matrix);
  }
  if constexpr (O::active) tell_units(op, units);
}

}  // namespace lathe::ptx
