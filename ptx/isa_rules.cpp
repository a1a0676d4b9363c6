// Rules between modifiers, as the manual states them beside the forms and the assembler enforces
// them. "1:f32" stands for f32 as the first type, "2:f32" as the second.

#include "ptx/isa_rules.h"

#include <algorithm>
#include <array>
#include <vector>

namespace lathe::ptx {
namespace {

enum class Must : std::uint8_t { need, exclude };

struct Rule {
  std::string_view opcodes;
  std::string_view when;  // One of these is there; empty: always.
  Must must;
  std::string_view words;  // One of these must be there, or none of them.
  unsigned operands = 0;   // Only with so many operands; 0: with any.
};

constexpr std::string_view not_global =
    "shared shared::cta shared::cluster local const param param::entry param::func";
constexpr std::string_view spaces =
    "global shared shared::cta shared::cluster local const param param::entry param::func";
constexpr std::string_view scopes = "cta cluster gpu sys";
constexpr std::string_view priorities =
    "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate "
    "L2::evict_normal L2::evict_first L2::evict_last L2::64B L2::128B L2::256B L2::cache_hint";

// clang-format off
constexpr std::array rules{
    // Whole warps name their lanes on every target that we have.
    Rule{"vote shfl", "", Must::need, "sync"},
    Rule{"min max", "xorsign", Must::need, "abs"},
    Rule{"min max", "abs", Must::need, "xorsign", 3},
    // Comparisons: order without sign is of unsigned types, bits have none.
    Rule{"setp", "lo ls hi hs", Must::need, "1:u16 1:u32 1:u64"},
    Rule{"set", "lo ls hi hs", Must::need, "2:u16 2:u32 2:u64"},
    Rule{"setp", "lt le gt ge", Must::exclude, "1:b16 1:b32 1:b64"},
    Rule{"set", "lt le gt ge", Must::exclude, "2:b16 2:b32 2:b64"},
    Rule{"setp", "ftz", Must::need, "1:f32 1:f16 1:f16x2"},
    Rule{"set slct", "ftz", Must::need, "2:f32 2:f16 2:f16x2"},
    // Conversions: flushing is of f32.
    Rule{"cvt", "ftz", Must::need, "f32"},
    Rule{"cvt", "sat", Must::exclude, "bf16"},
    Rule{"cvt", "u8 s8", Must::exclude, "bf16"},
    // Memory: who names a scope names an order, and the other way round.
    Rule{"ld st", scopes, Must::need, "relaxed acquire release mmio"},
    Rule{"ld st", "relaxed acquire release", Must::need, scopes},
    Rule{"ld st", "weak volatile", Must::exclude, scopes},
    Rule{"ld", "", Must::exclude, "release acq_rel sc wb wt"},
    Rule{"st", "", Must::exclude, "acquire acq_rel sc ca lu cv nc"},
    Rule{"ld", "ca cg cs lu cv", Must::exclude, "volatile relaxed acquire mmio"},
    Rule{"st", "wb cg cs wt", Must::exclude, "volatile relaxed release mmio"},
    Rule{"ld st", "mmio", Must::need, "sys"},
    Rule{"ld", "nc", Must::need, "global"},
    Rule{"ld st", priorities, Must::exclude, not_global},
    Rule{"ld st", "L2::evict_normal L2::evict_first L2::evict_last", Must::need, "v8 v4"},
    Rule{"ldu", "", Must::exclude, not_global},
    Rule{"ldu", "", Must::exclude, "v8"},
    Rule{"prefetch", "L2::evict_last L2::evict_normal", Must::exclude, not_global},
    Rule{"prefetch", "", Must::exclude, "shared shared::cta shared::cluster param::func"},
    Rule{"prefetch", "L1 L2 L2::evict_last L2::evict_normal", Must::exclude, "const"},
    Rule{"prefetch", "tensormap", Must::exclude, "local global"},
    Rule{"prefetch", "L1 L2", Must::exclude, "param param::entry"},
    Rule{"cvta", "", Must::need, "u32 u64"},
    Rule{"mapa getctarank", "", Must::exclude, "b32 b64"},
    Rule{"mapa getctarank", "", Must::exclude,
         "global local const param param::entry param::func shared shared::cta"},
    Rule{"fence", "", Must::exclude, "weak volatile relaxed mmio"},
    Rule{"fence", "proxy", Must::exclude, "shared"},
    Rule{"cp", "ca cg", Must::need, "shared shared::cta"},
    Rule{"cp", "multicast::cluster", Must::exclude, "shared::cta"},
    Rule{"ld", "lu cv", Must::exclude, "L1::evict_normal L1::evict_unchanged L1::evict_first "
         "L1::evict_last L1::no_allocate"},
    // Barrier objects: within a cluster, an order with its scope.
    Rule{"mbarrier", "", Must::exclude, "gpu sys weak volatile mmio sc acq_rel"},
    Rule{"mbarrier", "cta cluster", Must::need, "release relaxed acquire"},
    Rule{"mbarrier", "release relaxed acquire", Must::need, "cta cluster"},
    Rule{"mbarrier", "arrive arrive_drop", Must::exclude, "acquire"},
    Rule{"mbarrier", "test_wait try_wait", Must::exclude, "release"},
    Rule{"mbarrier", "pending_count", Must::exclude,
         "shared shared::cta release relaxed acquire cta cluster expect_tx noComplete"},
    Rule{"barrier", "cluster", Must::exclude, "acq_rel sc weak volatile mmio"},
    Rule{"barrier", "arrive", Must::exclude, "acquire"},
};
// clang-format on

/// The words of an instruction, its types also by their place.
class Words {
 public:
  explicit Words(const Instruction& instruction) : instruction_(instruction) {
    for (std::string_view word : instruction.modifiers)
      if (type_named(word)) types_.push_back(word);
  }
  bool any_of(std::string_view list) const { return !first_of(list).empty(); }
  std::string_view first_of(std::string_view list) const {
    while (!list.empty()) {
      std::size_t end = std::min(list.find(' '), list.size());
      if (std::string_view word = list.substr(0, end); has(word)) return word;
      list.remove_prefix(std::min(end + 1, list.size()));
    }
    return {};
  }

 private:
  bool has(std::string_view word) const {
    if (word.size() > 2 && word[1] == ':' && (word[0] == '1' || word[0] == '2')) {
      auto place = static_cast<std::size_t>(word[0] - '1');
      return place < types_.size() && types_[place] == word.substr(2);
    }
    const auto& words = instruction_.modifiers;
    return std::find(words.begin(), words.end(), word) != words.end();
  }
  const Instruction& instruction_;
  std::vector<std::string_view> types_;
};

int precision_of(Type type) {
  switch (type) {
    case Type::bf16:
      return 8;
    case Type::f16:
      return 11;
    case Type::f32:
      return 24;
    default:
      return 53;
  }
}

/// Whether every value of `from` is one of `to`.
bool holds(Type to, Type from) {
  if (is_signed(from) && !is_signed(to)) return false;
  unsigned spare = is_signed(to) && !is_signed(from) ? 1 : 0;
  return width_of(to) >= width_of(from) + spare;
}

/// cvt rounds where the result has fewer digits, and nowhere else; bf16 has rules of its own.
std::string conversion_rule(const Form& form, const Words& words) {
  bool to_float = is_float(form.type), from_float = is_float(form.other);
  bool rounds = words.any_of("rn rz rm rp"), to_integral = words.any_of("rni rzi rmi rpi");
  if (is_integer(form.type) && is_integer(form.other) && words.any_of("sat") &&
      holds(form.type, form.other))
    return "`.sat` where every value fits";
  if (!to_float || !from_float || words.any_of("satfinite relu rs")) return "";
  if (to_integral)
    return form.type == form.other ? "" : "rounding to an integral value keeps the type";
  bool bf16 = form.other == Type::bf16 && form.type != Type::bf16;
  if (bf16 || (form.type == Type::bf16 && form.other == Type::f16)) return "";
  bool narrows = precision_of(form.type) < precision_of(form.other);
  if (narrows && !rounds) return "a rounding modifier is needed";
  if (!narrows && rounds) return "nothing is rounded here";
  return "";
}

/// 128 bits at most; 256 as eight words or four doublewords from sm_100 on, in global memory.
std::string vector_rule(const Form& form, const Words& words, const Target& target) {
  unsigned count = words.any_of("v8") ? 8 : words.any_of("v4") ? 4 : words.any_of("v2") ? 2 : 1;
  unsigned bits = count * width_of(form.type);
  bool priority = words.any_of("L2::evict_normal L2::evict_first L2::evict_last");
  if (bits <= 128) return priority ? "a priority of the L2 is for 256 bits" : "";
  bool whole = bits == 256 && width_of(form.type) >= 32 && target.number >= 100;
  if (!whole || words.any_of(not_global)) return "a vector has at most 128 bits";
  return "";
}

/// How many of an instruction's words are of this list.
std::size_t count_of(const Instruction& instruction, std::string_view list) {
  const auto& words = instruction.modifiers;
  return static_cast<std::size_t>(std::count_if(
      words.begin(), words.end(), [&](std::string_view word) { return has_word(list, word); }));
}

/// Copies name where from and where to, everything else one state space at most.
std::string space_rule(const Instruction& instruction, const Words& words) {
  static constexpr std::string_view single = "mbarrier ldmatrix stmatrix ld st atom red prefetch";
  std::size_t count = count_of(instruction, spaces);
  bool arrives = instruction.opcode == "cp" && words.any_of("mbarrier");
  if (instruction.opcode == "cp" && words.any_of("ca cg") && count != 2)
    return "it names where to and where from";
  if (count > 1 && (arrives || has_word(single, instruction.opcode)))
    return "one state space at most";
  return "";
}

/// createpolicy's second priority is that of what the first does not get.
std::string policy_rule(const Instruction& instruction) {
  bool first = true;
  for (std::string_view word : instruction.modifiers) {
    if (!word.starts_with("L2::evict")) continue;
    if (!first && word != "L2::evict_first" && word != "L2::evict_unchanged")
      return "the second priority is `.L2::evict_first` or `.L2::evict_unchanged`";
    first = false;
  }
  return "";
}

std::string sentence(std::string_view when, Must must, std::string_view words,
                     std::string_view found) {
  std::string text = when.empty() ? "it" : "`." + std::string(when) + "`";
  if (must == Must::exclude) return text + " excludes `." + std::string(found) + "`";
  std::string list;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i + 1 < words.size() && words[i + 1] == ':' && (words[i] == '1' || words[i] == '2'))
      ++i;  // The place of a type.
    else
      list += words[i] == ' ' ? std::string("`, `.") : std::string(1, words[i]);
  }
  return text + " needs `." + list + "`";
}

}  // namespace

std::string broken_rule(const Instruction& instruction, const FormMatch& found_form,
                        const Target& target) {
  const Form& form = found_form.form;
  Words words(instruction);
  for (const Rule& rule : rules) {
    if (!has_word(rule.opcodes, instruction.opcode)) continue;
    if (rule.operands != 0 && instruction.operands.size() != rule.operands) continue;
    std::string_view cause = words.first_of(rule.when);
    if (!rule.when.empty() && cause.empty()) continue;
    std::string_view found = words.first_of(rule.words);
    if ((rule.must == Must::need) == !found.empty()) continue;
    return sentence(cause, rule.must, rule.words, found);
  }
  if (std::string rule = space_rule(instruction, words); !rule.empty()) return rule;
  if (instruction.opcode == "createpolicy") return policy_rule(instruction);
  if (instruction.opcode == "cvt") return conversion_rule(form, words);
  if (instruction.opcode == "ld" || instruction.opcode == "st")
    return vector_rule(form, words, target);
  return "";
}

std::string broken_operands(const Instruction& instruction, const RowText& row) {
  Words words(instruction);
  const std::vector<Operand>& operands = instruction.operands;
  std::string_view opcode = instruction.opcode;
  auto is = [&](std::size_t i, Operand::Kind kind) {
    return i < operands.size() && operands[i].kind == kind;
  };
  if (opcode == "lop3" && words.any_of("or and") && !is(0, Operand::Kind::pair))
    return "it gives a predicate too: `d|p`";
  if (opcode == "setp" && words.any_of("1:f16 1:bf16") && is(0, Operand::Kind::pair))
    return "one predicate, not two";
  bool numbers = opcode == "pmevent" || opcode == "setmaxnreg" || words.any_of("wait_group");
  if (numbers && !is(0, Operand::Kind::integer)) return "its operand is a number";
  if ((opcode == "applypriority" || opcode == "discard") && !is(1, Operand::Kind::integer))
    return "its size is a number";
  bool computes = row.effect == Effect::none || row.effect == Effect::convert ||
                  row.effect == Effect::reduce ||
                  (row.effect == Effect::expand && opcode != "setp");
  if (computes && !operands.empty() && operands[0].text == "_") return "its result has a register";
  if (opcode == "tcgen05") return "";
  std::string_view text = row.signature.text;
  text.remove_prefix(std::min(text.find(' '), text.size()));
  for (std::size_t i = 0; i < row.signature.operands_min && i < operands.size(); ++i) {
    std::size_t end = std::min(text.find(',', 1), text.size());
    bool address = text.substr(0, end).find('[') != std::string_view::npos;
    if (address != is(i, Operand::Kind::address))
      return address ? "`[..]` is an address" : "`[..]` is no address here";
    text.remove_prefix(end);
    if (!text.empty()) text.remove_prefix(1);
  }
  return "";
}

}  // namespace lathe::ptx
