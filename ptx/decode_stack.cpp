// The stack of a thread: alloca, stacksave, stackrestore, and what a function gives back.

#include <algorithm>
#include <bit>

#include "ptx/decoder.h"

namespace lathe::ptx {
namespace {

constexpr std::uint64_t frame_align = 8, align_max = 1u << 23;

}  // namespace

Slot Decoder::stack_pointer() {
  if (stack_.present()) return stack_;
  stack_ = {allocate(8), 8};
  program_.constants.push_back({stack_.place, stack_.width, Constant::Kind::stack, 0});
  return stack_;
}

void Decoder::restore_stack(Slot to) {
  Operation& op = emit(Effect::stack);
  op.flag = true;
  op.fixed = {Slot{}, to, stack_pointer()};
}

bool Decoder::stack(const FormMatch& match) {
  const std::vector<Operand>& operands = now_->operands;
  Type type = match.form.type;
  if (now_->opcode == "stacksave") {
    Slot d = destination(operands[0], type);
    if (error_) return false;
    if (d.present()) emit_piece(d, 0, stack_pointer(), 0, d.width);
    return true;
  }
  if (now_->opcode == "stackrestore") {
    if (operands[0].kind == Operand::Kind::integer)
      return complain(operands[0], "a register that stacksave set is expected");
    Slot from = source(operands[0], type);
    if (error_) return false;
    restore_stack(from);
    return true;
  }
  Slot d = destination(operands[0], type), bytes = source(operands[1], type);
  if (error_) return false;
  std::uint64_t align = frame_align;
  if (operands.size() > 2) {
    align = operands[2].bits;
    if (operands[2].kind != Operand::Kind::integer || !std::has_single_bit(align) ||
        align > align_max)
      return complain(operands[2], "an alignment is a power of two of at most 8388608");
  }
  Operation& op = emit(match.effect, match.form);
  op.form.constant = static_cast<std::uint32_t>(std::max(align, frame_align));
  op.fixed = {d, bytes, stack_pointer()};
  return true;
}

/// The stack lies above the variables, which are all known by now.
void Decoder::place_stack() {
  if (!stack_.present()) return;
  constexpr std::uint64_t begin_align = 16;
  program_.stack_bytes = stack_bytes_max;
  program_.local_bytes =
      (program_.local_bytes + begin_align - 1) / begin_align * begin_align + stack_bytes_max;
}

}  // namespace lathe::ptx
