// tcgen05 as operations.

#include "ptx/decoder.h"

namespace lathe::ptx {
namespace {

/// The modifier that begins so.
std::string_view starting(const Instruction& instruction, std::string_view with) {
  for (std::string_view word : instruction.modifiers)
    if (word.starts_with(with)) return word;
  return {};
}

unsigned group_of(const Instruction& instruction) {
  return starting(instruction, "cta_group::") == "cta_group::2" ? 2 : 1;
}

/// Registers of tcgen05.ld and st: by shape, a multiple of the count.
unsigned registers_of(std::string_view shape, unsigned count) {
  if (shape == "16x128b") return 2 * count;
  if (shape == "16x256b") return 4 * count;
  return count;
}

}  // namespace

bool Decoder::tensor_memory(const FormMatch& match) {
  const std::vector<Operand>& operands = now_->operands;
  bool frees = has("dealloc"), takes = has("alloc");
  Address where;
  Slot first, second;
  if (takes) {
    if (!address(operands[0], where)) return false;
    first = source(operands[1], Type::b32);
  } else if (frees) {
    first = source(operands[0], Type::b32);
    second = source(operands[1], Type::b32);
  }
  if (error_) return false;
  Operation& op = emit(match.effect, match.form);
  op.mode = takes ? Mode::init : frees ? Mode::inval : Mode::arrive;
  op.address = where;
  op.space = where.base.width == 4 || has("shared::cta") ? Space::shared : Space::generic;
  op.access = AccessKind::write;
  op.element_bytes = 4;
  op.element_count = 1;
  op.fixed = {first, second};
  return true;
}

bool Decoder::tensor_move(const FormMatch& match) {
  bool load = match.effect == Effect::tensor_load;
  const std::vector<Operand>& operands = now_->operands;
  AsyncForm form;
  for (std::string_view shape : {"32x32b"sv, "16x64b"sv, "16x128b"sv, "16x256b"sv, "16x32bx2"sv})
    if (has(shape)) form.shape = shape;
  unsigned count = 1;
  for (unsigned n = 1; n <= 128; n *= 2)
    if (has("x" + std::to_string(n))) count = n;
  unsigned wanted = registers_of(form.shape, count);
  if (wanted > 128) return complain("this shape has no count of x" + std::to_string(count));
  form.shift = has("pack::16b") || has("unpack::16b");
  const Operand& moved = operands[load ? 0 : operands.size() - 1];
  std::vector<const Operand*> parts = elements(moved);
  if (parts.size() != wanted)
    return complain(moved, "a vector of " + std::to_string(wanted) + " is expected");
  bool split = form.shape == "16x32bx2";
  if (operands.size() != (split ? 3u : 2u))
    return complain(split ? "16x32bx2 has an offset of its second half" : "two operands");
  if (split) form.scale_input = static_cast<std::uint32_t>(operands[load ? 2 : 1].bits);
  std::vector<Slot> slots;
  for (const Operand* part : parts) {
    slots.push_back(load ? destination(*part, Type::b32) : source(*part, Type::b32));
    if (error_) return false;
  }
  Address where;
  if (!address(operands[load ? 1 : 0], where)) return false;
  Operation& op = emit_async(match.effect, match, std::move(form));
  op.address = where;
  add_slots(op, slots);
  return true;
}

bool Decoder::tensor_multiply(const FormMatch& match) {
  const std::vector<Operand>& operands = now_->operands;
  AsyncForm form;
  form.group = group_of(*now_);
  form.kind = starting(*now_, "kind::");
  form.stationary = has("ws");
  Address d;
  if (!address(operands[0], d)) return false;
  form.a_in_tensor = operands[1].kind == Operand::Kind::address;
  if (form.a_in_tensor) {
    if (!address(operands[1], form.a_tensor)) return false;
  } else {
    form.a_descriptor = source(operands[1], Type::b64);
  }
  form.b_descriptor = source(operands[2], Type::b64);
  form.descriptor = source(operands[3], Type::b32);
  if (error_) return false;
  std::size_t next = 4;
  if (next < operands.size() && operands[next].kind == Operand::Kind::vector) {
    for (const Operand* part : elements(operands[next++])) {
      form.disabled.push_back(source(*part, Type::b32));
      if (error_) return false;
    }
    if (form.disabled.size() != 4 * form.group)
      return complain(operands[4], "the lanes of D are four words a block");
  }
  if (next >= operands.size()) return complain("the predicate of D is missing");
  form.accumulate = predicate(operands[next++]);
  if (error_) return false;
  if (next < operands.size()) {
    form.scale_input = static_cast<std::uint32_t>(operands[next].bits);
    if (operands[next].kind != Operand::Kind::integer || form.scale_input > 15 ||
        (form.kind != "kind::f16" && form.kind != "kind::tf32"))
      return complain(operands[next], "D is scaled by 2^-n, n from 0 to 15, of kinds f16 and tf32");
  }
  Operation& op = emit_async(match.effect, match, std::move(form));
  op.address = d;
  return true;
}

bool Decoder::tensor_commit(const FormMatch& match) {
  AsyncForm form;
  form.group = group_of(*now_);
  Address where;
  if (!address(now_->operands[0], where)) return false;
  if (has("multicast::cluster")) {
    if (now_->operands.size() != 2) return complain("the blocks of the multicast are missing");
    form.multicast = source(now_->operands[1], Type::u16);
    if (error_) return false;
  }
  emit_async(match.effect, match, std::move(form)).address = where;
  return true;
}

bool Decoder::tensor_copy(const FormMatch& match) {
  AsyncForm form;
  form.group = group_of(*now_);
  for (std::string_view shape : {"128x256b"sv, "4x256b"sv, "128x128b"sv, "64x128b"sv, "32x128b"sv})
    if (has(shape)) form.shape = shape;
  form.scale_input = has("warpx2::01_23") ? 1 : 0;
  bool four = form.shape == "32x128b", two = form.shape == "64x128b";
  if (four != has("warpx4") || two != (has("warpx2::02_13") || has("warpx2::01_23")))
    return complain("this shape is copied to other quarters of the lanes",
                    "32x128b is .warpx4, 64x128b .warpx2::02_13 or .warpx2::01_23");
  Address where;
  if (!address(now_->operands[0], where)) return false;
  form.a_descriptor = source(now_->operands[1], Type::b64);
  if (error_) return false;
  emit_async(match.effect, match, std::move(form)).address = where;
  return true;
}

}  // namespace lathe::ptx
