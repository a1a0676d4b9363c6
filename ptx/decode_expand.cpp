// Instructions that are made of rows: comparisons with a predicate, set, slct, carries, mixed
// floats, address spaces.

#include <algorithm>
#include <bit>

#include "ptx/decoder.h"
#include "ptx/window.h"

namespace lathe::ptx {
namespace {

Form form_of(Type type) {
  Form form;
  form.type = type;
  return form;
}

Type unsigned_of(Type type) { return width_of(type) == 64 ? Type::u64 : Type::u32; }

/// lo, ls, hi and hs compare without sign.
Type compared_type(const Form& form, Type type) {
  bool unsigned_ = form.comparison >= Comparison::lo && form.comparison <= Comparison::hs;
  if (!unsigned_ || !is_signed(type)) return type;
  return width_of(type) == 16 ? Type::u16 : unsigned_of(type);
}

/// Where a space begins among generic addresses; 0: global, and what lies there.
std::uint64_t window_of(Space space) {
  return space == Space::shared || space == Space::cluster ? shared_window
         : space == Space::local                           ? local_window
         : space == Space::param                           ? parameter_window
                                                           : 0;
}

/// What set writes where the comparison holds: ones, or 1 in the type's format.
std::uint64_t true_bits(Type type) {
  switch (type) {
    case Type::f32:
      return 0x3F800000u;
    case Type::f16:
    case Type::f16x2:
      return 0x3C00;
    case Type::bf16:
    case Type::bf16x2:
      return 0x3F80;
    default:
      return 0xFFFFFFFFu;
  }
}

}  // namespace

bool Decoder::expand(const FormMatch& match) {
  std::string_view opcode = now_->opcode;
  if (opcode == "setp") return set_predicate(match);
  if (opcode == "set") return set(match);
  if (opcode == "selp") return select(match);
  if (opcode == "slct") return choose_by_sign(match);
  if (opcode == "dp4a" || opcode == "dp2a") return dot(match);
  if (opcode == "cvta") return space_address(match);
  if (opcode == "isspacep") return is_space(match);
  if (opcode == "lop3") return logic_of_three();
  if (match.row->others != 0) return mixed_float(match);
  return carry(match);
}

/// lop3, and with .or or .and a predicate made of the result and another predicate.
bool Decoder::logic_of_three() {
  const std::vector<Operand>& operands = now_->operands;
  bool boolean = has("or") || has("and"), pair = operands[0].kind == Operand::Kind::pair;
  if (boolean != pair) return complain(operands[0], "d|p goes with .or or .and");
  if (operands[4].kind != Operand::Kind::integer || operands[4].bits > 0xFF)
    return complain(operands[4], "the table of lop3 is a number below 256");
  Slot d = destination(pair ? operands[0].parts[0] : operands[0], Type::b32);
  Slot p = pair ? destination(operands[0].parts[1], Type::pred) : Slot{};
  Slot a = source(operands[1], Type::b32), b = source(operands[2], Type::b32);
  Slot c = source(operands[3], Type::b32);
  if (error_) return false;
  Slot q = pair ? predicate(operands[5]) : Slot{};
  if (error_) return false;
  Form form = form_of(Type::b32);
  form.constant = static_cast<std::uint32_t>(operands[4].bits);
  emit_row("$lop3", form, {d, a, b, c});
  if (!pair) return true;
  Form differs;
  differs.comparison = Comparison::ne;
  Slot truth = compare(differs, Type::b32, d, constant(0, 4));
  emit_row(has("and") ? "and" : "or", form_of(Type::pred), {p, truth, q});
  return true;
}

Slot Decoder::compare(Form form, Type type, Slot a, Slot b) {
  Slot truth = scratch(4);
  form.type = compared_type(form, type);
  if (type == Type::b16 || type == Type::b32 || type == Type::b64) form.type = type;
  emit_row("$setp", form, {truth, a, b});
  return truth;
}

bool Decoder::set_predicate(const FormMatch& match) {
  const std::vector<Operand>& operands = now_->operands;
  Type type = match.form.type;
  bool pair = operands[0].kind == Operand::Kind::pair, packed = is_pair(type);
  bool combines = has("and") || has("or") || has("xor");
  if (combines != (operands.size() > 3))
    return complain(combines ? "a predicate is missing" : "one operand too many");
  Slot p = destination(pair ? operands[0].parts[0] : operands[0], Type::pred);
  Slot q = pair ? destination(operands[0].parts[1], Type::pred) : Slot{};
  Slot a = source(operands[1], type), b = source(operands[2], type);
  if (error_) return false;
  Slot c = operands.size() > 3 ? predicate(operands[3]) : Slot{};
  if (error_) return false;
  Slot first, second;
  if (packed) {
    std::array<Slot, 2> truths;
    for (unsigned half = 0; half < 2; ++half) {
      Slot x = scratch(2), y = scratch(2);
      emit_piece(x, 0, a, 2 * half, 2);
      emit_piece(y, 0, b, 2 * half, 2);
      truths[half] = compare(match.form, half_of(type), x, y);
    }
    first = truths[0], second = truths[1];
  } else {
    first = compare(match.form, type, a, b);
    if (q.present()) {
      second = scratch(4);
      emit_row("not", form_of(Type::pred), {second, first});
    }
  }
  if (c.present()) {
    std::string_view opcode = has("and") ? "and" : has("or") ? "or" : "xor";
    if (q.present()) emit_row(opcode, form_of(Type::pred), {second, second, c});
    emit_row(opcode, form_of(Type::pred), {first, first, c});
  }
  emit_move(p, first);
  if (q.present()) emit_move(q, second);
  return true;
}

/// A comparison as a value; of packed halves each sets its own half.
bool Decoder::set(const FormMatch& match) {
  const std::vector<Operand>& operands = now_->operands;
  Type type = match.form.type, compared = match.form.other;
  bool combines = has("and") || has("or") || has("xor"), packed = is_pair(compared);
  if (combines != (operands.size() > 3))
    return complain(combines ? "a predicate is missing" : "one operand too many");
  Slot d = destination(operands[0], type);
  Slot a = source(operands[1], compared), b = source(operands[2], compared);
  if (error_) return false;
  bool narrow = width_of(compared) == 16 && is_float(compared);
  if (combines && narrow && operands[3].kind == Operand::Kind::integer)
    return complain(operands[3], "a predicate is expected");
  Slot c = combines ? predicate(operands[3]) : Slot{};
  if (error_) return false;
  unsigned width = packed ? 2 : cell_bytes(type);
  Slot yes = constant(true_bits(type), width), no = constant(0, width);
  auto truth_of = [&](Type each, Slot x, Slot y) {
    Slot truth = compare(match.form, each, x, y);
    std::string_view opcode = has("and") ? "and" : has("or") ? "or" : "xor";
    if (combines) emit_row(opcode, form_of(Type::pred), {truth, truth, c});
    return truth;
  };
  if (!packed) {
    Slot truth = truth_of(compared, a, b);
    emit_row("$selp", form_of(width == 2 ? Type::b16 : Type::b32), {d, yes, no, truth});
    return true;
  }
  std::array<Slot, 2> halves;
  for (unsigned half = 0; half < 2; ++half) {
    Slot x = scratch(2), y = scratch(2);
    emit_piece(x, 0, a, 2 * half, 2);
    emit_piece(y, 0, b, 2 * half, 2);
    halves[half] = scratch(2);
    emit_row("$selp", form_of(Type::b16),
             {halves[half], yes, no, truth_of(half_of(compared), x, y)});
  }
  for (unsigned half = 0; half < 2; ++half) emit_piece(d, 2 * half, halves[half], 0, 2);
  return true;
}

bool Decoder::select(const FormMatch& match) {
  Type type = match.form.type, moved = untyped_of(type);
  Slot d = destination(now_->operands[0], type);
  Slot a = source(now_->operands[1], type), b = source(now_->operands[2], type);
  if (error_) return false;
  Slot c = predicate(now_->operands[3]);
  if (error_) return false;
  emit_row("$selp", form_of(moved), {d, a, b, c});
  return true;
}

/// slct: the first where the selector is not negative; NaN selects the second.
bool Decoder::choose_by_sign(const FormMatch& match) {
  Type type = match.form.type, by = match.form.other;
  Slot d = destination(now_->operands[0], type);
  Slot a = source(now_->operands[1], type), b = source(now_->operands[2], type);
  Slot c = source(now_->operands[3], by);
  if (error_) return false;
  Form form = match.form;
  form.comparison = Comparison::ge;
  Slot truth = compare(form, by, c, constant(0, 4));
  emit_row("$selp", form_of(untyped_of(type)), {d, a, b, truth});
  return true;
}

/// add.cc, addc, sub.cc, subc, mad.cc, madc: the carry lives in two registers of both widths.
bool Decoder::carry(const FormMatch& match) {
  if (!carry32_.present()) {
    carry32_ = {allocate(4), 4};
    carry64_ = {allocate(8), 8};
    program_.constants.push_back({carry32_.place, 4, Constant::Kind::bits, 0});
    program_.constants.push_back({carry64_.place, 8, Constant::Kind::bits, 0});
  }
  std::string_view opcode = now_->opcode;
  Type type = unsigned_of(match.form.type);
  unsigned width = cell_bytes(type);
  Slot flag = width == 8 ? carry64_ : carry32_;
  bool takes = opcode.ends_with('c'), gives = has("cc"), subtracts = opcode.starts_with("sub");
  Slot d = destination(now_->operands[0], type);
  Slot a = source(now_->operands[1], type), b = source(now_->operands[2], type);
  if (error_) return false;
  if (opcode.starts_with("mad")) {
    Slot product = scratch(width), c = source(now_->operands[3], type);
    if (error_) return false;
    Form form = form_of(match.form.type);
    if (has("hi")) form.set(Flag::high);
    Operation& op = emit_row("mul", form, {product, a, b});
    for (std::size_t i = 0; i < rows().size(); ++i) {
      const Signature& s = rows()[i].signature;
      std::string_view wanted = has("hi") ? "mul.hi.type " : "mul.lo.type ";
      if (s.text.starts_with(wanted)) op.form.row = static_cast<std::uint16_t>(i);
    }
    a = product, b = c;
  }
  Slot in = takes ? flag : constant(0, width), out = scratch(width), sum = scratch(width);
  std::string_view row = subtracts ? "sub" : "add";
  if (gives) emit_row(subtracts ? "$sub" : "$add", form_of(type), {out, a, b, in});
  emit_row(row, form_of(type), {sum, a, b});
  emit_row(row, form_of(type), {d, sum, in});
  if (gives) {
    emit_piece(carry32_, 0, out, 0, 4);
    emit_piece(carry64_, 0, out, 0, 4);
  }
  return true;
}

/// add.f32.f16 and its kin: the narrow operand is exact in f32.
bool Decoder::mixed_float(const FormMatch& match) {
  std::vector<Slot> slots{destination(now_->operands[0], Type::f32)};
  bool fused = now_->opcode == "fma";
  std::size_t narrow = fused ? 2 : 1;
  for (std::size_t i = 1; i < now_->operands.size(); ++i) {
    if (i > narrow) {
      slots.push_back(source(now_->operands[i], Type::f32));
      continue;
    }
    Slot low = source(now_->operands[i], match.form.other), wide = scratch(4);
    if (error_) return false;
    Form form;
    form.type = Type::f32;
    form.other = match.form.other;
    Operation& op = emit(Effect::convert, form);
    op.places = {wide.place, low.place, low.place, low.place, low.place};
    slots.push_back(wide);
  }
  if (error_) return false;
  Form form = match.form;
  form.type = Type::f32;
  slots.resize(4, slots[1]);
  emit_row(now_->opcode, form, {slots[0], slots[1], slots[2], slots[3]});
  return true;
}

bool Decoder::dot(const FormMatch& match) {
  Slot d = destination(now_->operands[0], Type::b32);
  Slot a = source(now_->operands[1], Type::u32), b = source(now_->operands[2], Type::u32);
  Slot c = source(now_->operands[3], Type::u32);
  if (error_) return false;
  Form form = match.form;
  form.constant =
      (is_signed(form.type) ? 1u : 0u) | (is_signed(form.other) ? 2u : 0u) | (has("hi") ? 4u : 0u);
  form.type = Type::s32;
  emit_row(now_->opcode == "dp4a" ? "$dot4" : "$dot2", form, {d, a, b, c});
  return true;
}

bool Decoder::space_address(const FormMatch& match) {
  if (width_of(match.form.type) != 64) return complain("addresses of 32 bits are not modelled");
  Slot d = destination(now_->operands[0], Type::u64), a = source(now_->operands[1], Type::u64);
  if (error_) return false;
  Space space = space_of(*now_);
  std::uint64_t base = window_of(space);
  if (base == 0) {
    emit_move(d, a);
    return true;
  }
  emit_row(has("to") ? "sub" : "add", form_of(Type::u64), {d, a, constant(base, 8)});
  return true;
}

bool Decoder::is_space(const FormMatch&) {
  Slot d = destination(now_->operands[0], Type::pred), a = source(now_->operands[1], Type::u64);
  if (error_) return false;
  Space space = space_of(*now_);
  Form below = form_of(Type::u64);
  below.comparison = Comparison::lt;
  if (space == Space::constant) {  // Constants are not told from variables by their address.
    emit(Effect::unmodelled);
    return true;
  }
  if (space == Space::global) {
    emit_row("$setp", below, {d, a, constant(local_window, 8)});
    return true;
  }
  Slot from = scratch(8);
  emit_row("sub", form_of(Type::u64), {from, a, constant(window_of(space), 8)});
  emit_row("$setp", below, {d, from, constant(window_bytes, 8)});
  return true;
}

}  // namespace lathe::ptx
