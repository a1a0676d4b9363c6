// Reading precision off instructions.

#include "verifier_node/precision.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace lathe::verifier_node {
namespace {

using std::string_view_literals::operator""sv;

struct Bits {
  std::string_view name;
  unsigned significant;
};
constexpr std::array widths{Bits{"f64", 53}, Bits{"f32", 24}, Bits{"tf32", 11}, Bits{"f16", 11},
                            Bits{"bf16", 8}, Bits{"e4m3", 4}, Bits{"e5m2", 3},  Bits{"e2m3", 4},
                            Bits{"e3m2", 3}, Bits{"e2m1", 2}};

/// Significant bits of a float format; 0: it is none.
unsigned bits_of_format(std::string_view name) {
  for (const Bits& width : widths)
    if (width.name == name) return width.significant;
  return 0;
}

/// Formats of D, A and B, where the instruction is a product of floats.
std::vector<unsigned> formats_of(const ptx::Instruction& instruction) {
  std::vector<unsigned> formats;
  if (instruction.opcode == "tcgen05") {
    for (const auto& modifier : instruction.modifiers) {
      if (modifier == "kind::f16") return {24, 11, 11};
      if (modifier == "kind::tf32") return {24, 11, 11};
      if (std::string_view(modifier).starts_with("kind::f8") ||
          std::string_view(modifier).starts_with("kind::mxf"))
        return {24, 2, 2};
    }
    return {};
  }
  if (instruction.opcode != "mma" && instruction.opcode != "wgmma") return {};
  for (const auto& modifier : instruction.modifiers)
    if (unsigned bits = bits_of_format(modifier)) formats.push_back(bits);
  return formats;
}

}  // namespace

std::optional<Coarse> coarse_function(const ptx::Module& reference, const ptx::Module& candidate,
                                      const std::string& entry) {
  auto first = [&](const ptx::Module& module) -> std::optional<Coarse> {
    const ptx::Function* function = module.find_entry(entry);
    if (function == nullptr) return std::nullopt;
    for (const ptx::Instruction& instruction : function->instructions)
      if (instruction.opcode == "tanh")
        return Coarse{instruction.span.line,
                      "tanh.approx is exact to 2^-11 only, and the reference "
                      "does without it"};
    return std::nullopt;
  };
  return first(reference) ? std::nullopt : first(candidate);
}

std::optional<Coarse> below_contract(const ptx::Module& candidate, const std::string& entry,
                                     const Precision& precision) {
  const ptx::Function* function = candidate.find_entry(entry);
  if (function == nullptr) return std::nullopt;
  unsigned operand = bits_of_format(precision.operand);
  unsigned accumulate = bits_of_format(precision.accumulate);
  bool ieee = precision.tensor_cores && !*precision.tensor_cores;
  for (const ptx::Instruction& instruction : function->instructions) {
    std::vector<unsigned> formats = formats_of(instruction);
    if (formats.size() < 3) continue;
    std::uint32_t line = instruction.span.line;
    if (ieee && formats[1] < 53)
      return Coarse{line, "the contract asks for IEEE arithmetic, and this is a matrix unit"};
    if (formats[0] < accumulate)
      return Coarse{line, "sums are kept in fewer bits than the contract's accumulator"};
    if (std::min(formats[1], formats[2]) < operand)
      return Coarse{line, "matrix operands have fewer bits than the contract's"};
  }
  return std::nullopt;
}

}  // namespace lathe::verifier_node
