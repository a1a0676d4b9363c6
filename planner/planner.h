#pragma once

// The search as a pure machine: events in, decisions out. It has no clock, no generator and no
// store; given the same settings and the same answers it ends with the same records, in whatever
// order the answers of a round arrive. A run is resumed by feeding a fresh planner the stored ones.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pipeline/gates.h"
#include "planner/subagent.h"

namespace lathe::planner {

struct Settings {
  std::uint32_t rounds = 4;
  std::uint32_t branches = 4;
  Policy policy = Policy::gate;
  std::uint64_t seed = 0;
  /// Branches count from 1; branch b is given to subagents[(b - 1) % size].
  std::vector<Kind> subagents{Kind::rewrite};
  /// Turns that a model may spend on a refused candidate before the branch ends.
  std::uint32_t repairs = 1;
  /// A win must exceed the noise by this much more, as a fraction of the incumbent's time.
  double gain_min = 0.002;
  /// The families of the rewrites that apply to a module, one a rewrite, so that no branch is
  /// spent on what does not apply: offered_families. Without it the planner finds out by asking.
  std::function<std::vector<std::string>(const ptx::Module&, const Contract&)> offers;
};

/// Of planner/subagent.h's rewrites().
std::vector<std::string> offered_families(const ptx::Module& module, const Contract& contract);

// Events.

/// A kernel whose answers are known beforehand: each must be refused before a search may start.
struct Decoy {
  std::string name, ptx;
};
/// The first event. The planner asks for the reference to pass every gate itself, as round 0.
struct Started {
  std::shared_ptr<const Contract> contract;
  std::vector<Decoy> decoys;
};
/// The answer to Propose.
struct ProposalReceived {
  std::uint32_t round = 0, branch = 0, turn = 0;
  Proposal proposal;
};
/// The answer to Evaluate. `timing` comes with a passed or undecided benchmark.
struct Judged {
  Digest candidate;
  Gate gate = Gate::screen;
  Verdict verdict;
  std::optional<Timing> timing;
  std::optional<Proof> proof;
};
/// People steer. Each takes effect when the next round opens; a shell that stores it notes
/// `Planner::next_round()` and, on replay, feeds it before that round opens.
struct Hint {
  std::string text;
};
struct Ban {
  std::string family;
};
/// Ends the run when the round in progress closes; `reason` is recorded.
struct Stop {
  std::string reason;
};
using Event = std::variant<Started, ProposalReceived, Judged, Hint, Ban, Stop>;

// Records.

struct Judgement {
  Gate gate = Gate::screen;
  Verdict verdict;
  std::optional<Timing> timing;
  std::optional<Proof> proof;
};
/// One proposal of a branch and all that became of it.
struct Attempt {
  std::uint32_t turn = 0;
  std::string family, explanation;
  std::optional<Failure> failure;
  std::optional<Digest> candidate;
  bool seen_before = false;  // Evaluated in an earlier round, by an earlier branch, or the parent.
  std::vector<Judgement> judgements;  // In the order of gates, up to the one that ended it.
  Cost cost;
  std::string remark;
};
struct BranchRecord {
  std::uint32_t branch = 0;
  Kind kind = Kind::rewrite;
  std::string family;
  std::uint32_t variant = 0;
  std::vector<Attempt> attempts;
};
struct RoundRecord {
  std::uint32_t round = 0;
  Digest baseline;
  Timing baseline_timing;
  Diagnosis diagnosis;
  std::vector<std::string> hints;
  std::vector<BranchRecord> branches;  // Sorted by branch; while the round is open, no attempts.
  std::vector<Digest> admitted;        // Best first.
  std::optional<Digest> chosen;        // Seeds the next round.
  std::string decision;                // One sentence; empty while the round is open.
  Cost cost;
};
/// One JSON object, in a stable order: equal records give equal bytes.
std::string print(const RoundRecord& record);

// Decisions.

/// The round's plan: commit it before any of its work starts.
struct OpenRound {
  RoundRecord record;
};
struct Propose {
  Assignment assignment;  // Holds round, branch and turn.
};
/// Run one gate. The gates before it have passed; `parent` is the benchmark's incumbent.
struct Evaluate {
  std::uint32_t round = 0;
  Digest candidate;
  Gate gate = Gate::screen;
  std::shared_ptr<const std::string> ptx;
  std::shared_ptr<const std::string> incumbent_ptx;
};
/// Put it on the contract's frontier; the verdict is that of the gate `admit`.
struct Admit {
  std::uint32_t round = 0, branch = 0;
  Digest candidate, parent;
  std::string family, explanation;
  Kind kind = Kind::rewrite;
  std::shared_ptr<const std::string> ptx;
  Timing timing;
  std::optional<Proof> proof;
  bool proved = false;
};
/// Follows the round's Admit decisions: one atomic batch with them.
struct CloseRound {
  RoundRecord record;
};
struct Finish {
  std::string reason;
  std::optional<Digest> best;  // None: nothing beats the reference.
  bool failed = false;         // The search could not start: the reference or a decoy says why.
};
using Decision = std::variant<OpenRound, Propose, Evaluate, Admit, CloseRound, Finish>;

/// The name of a candidate: of its normal form where it parses, of its bytes where it does not.
Digest candidate_digest(const std::string& ptx);

class Planner {
 public:
  explicit Planner(Settings settings);
  ~Planner();
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;

  /// Events that answer nothing that was asked (late, repeated) change nothing.
  std::vector<Decision> on(const Event& event);

  bool finished() const;
  std::uint32_t next_round() const;

  struct State;  // planner/state.h; nobody else's business.

 private:
  std::unique_ptr<State> state_;
};

}  // namespace lathe::planner
