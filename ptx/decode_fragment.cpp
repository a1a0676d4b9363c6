// wmma as operations. The manual leaves open where a fragment's elements lie: here as those of two
// mma.m16n8k16 side by side, in the first registers of the vector.

#include <algorithm>

#include "ptx/decoder.h"
#include "ptx/fragment.h"

namespace lathe::ptx {
namespace {

constexpr unsigned side = 16;

FragmentShape half_shape(Type accumulator) {
  return *fragment_shape("m16n8k16", accumulator, Type::f16, Type::f16, accumulator);
}

/// The registers of a fragment; A and B have twice as many as they need.
unsigned registers_of(bool accumulator, Type type) {
  return !accumulator || type == Type::f32 ? 8 : 4;
}

/// Cells of a sixteen by sixteen fragment, by rows.
std::vector<Cell> fragment_cells(char which, Type type, const std::vector<Slot>& slots) {
  FragmentShape shape = half_shape(which == 'a' || which == 'b' ? Type::f32 : type);
  FragmentMap map = make_fragment_map(shape);
  std::vector<Cell> cells;
  for (unsigned row = 0; row < side; ++row)
    for (unsigned column = 0; column < side; ++column) {
      unsigned slice = column / 8, each = which == 'b' ? shape.b_registers : shape.d_registers;
      FragmentPlace at = which == 'a'   ? map.a[row * side + column]
                         : which == 'b' ? map.b[row * 8 + column % 8]
                                        : map.d[row * 8 + column % 8];
      unsigned slot = at.slot + (which == 'a' ? 0 : slice * each);
      cells.push_back(slots[slot].cell(at.lane, at.byte));
    }
  return cells;
}

}  // namespace

bool Decoder::fragment(const FormMatch& match) {
  if (match.effect == Effect::multiply) return multiply_fragments(match);
  const std::vector<Operand>& operands = now_->operands;
  bool load = match.effect == Effect::load_fragment, factor = has("a") || has("b");
  Type type = factor ? Type::f16 : match.form.type;
  const Operand& moved = operands[load ? 0 : 1];
  std::vector<const Operand*> parts = elements(moved);
  unsigned count = registers_of(!factor, type);
  if (parts.size() != count)
    return complain(moved, "a vector of " + std::to_string(count) + " is expected");
  std::vector<Slot> slots;
  for (const Operand* part : parts)
    slots.push_back(load ? destination(*part, Type::b32) : source(*part, Type::b32));
  Address where;
  if (error_ || !address(operands[load ? 1 : 0], where)) return false;
  Slot stride = operands.size() > 2 ? source(operands[2], Type::u32) : constant(side, 4);
  if (error_) return false;
  Matrix matrix;
  matrix.m = matrix.n = side;
  matrix.a_type = type;
  matrix.a = fragment_cells(has("a") ? 'a' : has("b") ? 'b' : 'd', type, slots);
  Operation& op = emit(match.effect);
  op.address = where;
  op.space = space_of(*now_);
  op.access = load ? AccessKind::read : AccessKind::write;
  op.element_bytes = static_cast<std::uint8_t>(width_of(type) / 8);
  op.element_count = 1;
  op.flag = has("col");
  op.fixed[0] = stride;
  op.matrix = static_cast<std::uint32_t>(program_.matrices.size());
  program_.matrices.push_back(std::move(matrix));
  return true;
}

/// Two products that share A; D goes to scratch, since the second reads A after the first wrote.
bool Decoder::multiply_fragments(const FormMatch& match) {
  const std::vector<Operand>& operands = now_->operands;
  Type d_type = match.form.type, c_type = match.form.other;
  std::array<std::vector<Slot>, 4> slots;  // D, A, B, C.
  for (std::size_t i = 0; i < 4; ++i) {
    bool factor = i == 1 || i == 2;
    std::vector<const Operand*> parts = elements(operands[i]);
    unsigned count = registers_of(!factor, i == 0 ? d_type : c_type);
    if (parts.size() != count)
      return complain(operands[i], "a vector of " + std::to_string(count) + " is expected");
    for (const Operand* part : parts)
      slots[i].push_back(i == 0 ? destination(*part, Type::b32) : source(*part, Type::b32));
    if (error_) return false;
  }
  std::vector<Slot> results = slots[0];
  for (Slot& slot : slots[0]) slot = scratch(4);
  Operation& op = emit(Effect::multiply, match.form);
  op.matrix = static_cast<std::uint32_t>(program_.matrices.size());
  op.element_count = 2;
  std::vector<Cell> a = fragment_cells('a', Type::f16, slots[1]);
  std::vector<Cell> b = fragment_cells('b', Type::f16, slots[2]);
  std::vector<Cell> c = fragment_cells('d', c_type, slots[3]);
  std::vector<Cell> d = fragment_cells('d', d_type, slots[0]);
  FragmentShape shape = *fragment_shape("m16n8k16", d_type, Type::f16, Type::f16, c_type);
  for (unsigned slice = 0; slice < 2; ++slice) {
    Matrix matrix{side, 8, side, d_type, Type::f16, Type::f16, c_type, a, {}, {}, {}};
    for (unsigned i = 0; i < side * 8; ++i) {
      unsigned at = i / 8 * side + 8 * slice + i % 8;
      matrix.b.push_back(b[at]);
      matrix.c.push_back(c[at]);
      matrix.d.push_back(d[at]);
    }
    set_order(matrix, shape);
    auto take = [&](const std::vector<Slot>& all, unsigned first, unsigned count) {
      for (unsigned r = 0; r < count; ++r) matrix.registers.push_back(all[first + r].place);
    };
    take(slots[0], slice * shape.d_registers, shape.d_registers);
    take(slots[1], 0, shape.a_registers);
    take(slots[2], slice * shape.b_registers, shape.b_registers);
    take(slots[3], slice * shape.c_registers, shape.c_registers);
    program_.matrices.push_back(std::move(matrix));
  }
  for (std::size_t i = 0; i < results.size(); ++i) emit_move(results[i], slots[0][i]);
  return true;
}

}  // namespace lathe::ptx
