#pragma once

// How an instruction is written, in the manual's own notation:
//
//   "mad.lo{.sat}.type  d, a, b, c"     modifiers: required, {optional}
//   "ld{.scope}.space   d, [a]"         groups (`groups` below), and (.x|.y) or {.x|.y}: one of
//   them "shl.type           d, a, b:u32"    operands are of `.type` unless they say another: a
//   type, "mul.wide.type      d:wide, a, b"   `wide` of twice its width, or `other` of `.other`
//
// A misspelt modifier or type does not compile. The order of modifiers is free except that of
// types.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ptx/type.h"
#include "ptx/words.h"

namespace lathe::ptx {

constexpr std::string_view words_of_group(std::string_view name) {
  for (const Group& group : groups)
    if (group.name == name) return group.words;
  return {};
}

constexpr bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    std::size_t end = words.find(' ');
    if (words.substr(0, end) == word) return true;
    if (end == std::string_view::npos) break;
    words.remove_prefix(end + 1);
  }
  return false;
}

constexpr std::optional<Type> type_named(std::string_view name) {
  for (std::size_t i = 0; i < type_count; ++i)
    if (type_names[i] == name) return static_cast<Type>(i);
  return std::nullopt;
}

/// An operand's own type; none means the instruction's `.type`.
struct OperandType {
  std::optional<Type> fixed;
  bool wide = false;
  bool other = false;
  constexpr Type in(Type form, Type second = Type::b32) const {
    if (wide) return twice(form);
    if (other) return second;
    return fixed.value_or(form);
  }
};

/// One modifier of the notation.
struct Element {
  enum class Kind : std::uint8_t { words, type, other, literal_type };
  Kind kind = Kind::words;
  bool optional = false;
  std::string_view text;  // Of words: "ftz", a group's name, or ".x|.y".
};

inline constexpr std::size_t elements_max = 18;
inline constexpr std::size_t sources_max = 8;

struct Signature {
  std::string_view text;
  std::string_view opcode;
  std::array<Element, elements_max> elements{};
  std::size_t element_count = 0;
  OperandType destination;
  std::array<OperandType, sources_max> sources{};
  std::size_t source_count = 0;
  std::uint8_t operands_min = 0, operands_max = 0;
};

/// Whether an element of the notation stands for this modifier.
constexpr bool stands_for(const Element& element, std::string_view word) {
  std::string_view text = element.text;
  if (std::string_view group = words_of_group(text); !group.empty()) return has_word(group, word);
  while (!text.empty()) {
    std::size_t end = text.find('|');
    std::string_view one = text.substr(0, end);
    if (one.starts_with('.')) one.remove_prefix(1);
    if (one == word) return true;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return false;
}

namespace detail {

/// A word by its hash: rows are checked in every file that has them, and comparing text is slow
/// there.
consteval std::uint64_t number_of(std::string_view word) {
  std::uint64_t number = 0xcbf29ce484222325;
  for (char letter : word) number = (number ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return number;
}

/// Numbers of words, each where its low bits say or behind that.
struct WordTable {
  std::array<std::uint64_t, 4096> numbers{};
  consteval std::size_t place_of(std::uint64_t number) const {
    std::size_t at = number % numbers.size();
    while (numbers[at] != 0 && numbers[at] != number) at = (at + 1) % numbers.size();
    return at;
  }
  consteval bool has(std::string_view word) const {
    return numbers[place_of(number_of(word))] != 0;
  }
  /// Words between blanks.
  consteval void add(std::string_view words) {
    std::size_t begin = 0;
    for (std::size_t end = 0; end <= words.size(); ++end) {
      if (end < words.size() && words[end] != ' ') continue;
      std::uint64_t number = number_of({words.data() + begin, end - begin});
      if (end != begin) numbers[place_of(number)] = number;
      begin = end + 1;
    }
  }
};

/// All that may stand in a row as a modifier.
consteval WordTable list_types() {
  WordTable table;
  for (std::string_view name : type_names) table.add(name);
  return table;
}
consteval WordTable list_words() {
  WordTable table = list_types();
  table.add(known_words);
  for (const Group& group : groups) table.add(group.name), table.add(group.words);
  return table;
}
inline constexpr WordTable known_types = list_types(), known = list_words();

consteval Element make_element(std::string_view text, bool optional) {
  if (text == "type") return {Element::Kind::type, optional, text};
  if (text == "other") return {Element::Kind::other, optional, text};
  if (known_types.has(text)) return {Element::Kind::literal_type, optional, text};
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t end = rest.find('|');
    std::string_view one = rest.substr(0, end);
    if (one.starts_with('.')) one.remove_prefix(1);
    if (!known.has(one)) throw "no PTX modifier or type has this name";
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  return {Element::Kind::words, optional, text};
}

/// "add{.sat}.type" and the like; leaves the operands in `text`.
consteval void take_modifiers(std::string_view& text, Signature& signature) {
  while (!text.empty() && text[0] != ' ') {
    if (text.starts_with(".(")) text.remove_prefix(1);  // The dots stand inside.
    bool optional = text[0] == '{', several = optional || text[0] == '(';
    text.remove_prefix(several ? 2 : 1);
    std::size_t end = text.find_first_of(several ? "})" : " .{(");
    std::string_view name = text.substr(0, end);
    text.remove_prefix(name.size() + (several ? 1 : 0));
    signature.elements[signature.element_count++] = make_element(name, optional);
  }
}

consteval OperandType operand_type(std::string_view text) {
  std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  std::string_view name = text.substr(colon + 1);
  if (name == "wide") return {.fixed = {}, .wide = true};
  if (name == "other") return {.fixed = {}, .wide = false, .other = true};
  std::optional<Type> type = type_named(name);
  if (!type) throw "no PTX type has this name";
  return {.fixed = type};
}

/// "d, [a]{, b}": operands, those in braces optional. A vector is written as one name.
consteval void take_operands(std::string_view text, Signature& signature) {
  bool optional = false;
  for (std::size_t number = 0; !text.empty(); ++number) {
    while (!text.empty() &&
           (text[0] == ' ' || text[0] == ',' || text[0] == '{' || text[0] == '}')) {
      optional |= text[0] == '{';
      text.remove_prefix(1);
    }
    if (text.empty()) break;
    std::size_t end = std::min(text.find_first_of(",{}"), text.size());
    OperandType type = operand_type(text.substr(0, end));
    text.remove_prefix(end);
    if (number == 0)
      signature.destination = type;
    else if (number <= sources_max)
      signature.sources[signature.source_count++] = type;
    ++signature.operands_max;
    if (!optional) ++signature.operands_min;
  }
}

}  // namespace detail

consteval Signature parse_signature(std::string_view text) {
  Signature signature;
  signature.text = text;
  std::size_t end = std::min(text.find_first_of(" .{("), text.size());
  signature.opcode = text.substr(0, end);
  text.remove_prefix(end);
  detail::take_modifiers(text, signature);
  while (text.starts_with(' ')) text.remove_prefix(1);
  detail::take_operands(text, signature);
  return signature;
}

}  // namespace lathe::ptx
