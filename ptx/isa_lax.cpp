// What the assembler takes though no manual says so: words too many and too few. Whoever carries
// such an instruction out meets a trap (decode.cpp); text that holds one is still parsed, printed
// and judged by what else it does.

#include <algorithm>
#include <array>

#include "ptx/isa_rules.h"

namespace lathe::ptx {
namespace {

/// A word that the assembler does not look at, beside all of `beside` and none of `without`, behind
/// so many others.
struct Extra {
  std::string_view opcodes, beside, without, words;
  std::size_t behind = 0;
};
/// A word that it does not miss, beside the same.
struct Lacking {
  std::string_view opcode, beside, without, word;
  std::ptrdiff_t behind = 0;
};

// clang-format off
constexpr std::array extras{
    Extra{"mma", "sp", "", "v2 v4"},
    Extra{"mma", "sp::ordered_metadata", "", "v2 v4"},
    Extra{"wmma", "", "mma", "v2 v4", 2},
    Extra{"fence", "proxy tensormap::generic release", "", "shared shared::cta shared::cluster",
          1},
    Extra{"fence", "proxy async::generic", "", "global shared shared::cta shared::cluster", 1},
    Extra{"cp", "bulk", "tensor prefetch reduce commit_group wait_group", "cta cluster gpu sys",
          2},
    Extra{"st", "async mbarrier::complete_tx::bytes", "shared::cluster", "shared shared::cta", 1},
    Extra{"subc addc", "s32", "cc", "sat"},
    Extra{"rcp", "f64", "approx", "ftz"},
    Extra{"fma", "bf16", "f32 rn", "rz rm rp"},
    Extra{"fma", "bf16x2", "f32 rn", "rz rm rp"},
    Extra{"fma", "oob", "bf16 bf16x2 relu ftz", "sat"},
};
constexpr std::array lackings{
    Lacking{"testp", "", "finite infinite number notanumber normal subnormal", "finite"},
    Lacking{"fma", "bf16 rz", "f32 rn rm rp", "rn"},
    Lacking{"fma", "bf16 rm", "f32 rn rz rp", "rn"},
    Lacking{"fma", "bf16 rp", "f32 rn rz rm", "rn"},
    Lacking{"fma", "bf16x2 rz", "rn rm rp", "rn"},
    Lacking{"fma", "bf16x2 rm", "rn rz rp", "rn"},
    Lacking{"fma", "bf16x2 rp", "rn rz rm", "rn"},
    Lacking{"tcgen05", "ld sync", "aligned", "aligned", 2},
    Lacking{"tcgen05", "st sync", "aligned", "aligned", 2},
    Lacking{"st", "async sys", "release weak mbarrier::complete_tx::bytes mmio", "release", 1},
    Lacking{"st", "async gpu", "release weak mbarrier::complete_tx::bytes mmio", "release", 1},
};
// clang-format on

bool all_there(const Instruction& instruction, std::string_view list) {
  const auto& words = instruction.modifiers;
  while (!list.empty()) {
    std::size_t end = std::min(list.find(' '), list.size());
    if (std::find(words.begin(), words.end(), list.substr(0, end)) == words.end()) return false;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return true;
}
bool any_there(const Instruction& instruction, std::string_view list) {
  return std::any_of(instruction.modifiers.begin(), instruction.modifiers.end(),
                     [&](std::string_view word) { return has_word(list, word); });
}

/// `.v4` beside vectors that have four elements each, and so on.
bool counts_vectors(const Instruction& instruction, std::string_view word) {
  auto wanted = static_cast<std::size_t>(word[1] - '0');
  return std::all_of(
      instruction.operands.begin(), instruction.operands.end(), [&](const Operand& operand) {
        return operand.kind != Operand::Kind::vector || operand.parts.size() == wanted;
      });
}

bool is_extra(const Instruction& instruction, std::size_t place) {
  std::string_view word = instruction.modifiers[place];
  if (has_word("v2 v4", word) && !counts_vectors(instruction, word)) return false;
  return std::any_of(extras.begin(), extras.end(), [&](const Extra& extra) {
    return has_word(extra.opcodes, instruction.opcode) && has_word(extra.words, word) &&
           place >= extra.behind && all_there(instruction, extra.beside) &&
           !any_there(instruction, extra.without);
  });
}

}  // namespace

std::optional<Instruction> manual_spelling(const Instruction& instruction) {
  Instruction plain = instruction;
  plain.modifiers.clear();
  for (std::size_t i = 0; i < instruction.modifiers.size(); ++i)
    if (!is_extra(instruction, i)) plain.modifiers.push_back(instruction.modifiers[i]);
  if (instruction.opcode == "barrier" && plain.modifiers.size() == 2 &&
      plain.modifiers[1] == "sync")
    std::reverse(plain.modifiers.begin(), plain.modifiers.end());
  auto& words = plain.modifiers;
  for (const Lacking& lacking : lackings)
    if (lacking.opcode == instruction.opcode && all_there(instruction, lacking.beside) &&
        !any_there(instruction, lacking.without))
      words.insert(std::min(words.begin() + lacking.behind, words.end()), lacking.word);
  if (plain.modifiers == instruction.modifiers) return std::nullopt;
  return plain;
}

bool is_beyond_manual(const Instruction& instruction, const RowText& row) {
  const Signature& signature = row.signature;
  auto begin = signature.elements.begin(), end = begin + signature.element_count;
  bool extra = std::any_of(
      instruction.modifiers.begin(), instruction.modifiers.end(), [&](std::string_view word) {
        return !type_named(word) && std::none_of(begin, end, [&](const Element& element) {
          return element.kind == Element::Kind::words && stands_for(element, word);
        });
      });
  bool lacking = std::any_of(begin, end, [&](const Element& element) {
    return element.kind == Element::Kind::words && !element.optional && element.text != "aligned" &&
           std::none_of(instruction.modifiers.begin(), instruction.modifiers.end(),
                        [&](std::string_view word) { return stands_for(element, word); });
  });
  return extra || lacking;
}

}  // namespace lathe::ptx
