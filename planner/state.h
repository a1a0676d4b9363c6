#pragma once

// What the planner remembers. Private to planner.cpp and plan.cpp.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "planner/planner.h"

namespace lathe::planner {

struct CandidateState {
  std::shared_ptr<const std::string> ptx;
  std::uint32_t round = 0;  // In which it was first proposed.
  Gate last = Gate::admit;  // Of a decoy: `test`.
  std::set<Gate> pending;   // Asked and not answered.
  std::map<Gate, Judgement> judgements;
  bool ended() const { return pending.empty(); }
  /// The judgement that stopped it, in the order of gates; null where all passed.
  const Judgement* stopped_by() const;
};

struct BranchState {
  BranchRecord record;
  Assignment assignment;        // Of the turn in progress.
  bool asked = false;           // A proposal is awaited.
  std::optional<Digest> waits;  // For this candidate's gates.
  bool done = false;
};

/// A validated state from which a round starts.
struct Incumbent {
  Digest candidate;
  std::shared_ptr<const std::string> ptx;
  std::shared_ptr<const ptx::Module> module;
  std::shared_ptr<const Timing> timing;
  bool proved = false;
};

enum class Phase : std::uint8_t { idle, baseline, round, finished };

struct Planner::State {
  Settings settings;
  Phase phase = Phase::idle;
  std::vector<Decision> out;
  std::shared_ptr<const Contract> contract;
  Digest reference;
  std::vector<std::pair<std::string, Digest>> decoys;
  std::map<Digest, CandidateState> candidates;
  Incumbent incumbent;
  std::uint32_t round = 0;
  RoundRecord record;  // Of the round in progress.
  std::shared_ptr<const Diagnosis> diagnosis;
  std::map<std::uint32_t, BranchState> branches;
  std::vector<Lesson> lessons;
  std::vector<std::string> hints;
  std::set<std::string> banned;
  std::optional<std::string> stop;
  bool budget_spent = false;
  std::optional<Digest> best;
  // Of the rewriting branches on this incumbent.
  std::map<std::string, std::uint32_t> next_variant;
  std::set<std::string> none_left;

  // planner.cpp: gates and answers.
  void start(const Started& started);
  void receive(const ProposalReceived& received);
  void judge(const Judged& judged);
  void register_candidate(const Digest& id, std::string ptx, Gate last);
  void ask(const Digest& id, CandidateState& candidate, Gate gate);
  void advance(const Digest& id, CandidateState& candidate, Gate passed);
  void settle();
  void settle_baseline();
  void settle_branch(BranchState& branch);
  void finish(std::string reason, bool failed = false);

  // plan.cpp: rounds.
  void open_round();
  void plan_branches();
  void propose(BranchState& branch);
  void close_round();
};

/// "rejected at test (value): ..", for lessons and reasons.
std::string in_words(const Judgement& judgement);

}  // namespace lathe::planner
