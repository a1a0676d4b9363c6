#pragma once

// One point: all blocks of both programs in the field domain, and their outputs met.

#include <functional>
#include <map>
#include <optional>

#include "ptx/field_run.h"
#include "verifier_node/journal.h"
#include "verifier_node/kept.h"
#include "verifier_node/plan.h"
#include "verifier_node/translation.h"

namespace lathe::verifier_node {

struct StoppedBlock {
  Side side = Side::candidate;
  std::uint64_t block = 0;
  ptx::Trap trap;
};

struct PointResult {
  std::optional<Difference> difference, precision;
  std::optional<StoppedBlock> stopped;
  std::vector<ptx::OrderFinding> races;
  bool trusts_copies = false;  // As the order observer says.
  bool order_follows_all = true;
  /// Blocks that take tickets, and how often one was run as the last.
  std::uint64_t last_blocks = 0, last_runs = 0;
  std::uint64_t compared = 0, degree = 0, blocks = 0, steps = 0, peak_numbers = 0;
  /// Of both sides, as numbers; and the outputs of all blocks, where some were not.
  std::uint64_t blocks_run = 0, outputs = 0;
  bool many = true;  // All blocks were run, or as many as shadows need.
  std::unordered_set<std::uint64_t> inconclusive;
  ptx::field::Summary reference, candidate;
  /// Comparisons of the candidate that follow from those of the reference.
  std::unordered_set<std::uint64_t> implied;
  std::vector<std::uint32_t> literals;  // f32 bits that either side read as a float.
  Writers reference_writers, candidate_writers;
};

struct PointRequest {
  std::uint64_t seed = 0, point = 0;
  bool watch_order = false;  // Of the candidate.
  ptx::AsyncSchedule schedule = ptx::AsyncSchedule::at_issue;
  bool remember_writers = false;
  std::uint64_t steps_max = 0;
  BlockRange reference_blocks, candidate_blocks;
  unsigned threads = 1;  // The answer does not depend on how many.
  std::function<void(std::uint64_t, std::uint64_t)> progress;
  std::vector<std::string>* sampled = nullptr;
  /// Null: all blocks are run.
  Translations* translations = nullptr;
  /// Null: the reference is run.
  Kept* kept = nullptr;
  Digest reference;  // Its name, where something is kept.
  /// Null: nothing is noted. The name of this point's unit.
  Journal* journal = nullptr;
  Digest unit;
  /// Shadows choose among pieces: of blocks that stand for others, many are run.
  bool many = false;
};

Result<PointResult> run_point(const Sides& sides, const Plan& plan, const PointRequest& request);
/// For a point that a journal holds: which blocks are alike is asked of it as the point did, since
/// later steps choose blocks by that.
Result<Done> recall_translation(const Sides& sides, const Plan& plan, const PointRequest& request);

}  // namespace lathe::verifier_node
