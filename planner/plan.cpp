// Rounds: what a round tries on which branch, and what it ends with.

#include <algorithm>
#include <cstdio>

#include "base/random.h"
#include "planner/diagnosis.h"
#include "planner/frontier.h"
#include "planner/state.h"

namespace lathe::planner {
namespace {

/// Where nobody says how many rewrites of a family apply, the planner asks up to so many.
constexpr std::uint32_t variants_max = 8;

using Choice = std::pair<std::string, std::uint32_t>;

/// The next rewrites to try, best first: the first variant of each family, then the second ones.
std::vector<Choice> choices(const Planner::State& state, std::size_t wanted) {
  std::map<std::string, std::uint32_t> offered;
  if (state.settings.offers)
    for (const std::string& family :
         state.settings.offers(*state.incumbent.module, *state.contract))
      ++offered[family];
  std::vector<Choice> chosen;
  std::uint32_t most = variants_max;
  for (const auto& [_, count] : offered) most = std::max(most, count);
  for (std::uint32_t variant = 0; variant < most; ++variant)
    for (const Suggestion& suggestion : state.diagnosis->suggestions) {
      const std::string& family = suggestion.family;
      if (chosen.size() == wanted) return chosen;
      if (state.banned.contains(family) || state.none_left.contains(family)) continue;
      auto tried = state.next_variant.find(family);
      if (tried != state.next_variant.end() && variant < tried->second) continue;
      std::uint32_t count = state.settings.offers ? offered[family] : variants_max;
      if (variant < count) chosen.emplace_back(family, variant);
    }
  return chosen;
}

/// Whether the run's policy lets a candidate in, and as what.
struct Admission {
  bool admitted = false, proved = false;
  Verdict verdict;
};

Admission admission_of(const CandidateState& candidate, const Planner::State& state) {
  Admission admission;
  Evidence& evidence = admission.verdict.evidence;
  admission.verdict.gate = Gate::admit;
  admission.verdict.answer = Verdict::Answer::rejected;
  auto verify = candidate.judgements.find(Gate::verify);
  admission.proved = verify != candidate.judgements.end() &&
                     verify->second.verdict.answer == Verdict::Answer::passed;
  const Timing& timing = *candidate.judgements.at(Gate::benchmark).timing;
  char figures[160];
  std::snprintf(figures, sizeof figures, "%.1f ns against %.1f ns of the incumbent (%s, %s)",
                timing.time_ns, timing.incumbent_ns, timing.device.c_str(),
                timing.modelled ? "modelled" : "measured");
  if (!admission.proved && state.settings.policy == Policy::gate) {
    evidence = {"unproved", "the policy `gate` admits proved candidates only", {}, "{}"};
  } else if (!improves(timing, state.settings.gain_min)) {
    evidence = {"no_gain", "not measurably faster: " + std::string(figures), {}, "{}"};
  } else {
    admission.admitted = true;
    admission.verdict.answer = Verdict::Answer::passed;
    evidence = {admission.proved ? "faster" : "faster_unproved", figures, {}, "{}"};
  }
  if (!timing.reason.empty() && admission.admitted) evidence.reason += ": " + timing.reason;
  return admission;
}

/// Whether nothing but the proof is missing, and the policy does not ask for it.
bool reached_admission(const CandidateState& candidate, Policy policy) {
  auto timed = candidate.judgements.find(Gate::benchmark);
  if (timed == candidate.judgements.end() || !timed->second.timing ||
      timed->second.verdict.answer != Verdict::Answer::passed)
    return false;
  const Judgement* stopped = candidate.stopped_by();
  if (!stopped) return true;
  return policy == Policy::label && stopped->gate == Gate::verify &&
         stopped->verdict.answer == Verdict::Answer::undecided;
}

struct Contender {
  Digest candidate;
  std::uint32_t branch = 0;
  Kind kind = Kind::rewrite;
  Attempt attempt;
  Standing standing;
  std::optional<Proof> proof;
};

/// Completes the attempts of a branch with what the gates said.
void complete(BranchRecord& branch, std::set<Digest>& met, Planner::State& state,
              std::vector<Contender>& contenders) {
  for (Attempt& attempt : branch.attempts) {
    if (!attempt.candidate) continue;
    const CandidateState& candidate = state.candidates.at(*attempt.candidate);
    attempt.seen_before = candidate.round < state.round || !met.insert(*attempt.candidate).second;
    for (const auto& [_, judgement] : candidate.judgements) attempt.judgements.push_back(judgement);
    if (attempt.seen_before || !reached_admission(candidate, state.settings.policy)) continue;
    Admission admission = admission_of(candidate, state);
    attempt.judgements.push_back({Gate::admit, admission.verdict, {}, {}});
    if (!admission.admitted) continue;
    auto verify = candidate.judgements.find(Gate::verify);
    contenders.push_back(
        {*attempt.candidate,
         branch.branch,
         branch.kind,
         attempt,
         {admission.proved, *candidate.judgements.at(Gate::benchmark).timing},
         verify == candidate.judgements.end() ? std::optional<Proof>{} : verify->second.proof});
  }
}

void learn(const BranchRecord& branch, Planner::State& state) {
  for (const Attempt& attempt : branch.attempts) {
    Lesson lesson{attempt.family, attempt.explanation, "propose", "rejected", "", "", {}};
    if (attempt.failure) {
      if (attempt.failure->code == "none_left") state.none_left.insert(branch.family);
      if (attempt.failure->code == "budget") state.budget_spent = true;
      if (branch.kind == Kind::rewrite) continue;
      lesson.code = attempt.failure->code;
      lesson.reason = attempt.failure->reason;
    } else if (!attempt.seen_before && !attempt.judgements.empty()) {
      const Judgement* last = &attempt.judgements.back();
      for (const Judgement& judgement : attempt.judgements)
        if (judgement.verdict.answer != Verdict::Answer::passed) {
          last = &judgement;
          break;
        }
      lesson.gate = name_of(last->gate);
      lesson.answer = name_of(last->verdict.answer);
      lesson.code = last->verdict.evidence.code;
      lesson.reason = last->verdict.evidence.reason;
      lesson.place = last->verdict.evidence.place;
    } else {
      lesson.code = "seen_before";
      lesson.reason = "the same candidate was evaluated before";
    }
    state.lessons.push_back(std::move(lesson));
  }
}

std::string sentence(const Contender& winner) {
  char text[200];
  std::snprintf(text, sizeof text, "branch %u (%s) is faster by %.2f %% and %s: it seeds round ",
                winner.branch, winner.attempt.family.c_str(), 100 * gain_of(winner.standing.timing),
                winner.standing.proved ? "proved" : "not proved");
  return text;
}

}  // namespace

void Planner::State::propose(BranchState& branch) {
  branch.asked = true;
  Assignment& assignment = branch.assignment;
  std::uint64_t stream =
      std::uint64_t{round} << 32 | std::uint64_t{assignment.branch} << 8 | assignment.turn;
  assignment.seed = philox64(settings.seed, stream, 0);
  out.push_back(Propose{assignment});
}

void Planner::State::plan_branches() {
  std::vector<Kind> kinds;
  for (std::uint32_t b = 0; b < settings.branches; ++b)
    kinds.push_back(settings.subagents[b % settings.subagents.size()]);
  std::size_t rewriting =
      static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), Kind::rewrite));
  std::vector<Choice> rewrites = choices(*this, rewriting);
  std::size_t next_rewrite = 0, next_model = 0;
  for (std::uint32_t b = 0; b < settings.branches; ++b) {
    BranchState branch;
    branch.record.branch = b + 1;
    branch.record.kind = kinds[b];
    if (kinds[b] == Kind::rewrite) {
      if (next_rewrite == rewrites.size()) continue;
      std::tie(branch.record.family, branch.record.variant) = rewrites[next_rewrite++];
      next_variant[branch.record.family] = branch.record.variant + 1;
    } else {
      if (budget_spent) continue;
      std::vector<std::string> families;
      for (const Suggestion& suggestion : diagnosis->suggestions)
        if (!banned.contains(suggestion.family)) families.push_back(suggestion.family);
      if (families.empty()) families.emplace_back(family::free_form);
      branch.record.family = families[next_model++ % families.size()];
    }
    Assignment& a = branch.assignment;
    a = {contract,
         incumbent.candidate,
         incumbent.module,
         incumbent.timing,
         diagnosis,
         kinds[b],
         branch.record.family,
         branch.record.variant,
         hints,
         lessons,
         "",
         round,
         b + 1,
         0,
         0};
    branches.emplace(b + 1, std::move(branch));
  }
}

void Planner::State::open_round() {
  if (stop) return finish("stopped: " + *stop);
  if (round == settings.rounds)
    return finish("all " + std::to_string(settings.rounds) + " rounds are done");
  ++round;
  phase = Phase::round;
  branches.clear();
  diagnosis = std::make_shared<const Diagnosis>(
      diagnose(features_of(*incumbent.module, contract->entry), *incumbent.timing));
  plan_branches();
  if (branches.empty()) {
    --round;
    return finish(budget_spent ? "the budget is spent"
                  : diagnosis->suggestions.empty()
                      ? diagnosis->hypothesis
                      : "no proposals are left for this baseline: " + diagnosis->hypothesis);
  }
  record = {};
  record.round = round;
  record.baseline = incumbent.candidate;
  record.baseline_timing = *incumbent.timing;
  record.diagnosis = *diagnosis;
  record.hints = hints;
  for (const auto& [_, branch] : branches) record.branches.push_back(branch.record);
  out.push_back(OpenRound{record});
  for (auto& [_, branch] : branches) propose(branch);
}

void Planner::State::close_round() {
  std::vector<Contender> contenders;
  std::set<Digest> met;
  record.branches.clear();
  for (auto& [_, branch] : branches) {
    complete(branch.record, met, *this, contenders);
    for (const Attempt& attempt : branch.record.attempts) record.cost = record.cost + attempt.cost;
    learn(branch.record, *this);
    record.branches.push_back(branch.record);
  }
  std::stable_sort(contenders.begin(), contenders.end(), [](const auto& a, const auto& b) {
    return listed_before(a.standing, b.standing);
  });
  for (const Contender& c : contenders) {
    record.admitted.push_back(c.candidate);
    out.push_back(Admit{round, c.branch, c.candidate, incumbent.candidate, c.attempt.family,
                        c.attempt.explanation, c.kind, candidates.at(c.candidate).ptx,
                        c.standing.timing, c.proof, c.standing.proved});
  }
  // An unproved candidate never takes the place of a proved one; the reference is nobody's work.
  bool replaceable = !incumbent.proved || incumbent.candidate == reference;
  bool won = !contenders.empty() && (contenders.front().standing.proved || replaceable);
  record.decision = contenders.empty() ? "no candidate is measurably faster: the baseline stays"
                                       : "no proved candidate is faster: the baseline stays";
  if (won) {
    const Contender& winner = contenders.front();
    record.chosen = best = winner.candidate;
    record.decision = sentence(winner) + std::to_string(round + 1);
    auto text = candidates.at(winner.candidate).ptx;
    incumbent = {winner.candidate, text,
                 std::make_shared<const ptx::Module>(ptx::parse(*text, "candidate.ptx").module),
                 std::make_shared<const Timing>(winner.standing.timing), winner.standing.proved};
    next_variant.clear();
    none_left.clear();
  }
  out.push_back(CloseRound{record});
  open_round();
}

}  // namespace lathe::planner
