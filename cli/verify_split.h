#pragma once

// One proof shared by child processes, each with a range of the grid's blocks.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace lathe::cli {

/// Runs `lathe verify WORDS --json` over ranges that cover all blocks, and ends all at the first
/// answer that decides. Proved where every range is; refuted or undecided as the first range that
/// is. Nothing where the ranges cannot decide: a candidate whose blocks write another range's
/// elements looks wrong in each and may be right as a whole. Errors: a child that gives no answer.
Result<std::optional<Json>> verify_split(
    const std::vector<std::string>& words, std::uint64_t blocks, std::uint32_t threads,
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress);

/// The document of several ranges, all of them proved.
Json merge_proofs(const std::vector<Json>& ranges);

}  // namespace lathe::cli
