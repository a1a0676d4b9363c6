// Matrices as operations: ldmatrix, stmatrix, movmatrix, mma.sync.

#include <algorithm>

#include "ptx/decoder.h"
#include "ptx/fragment.h"

namespace lathe::ptx {
namespace {

std::vector<Cell> cells_of(const std::vector<FragmentPlace>& places, const Slot* slots) {
  std::vector<Cell> list;
  list.reserve(places.size());
  for (FragmentPlace at : places) {
    list.push_back(slots[at.slot].cell(at.lane, at.byte));
    list.back().bit = at.bit;
  }
  return list;
}

/// Of mma.sp: columns of A of which half are stored together.
std::uint8_t chunk_of(Type a) {
  if (a == Type::tf32) return 2;
  return a == Type::s4 || a == Type::u4 ? 8 : 4;
}

}  // namespace

bool Decoder::matrix(const FormMatch& match) {
  if (match.effect == Effect::transpose_matrix) {
    if (now_->operands[1].kind != Operand::Kind::name)
      return complain(now_->operands[1], "a register is expected");
    Slot d = destination(now_->operands[0], Type::b32), a = source(now_->operands[1], Type::b32);
    if (error_) return false;
    Operation& op = emit(match.effect);
    op.fixed = {d, a, scratch(4)};
    return true;
  }
  bool load = match.effect == Effect::load_matrix, rows16 = has("m16n16");
  const Operand& moved = now_->operands[load ? 0 : 1];
  std::vector<const Operand*> parts = elements(moved);
  unsigned count = (has("x4") ? 4 : has("x2") ? 2 : 1) * (rows16 ? 2 : 1);
  if (!product_vector(moved, count)) return false;
  std::vector<Slot> slots;
  for (const Operand* part : parts)
    slots.push_back(load ? destination(*part, Type::b32) : source(*part, Type::b32));
  Address where;
  if (error_ || !address(now_->operands[load ? 1 : 0], where)) return false;
  // Results go to scratch first: a destination may be the address register.
  std::vector<Slot> landing;
  for (unsigned i = 0; load && i < count; ++i) landing.push_back(scratch(4));
  Operation& op = emit(match.effect);
  op.address = where;
  op.space = Space::shared;
  op.access = load ? AccessKind::read : AccessKind::write;
  op.element_bytes = 16;
  op.element_count = static_cast<std::uint8_t>(count);
  op.flag = has("trans");
  if (rows16 || has("m16n8")) op.mode = Mode::rows16;
  if (has("m8n16")) op.mode = Mode::rows8;
  op.form.constant = has("b6x16_p32") ? 6 : has("b4x16_p64") ? 4 : 8;
  if (op.mode != Mode::none && load) op.fixed[0] = scratch(4);
  op.slot_begin = static_cast<std::uint32_t>(program_.slots.size());
  op.slot_count = static_cast<std::uint16_t>(count);
  program_.slots.insert(program_.slots.end(), slots.begin(), slots.end());
  program_.slots.insert(program_.slots.end(), landing.begin(), landing.end());
  return true;
}

/// The fragment's shape, from the shape's name and the four types; complains where there is none.
bool Decoder::product_shape(FragmentShape& shape) {
  std::vector<Type> types;
  std::string_view name, first_layout, second_layout;
  for (std::string_view word : now_->modifiers) {
    if (auto type = type_named(word)) types.push_back(*type);
    if (word.starts_with('m') && word.find('n') != std::string_view::npos &&
        word.find('k') != std::string_view::npos)
      name = word;
    if (word == "row" || word == "col")
      (first_layout.empty() ? first_layout : second_layout) = word;
  }
  std::optional<FragmentShape> found =
      types.size() >= 4 ? fragment_shape(name, types[0], types[1], types[2], types[3])
                        : std::nullopt;
  if (!found) return complain("a matrix product of this shape and these types is not known");
  shape = *found;
  shape.a_columns = first_layout == "col";
  shape.b_rows = second_layout == "row";
  return true;
}

/// The registers of one matrix, in braces also where it is one.
bool Decoder::product_vector(const Operand& operand, unsigned count) {
  std::vector<const Operand*> parts = elements(operand);
  bool named = operand.kind == Operand::Kind::name && parts.size() > 1;
  if ((operand.kind != Operand::Kind::vector && !named) || parts.size() != count)
    return complain(operand, "a vector of " + std::to_string(count) + " is expected");
  return true;
}

/// mma.block_scale: its operands are checked, and that is all.
bool Decoder::multiply_scaled(const FormMatch& match) {
  FragmentShape shape;
  if (!product_shape(shape)) return false;
  // Four bits alone are packed: elsewhere they lie in bytes.
  unsigned packed = has("m16n8k64") ? 2 : 1;
  const std::array<unsigned, 4> counts{shape.d_registers, shape.a_registers / packed,
                                       shape.b_registers / packed, shape.c_registers};
  const std::vector<Operand>& operands = now_->operands;
  for (std::size_t i = 0; i < 4; ++i) {
    if (!product_vector(operands[i], counts[i])) return false;
    for (const Operand* part : elements(operands[i])) {
      if (i == 0)
        destination(*part, Type::b32);
      else
        source(*part, Type::f32);
      if (error_) return false;
    }
  }
  for (std::size_t i = 4; i < 8; i += 2) {
    if (operands[i].kind != Operand::Kind::name)
      return complain(operands[i], "the scales are a register");
    source(operands[i], Type::b32);
    if (error_ || !product_vector(operands[i + 1], 2)) return false;
    for (const Operand* part : elements(operands[i + 1]))
      if (part->kind != Operand::Kind::integer)
        return complain(*part, "which byte and which threads are numbers");
  }
  emit(match.effect, match.form);
  return true;
}

bool Decoder::multiply(const FormMatch& match) {
  FragmentShape shape;
  if (!product_shape(shape)) return false;
  bool sparse = has("sp") || has("sp::ordered_metadata");
  if (sparse) shape.a_registers /= 2;
  const std::array<unsigned, 4> counts{shape.d_registers, shape.a_registers, shape.b_registers,
                                       shape.c_registers};
  const std::array<Type, 4> register_types{shape.c_register(), shape.ab_register(),
                                           shape.ab_register(), shape.c_register()};
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < 4; ++i) {
    if (!product_vector(now_->operands[i], counts[i])) return false;
    for (const Operand* part : elements(now_->operands[i]))
      slots.push_back(i == 0 ? destination(*part, register_types[i])
                             : source(*part, register_types[i]));
    if (error_) return false;
  }
  if (sparse) return multiply_sparse(match, shape, slots);
  Operation& op = emit(Effect::multiply, match.form);
  op.flag = has("satfinite");
  op.matrix = static_cast<std::uint32_t>(program_.matrices.size());
  op.element_count = static_cast<std::uint8_t>(shape.products);
  op.slot_begin = static_cast<std::uint32_t>(program_.slots.size());
  op.slot_count = static_cast<std::uint16_t>(slots.size());
  program_.slots.insert(program_.slots.end(), slots.begin(), slots.end());
  for (unsigned quad = 0; quad < shape.products; ++quad) {
    FragmentMap map = shape.products == 1 ? make_fragment_map(shape) : make_quad_map(shape, quad);
    add_product(shape, map, slots);
  }
  return true;
}

/// Shapes are few: each has its order once.
void Decoder::set_order(Matrix& matrix, const FragmentShape& shape) {
  auto same = [&](const FragmentOrder& order) {
    const FragmentShape& s = order.shape;
    return s.m == shape.m && s.n == shape.n && s.k == shape.k && s.a == shape.a && s.b == shape.b &&
           s.c == shape.c && s.d == shape.d;
  };
  auto found = std::find_if(program_.orders.begin(), program_.orders.end(), same);
  matrix.order = static_cast<std::uint32_t>(found - program_.orders.begin());
  if (found != program_.orders.end()) return;
  std::optional<FragmentOrder> order = make_fragment_order(shape);
  if (order)
    program_.orders.push_back(*std::move(order));
  else
    matrix.order = no_operation;
}

/// One product whose registers are D, A, B and C one after the other.
Matrix& Decoder::add_product(const FragmentShape& shape, const FragmentMap& map,
                             const std::vector<Slot>& slots) {
  Matrix matrix{shape.m, shape.n, shape.k, shape.d, shape.a, shape.b, shape.c, {}, {}, {}, {}};
  const Slot* next = slots.data();
  matrix.d = cells_of(map.d, next);
  matrix.a = cells_of(map.a, next += shape.d_registers);
  matrix.b = cells_of(map.b, next += shape.a_registers);
  matrix.c = cells_of(map.c, next += shape.b_registers);
  matrix.exclusive = has("xor");
  if (shape.products == 1 && map.a.size() == std::size_t{shape.m} * shape.k) {
    set_order(matrix, shape);
    for (std::size_t i = 0; i < slots.size(); ++i) matrix.registers.push_back(slots[i].place);
  }
  program_.matrices.push_back(std::move(matrix));
  return program_.matrices.back();
}

/// D goes to scratch first: rows are multiplied one after another, and it may be A or B.
bool Decoder::multiply_sparse(const FormMatch& match, const FragmentShape& shape,
                              std::vector<Slot>& slots) {
  const std::vector<Operand>& operands = now_->operands;
  if (operands[4].kind != Operand::Kind::name)
    return complain(operands[4], "the metadata are a register");
  Slot metadata = source(operands[4], Type::b32);
  if (error_) return false;
  std::uint8_t chunk = chunk_of(shape.a);
  unsigned threads = shape.k / (4 * chunk);
  if (operands[5].kind != Operand::Kind::integer || operands[5].bits >= 4 / threads)
    return complain(operands[5], "the selector of a sparse product is a number below " +
                                     std::to_string(4 / threads));
  std::vector<Slot> results(slots.begin(), slots.begin() + shape.d_registers);
  for (unsigned i = 0; i < shape.d_registers; ++i) slots[i] = scratch(results[i].width);
  FragmentMap map = make_fragment_map(shape);
  FragmentShape stored = shape;
  stored.k /= 2;
  map.a = make_fragment_map(stored).a;
  Operation& op = emit(Effect::multiply, match.form);
  op.flag = has("satfinite");
  op.matrix = static_cast<std::uint32_t>(program_.matrices.size());
  op.element_count = 1;
  Matrix& matrix = add_product(shape, map, slots);
  matrix.chunk = chunk;
  matrix.selector = static_cast<std::uint8_t>(operands[5].bits);
  matrix.ordered = has("sp::ordered_metadata");
  matrix.metadata = metadata;
  for (unsigned i = 0; i < shape.d_registers; ++i) emit_move(results[i], slots[i]);
  return true;
}

}  // namespace lathe::ptx
