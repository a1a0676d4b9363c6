// Matching an instruction's text against the rows, and saying what does not fit.

#include "ptx/isa.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <unordered_map>

#include "ptx/chapters.h"
#include "ptx/isa_rules.h"

namespace lathe::ptx {
namespace {

/// A table in memory, not code that fills one: a function of so many steps takes long to compile.
template <class Chapter, int... i>
void add_chapter(std::vector<RowText>& list, std::integer_sequence<int, i...>) {
  static constexpr std::array<RowText, sizeof...(i)> chapter{
      RowText{Chapter::template At<i>::signature, Chapter::template At<i>::types,
              Chapter::template At<i>::others, Chapter::template At<i>::gate,
              Chapter::template At<i>::effect}...};
  for (const RowText& row : chapter) list.push_back(row);
}

std::vector<RowText> list_rows() {
  std::vector<RowText> list;
  for_each_chapter([&]<class Chapter>() {
    add_chapter<Chapter>(list, std::make_integer_sequence<int, Chapter::row_count>{});
  });
  return list;
}

using RowsByOpcode = std::unordered_map<std::string_view, std::vector<std::uint16_t>>;

const RowsByOpcode& rows_by_opcode() {
  static const RowsByOpcode index = [] {
    RowsByOpcode made;
    for (std::size_t i = 0; i < rows().size(); ++i)
      made[rows()[i].signature.opcode].push_back(static_cast<std::uint16_t>(i));
    return made;
  }();
  return index;
}

struct FlagWord {
  std::string_view word;
  Flag flag;
};
constexpr std::array flag_words{
    FlagWord{"ftz", Flag::ftz},
    FlagWord{"sat", Flag::sat},
    FlagWord{"satfinite", Flag::satfinite},
    FlagWord{"relu", Flag::relu},
    FlagWord{"NaN", Flag::nan},
    FlagWord{"xorsign", Flag::xorsign_abs},
    FlagWord{"approx", Flag::approx},
    FlagWord{"full", Flag::full},
    FlagWord{"hi", Flag::high},
    FlagWord{"wide", Flag::wide},
    FlagWord{"wrap", Flag::wrap},
    FlagWord{"l", Flag::left},
    FlagWord{"abs", Flag::abs},
    FlagWord{"oob", Flag::oob},
    FlagWord{"scaled::n2::ue8m0", Flag::scaled},
};

/// Flags that the assembler takes any number of times.
constexpr std::string_view repeated = "sync sat cc satfinite relu NaN";

constexpr std::array roundings{"rn"sv, "rz"sv, "rm"sv, "rp"sv, "rna"sv, "rs"sv};

std::optional<std::uint32_t> index_in(std::string_view words, std::string_view word) {
  std::uint32_t index = 0;
  while (!words.empty()) {
    std::size_t end = words.find(' ');
    if (words.substr(0, end) == word) return index;
    if (end == std::string_view::npos) break;
    words.remove_prefix(end + 1);
    ++index;
  }
  return std::nullopt;
}

/// What a modifier means to a meaning; most mean nothing there.
void apply_word(Form& form, const Element& element, std::string_view word) {
  for (const FlagWord& known : flag_words)
    if (known.word == word) form.set(known.flag);
  for (std::size_t i = 0; i < roundings.size(); ++i)
    if (word == roundings[i]) form.rounding = static_cast<Rounding>(i);
  if (element.text == "irnd") {
    form.set(Flag::to_integer);
    form.rounding = static_cast<Rounding>(*index_in("rni rzi rmi rpi", word));
  }
  if (element.text.ends_with("cmp"))
    form.comparison = static_cast<Comparison>(*index_in(words_of_group("cmp"), word));
  if (element.text == "testp") form.constant = *index_in(words_of_group("testp"), word);
  if (word == "shiftamt") form.constant = 1;
}

/// How far an instruction's modifiers fit a row: nothing missing and nothing left means a match.
struct Fit {
  Form form;
  std::vector<std::string_view> left;     // Modifiers of the instruction that the row has not.
  std::vector<std::string_view> missing;  // Elements of the row that the instruction has not.
  std::string_view wrong_type;
  std::size_t distance() const {
    return 3 * left.size() + 2 * missing.size() + !wrong_type.empty();
  }
};

bool type_fits(const RowText& row, const Element& element, std::string_view word) {
  std::optional<Type> type = type_named(word);
  if (!type) return false;
  if (element.kind == Element::Kind::type) return contains(row.types, *type);
  if (element.kind == Element::Kind::other) return contains(row.others, *type);
  return element.text == word;
}

Fit fit(const RowText& row, const Instruction& instruction) {
  Fit result;
  std::array<bool, elements_max> used{};
  const Signature& signature = row.signature;
  for (std::string_view word : instruction.modifiers) {
    bool taken = false;
    for (std::size_t i = 0; i < signature.element_count && !taken; ++i) {
      const Element& element = signature.elements[i];
      if (used[i]) {
        // Said twice it says the same.
        taken = element.kind == Element::Kind::words && has_word(repeated, word) &&
                stands_for(element, word);
        continue;
      }
      if (element.kind != Element::Kind::words) {
        if (!type_named(word)) continue;
        taken = used[i] = type_fits(row, element, word);
        if (taken && element.kind == Element::Kind::type) result.form.type = *type_named(word);
        if (taken && element.kind == Element::Kind::other) result.form.other = *type_named(word);
        if (!taken && !element.optional) {  // Types stand in order: this one should have fitted.
          if (result.wrong_type.empty()) result.wrong_type = word;
          taken = used[i] = true;
        }
      } else if (stands_for(element, word)) {
        taken = used[i] = true;
        apply_word(result.form, element, word);
      }
    }
    if (!taken) result.left.push_back(word);
  }
  for (std::size_t i = 0; i < signature.element_count; ++i)
    if (!used[i] && !signature.elements[i].optional)
      result.missing.push_back(signature.elements[i].text);
  return result;
}

std::string written(const Instruction& instruction) {
  std::string text(instruction.opcode);
  for (std::string_view modifier : instruction.modifiers) text += "." + std::string(modifier);
  return text;
}

std::string types_text(Types types) {
  std::string text;
  for (std::size_t i = 0; i < type_count; ++i)
    if (contains(types, static_cast<Type>(i)))
      text += (text.empty() ? "" : ", ") + std::string(type_names[i]);
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

/// A modifier that was not taken, and what the row would have taken in its place.
struct Misspelt {
  static constexpr std::size_t distance_max = 1;
  std::size_t distance = distance_max + 1;
  std::string_view meant;
};

Misspelt misspelt(const RowText& row, const Fit& how) {
  Misspelt best;
  auto look = [&](std::string_view word, std::string_view meant) {
    std::size_t distance = edit_distance(word, meant);
    if (distance < best.distance) best = {distance, meant};
  };
  for (std::string_view word : how.left)
    for (std::string_view missing : how.missing) {
      look(word, missing);
      for (std::size_t i = 0; i < type_count; ++i) {
        auto type = static_cast<Type>(i);
        if ((missing == "type" && contains(row.types, type)) ||
            (missing == "other" && contains(row.others, type)))
          look(word, type_names[i]);
      }
    }
  return best;
}

Error unfitting(const Instruction& instruction, const RowText& row, const Fit& how) {
  std::string what =
      "`" + written(instruction) + "` is no form of " + std::string(instruction.opcode) + ": ";
  if (!how.left.empty())
    what += "it takes no modifier ." + std::string(how.left[0]) + " here";
  else if (!how.wrong_type.empty())
    what += "not for type ." + std::string(how.wrong_type);
  else
    what += "it lacks ." + std::string(how.missing[0]);
  std::string_view meant = misspelt(row, how).meant;
  std::string remedy = meant.empty() ? "" : "did you mean ." + std::string(meant) + "? ";
  remedy += "nearest form: " + std::string(row.signature.text);
  if (row.types != 0) remedy += "  with .type " + types_text(row.types);
  if (row.others != 0) remedy += "  and .other " + types_text(row.others);
  return Error{Fault::malformed, what, remedy, {}};
}

Error unknown_opcode(const Instruction& instruction) {
  std::string_view nearest;
  std::size_t best = 3;
  for (const RowText& row : rows()) {
    if (row.signature.opcode.starts_with('$')) continue;
    std::size_t distance = edit_distance(instruction.opcode, row.signature.opcode);
    if (distance < best) best = distance, nearest = row.signature.opcode;
  }
  return Error{Fault::unsupported,
               "no instruction `" + std::string(instruction.opcode) + "` is in the table",
               nearest.empty() ? "lathe ptx reference --document lists all that are"
                               : "did you mean `" + std::string(nearest) + "`?",
               {}};
}

/// What `.target` may name, from the manual; from sm_90 on with the suffix a too, from sm_100 on
/// with f.
constexpr std::array<unsigned, 26> architectures{20, 30, 32,  35,  37,  50,  52,  53, 60,
                                                 61, 62, 70,  72,  75,  80,  86,  87, 88,
                                                 89, 90, 100, 101, 103, 110, 120, 121};
std::string target_list() {
  std::string list;
  for (unsigned number : architectures)
    list += (list.empty() ? "sm_" : ", sm_") + std::to_string(number) + (number >= 90 ? "[a]" : "");
  return "there are " + list;
}

}  // namespace

const std::vector<RowText>& rows() {
  static const std::vector<RowText> list = list_rows();
  return list;
}

Result<Target> parse_target(std::string_view name) {
  Target target;
  Error none{Fault::malformed, "`" + std::string(name) + "` is no target", target_list(), {}};
  if (!name.starts_with("sm_")) return none;
  const char* begin = name.data() + 3;
  const char* end = name.data() + name.size();
  auto [next, error] = std::from_chars(begin, end, target.number);
  if (error != std::errc() || end - next > 1) return none;
  if (std::find(architectures.begin(), architectures.end(), target.number) == architectures.end())
    return none;
  if (next == end) return target;
  target.suffix = *next;
  bool exists = (target.suffix == 'a' && target.number >= 90) ||
                (target.suffix == 'f' && target.number >= 100);
  return exists ? Result<Target>(target) : Result<Target>(none);
}

Result<unsigned> parse_isa_version(std::string_view version) {
  unsigned major = 0, minor = 0;
  const char* end = version.data() + version.size();
  auto [dot, first] = std::from_chars(version.data(), end, major);
  if (first == std::errc() && dot != end && *dot == '.') {
    auto [last, second] = std::from_chars(dot + 1, end, minor);
    if (second == std::errc() && last == end && minor < 10) return major * 10 + minor;
  }
  return Error{Fault::malformed, "`" + std::string(version) + "` is no ISA version", "8.7", {}};
}

Result<FormMatch> match(const Instruction& instruction, unsigned isa_version,
                        const Target& target) {
  auto found = rows_by_opcode().find(instruction.opcode);
  if (found == rows_by_opcode().end() || instruction.opcode.starts_with('$'))
    return unknown_opcode(instruction);
  const RowText* nearest = nullptr;
  Fit nearest_fit;
  std::size_t nearest_apart = 0;
  std::string gate;
  std::string broken;
  const RowText* gated = nullptr;
  const RowText* miscounted = nullptr;
  const RowText* ruled = nullptr;
  for (std::uint16_t index : found->second) {
    const RowText& row = rows()[index];
    Fit how = fit(row, instruction);
    if (how.distance() != 0) {
      std::size_t apart = misspelt(row, how).distance;
      if (nearest == nullptr || how.distance() < nearest_fit.distance() ||
          (how.distance() == nearest_fit.distance() && apart < nearest_apart))
        nearest = &row, nearest_fit = how, nearest_apart = apart;
      continue;
    }
    std::size_t count = instruction.operands.size();
    if (count < row.signature.operands_min || count > row.signature.operands_max) {
      miscounted = &row;
      continue;
    }
    std::string complaint = gate_complaint(row.gate, isa_version, target);
    if (!complaint.empty()) {
      // Of several, the one that asks for least.
      if (gated == nullptr || row.gate.target <= gated->gate.target) gate = complaint, gated = &row;
      continue;
    }
    std::string rule = broken_rule(instruction, {how.form, row.effect, &row}, target);
    if (rule.empty()) rule = broken_gate(instruction, isa_version, target);
    if (!rule.empty()) {
      broken = rule, ruled = &row;
      continue;
    }
    how.form.row = index;
    return FormMatch{how.form, row.effect, &row};
  }
  if (auto plain = manual_spelling(instruction))
    if (Result<FormMatch> as_plain = match(*plain, isa_version, target)) return as_plain;
  if (ruled != nullptr)
    return Error{Fault::malformed,
                 "`" + written(instruction) + "`: " + broken,
                 "the form is " + std::string(ruled->signature.text),
                 {}};
  if (gated != nullptr)
    return Error{Fault::malformed,
                 "`" + written(instruction) + "` " + gate,
                 "the form is " + std::string(gated->signature.text),
                 {}};
  if (miscounted != nullptr)
    return Error{Fault::malformed,
                 "`" + written(instruction) + "` has " +
                     std::to_string(instruction.operands.size()) + " operands",
                 "the form is " + std::string(miscounted->signature.text),
                 {}};
  return unfitting(instruction, *nearest, nearest_fit);
}

std::uint16_t row_named(std::string_view opcode, Type type) {
  auto found = rows_by_opcode().find(opcode);
  assert(found != rows_by_opcode().end());
  for (std::uint16_t index : found->second)
    if (contains(rows()[index].types, type) || rows()[index].types == 0) return index;
  assert(false && "no such row");
  return 0;
}

std::vector<std::string> forms_of(std::string_view opcode) {
  std::vector<std::string> forms;
  auto found = rows_by_opcode().find(opcode);
  if (found == rows_by_opcode().end()) return forms;
  for (std::uint16_t index : found->second) forms.emplace_back(rows()[index].signature.text);
  return forms;
}

}  // namespace lathe::ptx
