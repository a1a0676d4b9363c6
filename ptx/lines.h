#pragma once

// A text as its lines, for diffs and replies.

#include <string_view>
#include <vector>

namespace lathe::ptx {

/// Each with its line break, so that joining them gives the text back.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::size_t end = text.find('\n');
    std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

/// Without its line break.
inline std::string_view bare(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

}  // namespace lathe::ptx
