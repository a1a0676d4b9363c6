// Operands that the assembler does not look at: of another kind than the manual's, and taken all
// the same. Nobody says what such an instruction does, so it is decoded as a trap.

#include <algorithm>

#include "ptx/decoder.h"

namespace lathe::ptx {
namespace {

constexpr int any_place = -1;

/// Kinds are letters: h, r, l, q a register of 16, 32, 64, 128 bits; p a predicate, ! its negation;
/// v a vector of two registers; n an integer, f a float; _ the sink.
struct Unlooked {
  std::string_view opcodes, beside, without;  // Words: all of the one, none of the other.
  int place;
  std::string_view kinds;
};

// clang-format off
constexpr std::array unlooked_operands{
    // Two bf16 as two registers.
    Unlooked{"abs neg add sub mul min max fma", "bf16x2", "", any_place, "v"},
    Unlooked{"set setp", "bf16x2", "", 1, "v"},
    Unlooked{"set setp", "bf16x2", "", 2, "v"},
    Unlooked{"set setp", "bf16x2", "and or xor", 2, "p!"},
    Unlooked{"set", "1:bf16x2", "", 0, "pv"},
    Unlooked{"cvt", "1:bf16x2 2:f32", "", 0, "v"},
    Unlooked{"cvt", "1:bf16x2 2:ue8m0x2", "", 0, "pv"},
    Unlooked{"cvt", "1:ue8m0x2 2:bf16x2", "", 1, "pvf!"},
    Unlooked{"multimem", "ld_reduce bf16x2", "v2 v4 v8", 0, "p"},
    Unlooked{"multimem", "ld_reduce e4m3x4", "v2 v4 v8", 0, "p"},
    Unlooked{"multimem", "ld_reduce e5m2x4", "v2 v4 v8", 0, "p"},
    Unlooked{"multimem", "st bf16x2", "v2 v4 v8", 1, "nf"},
    Unlooked{"multimem", "st e4m3x4", "v2 v4 v8", 1, "nf"},
    Unlooked{"multimem", "st e5m2x4", "v2 v4 v8", 1, "nf"},
    Unlooked{"add sub fma", "1:f32 2:bf16", "", 1, "n"},
    Unlooked{"fma", "1:f32 2:bf16", "", 2, "n"},
    // Registers wider than what is read of them.
    Unlooked{"cvt", "pack", "", any_place, "lq"},
    Unlooked{"cvt", "pack", "", 3, "f"},
    Unlooked{"fns", "", "", 1, "f"},
    Unlooked{"fns", "", "", 2, "f"},
    Unlooked{"fns", "", "", 3, "f"},
    Unlooked{"tensormap", "rank", "", 1, "f"},
    Unlooked{"movmatrix", "", "", 0, "p"},
    Unlooked{"movmatrix", "", "", 1, "pf!"},
    // Metadata and scales of products, and matrices of few bits.
    Unlooked{"mma", "sp", "e4m3 e5m2 s4 u4", 4, "pv!"},
    Unlooked{"mma", "sp::ordered_metadata", "e4m3 e5m2 s4 u4", 4, "pv!"},
    Unlooked{"mma", "sp", "e4m3 e5m2", 4, "f"},
    Unlooked{"mma", "sp::ordered_metadata", "e4m3 e5m2", 4, "f"},
    Unlooked{"mma", "sp m16n8k32 s32", "", 1, "rpf!"},
    Unlooked{"mma", "sp::ordered_metadata m16n8k32 s32", "", 1, "rpf!"},
    Unlooked{"mma", "m16n8k16 e4m3", "", 2, "v"},
    Unlooked{"mma", "m16n8k16 e5m2", "", 2, "v"},
    Unlooked{"mma", "block_scale", "", 4, "pvf!"},
    Unlooked{"mma", "block_scale", "", 6, "pvf!"},
    Unlooked{"wgmma", "sp", "", 3, "pvf!"},
    Unlooked{"tcgen05", "mma kind::i8", "ws sp", 5, "pn"},
    Unlooked{"tcgen05", "mma kind::i8 sp", "ws", 6, "pn"},
    // Places in shared memory, and an operand too many.
    Unlooked{"red", "shared", "async", 0, "_"},
    Unlooked{"red", "shared::cta", "async", 0, "_"},
    Unlooked{"red", "shared::cluster", "async", 0, "_"},
    Unlooked{"mbarrier", "arrive", "expect_tx", 2, "v"},
    Unlooked{"mbarrier", "arrive_drop", "expect_tx", 2, "v"},
    Unlooked{"cp", "bulk mbarrier::complete_tx::bytes", "tensor reduce", 3, "hln"},
    Unlooked{"cp", "bulk reduce mbarrier::complete_tx::bytes", "tensor", 3, "ln"},
    Unlooked{"cp", "bulk tensor mbarrier::complete_tx::bytes", "", 0, "hrlqpf!"},
    Unlooked{"cp", "bulk tensor mbarrier::complete_tx::bytes", "", 2, "hrlqpf!"},
    Unlooked{"cp", "bulk tensor bulk_group", "", 1, "hrlqpf!"},
    Unlooked{"atom", "and b32", "L2::cache_hint", 3, "r"},
    Unlooked{"atom", "or b32", "L2::cache_hint", 3, "r"},
    Unlooked{"atom", "xor b32", "L2::cache_hint", 3, "r"},
    Unlooked{"atom", "exch b32", "L2::cache_hint", 3, "r"},
    Unlooked{"atom", "exch b128", "L2::cache_hint", 3, "q"},
};
// clang-format on

/// All words of a list; "1:f32" is f32 as the first type.
bool all_there(const Instruction& instruction, std::string_view list) {
  std::vector<std::string_view> types;
  for (std::string_view word : instruction.modifiers)
    if (type_named(word)) types.push_back(word);
  const auto& words = instruction.modifiers;
  while (!list.empty()) {
    std::size_t end = std::min(list.find(' '), list.size());
    std::string_view word = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    bool placed = word.size() > 2 && word[1] == ':' && (word[0] == '1' || word[0] == '2');
    auto place = static_cast<std::size_t>(word[0] - '1');
    if (placed ? place >= types.size() || types[place] != word.substr(2)
               : std::find(words.begin(), words.end(), word) == words.end())
      return false;
  }
  return true;
}

}  // namespace

/// The letter of an operand's kind, or a blank.
char Decoder::kind_of(const Operand& operand) const {
  switch (operand.kind) {
    case Operand::Kind::integer:
      return 'n';
    case Operand::Kind::float_bits:
      return 'f';
    case Operand::Kind::negated:
      return '!';
    case Operand::Kind::vector:
      return operand.parts.size() == 2 ? 'v' : ' ';
    case Operand::Kind::name:
      break;
    default:
      return ' ';
  }
  if (operand.text == "_") return '_';
  std::optional<Named> named = find(operand.text);
  if (!named || named->kind != Named::Kind::registers) return ' ';
  if (named->predicate) return 'p';
  switch (named->bits) {
    case 16:
      return 'h';
    case 32:
      return 'r';
    case 64:
      return 'l';
    default:
      return named->bits == 128 ? 'q' : ' ';
  }
}

/// What st.async stores need not be as many as its modifiers say, only of the type.
bool Decoder::stores_any_count() const {
  if (now_->opcode != "st" || now_->operands.size() != 3 || !has("mbarrier::complete_tx::bytes"))
    return false;
  if (now_->operands[0].kind != Operand::Kind::address ||
      now_->operands[2].kind != Operand::Kind::address)
    return false;
  std::optional<Type> type;
  for (std::string_view word : now_->modifiers)
    if (type_named(word)) type = type_named(word);
  if (!type) return false;
  auto fits = [&](const Operand& operand) {
    if (operand.kind == Operand::Kind::integer) return !is_float(*type);
    if (operand.kind == Operand::Kind::float_bits) return *type == Type::f32;
    std::optional<Named> named = find(operand.text);
    return named && named->kind == Named::Kind::registers && !named->predicate &&
           named->bits == width_of(*type);
  };
  const Operand& stored = now_->operands[1];
  if (stored.kind != Operand::Kind::vector) return fits(stored);
  if (is_untyped(*type) && !has("v2") && !has("v4")) return false;
  return (stored.parts.size() == 2 || stored.parts.size() == 4) &&
         std::all_of(stored.parts.begin(), stored.parts.end(), fits);
}

bool Decoder::has_unlooked_operand() const {
  if (stores_any_count()) return true;
  // Behind one operand too many stands another of the wrong kind where a word is missing.
  std::size_t descriptor = has("sp") ? 4 : 3;
  if (now_->opcode == "tcgen05" && now_->operands.size() > descriptor &&
      kind_of(now_->operands[descriptor]) != 'r')
    return false;
  return std::any_of(unlooked_operands.begin(), unlooked_operands.end(), [&](const Unlooked& each) {
    if (!has_word(each.opcodes, now_->opcode) || !all_there(*now_, each.beside)) return false;
    for (std::string_view word : now_->modifiers)
      if (has_word(each.without, word)) return false;
    for (std::size_t i = 0; i < now_->operands.size(); ++i)
      if ((each.place == any_place || each.place == static_cast<int>(i)) &&
          each.kinds.find(kind_of(now_->operands[i])) != std::string_view::npos)
        return true;
    return false;
  });
}

}  // namespace lathe::ptx
