// wgmma as products of sixteen rows: each warp of a warpgroup owns sixteen rows of D, whose
// registers lie as those of one mma.sync for each eight columns (manual, figures of 9.7.15.5).

#include <charconv>

#include "ptx/decoder.h"
#include "ptx/fragment.h"

namespace lathe::ptx {
namespace {

/// N of "m64n256k16"; 0 where it is no such shape.
unsigned columns_of(std::string_view shape) {
  unsigned n = 0;
  if (!shape.starts_with("m64n")) return 0;
  std::from_chars(shape.data() + 4, shape.data() + shape.size(), n);
  return n;
}

}  // namespace

/// One matrix for each eight columns: A and B in the same registers, D in its own. Of a sparse A
/// half of the columns are there.
void Decoder::add_slices(const FragmentShape& shape, unsigned slices, const std::vector<Slot>& a,
                         const std::vector<Slot>& b, const std::vector<Slot>& d,
                         const Matrix& sparse) {
  FragmentMap map = make_fragment_map(shape);
  if (sparse.chunk != 0) {
    FragmentShape stored = shape;
    stored.k /= 2;
    map.a = make_fragment_map(stored).a;
  }
  auto cells = [](const std::vector<FragmentPlace>& places, const Slot* slots) {
    std::vector<Cell> list;
    for (FragmentPlace at : places) {
      list.push_back(slots[at.slot].cell(at.lane, at.byte));
      list.back().bit = at.bit;
    }
    return list;
  };
  for (unsigned slice = 0; slice < slices; ++slice) {
    Matrix matrix{shape.m, shape.n, shape.k, shape.d, shape.a, shape.b, shape.c, {}, {}, {}, {}};
    matrix.a = cells(map.a, a.data());
    matrix.b = cells(map.b, b.data());
    matrix.d = cells(map.d, d.data() + slice * shape.d_registers);
    matrix.c = matrix.d;
    matrix.chunk = sparse.chunk, matrix.selector = sparse.selector;
    matrix.metadata = sparse.metadata;
    if (sparse.chunk == 0) set_order(matrix, shape);
    auto own = d.begin() + slice * shape.d_registers;
    std::vector<Slot> slots(own, own + shape.d_registers);
    slots.insert(slots.end(), a.begin(), a.end());
    slots.insert(slots.end(), b.begin(), b.end());
    slots.insert(slots.end(), own, own + shape.d_registers);
    for (const Slot& slot : slots) matrix.registers.push_back(slot.place);
    program_.matrices.push_back(std::move(matrix));
  }
}

bool Decoder::warpgroup_sync(const FormMatch& match) {
  Operation& op = emit(Effect::warpgroup, match.form);
  op.mode = has("fence") ? Mode::sync : has("wait_group") ? Mode::wait_group : Mode::arrive;
  if (op.mode == Mode::wait_group)
    op.form.constant = static_cast<std::uint32_t>(now_->operands[0].bits);
  return true;
}

/// Metadata and selector of a sparse product.
bool Decoder::warpgroup_metadata(Matrix& sparse) {
  const std::vector<Operand>& operands = now_->operands;
  if (operands[4].kind != Operand::Kind::integer || operands[4].bits > 3)
    return complain(operands[4], "the selector of a sparse product is a number below 4");
  if (operands[3].kind != Operand::Kind::name)
    return complain(operands[3], "the metadata are a register");
  sparse.metadata = source(operands[3], Type::u32);
  sparse.selector = static_cast<std::uint8_t>(operands[4].bits);
  return !error_;
}

/// The product of sixteen rows by eight columns that a shape is made of; its A has all columns.
std::optional<FragmentShape> Decoder::warpgroup_slice(const std::vector<Type>& types) const {
  unsigned bytes = types[1] == Type::b1 ? 0 : width_of(types[1]) / 8;
  std::string_view dense = bytes == 0   ? "m16n8k256"
                           : bytes == 1 ? "m16n8k32"
                           : bytes == 2 ? "m16n8k16"
                                        : "m16n8k8";
  std::string_view wide = bytes == 1 ? "m16n8k64" : bytes == 2 ? "m16n8k32" : "m16n8k16";
  return fragment_shape(has("sp") ? wide : dense, types[0], types[1], types[2], types[0]);
}

bool Decoder::warpgroup_multiply(const FormMatch& match) {
  std::vector<Type> types;
  std::string_view shape;
  for (std::string_view word : now_->modifiers) {
    if (auto type = type_named(word)) types.push_back(*type);
    if (word.starts_with("m64")) shape = word;
  }
  const std::vector<Operand>& operands = now_->operands;
  bool is_sparse = has("sp");
  std::size_t scaled = is_sparse ? 5 : 3;  // The operand that says whether D is added.
  std::array<bool, 2> negated{};
  for (std::size_t i = 0; i < 2 && scaled + 1 + i < operands.size(); ++i) {
    const Operand& sign = operands[scaled + 1 + i];
    negated[i] = sign.bits == ~std::uint64_t{0};
    if (sign.kind != Operand::Kind::integer || (sign.bits != 1 && !negated[i]))
      return complain(sign, "an operand is scaled by 1 or -1");
  }
  auto fragment = types.size() == 3 ? warpgroup_slice(types) : std::nullopt;
  unsigned slices = columns_of(shape) / 8;
  std::vector<const Operand*> parts = elements(operands[0]);
  if (!fragment || parts.size() != slices * fragment->d_registers)
    return complain(operands[0], "the vector of D does not fit the shape");
  std::vector<Slot> d, a, b;
  for (const Operand* part : parts) {
    d.push_back(destination(*part, Type::b32));
    read_.push_back(d.back().place);
  }
  Slot a_descriptor;
  bool from_registers = operands[1].kind == Operand::Kind::vector;
  if (from_registers)
    for (const Operand* part : elements(operands[1])) a.push_back(source(*part, Type::b32));
  else
    a_descriptor = source(operands[1], Type::b64);
  Slot b_descriptor = source(operands[2], Type::b64);
  Matrix sparse;
  if (is_sparse && !error_ && !warpgroup_metadata(sparse)) return false;
  if (is_sparse) sparse.chunk = types[1] == Type::tf32 ? 2 : 4;
  Slot scale = predicate(operands[scaled]);
  if (error_) return false;
  if (from_registers && a.size() != 4) return complain(operands[1], "A in registers has four");
  while (a.size() < 4) a.push_back(scratch(4));
  while (b.size() < fragment->b_registers) b.push_back(scratch(4));
  auto transposed = [&](std::size_t i) {
    return scaled + i < operands.size() && operands[scaled + i].bits != 0;
  };
  Operation& op = emit(Effect::multiply, match.form);
  op.mode = Mode::sync;
  op.fixed = {a_descriptor, b_descriptor, scale};
  op.form.constant =
      (from_registers || !transposed(3) ? 0u : 1u) | (transposed(from_registers ? 3 : 4) ? 2u : 0u);
  if (negated[0] != negated[1]) op.form.constant |= 4;
  op.flag = has("satfinite");
  op.element_bytes = static_cast<std::uint8_t>(width_of(types[1]) / 8);
  op.element_count = static_cast<std::uint8_t>(slices);
  op.matrix = static_cast<std::uint32_t>(program_.matrices.size());
  add_slices(*fragment, slices, a, b, d, sparse);
  return true;
}

}  // namespace lathe::ptx
