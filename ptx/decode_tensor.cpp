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
    first = source(operands[1], Type::u32);
  } else if (frees) {
    first = source(operands[0], Type::u32);
    second = source(operands[1], Type::u32);
  }
  if (error_) return false;
  const Operand* number = operands.size() > 1 ? &operands[1] : nullptr;
  if (number && number->kind == Operand::Kind::integer &&
      (number->bits < 32 || number->bits > 512 || (number->bits & (number->bits - 1)) != 0))
    return complain(*number, "columns are allotted by powers of two from 32 to 512");
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

/// Tensor memory has addresses of 32 bits.
bool Decoder::tensor_address(const Operand& operand, Address& out) {
  if (!address(operand, out)) return false;
  if (out.base.present() && out.base.width != 4)
    return complain(operand, "an address of tensor memory has 32 bits");
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
  if (!product_vector(moved, wanted)) return false;
  bool split = form.shape == "16x32bx2";
  if (operands.size() != (split ? 3u : 2u))
    return complain(split ? "16x32bx2 has an offset of its second half" : "two operands");
  if (split && operands[load ? 2 : 1].kind != Operand::Kind::integer)
    return complain(operands[load ? 2 : 1], "the offset is a number");
  if (split) form.scale_input = static_cast<std::uint32_t>(operands[load ? 2 : 1].bits);
  std::vector<Slot> slots;
  for (const Operand* part : parts) {
    slots.push_back(load ? destination(*part, Type::b32) : source(*part, Type::u32));
    if (error_) return false;
  }
  Address where;
  if (!tensor_address(operands[load ? 1 : 0], where)) return false;
  Operation& op = emit_async(match.effect, match, std::move(form));
  op.address = where;
  add_slots(op, slots);
  return true;
}

/// What stands before the predicate: the matrices, metadata, the descriptor and scales.
bool Decoder::tensor_factors(AsyncForm& form, Address& d, std::size_t& next) {
  const std::vector<Operand>& operands = now_->operands;
  if (!tensor_address(operands[0], d)) return false;
  form.a_in_tensor = operands[1].kind == Operand::Kind::address;
  if (form.a_in_tensor) {
    if (!tensor_address(operands[1], form.a_tensor)) return false;
  } else {
    form.a_descriptor = source(operands[1], Type::u64);
  }
  form.b_descriptor = source(operands[2], Type::u64);
  next = 3;
  form.sparse = has("sp");
  if (form.sparse && !tensor_address(operands[next++], form.metadata)) return false;
  form.descriptor = source(operands[next++], Type::u32);
  if (!has("block_scale")) return !error_;
  bool four = has("scale_vec::4X") || has("block16");
  form.blocks = form.kind == "kind::mxf8f6f4" ? 1 : four ? 4 : 2;
  return tensor_address(operands[next++], form.a_scales) &&
         tensor_address(operands[next++], form.b_scales) && !error_;
}

bool Decoder::tensor_multiply(const FormMatch& match) {
  const std::vector<Operand>& operands = now_->operands;
  AsyncForm form;
  form.group = group_of(*now_);
  form.kind = starting(*now_, "kind::");
  form.stationary = has("ws");
  form.shift = has("ashift");
  Address d;
  std::size_t next = 0;
  if (!tensor_factors(form, d, next)) return false;
  bool plain = !form.stationary && !has("block_scale");
  if (plain && next < operands.size() && operands[next].kind == Operand::Kind::vector) {
    for (const Operand* part : elements(operands[next++])) {
      form.disabled.push_back(source(*part, Type::b32));
      if (error_) return false;
    }
    if (form.disabled.size() != 4 * form.group)
      return complain(operands[next - 1], "the lanes of D are four words a block");
  }
  if (next >= operands.size()) return complain("the predicate of D is missing");
  form.accumulate = predicate(operands[next++]);
  if (error_) return false;
  if (next < operands.size() && form.stationary) {
    form.zero_columns = source(operands[next++], Type::u64);
  } else if (next < operands.size() && plain) {
    form.scale_input = static_cast<std::uint32_t>(operands[next].bits);
    if (operands[next].kind != Operand::Kind::integer || form.scale_input > 15 ||
        (form.kind != "kind::f16" && form.kind != "kind::tf32"))
      return complain(operands[next], "D is scaled by 2^-n, n from 0 to 15, of kinds f16 and tf32");
    ++next;
  }
  if (error_) return false;
  if (next != operands.size()) return complain(operands[next], "one operand too many");
  if (match.effect == Effect::unmodelled) {
    emit(match.effect, match.form);
    return true;
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
  } else if (now_->operands.size() != 1) {
    return complain("only a multicast names blocks");
  }
  emit_async(match.effect, match, std::move(form)).address = where;
  return true;
}

bool Decoder::tensor_copy(const FormMatch& match) {
  AsyncForm form;
  form.group = group_of(*now_);
  Address where;
  form.shift = has("shift");
  if (form.shift) {
    if (!tensor_address(now_->operands[0], where) || error_) return false;
    emit_async(match.effect, match, std::move(form)).address = where;
    return true;
  }
  form.packed_bits = has("b4x16_p64") ? 4 : has("b6x16_p32") ? 6 : 0;
  for (std::string_view shape : {"128x256b"sv, "4x256b"sv, "128x128b"sv, "64x128b"sv, "32x128b"sv})
    if (has(shape)) form.shape = shape;
  form.scale_input = has("warpx2::01_23") ? 1 : 0;
  bool four = form.shape == "32x128b", two = form.shape == "64x128b";
  if (four != has("warpx4") || two != (has("warpx2::02_13") || has("warpx2::01_23")))
    return complain("this shape is copied to other quarters of the lanes",
                    "32x128b is .warpx4, 64x128b .warpx2::02_13 or .warpx2::01_23");
  if (!tensor_address(now_->operands[0], where)) return false;
  form.a_descriptor = source(now_->operands[1], Type::u64);
  if (error_) return false;
  emit_async(match.effect, match, std::move(form)).address = where;
  return true;
}

}  // namespace lathe::ptx
