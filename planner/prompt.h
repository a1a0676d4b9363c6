#pragma once

// What a language model is told: the contract, the diagnosis, what was tried, and the parent's PTX
// without what only a debugger reads. Everything that came from a file stands between marks as
// data.

#include <string>
#include <string_view>
#include <vector>

#include "planner/provider.h"
#include "planner/subagent.h"

namespace lathe::planner {

struct PromptLimits {
  std::size_t ptx_bytes = 96u << 10, contract_bytes = 16u << 10, lessons = 12, reason_bytes = 600;
};

/// The PTX without comments, `.loc`, `.file`, debug sections and blank lines; the same kernel. Text
/// that a file's author wrote for readers, which could speak to a model, goes with the comments.
std::string condense(std::string_view ptx);

/// Lines from the middle are left out beyond the limit, and a line says how many.
std::string bounded(std::string_view text, std::size_t bytes_max);

std::vector<Message> make_prompt(const Assignment& assignment, const PromptLimits& limits = {});

/// A careful upper estimate of the tokens in a text: PTX has about two bytes a token.
std::uint64_t tokens_in(const std::vector<Message>& messages);

}  // namespace lathe::planner
