// Low zero bits through sums, products, shifts and masks, from parameters on.

#include "planner/subagents/alignment.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace lathe::planner {
namespace {

constexpr unsigned depth_max = 64;

unsigned zeros(std::uint64_t bits) {
  return bits == 0 ? 64u : static_cast<unsigned>(std::countr_zero(bits));
}

/// `.ptr .global .align 16` in the declaration.
std::uint64_t pointee_alignment(std::string_view text) {
  std::size_t pointer = text.find(".ptr");
  if (pointer == std::string_view::npos) return 1;
  std::size_t align = text.find(".align", pointer);
  if (align == std::string_view::npos) return 1;
  align = text.find_first_not_of(" \t", align + 6);
  std::uint64_t bytes = 1;
  if (align != std::string_view::npos)
    std::from_chars(text.data() + align, text.data() + text.size(), bytes);
  return std::has_single_bit(bytes) ? bytes : 1;
}

}  // namespace

unsigned Alignment::zeros_of(RegisterId id, Index index, unsigned depth) {
  auto maker = site_.flow.reaching(id, index);
  return maker && depth < depth_max ? made_by(*maker, depth + 1) : 0;
}

unsigned Alignment::operand(const ptx::Operand& operand, Index index, unsigned depth) {
  if (operand.kind == ptx::Operand::Kind::integer) return zeros(operand.bits);
  if (operand.kind != ptx::Operand::Kind::name || !operand.parts.empty()) return 0;
  auto id = site_.flow.find(index, operand.text);
  return id ? zeros_of(*id, index, depth) : 0;
}

unsigned Alignment::promised(std::size_t parameter) const {
  const Contract* contract = site_.contract;
  const ptx::Function& function = site_.flow.function();
  const ptx::Span& span = function.parameters[parameter].span;
  unsigned declared = zeros(pointee_alignment(
      std::string_view(*site_.module.text).substr(span.begin, span.end - span.begin)));
  if (!contract || parameter >= contract->parameters.size()) return declared;
  auto of = [](const Parameter& known, const std::vector<Tensor>& tensors) {
    if (!known.tensor) return zeros(known.bits);
    return *known.tensor < tensors.size() ? zeros(tensors[*known.tensor].align) : 0u;
  };
  unsigned least = of(contract->parameters[parameter], contract->tensors);
  for (const Case& one : contract->cases)
    least = parameter < one.parameters.size()
                ? std::min(least, of(one.parameters[parameter], one.tensors))
                : 0;
  return std::max(least, declared);
}

unsigned Alignment::parameter(const ptx::Operand& address) const {
  if (address.kind != ptx::Operand::Kind::address || address.offset != 0) return 0;
  const auto& parameters = site_.flow.function().parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].name == address.parts[0].text) return promised(i);
  return 0;
}

unsigned Alignment::made_by(Index maker, unsigned depth) {
  auto known = known_.find(maker);
  if (known != known_.end()) return known->second;
  known_[maker] = 0;
  const ptx::Instruction& made = site_.flow.at(maker);
  std::string_view opcode = made.opcode;
  if (made.guard || made.operands.size() < 2 || made.operands[0].kind != ptx::Operand::Kind::name ||
      made.modifiers.empty() || made.modifiers.back().front() == 'f')
    return 0;
  auto of = [&](std::size_t i) { return operand(made.operands[i], maker, depth); };
  unsigned out = 0;
  if (opcode == "ld" && has_modifier(made, "param")) out = parameter(made.operands[1]);
  // A conversion to more bits keeps low zeros; so does one to fewer.
  if (opcode == "mov" || opcode == "cvt" || (opcode == "cvta" && made.operands.size() == 2))
    out = of(1);
  if (made.operands.size() >= 3) {
    if (opcode == "add" || opcode == "sub" || opcode == "or" || opcode == "xor")
      out = std::min(of(1), of(2));
    if (opcode == "and") out = std::max(of(1), of(2));
    bool whole = has_modifier(made, "lo") || has_modifier(made, "wide");
    if (opcode == "mul" && whole) out = std::min(64u, of(1) + of(2));
    if (opcode == "shl" && made.operands[2].kind == ptx::Operand::Kind::integer &&
        made.operands[2].bits < 64)
      out = std::min(64u, of(1) + static_cast<unsigned>(made.operands[2].bits));
    if (opcode == "mad" && whole && made.operands.size() == 4)
      out = std::min(std::min(64u, of(1) + of(2)), of(3));
  }
  known_[maker] = out;
  return out;
}

}  // namespace lathe::planner
