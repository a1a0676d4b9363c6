// Counts symptoms in one pass over the entry's instructions, in the order of the text.

#include "planner/features.h"

#include <algorithm>
#include <map>
#include <set>

namespace lathe::planner {
namespace {

using ptx::Instruction;
using ptx::Operand;

bool has(const Instruction& instruction, std::string_view modifier) {
  const auto& all = instruction.modifiers;
  return std::find(all.begin(), all.end(), modifier) != all.end();
}

unsigned bits_in(std::string_view type) {
  unsigned bits = 0;
  for (char c : type)
    if (c >= '0' && c <= '9') bits = bits * 10 + static_cast<unsigned>(c - '0');
  return bits;
}

unsigned access_bytes(const Instruction& instruction) {
  unsigned lanes = 1, bits = 0;
  for (std::string_view modifier : instruction.modifiers) {
    if (modifier == "v2") lanes = 2;
    if (modifier == "v4") lanes = 4;
    if (modifier == "v8") lanes = 8;
  }
  if (!instruction.modifiers.empty()) bits = bits_in(instruction.modifiers.back());
  return lanes * bits / 8;
}

bool is_plain(const Instruction& instruction) {
  for (std::string_view modifier : instruction.modifiers)
    if (modifier.starts_with("L1::") || modifier.starts_with("L2::") || modifier == "nc" ||
        modifier == "cs" || modifier == "cg" || modifier == "lu" || modifier == "ca")
      return false;
  return true;
}

/// What a pass over the text remembers of registers.
struct Walk {
  Features features;
  std::map<std::string_view, std::uint64_t> chain;         // Length of the chain that ends there.
  std::map<std::string_view, std::string_view> operation;  // Of that chain.
  std::map<std::string_view, std::uint64_t> divisors;
  std::set<std::string_view> products, differences;

  void memory(const Instruction& instruction);
  void arithmetic(const Instruction& instruction);
  void step(const Instruction& instruction);
};

void Walk::memory(const Instruction& instruction) {
  if (!has(instruction, "global")) return;
  if (is_plain(instruction)) ++features.plain_accesses;
  if (instruction.opcode == "cp") return;
  (instruction.opcode == "ld" ? features.global_loads : features.global_stores) += 1;
  if (access_bytes(instruction) < 16) ++features.narrow_accesses;
}

void Walk::arithmetic(const Instruction& instruction) {
  const auto& operands = instruction.operands;
  std::string_view opcode = instruction.opcode;
  if (operands.size() < 3) return;
  bool associative = (opcode == "add" || opcode == "max" || opcode == "min") &&
                     (has(instruction, "f32") || has(instruction, "f16") ||
                      has(instruction, "f16x2") || has(instruction, "f64"));
  if (associative) {
    std::uint64_t longest = 0;
    for (std::size_t i = 1; i < operands.size(); ++i) {
      auto before = operation.find(operands[i].text);
      if (before != operation.end() && before->second == opcode)
        longest = std::max(longest, chain[operands[i].text]);
      if (opcode == "add" && products.erase(operands[i].text) > 0) ++features.contractions;
    }
    chain[operands[0].text] = longest + 1;
    operation[operands[0].text] = opcode;
    features.longest_chain = std::max(features.longest_chain, longest + 1);
  } else {
    operation.erase(operands[0].text);
  }
  if (opcode == "mul" && has(instruction, "f32")) {
    products.insert(operands[0].text);
    for (std::size_t i = 1; i < operands.size(); ++i)
      if (differences.erase(operands[i].text) > 0) ++features.contractions;
  }
  if (opcode == "sub" && has(instruction, "f32")) differences.insert(operands[0].text);
  bool floating = has(instruction, "f32") || has(instruction, "f64") || has(instruction, "f16");
  if (opcode == "div" && floating) {
    ++features.divisions;
    ++divisors[operands[2].text];
  }
}

void Walk::step(const Instruction& instruction) {
  std::string_view opcode = instruction.opcode;
  ++features.instructions;
  if (opcode == "ld" || opcode == "st" || opcode == "cp") memory(instruction);
  if (opcode == "bar" || opcode == "barrier") ++features.barriers;
  if (opcode == "shfl") ++features.shuffles;
  if (opcode == "cvt") ++features.conversions;
  if (opcode == "mma" || opcode == "wgmma" || opcode == "tcgen05") ++features.tensor_operations;
  if (opcode == "ex2" || opcode == "lg2" || opcode == "rcp" || opcode == "sqrt" ||
      opcode == "rsqrt" || opcode == "sin" || opcode == "cos" || opcode == "tanh")
    ++features.special_functions;
  arithmetic(instruction);
}

}  // namespace

Features features_of(const ptx::Module& module, std::string_view entry) {
  Walk walk;
  for (const ptx::Function& function : module.functions)
    if (function.entry && function.name == entry)
      for (const Instruction& instruction : function.instructions) walk.step(instruction);
  for (const auto& [_, count] : walk.divisors)
    if (count > 1) walk.features.shared_divisors += count;
  return walk.features;
}

}  // namespace lathe::planner
