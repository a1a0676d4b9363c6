// wmma as operations. The manual leaves open where a fragment's elements lie. Of floats they lie
// here as those of several products of mma.sync, in the first registers of the vector; of integers
// along K (of C along a row), a register of all lanes after the other.

#include <algorithm>
#include <utility>

#include "ptx/decoder.h"
#include "ptx/fragment.h"

namespace lathe::ptx {
namespace {

constexpr unsigned side = 16;

struct Extents {
  unsigned m = 0, n = 0, k = 0;
};

Extents extents_of(std::string_view shape) {
  constexpr std::array known{
      std::pair{"m16n16k16", Extents{16, 16, 16}}, std::pair{"m8n32k16", Extents{8, 32, 16}},
      std::pair{"m32n8k16", Extents{32, 8, 16}},   std::pair{"m16n16k8", Extents{16, 16, 8}},
      std::pair{"m8n8k4", Extents{8, 8, 4}},       std::pair{"m8n8k32", Extents{8, 8, 32}},
      std::pair{"m8n8k128", Extents{8, 8, 128}}};
  for (const auto& [name, extents] : known)
    if (name == shape) return extents;
  return {};
}

/// The registers of tiles that lie in rows and columns.
struct Tiles {
  unsigned down = 1, across = 1;
  unsigned each = 0;  // Registers of one.

  unsigned registers() const { return down * across * each; }
  std::span<const Slot> at(const std::vector<Slot>& slots, unsigned row, unsigned column) const {
    return std::span(slots).subspan((row * across + column) * each, each);
  }
};

/// A product of floats as the tensor cores carry it out: products of mma.sync, the tiles, each of
/// which adds to what the one before it along K gave. Eight rows are turned, for tiles have
/// sixteen: D's columns are then the rows of a product of B's with A's.
struct FloatProduct {
  Extents whole;
  bool turned;
  FragmentShape tile;
  Tiles a, b, c, d;  // Of the turned product where it is turned.

  FloatProduct(std::string_view shape, Type d_type, Type factor, Type c_type)
      : whole(extents_of(shape)), turned(whole.n == 32) {
    // tf32 goes four columns of K at a time, in ascending order.
    std::string_view name = factor == Type::f64    ? "m8n8k4"
                            : factor == Type::tf32 ? "m16n8k4"
                                                   : "m16n8k16";
    tile = *fragment_shape(name, d_type, factor, factor, c_type);
    unsigned down = (turned ? whole.n : whole.m) / tile.m;
    unsigned across = (turned ? whole.m : whole.n) / tile.n, steps = whole.k / tile.k;
    a = {down, steps, tile.a_registers}, b = {steps, across, tile.b_registers};
    c = {down, across, tile.c_registers}, d = {down, across, tile.d_registers};
  }

  /// Which of the turned product's matrices `which` of the instruction is.
  char role_of(char which) const {
    if (!turned || which == 'c' || which == 'd') return which;
    return which == 'a' ? 'b' : 'a';
  }
  const Tiles& tiles_of(char role) const {
    return role == 'a' ? a : role == 'b' ? b : role == 'c' ? c : d;
  }
  /// What the vector of an instruction has; that of an A or B of f16 always eight.
  unsigned registers_of(char which) const {
    bool factor = which == 'a' || which == 'b';
    return factor && tile.a == Type::f16 ? 8 : tiles_of(role_of(which)).registers();
  }
  /// By rows of the matrix that memory has.
  std::vector<Cell> cells(char which, const std::vector<Slot>& slots) const {
    char role = role_of(which);
    const Tiles& tiles = tiles_of(role);
    FragmentMap map = make_fragment_map(tile);
    const std::vector<FragmentPlace>& places = role == 'a'   ? map.a
                                               : role == 'b' ? map.b
                                               : role == 'c' ? map.c
                                                             : map.d;
    unsigned tall = role == 'b' ? tile.k : tile.m, broad = role == 'a' ? tile.k : tile.n;
    unsigned rows = tiles.down * tall, columns = tiles.across * broad;
    std::vector<Cell> list(std::size_t{rows} * columns);
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned column = 0; column < columns; ++column) {
        FragmentPlace at = places[row % tall * broad + column % broad];
        const Slot& slot = tiles.at(slots, row / tall, column / broad)[at.slot];
        list[turned ? column * rows + row : row * columns + column] = slot.cell(at.lane, at.byte);
      }
    return list;
  }
};

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
    auto [m, n, k] = extents_of(shape);
    a = {m, k, type, false};
    b = {k, n, type, true};
    c = {m, n, Type::s32, false};
  }
};

std::string_view shape_of(const Instruction& instruction) {
  for (std::string_view word : instruction.modifiers)
    if (word.starts_with('m') && word.find('k') != word.npos) return word;
  return {};
}

std::vector<Type> types_of(const Instruction& instruction) {
  std::vector<Type> types;
  for (std::string_view word : instruction.modifiers)
    if (auto type = type_named(word)) types.push_back(*type);
  return types;
}

bool is_whole(Type type) { return is_integer(type) || element_bits(type) < 8; }

/// What a product of such factors can be accumulated in, and what holds an element.
Type wide_of(Type factor) { return factor == Type::f64 ? Type::f64 : Type::f32; }
Type register_of(Type element) { return element == Type::f64 ? Type::f64 : Type::b32; }

/// Of the factors that an accumulator of `shape` belongs to: those of two bytes lie alike.
Type factor_of(std::string_view shape) {
  return shape == "m16n16k8" ? Type::tf32 : shape == "m8n8k4" ? Type::f64 : Type::f16;
}

}  // namespace

bool Decoder::fragment(const FormMatch& match) {
  bool load = match.effect == Effect::load_fragment, factor = has("a") || has("b");
  Type type = types_of(*now_)[0];
  if (match.effect == Effect::multiply)
    return is_whole(type) ? multiply_integers(match) : multiply_fragments(match);
  const Operand& moved = now_->operands[load ? 0 : 1];
  std::string_view shape = shape_of(*now_);
  Matrix matrix;
  std::vector<Slot> slots;
  if (!is_whole(type)) {
    char which = has("a") ? 'a' : has("b") ? 'b' : 'd';
    FloatProduct product = factor ? FloatProduct(shape, wide_of(type), type, wide_of(type))
                                  : FloatProduct(shape, type, factor_of(shape), type);
    if (!fragment_slots(moved, product.registers_of(which), load, slots, register_of(type)))
      return false;
    matrix.m = which == 'b' ? product.whole.k : product.whole.m;
    matrix.n = which == 'a' ? product.whole.k : product.whole.n;
    matrix.a = product.cells(which, slots);
    unsigned along = has("col") ? matrix.m : matrix.n;
    return move_fragment(match, std::move(matrix), type, along);
  }
  IntegerProduct product(shape, type);
  const IntegerMatrix& whole = has("a") ? product.a : has("b") ? product.b : product.c;
  if (!fragment_slots(moved, whole.registers(), load, slots, Type::b32)) return false;
  matrix.a = whole.bytes(slots);
  unsigned packed = element_bits(type) < 8 ? 8 / element_bits(type) : 1;
  matrix.m = whole.by_columns ? whole.rows / packed : whole.rows;
  matrix.n = whole.by_columns ? whole.columns : whole.columns / packed;
  return move_fragment(match, std::move(matrix), type, has("col") ? whole.rows : whole.columns);
}

/// The registers of a fragment.
bool Decoder::fragment_slots(const Operand& operand, unsigned count, bool written,
                             std::vector<Slot>& slots, Type type) {
  std::vector<const Operand*> parts = elements(operand);
  if (operand.kind != Operand::Kind::vector || parts.size() != count)
    return complain(operand, "a vector of " + std::to_string(count) + " is expected");
  for (const Operand* part : parts)
    slots.push_back(written ? destination(*part, type) : source(*part, type));
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

/// D goes to scratch, since a tile reads A, B or C after another has written.
bool Decoder::multiply_fragments(const FormMatch& match) {
  std::vector<Type> types = types_of(*now_);
  Type factor = types.size() == 4 ? types[1] : Type::f16;
  FloatProduct product(shape_of(*now_), types[0], factor, types.back());
  std::array<std::vector<Slot>, 4> slots;  // D, A, B, C.
  for (std::size_t i = 0; i < 4; ++i)
    if (!fragment_slots(now_->operands[i], product.registers_of("dabc"[i]), i == 0, slots[i],
                        register_of(factor)))
      return false;
  std::vector<Slot> results = slots[0];
  for (Slot& slot : slots[0]) slot = scratch(slot.width);
  if (product.turned) std::swap(slots[1], slots[2]);
  Operation& op = emit(Effect::multiply, match.form);
  op.matrix = static_cast<std::uint32_t>(program_.matrices.size());
  unsigned steps = product.a.across;
  op.element_count = static_cast<std::uint8_t>(product.d.down * product.d.across * steps);
  FragmentMap map = make_fragment_map(product.tile);
  for (unsigned tile = 0; tile < product.d.down * product.d.across * steps; ++tile) {
    unsigned step = tile % steps, row = tile / steps / product.d.across;
    unsigned column = tile / steps % product.d.across;
    std::vector<Slot> all;
    auto take = [&](std::span<const Slot> some) {
      all.insert(all.end(), some.begin(), some.end());
    };
    take(product.d.at(slots[0], row, column));
    take(product.a.at(slots[1], row, step));
    take(product.b.at(slots[2], step, column));
    take(step == 0 ? product.c.at(slots[3], row, column) : product.d.at(slots[0], row, column));
    add_product(product.tile, map, all);
  }
  for (std::size_t i = 0; i < results.size(); ++i) emit_move(results[i], slots[0][i]);
  return true;
}

/// Products of at most sixteen rows by eight columns; D goes to scratch, since all read A or B.
bool Decoder::multiply_integers(const FormMatch& match) {
  std::vector<Type> types = types_of(*now_);
  IntegerProduct product(shape_of(*now_), types[1]);
  const IntegerMatrix& whole = product.c;
  std::array<const IntegerMatrix*, 4> matrices{&whole, &product.a, &product.b, &whole};
  std::array<std::vector<Slot>, 4> slots;
  for (std::size_t i = 0; i < 4; ++i)
    if (!fragment_slots(now_->operands[i], matrices[i]->registers(), i == 0, slots[i], Type::b32))
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
