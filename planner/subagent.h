#pragma once

// What a subagent is given and what it gives back. Subagents are plain functions of their
// assignment: actors, retries and the budget stand around them.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/gates.h"
#include "ptx/patch.h"

namespace lathe::planner {

/// Names of the rewrite families; what a diagnosis ranks, a plan names and a rewrite belongs to.
namespace family {
inline constexpr std::string_view tree_reduction = "tree_reduction",
                                  fewer_barriers = "fewer_barriers",
                                  hoisted_loads = "hoisted_loads", reciprocal = "reciprocal",
                                  fma = "fma", wide_access = "wide_access",
                                  cached_access = "cached_access", free_form = "free_form";
}  // namespace family

/// Who proposes on a branch.
enum class Kind : std::uint8_t { rewrite = 1, model = 2, person = 3 };
std::string_view name_of(Kind kind);

/// What a proposal cost. An unknown price is a state of its own, never zero dollars.
struct Cost {
  std::uint64_t micro_dollars = 0;
  std::uint64_t input_tokens = 0, output_tokens = 0, requests = 0;
  bool price_known = true;
  bool operator==(const Cost&) const = default;
};
Cost operator+(Cost left, const Cost& right);

/// A rewrite family that the evidence justifies, and why.
struct Suggestion {
  std::string family;
  std::string why;
  bool operator==(const Suggestion&) const = default;
};

/// What binds a kernel, at which level of evidence (1 pattern, 2 counters), and what may help.
struct Diagnosis {
  std::uint32_t level = 1;
  std::string bound_by;                 // As in Timing: "latency", "dram", "issue", ..
  std::string hypothesis;               // One sentence.
  std::vector<std::string> references;  // The figures behind it: "div instructions: 16", ..
  std::vector<Suggestion> suggestions;  // Best first; empty: nothing known helps.
  std::string escalation;               // The three tests and their answers, one sentence.
};

/// What an earlier try on this baseline met, told to whoever proposes next.
struct Lesson {
  std::string family, explanation;
  std::string gate;    // Where it ended; "propose" where no candidate came.
  std::string answer;  // "passed", "rejected", "undecided".
  std::string code, reason;
  Place place;
};

/// A branch's task. `seed` is drawn from the run's seed and the place of the decision, so that an
/// interrupted run asks the same again.
struct Assignment {
  std::shared_ptr<const Contract> contract;
  Digest parent;                              // Of the normal form.
  std::shared_ptr<const ptx::Module> module;  // The parent's; its bytes are ptx::print(*module).
  std::shared_ptr<const Timing> timing;       // The parent's.
  std::shared_ptr<const Diagnosis> diagnosis;
  Kind kind = Kind::rewrite;
  std::string family;
  std::uint32_t variant = 0;  // Which of the family's rewrites on this parent, from 0.
  std::vector<std::string> hints;
  std::vector<Lesson> lessons;  // In order of round, branch and turn.
  std::string previous;         // Of a repair turn: the PTX that was refused; else empty.
  std::uint32_t round = 0, branch = 0, turn = 0;
  std::uint64_t seed = 0;
};

/// Why no candidate came: a code for machines and a sentence for people.
struct Failure {
  std::string code;  // "none_left", "budget", "no_reply", "unreadable_reply", "refused", ..
  std::string reason;
  bool operator==(const Failure&) const = default;
};

/// A whole PTX text, or the failure that took its place.
struct Proposal {
  std::string ptx;  // Empty where there is a failure.
  std::optional<Failure> failure;
  std::string family;
  std::string explanation;  // What was changed and why that should help, one or two sentences.
  Cost cost;
  std::string prompt, reply;  // Of a model: the last turn's, for the record.
  std::string remark;         // Of a replay whose prompt differs from the recorded one, and so on.
};

/// Proposals cross processes and lie in the store as one msgpack map.
std::string encode(const Proposal& proposal);
Result<Proposal> decode_proposal(std::string_view bytes);

class Subagent {
 public:
  virtual ~Subagent() = default;
  /// An Error is no answer: unavailable is asked again elsewhere or later and never stored.
  virtual Result<Proposal> propose(const Assignment& assignment) = 0;
};

/// One rule-based rewrite that applies to a module.
struct Rewrite {
  std::string family;     // One of `family`.
  std::string condition;  // Under which it is right, as one sentence.
  std::string effect;     // What it should improve, as one sentence.
  std::vector<ptx::Edit> edits;
};

/// All rewrites that apply, in a stable order; each is a candidate of its own. Those of one family
/// are numbered by their order here (Assignment::variant), the most promising first. With a
/// contract, what it promises of addresses may be relied on.
std::vector<Rewrite> rewrites(const ptx::Module& module, std::string_view entry,
                              std::string_view target, const Contract* contract = nullptr);

/// The rewriting subagent: variant number so-and-so of the family, or `none_left`.
std::unique_ptr<Subagent> make_rewriter();

}  // namespace lathe::planner
