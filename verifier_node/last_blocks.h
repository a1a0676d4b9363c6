#pragma once

// Kernels whose last block puts together what all blocks left (ptx/field_turns.h). Which block that
// is nobody knows: each may be, so blocks are run once more as the last and must all write the
// same.

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/field_run.h"
#include "verifier_node/ledger.h"

namespace lathe::verifier_node {

/// Of one side at one point.
class LastBlocks {
 public:
  bool any() const { return !groups_.empty(); }
  /// After a block was run as not the last; false: nobody could say who is.
  bool note(std::uint64_t block, const ptx::field::FieldRunner::Outcome& outcome);

  struct Found {
    std::vector<ptx::field::Written> written;
    std::uint64_t block = 0;
    std::optional<ptx::Trap> trap;
  };
  /// Runs so many of each counter's blocks as the last, which `draw` decides. What they leave
  /// beyond what all blocks left is `written`, the same of each; a trap where it is not, or where
  /// the tickets do not add up.
  std::vector<Found> run(ptx::field::FieldRunner& runner, std::uint64_t choices,
                         std::uint64_t draw);
  std::uint64_t blocks() const { return blocks_; }
  std::uint64_t runs() const { return runs_; }

 private:
  /// Of one counter.
  struct Group {
    ptx::field::Ticket ticket;
    std::vector<std::uint64_t> blocks;
    bool one_question = true;
  };
  Found run_one(ptx::field::FieldRunner& runner, const Group& group, std::uint64_t block) const;
  void finish_counter(const Group& group, Found& found) const;

  ptx::field::Left left_;
  std::unordered_map<std::uint64_t, std::uint64_t> read_;  // Places read before written: by whom.
  std::map<std::uint64_t, Group> groups_;
  std::uint64_t blocks_ = 0, runs_ = 0;
};

}  // namespace lathe::verifier_node
