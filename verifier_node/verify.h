#pragma once

// Does this PTX compute what the reference computes, over the reals, for every input that the
// contract admits, without a race, a deadlock, an out-of-bounds access or a touched input?
// docs/SOUNDNESS.md says under which laws.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/gates.h"

namespace lathe::verifier_node {

class Journal;  // verifier_node/journal.h
class Kept;     // verifier_node/kept.h

struct Options {
  std::uint64_t seed = 0;    // Of the points; secret in production, given in tests.
  std::uint32_t points = 0;  // 0: as verification.md F2 says for what the kernels use.
  std::uint64_t stress_blocks = 8;
  unsigned threads = 1;  // The answer does not depend on how many.
  std::uint64_t steps_max =
      0;  // Warp instructions; 0: no limit. Reaching it is undecided (exhausted).
  /// Blocks of the reference to prove, where both grids are equal: a proof split over verifiers.
  /// block_end 0: to the last. Only all ranges together prove the kernel; `scope` says which.
  std::uint64_t block_begin = 0, block_end = 0;
  std::optional<Launch> reference_launch,
      candidate_launch;  // Where they differ from the contract's.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress;
  /// What references gave is kept here for further candidates; null: nowhere.
  std::shared_ptr<Kept> kept;
  /// What this proof has finished is noted here, and found here where an earlier process has
  /// noted it; null: nowhere. The answer does not depend on it.
  std::shared_ptr<Journal> journal;
  std::string version;  // Of the program: another one's units are another question's.
};

/// The answer of `lathe verify`; members as in cli.md, absent where there is nothing to say.
struct Report {
  std::string verdict;  // "proved", "refuted", "undecided"
  std::string reason_code, reason;
  Proof proof;
  std::string json;  // The whole document of schema lathe/verify/1 without file names and cost.
};

Result<Report> verify(const ptx::Module& reference, const ptx::Module& candidate,
                      const Contract& contract, const Options& options);

/// The gate. Refuted is Rejected with the witness; Undecided keeps its reason code.
Step<Proved> prove(Tested candidate, const Options& options);

}  // namespace lathe::verifier_node
