// Choosing modifiers and types of a row: all where they are few, a covering sample where not.

#include "tests/witness/instance.h"

#include <algorithm>
#include <set>

#include "base/random.h"

namespace lathe::ptx::witness {
namespace {

void add_words(std::vector<std::string_view>& list, std::string_view words, char between) {
  while (!words.empty()) {
    std::size_t end = std::min(words.find(between), words.size());
    std::string_view word = words.substr(0, end);
    if (word.starts_with('.')) word.remove_prefix(1);
    if (!word.empty()) list.push_back(word);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

using Choices = std::vector<std::vector<std::string_view>>;

Instance instance_at(std::uint16_t number, const Choices& all, const std::vector<std::size_t>& at) {
  Instance made;
  made.row = &rows()[number];
  made.row_number = number;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::string_view word = all[i][at[i]];
    if (word.empty()) continue;
    made.words.push_back(word);
    const Element& element = made.row->signature.elements[i];
    if (element.kind == Element::Kind::type) made.type = *type_named(word);
    if (element.kind == Element::Kind::other) made.other = *type_named(word);
  }
  return made;
}

/// One position for each element: an optional one is left out in three of five.
std::vector<std::size_t> drawn(const RowText& row, const Choices& all, std::uint64_t seed,
                               std::uint64_t index) {
  std::vector<std::size_t> at(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::uint64_t r = philox64(seed, i, index);
    bool leave = row.signature.elements[i].optional && r % 5 < 3;
    at[i] = leave ? 0 : (r >> 8) % all[i].size();
  }
  return at;
}

std::vector<std::vector<std::size_t>> everything(const Choices& all) {
  std::vector<std::vector<std::size_t>> list;
  std::vector<std::size_t> at(all.size());
  for (;;) {
    list.push_back(at);
    std::size_t i = 0;
    while (i < all.size() && ++at[i] == all[i].size()) at[i++] = 0;
    if (i == all.size()) return list;
  }
}

}  // namespace

bool Instance::has(std::string_view word) const {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view Instance::word_with(std::string_view begin) const {
  for (std::string_view word : words)
    if (word.starts_with(begin)) return word;
  return {};
}

std::string Instance::mnemonic() const {
  std::string text(opcode());
  for (std::string_view word : words) text += "." + std::string(word);
  return text;
}

std::vector<std::string_view> choices(const RowText& row, const Element& element) {
  std::vector<std::string_view> list;
  if (element.optional) list.emplace_back();
  if (element.kind == Element::Kind::type || element.kind == Element::Kind::other) {
    Types set = element.kind == Element::Kind::type ? row.types : row.others;
    for (std::size_t i = 0; i < type_count; ++i)
      if (contains(set, static_cast<Type>(i))) list.push_back(type_names[i]);
  } else if (std::string_view group = words_of_group(element.text); !group.empty()) {
    add_words(list, group, ' ');
  } else {
    add_words(list, element.text, '|');
  }
  return list;
}

std::vector<Instance> instances_of(std::uint16_t number, std::size_t most, std::uint64_t seed) {
  const RowText& row = rows()[number];
  Choices all;
  std::size_t total = 1;
  for (std::size_t i = 0; i < row.signature.element_count; ++i) {
    all.push_back(choices(row, row.signature.elements[i]));
    if (all.back().empty()) return {};
    total = total > most ? total : total * all.back().size();
  }
  std::vector<std::vector<std::size_t>> positions;
  if (total <= most) {
    positions = everything(all);
  } else {
    std::uint64_t index = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < all[i].size() && all[i].size() > 1; ++j) {
        positions.push_back(drawn(row, all, seed + number, index++));
        positions.back()[i] = j;
      }
    while (positions.size() < most) positions.push_back(drawn(row, all, seed + number, index++));
  }
  std::vector<Instance> list;
  std::set<std::string> seen;
  for (const std::vector<std::size_t>& at : positions) {
    Instance made = instance_at(number, all, at);
    if (seen.insert(made.mnemonic()).second) list.push_back(std::move(made));
  }
  return list;
}

}  // namespace lathe::ptx::witness
