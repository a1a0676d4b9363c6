// Names for new registers, and edits in the order of the text.

#include "planner/subagents/draft.h"

namespace lathe::planner {

Draft::Draft(const Site& site) : site_(site), stem_(unused_name("%x")) {}

std::string Draft::unused_name(std::string_view stem) const {
  for (unsigned i = 0;; ++i) {
    std::string name = std::string(stem) + std::to_string(i) + "_";
    if (site_.module.text->find(name) == std::string::npos) return name;
  }
}

std::string Draft::fresh(std::string_view type) {
  auto made = made_.find(type);
  if (made == made_.end()) made = made_.emplace(type, 0).first;
  return stem_ + std::string(type) + "_" + std::to_string(made->second++);
}

void Draft::replace(Index instruction, std::string text) {
  replaced_[instruction] = std::move(text);
}

void Draft::insert_before(Index instruction, std::string text) {
  before_[instruction] += std::move(text) + "\n\t";
}

/// A line that holds nothing else goes as a whole.
ptx::Span Draft::with_line(ptx::Span span) const {
  const std::string& text = *site_.module.text;
  std::uint32_t begin = span.begin, end = span.end;
  while (begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t')) --begin;
  while (end < text.size() && (text[end] == ' ' || text[end] == '\t')) ++end;
  if (begin == 0 || text[begin - 1] != '\n' || end == text.size() || text[end] != '\n') return span;
  span.begin = begin;
  span.end = end + 1;
  return span;
}

std::vector<ptx::Edit> Draft::take() {
  std::vector<ptx::Edit> edits;
  std::string head = declarations_;
  for (const auto& [type, count] : made_)
    head += "\n\t.reg ." + type + " " + stem_ + type + "_<" + std::to_string(count) + ">;";
  std::uint32_t body = site_.flow.function().body.begin + 1;
  if (!head.empty()) edits.push_back({body, body, head});
  for (const auto& [instruction, text] : before_) {
    const ptx::Span& span = site_.flow.at(instruction).span;
    auto replaced = replaced_.find(instruction);
    if (replaced != replaced_.end())
      replaced->second = text + replaced->second;
    else
      edits.push_back({span.begin, span.begin, text});
  }
  for (const auto& [instruction, text] : replaced_) {
    ptx::Span span = site_.flow.at(instruction).span;
    if (text.empty()) span = with_line(span);
    edits.push_back({span.begin, span.end, text});
  }
  return edits;
}

}  // namespace lathe::planner
