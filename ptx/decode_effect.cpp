// Instructions as operations: rows with a meaning, moves, memory.

#include <algorithm>

#include "ptx/decoder.h"

namespace lathe::ptx {

bool Decoder::has(std::string_view modifier) const {
  return std::find(now_->modifiers.begin(), now_->modifiers.end(), modifier) !=
         now_->modifiers.end();
}

Operation& Decoder::emit(Effect effect, Form form) {
  Operation op;
  op.form = form;
  op.effect = effect;
  op.line = now_->span.line;
  op.column = now_->span.column;
  op.instruction = number_;
  if (now_->guard) {
    op.guard_negated = now_->guard->negated;
    if (auto slot = register_named(now_->guard->predicate))
      op.guard = slot->place;
    else
      complain("`" + std::string(now_->guard->predicate) + "` is no predicate register");
  }
  program_.operations.push_back(op);
  return program_.operations.back();
}

Operation& Decoder::emit_row(std::string_view opcode, Form form,
                             std::initializer_list<Slot> places) {
  form.row = row_named(opcode, form.type);
  Operation& op = emit(Effect::none, form);
  std::size_t i = 0;
  for (Slot slot : places) op.places[i++] = slot.place;
  for (; i < op.places.size(); ++i) op.places[i] = op.places[1];
  if (opcode == "$selp") op.definedness = Definedness::chosen;
  return op;
}

void Decoder::emit_move(Slot to, Slot from) {
  Operation& op = emit(Effect::move);
  op.fixed = {to, from};
}

void Decoder::emit_piece(Slot to, unsigned to_byte, Slot from, unsigned from_byte, unsigned bytes) {
  Operation& op = emit(Effect::piece);
  op.fixed = {to, from};
  op.element_bytes = static_cast<std::uint8_t>(bytes);
  op.slot_begin = to_byte;
  op.slot_count = static_cast<std::uint16_t>(from_byte);
}

Space Decoder::space_of(const Instruction& instruction) const {
  for (std::string_view word : instruction.modifiers) {
    if (word == "global") return Space::global;
    if (word == "shared" || word == "shared::cta") return Space::shared;
    if (word == "shared::cluster") return Space::cluster;
    if (word == "local") return Space::local;
    if (word.starts_with("param")) return Space::param;
    if (word == "const") return Space::constant;
  }
  return Space::generic;
}

bool Decoder::meaning(const FormMatch& match) {
  const Signature& signature = match.row->signature;
  std::vector<Slot> places;
  Slot d = destination(now_->operands[0], signature.destination.in(match.form.type));
  for (std::size_t i = 1; i < now_->operands.size(); ++i) {
    Type type = signature.sources[i - 1].in(match.form.type, match.form.other);
    places.push_back(source(now_->operands[i], type));
    if (error_) return false;
  }
  Operation& op = emit(Effect::none, match.form);
  op.places[0] = d.place;
  for (std::size_t i = 1; i < op.places.size(); ++i)
    op.places[i] = i <= places.size() ? places[i - 1].place : places[0].place;
  return !error_;
}

bool Decoder::effect(const FormMatch& match) {
  switch (match.effect) {
    case Effect::expand:
      return expand(match);
    case Effect::move:
      return move();
    case Effect::convert:
      return convert(match);
    case Effect::load:
    case Effect::store:
      return memory(match);
    case Effect::atomic:
      return atomic(match);
    case Effect::copy_async:
      return copy_async();
    case Effect::wait_async:
      return wait_async(match);
    case Effect::load_matrix:
    case Effect::store_matrix:
    case Effect::transpose_matrix:
      return matrix(match);
    case Effect::load_fragment:
    case Effect::store_fragment:
    case Effect::multiply:
      if (now_->opcode == "wmma") return fragment(match);
      return now_->opcode == "wgmma" ? warpgroup_multiply(match) : multiply(match);
    case Effect::warpgroup:
      return warpgroup_sync(match);
    case Effect::barrier:
      return barrier();
    case Effect::fence:
      return fence();
    case Effect::mbarrier:
      return mbarrier();
    case Effect::branch:
      return branch();
    case Effect::policy: {
      Slot d = destination(now_->operands[0], Type::b64);
      if (error_ || !plain(match)) return false;
      emit_move(d, constant(0, 8));
      return true;
    }
    case Effect::exit:
      return leave(match);
    case Effect::prefetch:
      if (has("bulk")) return prefetch_bulk(match);
      return idle(match);
    case Effect::stack:
      return stack(match);
    case Effect::unmodelled:
      return without_meaning(match);
    case Effect::commit_async:
    case Effect::nothing:
    case Effect::trap:
      return idle(match);
    default:
      return asynchronous(match);
  }
}

bool Decoder::wait_async(const FormMatch& match) {
  Operation& op = emit(match.effect, match.form);
  op.mode = has("wait_all") ? Mode::wait_all : Mode::wait_group;
  if (op.mode == Mode::wait_group)
    op.form.constant = static_cast<std::uint32_t>(now_->operands[0].bits);
  return true;
}

/// Its operands are looked at as those of its kin that has a meaning.
bool Decoder::without_meaning(const FormMatch& match) {
  if (has("mma") && now_->opcode == "tcgen05") return tensor_multiply(match);
  if (now_->opcode == "mma") return multiply_scaled(match);
  if (now_->opcode == "call" && !call_fits()) return false;
  if (now_->opcode == "red" || (now_->opcode == "st" && has("async"))) return store_async(match);
  return idle(match);
}

/// An instruction without an effect on values.
bool Decoder::idle(const FormMatch& match) {
  if (!plain(match)) return false;
  emit(match.effect, match.form);
  return true;
}

/// Operands that nothing is done with: each of the kind and type that the row's notation names.
bool Decoder::plain(const FormMatch& match) {
  const Signature& signature = match.row->signature;
  std::string_view text = signature.text;
  text.remove_prefix(std::min(text.find(' '), text.size()));
  for (std::size_t i = 0; i < now_->operands.size() && i <= sources_max; ++i) {
    std::string_view one = text.substr(0, std::min(text.find(',', 1), text.size()));
    text.remove_prefix(std::min(one.size() + 1, text.size()));
    const Operand& operand = now_->operands[i];
    if (one.find("label") != std::string_view::npos) {
      if (operand.kind != Operand::Kind::name || find(operand.text))
        return complain(operand, "a label is expected");
      continue;
    }
    bool named = one.find(':') != std::string_view::npos, number = one.find(" n") != one.npos;
    if (number && operand.kind != Operand::Kind::integer)
      return complain(operand, "a number is expected");
    Address where;
    bool tensor = one.find('[') != one.npos && now_->opcode == "tcgen05";
    if (tensor && !tensor_address(operand, where)) return false;
    if (now_->opcode == "prefetch" && !address(operand, where)) return false;
    if (number || one.find('[') != one.npos || (!named && match.row->types == 0)) continue;
    const OperandType& own = i == 0 ? signature.destination : signature.sources[i - 1];
    Type type = own.in(match.form.type, match.form.other);
    bool result = i == 0 && one.find(" d") != one.npos;
    std::vector<const Operand*> parts = elements(operand);
    if (parts.size() != (has("v4") && i == 0 ? 4 : 1))
      return complain(operand, "as many elements as the modifiers say");
    for (const Operand* part : parts) {
      if (result)
        destination(*part, type);
      else
        source(*part, type);
      if (error_) return false;
    }
  }
  return true;
}

/// Two numbers of 4 bits have registers of 8, two of 6 or 8 bits have registers of 16.
bool Decoder::narrow_fits(const Operand& operand, Type type) {
  static constexpr std::array pairs{Type::e4m3x2, Type::e5m2x2, Type::e3m2x2, Type::e2m3x2};
  bool bytes = std::find(pairs.begin(), pairs.end(), type) != pairs.end();
  if (type != Type::e2m1x2 && !bytes) return true;
  unsigned bits = bytes ? 16 : 8;
  std::optional<Named> named = find(operand.text);
  if (named && named->kind == Named::Kind::registers && named->bits != bits)
    return complain(operand, "a register of " + std::to_string(bits) + " bits is expected for ." +
                                 std::string(name_of(type)));
  return true;
}

bool Decoder::move() {
  const Operand &to = now_->operands[0], &from = now_->operands[1];
  std::optional<Type> type = type_named(now_->modifiers.back());
  Type moved = type ? (*type == Type::pred ? Type::pred : untyped_of(*type)) : Type::b32;
  bool unpack = to.kind == Operand::Kind::vector, pack = from.kind == Operand::Kind::vector;
  if (!unpack && !pack) {
    Slot d = destination(to, moved), a = source(from, type.value_or(moved));
    if (error_) return false;
    emit_move(d, a);
    return true;
  }
  const std::vector<Operand>& parts = unpack ? to.parts : from.parts;
  unsigned bytes = width_of(moved) / 8, each = bytes / static_cast<unsigned>(parts.size());
  if (unpack && pack) return complain("a vector is moved to a scalar, or a scalar to a vector");
  if (parts.size() < 2 || each == 0 || each * parts.size() != bytes)
    return complain("the vector's elements do not fill ." + std::string(name_of(moved)));
  Type part_type = each == 1 ? Type::b8 : each == 2 ? Type::b16 : each == 4 ? Type::b32 : Type::b64;
  Slot whole = unpack ? source(from, moved) : destination(to, moved);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto at = static_cast<unsigned>(i) * each;
    Slot part = unpack ? destination(parts[i], part_type) : source(parts[i], part_type);
    if (error_) return false;
    if (unpack)
      emit_piece(part, 0, whole, at, each);
    else
      emit_piece(whole, at, part, 0, each);
  }
  return true;
}

bool Decoder::memory(const FormMatch& match) {
  bool load = match.effect == Effect::load;
  Type type = match.form.type;
  const Operand& moved = now_->operands[load ? 0 : 1];
  std::vector<const Operand*> parts = elements(moved);
  unsigned count = has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
  if (parts.size() != count)
    return complain(moved, "a vector of " + std::to_string(count) + " is expected");
  if (count * width_of(type) > 256) return complain("one access has at most 32 bytes");
  if (now_->opcode == "multimem" && !ordering_fits()) return false;
  std::vector<Slot> slots;
  for (const Operand* part : parts) {
    Slot slot = load ? loose_destination(*part, type) : loose_source(*part, type);
    if (error_) return false;
    if (slot.width < cell_bytes(type)) return complain(*part, "the register is too narrow");
    std::optional<Named> named = find(part->text);
    if (now_->opcode == "multimem" && named && named->bits != width_of(type))
      return complain(*part, "the register has another width than the type");
    slots.push_back(slot);
  }
  Address where;
  if (!address(now_->operands[load ? 1 : 0], where)) return false;
  if (has("L2::cache_hint")) source(now_->operands.back(), Type::u64);
  if (error_) return false;
  Operation& op = emit(match.effect, match.form);
  op.address = where;
  op.space = space_of(*now_);
  if (op.space == Space::param && is_local(now_->operands[load ? 1 : 0])) op.space = Space::local;
  op.access = load ? AccessKind::read : AccessKind::write;
  op.element_bytes = static_cast<std::uint8_t>(width_of(type) / 8);
  op.element_count = static_cast<std::uint8_t>(count);
  op.read_only = has("nc");
  op.multicast = now_->opcode == "multimem";
  op.strong = has("volatile") || has("relaxed") || has("acquire") || has("release");
  if (op.multicast) op.space = Space::global;
  op.slot_begin = static_cast<std::uint32_t>(program_.slots.size());
  op.slot_count = static_cast<std::uint16_t>(count);
  program_.slots.insert(program_.slots.end(), slots.begin(), slots.end());
  return true;
}

bool Decoder::discard(const FormMatch& match) {
  if (!plain(match)) return false;
  if (now_->operands[1].bits != discarded_bytes)
    return complain(now_->operands[1], "a discard is of 128 bytes");
  Address where;
  if (!address(now_->operands[0], where)) return false;
  Operation& op = emit(match.effect, match.form);
  op.address = where;
  op.space = space_of(*now_);
  op.access = AccessKind::write;
  return true;
}

bool Decoder::copy_async() {
  Address to, from;
  if (!address(now_->operands[0], to) || !address(now_->operands[1], from)) return false;
  if (now_->operands[2].kind != Operand::Kind::integer)
    return complain(now_->operands[2], "the size of a copy is a number");
  std::uint64_t bytes = now_->operands[2].bits;
  if (!(bytes == 16 || (has("ca") && (bytes == 4 || bytes == 8))))
    return complain(now_->operands[2], "a copy has 4, 8 or 16 bytes, and 16 with .cg");
  Slot size, ignore;
  bool hint = has("L2::cache_hint");
  if (hint) source(now_->operands.back(), Type::u64);
  if (error_) return false;
  if (now_->operands.size() > 3 && !(hint && now_->operands.size() == 4)) {
    const Operand& operand = now_->operands[3];
    std::optional<Named> named = find(operand.text);
    if (operand.kind == Operand::Kind::negated || (named && named->predicate))
      ignore = predicate(operand);
    else
      size = source(operand, Type::u32);
    if (error_) return false;
  }
  Operation& op = emit(Effect::copy_async);
  op.address = to;
  op.source = from;
  op.element_bytes = static_cast<std::uint8_t>(bytes);
  op.element_count = 1;
  op.space = Space::shared;
  op.fixed = {size, ignore};
  return true;
}

}  // namespace lathe::ptx
