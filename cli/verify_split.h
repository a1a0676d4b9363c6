#pragma once

// One proof shared by child processes, each with a range of the grid's blocks.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/process.h"
#include "base/result.h"

namespace lathe::cli {

struct Split {
  std::vector<std::string> words;  // Of `lathe verify`.
  std::uint64_t blocks = 0;
  std::uint32_t threads = 1;
  /// Where the answer of each range is kept once it is proved, so that a proof which was ended goes
  /// on where it stopped; empty: nowhere. One folder a question.
  std::filesystem::path kept;
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  /// Runs one child; empty: as a process.
  std::function<Result<ProcessEnd>(const std::vector<std::string>& command)> run;
};

/// Runs `lathe verify WORDS --json` over ranges that cover all blocks, and ends all at the first
/// answer that decides. A child that is killed costs its range, which another takes up. Proved
/// where every range is; refuted or undecided as the first range that is. Nothing where the ranges
/// cannot decide: a candidate whose blocks write another range's elements looks wrong in each and
/// may be right as a whole. Errors: a range whose children all give no answer.
Result<std::optional<Json>> verify_split(const Split& split);

/// The document of several ranges, all of them proved.
Json merge_proofs(const std::vector<Json>& ranges);

}  // namespace lathe::cli
