#pragma once

// Matrix products whose operands lie in shared memory, for domains that take them as a whole
// (WideMma). Included by machine.h.

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "ptx/program.h"

namespace lathe::ptx {

/// Where a matrix in shared memory has its elements; kept, since loops come back to few of them.
struct SharedOperand {
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint64_t> units;  // Of 16 bytes, that are touched.
};

class WideProducts {
 public:
  /// Where shared memory begins, and its bytes.
  struct Extent {
    std::uint64_t base = 0, bytes = 0;
  };

  /// wgmma of one warp as a whole, from row `a_begin` of A on (null: in registers). False: by
  /// elements, which also names what is wrong. `units` takes the 16-byte units that are read; null:
  /// nobody asks.
  template <class D, class Matrix>
  bool multiply(D& d, typename D::Lanes& lanes, typename D::Region& shared, Extent extent,
                const Program& program, const Operation& op, const Matrix* a, const Matrix& b,
                unsigned a_begin, bool zero_c, std::vector<std::uint64_t>* units) {
    if constexpr (requires { d.multiply_wide(lanes, shared, WideMma{}); }) {
      const auto& first = program.matrices[op.matrix];
      WideMma wide;
      wide.m = first.m, wide.n = 8u * op.element_count, wide.k = first.k;
      wide.a_type = first.a_type, wide.b_type = first.b_type;
      wide.c_type = first.c_type, wide.d_type = first.d_type;
      wide.zero_c = zero_c;
      wide.saturate = op.flag;
      wide.architecture = program.target.number;
      wide.order = program.order_of(first);
      bool a_major = (op.form.constant & 1u) != 0, b_major = (op.form.constant & 2u) != 0;
      unsigned bytes = op.element_bytes;
      const SharedOperand* rows = nullptr;
      if (a != nullptr) {
        rows = operand(*a, {a_begin, wide.m, wide.k, bytes, a_major, true}, extent);
        if (rows == nullptr) return false;
        wide.a_offsets = rows->offsets.data();
        wide.a_units = rows->units;
      } else {
        wide.a = first.a.data();
        if (wide.order != nullptr)
          wide.a_registers = std::span(first.registers).subspan(wide.order->shape.d_registers);
      }
      const SharedOperand* columns = operand(b, {0, wide.n, wide.k, bytes, b_major, false}, extent);
      if (columns == nullptr) return false;
      wide.b_offsets = columns->offsets.data();
      wide.b_units = columns->units;
      const Sums& sums = sums_of(program, op, wide);
      wide.c = wide.d = sums.cells.data();
      wide.d_registers = sums.registers;
      if (!d.multiply_wide(lanes, shared, wide)) return false;
      for (const SharedOperand* read : {rows, columns})
        if (units != nullptr && read != nullptr)
          units->insert(units->end(), read->units.begin(), read->units.end());
      return true;
    } else {
      return false;
    }
  }

  /// Which elements of a matrix: row-major by k for B, by mn for A.
  struct Part {
    unsigned begin = 0, mn = 0, k = 0, bytes = 0;
    bool mn_major = false, is_a = false;
  };

  /// The units that a part touches, ascending; null where one lies outside of shared memory.
  template <class Matrix>
  const std::vector<std::uint64_t>* units_of(const Matrix& matrix, const Part& part,
                                             Extent extent) {
    const SharedOperand* found = operand(matrix, part, extent);
    return found == nullptr ? nullptr : &found->units;
  }

 private:
  /// Null where an element lies outside of shared memory.
  template <class Matrix>
  const SharedOperand* operand(const Matrix& matrix, const Part& part, Extent extent) {
    std::array<std::uint64_t, 5> key{
        matrix.start | matrix.leading << 32, matrix.stride | std::uint64_t{matrix.swizzle} << 32,
        std::uint64_t{part.begin + matrix.first} << 32 | part.mn,
        std::uint64_t{part.k} << 32 | part.bytes,
        (matrix.words ? 4u : 0u) | (part.mn_major ? 2u : 0u) | (part.is_a ? 1u : 0u)};
    auto [found, fresh] = operands_.try_emplace(key);
    SharedOperand& operand = found->second;
    if (!fresh) return &operand;
    operand.offsets.resize(std::size_t{part.mn} * part.k);
    for (unsigned i = 0; i < part.mn; ++i)
      for (unsigned q = 0; q < part.k; ++q) {
        std::uint64_t offset =
            matrix.at(part.begin + i, q, part.bytes, part.mn_major) - extent.base;
        if (offset >= extent.bytes || extent.bytes - offset < part.bytes) {
          operands_.erase(found);
          return nullptr;
        }
        operand.offsets[part.is_a ? i * part.k + q : q * part.mn + i] =
            static_cast<std::uint32_t>(offset);
        operand.units.push_back(offset / 16);
      }
    std::sort(operand.units.begin(), operand.units.end());
    operand.units.erase(std::unique(operand.units.begin(), operand.units.end()),
                        operand.units.end());
    return &operand;
  }

  /// The cells of D, row-major over all its columns, and its registers, eight columns after eight.
  struct Sums {
    std::vector<Cell> cells;
    std::vector<Spot> registers;
  };
  const Sums& sums_of(const Program& program, const Operation& op, const WideMma& wide) {
    Sums& sums = sums_[op.matrix];
    if (!sums.cells.empty()) return sums;
    sums.cells.resize(std::size_t{wide.m} * wide.n);
    for (unsigned slice = 0; slice < op.element_count; ++slice) {
      const auto& matrix = program.matrices[op.matrix + slice];
      for (unsigned i = 0; i < wide.m; ++i)
        for (unsigned j = 0; j < 8; ++j)
          sums.cells[i * wide.n + 8 * slice + j] = matrix.d[i * 8 + j];
      if (wide.order != nullptr)
        sums.registers.insert(sums.registers.end(), matrix.registers.begin(),
                              matrix.registers.begin() + wide.order->shape.d_registers);
    }
    return sums;
  }

  std::map<std::array<std::uint64_t, 5>, SharedOperand> operands_;
  std::map<std::uint32_t, Sums> sums_;  // By the operation's first matrix.
};

}  // namespace lathe::ptx
