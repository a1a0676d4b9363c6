// wmma as operations. The manual leaves open where a fragment's elements lie. Of f16 they lie here
// as those of two mma.m16n8k16 side by side, in the first registers of the vector; of integers
// along K (of C along a row), a register of all lanes after the other.

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

/// A matrix of integers and how it lies in registers.
struct IntegerMatrix {
  unsigned rows = 0, columns = 0;
  Type type{};
  bool by_columns = false;  // B: a word goes along K.

  unsigned each() const { return 32 / element_bits(type); }
  unsigned registers() const { return rows * columns / each() / lane_count; }
  /// By rows.
  std::vector<Cell> cells(const std::vector<Slot>& slots) const {
    std::vector<Cell> list;
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned column = 0; column < columns; ++column) {
        unsigned at = by_columns ? column * rows + row : row * columns + column;
        unsigned word = at / each(), bit = at % each() * element_bits(type);
        list.push_back(slots[word / lane_count].cell(word % lane_count, bit / 8));
        list.back().bit = static_cast<std::uint8_t>(bit % 8);
      }
    return list;
  }
  /// Cells of whole bytes, in which several elements may lie, and how many are a row.
  std::vector<Cell> bytes(const std::vector<Slot>& slots) const {
    std::vector<Cell> list = cells(slots);
    std::erase_if(list, [](const Cell& cell) { return cell.bit != 0; });
    return list;
  }
};

/// A, B and C of a product of integers.
struct IntegerProduct {
  IntegerMatrix a, b, c;

  IntegerProduct(std::string_view shape, Type type) {
    struct Named {
      std::string_view name;
      unsigned m, n, k;
    };
    constexpr std::array shapes{Named{"m16n16k16", 16, 16, 16}, Named{"m8n32k16", 8, 32, 16},
                                Named{"m32n8k16", 32, 8, 16}, Named{"m8n8k32", 8, 8, 32},
                                Named{"m8n8k128", 8, 8, 128}};
    for (const Named& each : shapes)
      if (each.name == shape) {
        a = {each.m, each.k, type, false};
        b = {each.k, each.n, type, true};
        c = {each.m, each.n, Type::s32, false};
      }
  }
};

std::string_view shape_of(const Instruction& instruction) {
  for (std::string_view word : instruction.modifiers)
    if (word.starts_with('m') && word.find('k') != word.npos) return word;
  return {};
}

/// The first type of whole numbers that an instruction names; f16 where it names none.
Type whole_type(const Instruction& instruction) {
  for (std::string_view word : instruction.modifiers)
    if (auto type = type_named(word); type && (is_integer(*type) || element_bits(*type) < 8))
      return *type;
  return Type::f16;
}

}  // namespace

bool Decoder::fragment(const FormMatch& match) {
  bool load = match.effect == Effect::load_fragment, factor = has("a") || has("b");
  Type type = whole_type(*now_);
  if (match.effect == Effect::multiply)
    return type == Type::f16 ? multiply_fragments(match) : multiply_integers(match);
  Matrix matrix;
  std::vector<Slot> slots;
  if (type == Type::f16) {
    type = factor ? Type::f16 : match.form.type;
    if (!fragment_slots(now_->operands[load ? 0 : 1], registers_of(!factor, type), load, slots))
      return false;
    matrix.m = matrix.n = side;
    matrix.a = fragment_cells(has("a") ? 'a' : has("b") ? 'b' : 'd', type, slots);
    return move_fragment(match, std::move(matrix), type, side);
  }
  IntegerProduct product(shape_of(*now_), type);
  const IntegerMatrix& moved = has("a") ? product.a : has("b") ? product.b : product.c;
  if (!fragment_slots(now_->operands[load ? 0 : 1], moved.registers(), load, slots)) return false;
  matrix.a = moved.bytes(slots);
  unsigned packed = element_bits(type) < 8 ? 8 / element_bits(type) : 1;
  matrix.m = moved.by_columns ? moved.rows / packed : moved.rows;
  matrix.n = moved.by_columns ? moved.columns : moved.columns / packed;
  return move_fragment(match, std::move(matrix), type, has("col") ? moved.rows : moved.columns);
}

/// The registers of a fragment.
bool Decoder::fragment_slots(const Operand& operand, unsigned count, bool written,
                             std::vector<Slot>& slots) {
  std::vector<const Operand*> parts = elements(operand);
  if (operand.kind != Operand::Kind::vector || parts.size() != count)
    return complain(operand, "a vector of " + std::to_string(count) + " is expected");
  for (const Operand* part : parts)
    slots.push_back(written ? destination(*part, Type::b32) : source(*part, Type::b32));
  return !error_;
}

/// wmma.load or store of a matrix with a default stride.
bool Decoder::move_fragment(const FormMatch& match, Matrix matrix, Type type,
                            unsigned default_stride) {
  const std::vector<Operand>& operands = now_->operands;
  bool load = match.effect == Effect::load_fragment;
  Address where;
  if (error_ || !address(operands[load ? 1 : 0], where)) return false;
  Slot stride = operands.size() > 2 ? source(operands[2], Type::u32) : constant(default_stride, 4);
  if (error_) return false;
  matrix.a_type = type;
  unsigned bits = element_bits(type);
  Operation& op = emit(match.effect);
  op.address = where;
  op.space = space_of(*now_);
  op.access = load ? AccessKind::read : AccessKind::write;
  op.element_bytes = static_cast<std::uint8_t>(width_of(type) / 8);
  op.element_count = static_cast<std::uint8_t>(bits < 8 ? 8 / bits : 1);
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
    unsigned count = registers_of(!factor, i == 0 ? d_type : c_type);
    if (!fragment_slots(operands[i], count, i == 0, slots[i])) return false;
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

/// Products of at most sixteen rows by eight columns; D goes to scratch, since all read A or B.
bool Decoder::multiply_integers(const FormMatch& match) {
  std::vector<Type> types;
  for (std::string_view word : now_->modifiers)
    if (auto type = type_named(word)) types.push_back(*type);
  IntegerProduct product(shape_of(*now_), types[1]);
  const IntegerMatrix& whole = product.c;
  std::array<const IntegerMatrix*, 4> matrices{&whole, &product.a, &product.b, &whole};
  std::array<std::vector<Slot>, 4> slots;
  for (std::size_t i = 0; i < 4; ++i)
    if (!fragment_slots(now_->operands[i], matrices[i]->registers(), i == 0, slots[i]))
      return false;
  std::vector<Slot> results = slots[0];
  for (Slot& slot : slots[0]) slot = scratch(4);
  std::array<std::vector<Cell>, 4> cells;
  for (std::size_t i = 0; i < 4; ++i) cells[i] = matrices[i]->cells(slots[i]);
  unsigned depth = product.a.columns, rows = std::min(whole.rows, side), columns = 8;
  Operation& op = emit(Effect::multiply, match.form);
  op.flag = has("satfinite");
  op.matrix = static_cast<std::uint32_t>(program_.matrices.size());
  op.element_count = static_cast<std::uint8_t>(whole.rows / rows * (whole.columns / columns));
  for (unsigned top = 0; top < whole.rows; top += rows)
    for (unsigned left = 0; left < whole.columns; left += columns) {
      Matrix tile{rows, columns, depth, Type::s32, types[1], types[2], Type::s32, {}, {}, {}, {}};
      tile.exclusive = has("xor");
      auto first = cells[1].begin() + top * depth;
      tile.a.assign(first, first + rows * depth);
      for (unsigned i = 0; i < depth * columns; ++i)
        tile.b.push_back(cells[2][i / columns * whole.columns + left + i % columns]);
      for (unsigned i = 0; i < rows * columns; ++i) {
        unsigned at = (top + i / columns) * whole.columns + left + i % columns;
        tile.d.push_back(cells[0][at]);
        tile.c.push_back(cells[3][at]);
      }
      program_.matrices.push_back(std::move(tile));
    }
  for (std::size_t i = 0; i < results.size(); ++i) emit_move(results[i], slots[0][i]);
  return true;
}

}  // namespace lathe::ptx
