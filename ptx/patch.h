#pragma once

// Edits to a module: ranges of its text and what replaces them.

#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.h"

namespace lathe::ptx {

struct Edit {
  std::uint32_t begin = 0, end = 0;  // Bytes of the module's text.
  std::string text;
};

/// Applies edits (in any order; overlapping ones are malformed) and gives the new text.
Result<std::string> apply(const Module& module, std::vector<Edit> edits);

/// A proposer's reply against a parent: a whole module, a unified diff, or search/replace blocks
/// (`<<<<<<< SEARCH` .. `=======` .. `>>>>>>> REPLACE`). Strict: a mismatch names the exact place.
Result<std::string> apply_reply(const std::string& parent, std::string_view reply);

/// A unified diff with three lines of context, for people and prompts.
std::string diff(std::string_view before, std::string_view after);

}  // namespace lathe::ptx
