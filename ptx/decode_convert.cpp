// cvt as operations: one of a pair of types, and two of them for four packed results.

#include "ptx/decoder.h"

namespace lathe::ptx {
namespace {

/// Of four packed, the type of two.
Type two_of(Type quad) {
  switch (quad) {
    case Type::e2m1x4:
      return Type::e2m1x2;
    case Type::e2m3x4:
      return Type::e2m3x2;
    case Type::e3m2x4:
      return Type::e3m2x2;
    case Type::e4m3x4:
      return Type::e4m3x2;
    default:
      return Type::e5m2x2;
  }
}

}  // namespace

bool Decoder::convert(const FormMatch& match) {
  if (is_quad(match.form.type)) return convert_four(match);
  Form form = match.form;
  const std::vector<Operand>& operands = now_->operands;
  bool scaled = form.has(Flag::scaled), drawn = form.rounding == Rounding::rs;
  bool two = operands.size() - (scaled || drawn ? 1 : 0) == 3;
  Type to_type = form.type, from_type = form.other;
  Slot d = loose_destination(operands[0], to_type == Type::tf32 ? Type::b32 : to_type);
  Slot a = loose_source(operands[1], from_type);
  Slot b = two ? loose_source(operands[2], from_type) : a;
  if (error_) return false;
  if (!narrow_fits(operands[0], to_type) || !narrow_fits(operands[1], from_type)) return false;
  // The oldest conversions alone take registers that are wider than their types.
  auto basic = [](Type type) {
    return is_integer(type) || type == Type::f16 || type == Type::f32 || type == Type::f64;
  };
  bool halves = (to_type == Type::f16 || to_type == Type::f16x2) && from_type == Type::f32;
  bool loose = halves || (basic(to_type) && basic(from_type) && !has("satfinite"));
  if (!loose && (d.width != cell_bytes(to_type) || a.width != cell_bytes(from_type) ||
                 b.width != cell_bytes(from_type)))
    return complain("a register has another width than its type in a conversion");
  if (d.width < cell_bytes(to_type) || a.width < cell_bytes(from_type) ||
      b.width < cell_bytes(from_type))
    return complain("a register is narrower than its type in a conversion");
  auto narrowed = [&](Slot wide) {
    if (wide.width == cell_bytes(from_type)) return wide;
    Slot low = scratch(cell_bytes(from_type));
    emit_piece(low, 0, wide, 0, cell_bytes(from_type));
    return low;
  };
  a = narrowed(a);
  b = two ? narrowed(b) : a;
  Slot extra = a;
  if (scaled) extra = source(operands.back(), Type::b16);
  if (drawn) extra = source(operands.back(), Type::b32);
  if (error_) return false;
  Slot result = d.width > cell_bytes(to_type) ? scratch(cell_bytes(to_type)) : d;
  Operation& op = emit(Effect::convert, form);
  op.places = {result.place, a.place, b.place, extra.place, a.place};
  op.flag = two;
  if (result.place == d.place) return true;
  // The register is wider: the result is extended as its type says.
  Form wider;
  wider.other = to_type;
  wider.type = d.width == 4 ? (is_signed(to_type) ? Type::s32 : Type::u32)
                            : (is_signed(to_type) ? Type::s64 : Type::u64);
  if (!is_integer(to_type)) wider.other = width_of(to_type) == 16 ? Type::u16 : Type::u32;
  if (width_of(to_type) == 8 && !is_integer(to_type)) wider.other = Type::u8;
  wider.row = form.row;
  Operation& extend = emit(Effect::convert, wider);
  extend.places = {d.place, result.place, result.place, result.place, result.place};
  return true;
}

/// Four floats, the first uppermost, to four packed: two conversions of two, put together.
bool Decoder::convert_four(const FormMatch& match) {
  const std::vector<Operand>& operands = now_->operands;
  Type pair = two_of(match.form.type);
  Slot d = destination(operands[0], match.form.type);
  std::vector<const Operand*> parts = elements(operands[1]);
  if (error_) return false;
  if (parts.size() != 4) return complain(operands[1], "a vector of four is expected");
  std::vector<Slot> from;
  for (const Operand* part : parts) from.push_back(source(*part, Type::f32));
  Slot random = source(operands[2], Type::b32);
  if (error_) return false;
  std::array<Slot, 2> halves{scratch(cell_bytes(pair)), scratch(cell_bytes(pair))};
  for (unsigned upper = 0; upper < 2; ++upper) {
    Form form = match.form;
    form.type = pair;
    form.constant = upper;
    Slot a = from[upper != 0 ? 0 : 2], b = from[upper != 0 ? 1 : 3];
    Operation& op = emit(Effect::convert, form);
    op.places = {halves[upper].place, a.place, b.place, random.place, a.place};
    op.flag = true;
  }
  unsigned bytes = width_of(pair) / 8;
  for (unsigned upper = 0; upper < 2; ++upper)
    emit_piece(d, upper * bytes, halves[upper], 0, bytes);
  return true;
}

}  // namespace lathe::ptx
