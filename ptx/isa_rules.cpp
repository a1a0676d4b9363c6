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
constexpr std::string_view l1_priorities =
    "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate";
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
    Rule{"mbarrier", "cta cluster", Must::need, "release relaxed acquire"},
    Rule{"mbarrier", "release relaxed acquire", Must::need, "cta cluster"},
    // Atomics: the unit beside global memory knows policies, and who names a scope there an order.
    Rule{"atom red", "L2::cache_hint", Must::exclude, not_global},
    Rule{"multimem", scopes, Must::need, "relaxed acquire release"},
    Rule{"multimem", "relaxed acquire release", Must::need, scopes},
    Rule{"multimem", "weak", Must::exclude, "relaxed acquire release"},
    Rule{"multimem", "add", Must::exclude, "s64"},
    Rule{"multimem", "acc::f16", Must::exclude, "min max"},
    // Copies: images have three dimensions or more, rows are gathered of two.
    Rule{"cp", "im2col im2col_no_offs im2col::w im2col::w::128", Must::need, "3d 4d 5d"},
    Rule{"cp", "tile::gather4 tile::scatter4", Must::need, "2d"},
    Rule{"tcgen05", "32x128b", Must::need, "warpx4"},
    Rule{"tcgen05", "64x128b", Must::need, "warpx2::02_13 warpx2::01_23"},
    Rule{"tcgen05", "128x256b 4x256b 128x128b", Must::exclude,
         "warpx4 warpx2::02_13 warpx2::01_23"},
    Rule{"tcgen05", "multicast::cluster", Must::exclude, "shared::cta"},
    Rule{"isspacep prefetch cvta", "", Must::exclude, "param::func"},
    Rule{"prefetch", "tensormap", Must::exclude, "param::entry"},
    Rule{"barrier", "cluster", Must::exclude, "acq_rel sc weak volatile mmio"},
    Rule{"barrier", "arrive", Must::exclude, "acquire"},
    Rule{"ld st", "mmio", Must::need, "relaxed release"},
    Rule{"ld st", l1_priorities, Must::exclude, "volatile mmio wb ca cg cs wt lu cv"},
    Rule{"st", "", Must::exclude, "const"},
    Rule{"ld", "volatile", Must::exclude, "param param::entry param::func"},
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

/// A word that begins to exist later than the rows it stands in.
struct WordGate {
  std::string_view opcodes, words, beside;  // `beside`: only with one of these; empty: always.
  Gate gate;
};
// clang-format off
constexpr std::array word_gates{
    WordGate{"ld st atom red fence mbarrier multimem", "cluster", "", since(78, 90)},
    WordGate{"ld st atom red cvta isspacep mbarrier", "shared::cluster", "", since(78, 90)},
    WordGate{"ld st atom red cvta isspacep mbarrier ldmatrix stmatrix cp", "shared::cta", "",
             since(78, 30)},
    WordGate{"fence", "acquire release", "", since(86, 70)},
    WordGate{"mbarrier", "relaxed", "", since(80, 90)},
    WordGate{"cp", "cta_group::1 cta_group::2 tile::scatter4 im2col::w::128", "",
             only_on(86, 100)},
    WordGate{"cp", "tile::gather4 im2col::w", "", since(86, 100)},
};
// clang-format on

/// The words that make an instruction's name: they stand first, in the row's order.
struct NameWords {
  std::string_view opcode, words;
};
constexpr std::array name_words{
    NameWords{"cp",
              "async reduce bulk prefetch tensor commit_group wait_group wait_all mbarrier "
              "arrive"},
    NameWords{"multimem", "ld_reduce st red"},
    NameWords{"tensormap", "replace cp_fenceproxy"},
    NameWords{"tcgen05",
              "alloc dealloc relinquish_alloc_permit ld st wait::ld wait::st mma cp shift commit "
              "fence::before_thread_sync fence::after_thread_sync"},
    NameWords{"mbarrier",
              "init inval arrive arrive_drop pending_count expect_tx complete_tx test_wait "
              "try_wait parity"},
    NameWords{"barrier", "cta cluster sync arrive red wait"},
    NameWords{"bar", "cta warp sync arrive red"},
    NameWords{"mad", "lo hi wide"},
    NameWords{"madc", "lo hi"},
    NameWords{"mad24", "lo hi"},
    NameWords{"div", "full"},
    NameWords{"fence", "proxy"},
    NameWords{"wgmma", "fence commit_group wait_group mma_async"},
    NameWords{"clusterlaunchcontrol", "try_cancel query_cancel"},
    NameWords{"createpolicy", "fractional range cvt"},
    NameWords{"red", "async"},
    NameWords{"st", "async bulk"},
    NameWords{"brx", "idx"},
    NameWords{"wmma", "load store mma a b c d"},
};

std::string target_name(unsigned number, bool specific) {
  return "sm_" + std::to_string(number) + (specific ? "a" : "");
}

/// How many of an instruction's words are of this list.
std::size_t count_of(const Instruction& instruction, std::string_view list) {
  const auto& words = instruction.modifiers;
  return static_cast<std::size_t>(std::count_if(
      words.begin(), words.end(), [&](std::string_view word) { return has_word(list, word); }));
}

/// Copies name where from and where to, everything else one state space at most.
std::string space_rule(const Instruction& instruction, const Words& words) {
  static constexpr std::string_view single =
      "mbarrier ldmatrix stmatrix ld st atom red prefetch multimem wmma";
  std::size_t count = count_of(instruction, spaces);
  bool arrives = instruction.opcode == "cp" && words.any_of("mbarrier");
  arrives |= instruction.opcode == "tcgen05" && words.any_of("commit");
  arrives |= instruction.opcode == "tensormap" && words.any_of("replace");
  if (instruction.opcode == "cp" && words.any_of("ca cg") && count != 2)
    return "it names where to and where from";
  if (count > 1 && (arrives || has_word(single, instruction.opcode)))
    return "one state space at most";
  return "";
}

std::string name_rule(const Instruction& instruction, const RowText& row) {
  for (const NameWords& name : name_words) {
    if (name.opcode != instruction.opcode) continue;
    std::size_t next = 0;
    for (std::size_t i = 0; i < row.signature.element_count; ++i) {
      const Element& element = row.signature.elements[i];
      if (element.kind != Element::Kind::words) continue;
      auto stands = [&](std::string_view word) {
        return has_word(name.words, word) && stands_for(element, word);
      };
      if (next < instruction.modifiers.size() && stands(instruction.modifiers[next])) {
        ++next;
        continue;
      }
      for (std::size_t j = next; j < instruction.modifiers.size(); ++j)
        if (stands(instruction.modifiers[j]))
          return "`." + std::string(instruction.modifiers[j]) + "` stands with the name";
    }
  }
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

/// A warpgroup's product is 32 bytes deep, and that of integers has sixteens of columns beyond the
/// smallest.
std::string depth_rule(const Instruction& instruction, const Words& words) {
  std::string_view depth = words.any_of("tf32") ? "k8" : words.any_of("f16 bf16") ? "k16" : "k32";
  if (words.any_of("e4m3 e5m2")) depth = "k32";
  for (std::string_view word : instruction.modifiers) {
    if (!word.starts_with("m64n")) continue;
    if (!word.ends_with(depth)) return "products of these types are `" + std::string(depth) + "`";
    std::string_view n = word.substr(4, word.find('k') - 4);
    unsigned columns = 0;
    for (char digit : n) columns = 10 * columns + static_cast<unsigned>(digit - '0');
    if (words.any_of("s32") && columns % 16 != 0 && columns != 8 && columns != 24)
      return "integers have other numbers of columns";
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

std::string gate_complaint(const Gate& gate, unsigned isa_version, const Target& target) {
  if (isa_version < gate.isa)
    return "needs .version " + std::to_string(gate.isa / 10) + "." + std::to_string(gate.isa % 10) +
           " or later, the module has " + std::to_string(isa_version / 10) + "." +
           std::to_string(isa_version % 10);
  bool fits = target.number >= gate.target;
  if (gate.specific)
    fits = target.number / 10 == gate.target / 10 && target.number >= gate.target &&
           target.suffix != 0;
  if (fits) return "";
  return "needs .target " + target_name(gate.target, gate.specific) +
         (gate.specific ? "" : " or later");
}

std::string broken_gate(const Instruction& instruction, unsigned isa_version,
                        const Target& target) {
  Words words(instruction);
  for (const WordGate& each : word_gates) {
    if (!has_word(each.opcodes, instruction.opcode)) continue;
    if (!each.beside.empty() && !words.any_of(each.beside)) continue;
    std::string_view word = words.first_of(each.words);
    std::string complaint = word.empty() ? "" : gate_complaint(each.gate, isa_version, target);
    if (!complaint.empty()) return "`." + std::string(word) + "` " + complaint;
  }
  // Between bf16 and f32 since sm_80, between bf16 and anything else since sm_90.
  bool brain = instruction.opcode == "cvt" && words.any_of("bf16");
  if (brain && (words.any_of("ftz") || !words.any_of("1:f32 2:f32")))
    return gate_complaint(since(78, 90), isa_version, target);
  if (instruction.opcode == "mbarrier" && words.any_of("try_wait"))
    return gate_complaint(since(78, 90), isa_version, target);
  bool counted = instruction.operands.size() > 2 && words.any_of("arrive arrive_drop");
  if (instruction.opcode == "mbarrier" && counted && !words.any_of("noComplete"))
    return gate_complaint(since(78, 90), isa_version, target);
  return "";
}

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
  if (std::string rule = name_rule(instruction, *found_form.row); !rule.empty()) return rule;
  bool half = words.any_of("f16 bf16"), mixed = form.type != form.other;
  if (instruction.opcode == "wgmma" && half && mixed && found_form.row->others != 0 &&
      !words.any_of("e4m3 e5m2"))
    return "both matrices have one type";
  if (instruction.opcode == "wgmma" && words.any_of("mma_async") && !words.any_of("sp b1"))
    return depth_rule(instruction, words);
  if (instruction.opcode == "createpolicy") return policy_rule(instruction);
  if (instruction.opcode == "cvt") return conversion_rule(form, words);
  if (has_word("ld ldu st", instruction.opcode)) return vector_rule(form, words, target);
  return "";
}

}  // namespace lathe::ptx
