// PTX without what only people and debuggers read. Works on the text alone, so that it also serves
// for a candidate that does not parse.

#include <algorithm>

#include "planner/prompt.h"

namespace lathe::planner {
namespace {

/// Comments become nothing; strings are kept whole.
std::string without_comments(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      std::size_t end = rest.find('\n');
      if (end == std::string_view::npos) break;
      i += end - 1;
    } else if (rest.starts_with("/*")) {
      std::size_t end = rest.find("*/", 2);
      if (end == std::string_view::npos) break;
      i += end + 1;
      out += ' ';
    } else if (rest[0] == '"') {
      std::size_t end = rest.find('"', 1);
      if (end == std::string_view::npos) end = rest.size() - 1;
      out += rest.substr(0, end + 1);
      i += end;
    } else {
      out += rest[0];
    }
  }
  return out;
}

std::string_view trimmed(std::string_view line) {
  std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
}

bool is_word(std::string_view line, std::string_view word) {
  return line.starts_with(word) &&
         (line.size() == word.size() || line[word.size()] == ' ' || line[word.size()] == '\t');
}

}  // namespace

std::string condense(std::string_view ptx) {
  std::string text = without_comments(ptx), out;
  int depth = 0;  // Of a debug section's braces.
  bool in_section = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    std::string_view bare = trimmed(line);
    if (bare.empty()) continue;
    if (!in_section && (is_word(bare, ".loc") || is_word(bare, ".file"))) continue;
    if (!in_section && is_word(bare, ".section")) in_section = true;
    if (!in_section) {
      std::size_t last = line.find_last_not_of(" \t\r");
      out += line.substr(0, last + 1);
      out += '\n';
      continue;
    }
    bool closed = false;
    for (char c : bare) {
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      closed |= c == '}' && depth <= 0;
    }
    if (closed) in_section = false, depth = 0;
  }
  return out;
}

}  // namespace lathe::planner
