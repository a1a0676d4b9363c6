#pragma once

// The subagent that asks a language model.

#include <memory>

#include "planner/budget.h"
#include "planner/prompt.h"
#include "planner/provider.h"
#include "planner/subagent.h"

namespace lathe::planner {

/// One proposal: a request, and one more with the exact place where the first reply does not apply.
/// Each request is paid from the purse before it is sent. `provider` and `purse` outlive it and
/// serve several threads.
std::unique_ptr<Subagent> make_model(Provider& provider, Purse& purse, PromptLimits limits = {});

/// The candidate that a reply makes of its parent: of the condensed text that the model saw, or of
/// the parent as it is, for a patch that was written against that.
Result<std::string> read_reply(const std::string& parent, const std::string& reply);

/// What a reply says before its change: the explanation, bounded.
std::string explanation_of(std::string_view reply);

}  // namespace lathe::planner
