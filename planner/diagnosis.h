#pragma once

// From measurements and text to the bottleneck and the rewrite families that it justifies.

#include "contract/contract.h"
#include "planner/features.h"
#include "planner/subagent.h"

namespace lathe::planner {

/// The patterns' version; a run's records name it.
inline constexpr std::string_view pattern_index = "built-in 1";

/// Level 2 where the timing names what binds, else level 1. Empty suggestions: the hypothesis says
/// that nothing known helps, and why.
Diagnosis diagnose(const Features& features, const Timing& timing);

}  // namespace lathe::planner
