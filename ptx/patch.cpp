// Edits by ranges: sorted, checked not to overlap, applied in one pass.

#include "ptx/patch.h"

#include <algorithm>

namespace lathe::ptx {

Result<std::string> apply(const Module& module, std::vector<Edit> edits) {
  const std::string& text = *module.text;
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string out;
  std::size_t at = 0, grown = text.size();
  for (const Edit& edit : edits) grown += edit.text.size();
  out.reserve(grown);
  for (const Edit& edit : edits) {
    std::string range = std::to_string(edit.begin) + ".." + std::to_string(edit.end);
    if (edit.end < edit.begin || edit.end > text.size())
      return Error{Fault::malformed,
                   "the edit of bytes " + range + " is outside the text",
                   "edit ranges of this module",
                   {module.file, 0, 0},
                   {}};
    if (edit.begin < at)
      return Error{Fault::malformed,
                   "the edit of bytes " + range + " overlaps another",
                   "join them into one",
                   {module.file, 0, 0},
                   {}};
    out.append(text, at, edit.begin - at);
    out += edit.text;
    at = edit.end;
  }
  out.append(text, at);
  return out;
}

}  // namespace lathe::ptx
