#pragma once

// Complaints about names: which of the known ones was probably meant, and how to list them.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i)
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// The known name nearest to what was written; empty where none is near.
template <class Names>
std::string nearest_name(std::string_view written, const Names& known) {
  std::string best;
  if (written.size() > 100) return best;
  std::size_t distance = std::max<std::size_t>(2, written.size() / 3) + 1;
  for (std::string_view name : known) {
    std::size_t d = edit_distance(written, name);
    if (d < distance) best = name, distance = d;
  }
  return best;
}

/// `a`, `b` or `c`.
template <class Names>
std::string list_names(const Names& known) {
  std::string text;
  std::size_t count = 0, size = std::size(known);
  for (std::string_view name : known) {
    if (count > 0) text += count + 1 == size ? " or " : ", ";
    text += "`" + std::string(name) + "`";
    ++count;
  }
  return text;
}

}  // namespace lathe
