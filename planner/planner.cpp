// Events to decisions: the order of gates, and when a branch has its answer.

#include "planner/planner.h"

#include "planner/state.h"

namespace lathe::planner {

std::string in_words(const Judgement& judgement) {
  const Verdict& verdict = judgement.verdict;
  std::string text =
      std::string(name_of(verdict.answer)) + " at " + std::string(name_of(judgement.gate));
  if (verdict.answer == Verdict::Answer::undecided)
    text += " (" + std::string(name_of(verdict.reason_code)) + ")";
  else if (!verdict.evidence.code.empty())
    text += " (" + verdict.evidence.code + ")";
  if (!verdict.evidence.reason.empty()) text += ": " + verdict.evidence.reason;
  return text;
}

Digest candidate_digest(const std::string& ptx) {
  ptx::Parsed parsed = ptx::parse(ptx, "candidate.ptx");
  return sha256(parsed.errors.empty() ? ptx::normal_form(parsed.module) : ptx);
}

const Judgement* CandidateState::stopped_by() const {
  for (const auto& [_, judgement] : judgements)
    if (judgement.verdict.answer != Verdict::Answer::passed) return &judgement;
  return nullptr;
}

void Planner::State::finish(std::string reason, bool failed) {
  phase = Phase::finished;
  out.push_back(Finish{std::move(reason), best, failed});
}

void Planner::State::ask(const Digest& id, CandidateState& candidate, Gate gate) {
  candidate.pending.insert(gate);
  bool timed = gate == Gate::benchmark;
  auto against = incumbent.ptx ? incumbent.ptx : candidate.ptx;
  out.push_back(Evaluate{round, id, gate, candidate.ptx, timed ? against : nullptr});
}

void Planner::State::register_candidate(const Digest& id, std::string ptx, Gate last) {
  auto [place, fresh] = candidates.try_emplace(id);
  if (!fresh) return;
  CandidateState& candidate = place->second;
  candidate.ptx = std::make_shared<const std::string>(std::move(ptx));
  candidate.round = round;
  candidate.last = last;
  ask(id, candidate, Gate::screen);
}

void Planner::State::start(const Started& started) {
  if (phase != Phase::idle) return;
  phase = Phase::baseline;
  contract = started.contract;
  reference = candidate_digest(contract->reference);
  register_candidate(reference, contract->reference, Gate::admit);
  for (const Decoy& decoy : started.decoys) {
    Digest id = candidate_digest(decoy.ptx);
    decoys.emplace_back(decoy.name, id);
    register_candidate(id, decoy.ptx, Gate::test);
  }
}

void Planner::State::advance(const Digest& id, CandidateState& candidate, Gate passed) {
  switch (passed) {
    case Gate::screen:
      return ask(id, candidate, Gate::assemble);
    case Gate::assemble:
      return ask(id, candidate, Gate::sanitize);
    case Gate::sanitize:
      return ask(id, candidate, Gate::test);
    case Gate::test:
      if (candidate.last == Gate::test) return;
      if (settings.policy != Policy::off) ask(id, candidate, Gate::verify);
      return ask(id, candidate, Gate::benchmark);
    default:
      return;
  }
}

void Planner::State::judge(const Judged& judged) {
  auto place = candidates.find(judged.candidate);
  if (place == candidates.end()) return;
  CandidateState& candidate = place->second;
  if (candidate.pending.erase(judged.gate) == 0) return;
  candidate.judgements[judged.gate] = {judged.gate, judged.verdict, judged.timing, judged.proof};
  if (judged.verdict.answer == Verdict::Answer::passed)
    advance(judged.candidate, candidate, judged.gate);
}

void Planner::State::receive(const ProposalReceived& received) {
  if (phase != Phase::round || received.round != round) return;
  auto place = branches.find(received.branch);
  if (place == branches.end()) return;
  BranchState& branch = place->second;
  if (!branch.asked || branch.assignment.turn != received.turn) return;
  branch.asked = false;
  const Proposal& proposal = received.proposal;
  Attempt attempt;
  attempt.turn = received.turn;
  attempt.family = proposal.family.empty() ? branch.assignment.family : proposal.family;
  attempt.explanation = proposal.explanation;
  attempt.failure = proposal.failure;
  attempt.cost = proposal.cost;
  attempt.remark = proposal.remark;
  if (!proposal.failure) {
    attempt.candidate = candidate_digest(proposal.ptx);
    branch.waits = attempt.candidate;
    register_candidate(*attempt.candidate, proposal.ptx, Gate::admit);
  } else {
    branch.done = true;
  }
  branch.record.attempts.push_back(std::move(attempt));
}

/// The reference must pass as a candidate would, and every decoy must be refused: a yardstick that
/// cannot be measured, or a test that lets a wrong kernel by, would make every later answer void.
void Planner::State::settle_baseline() {
  for (const auto& [_, candidate] : candidates)
    if (!candidate.ended()) return;
  const CandidateState& own = candidates.at(reference);
  const Judgement* stopped = own.stopped_by();
  bool unproved = stopped && stopped->gate == Gate::verify &&
                  stopped->verdict.answer == Verdict::Answer::undecided;
  bool benchmarked = own.judgements.contains(Gate::benchmark);
  if (stopped && !(unproved && benchmarked && settings.policy == Policy::label))
    return finish("the reference itself is " + in_words(*stopped), true);
  const auto& timing = own.judgements.at(Gate::benchmark).timing;
  if (!timing || own.judgements.at(Gate::benchmark).verdict.answer != Verdict::Answer::passed)
    return finish("the reference could not be timed", true);
  for (const auto& [name, id] : decoys) {
    const Judgement* refused = candidates.at(id).stopped_by();
    if (!refused || refused->verdict.answer != Verdict::Answer::rejected)
      return finish("the gates do not refuse the fake kernel `" + name + "`" +
                        (refused ? ": it is " + in_words(*refused) : std::string()),
                    true);
  }
  ptx::Parsed parsed = ptx::parse(contract->reference, "reference.ptx");
  incumbent = {reference, own.ptx, std::make_shared<const ptx::Module>(std::move(parsed.module)),
               std::make_shared<const Timing>(*timing), !unproved};
  open_round();
}

void Planner::State::settle_branch(BranchState& branch) {
  if (branch.done || branch.asked || !branch.waits) return;
  const CandidateState& candidate = candidates.at(*branch.waits);
  if (!candidate.ended()) return;
  const Judgement* stopped = candidate.stopped_by();
  bool again = stopped && stopped->gate != Gate::benchmark && branch.record.kind == Kind::model &&
               branch.assignment.turn < settings.repairs;
  if (!again) {
    branch.done = true;
    return;
  }
  const Attempt& attempt = branch.record.attempts.back();
  const Evidence& evidence = stopped->verdict.evidence;
  branch.assignment.lessons.push_back({attempt.family, attempt.explanation,
                                       std::string(name_of(stopped->gate)),
                                       std::string(name_of(stopped->verdict.answer)), evidence.code,
                                       evidence.reason, evidence.place});
  branch.assignment.previous = *candidate.ptx;
  ++branch.assignment.turn;
  branch.waits.reset();
  propose(branch);
}

void Planner::State::settle() {
  if (phase == Phase::baseline) settle_baseline();
  if (phase != Phase::round) return;
  bool all = true;
  for (auto& [_, branch] : branches) {
    settle_branch(branch);
    all &= branch.done;
  }
  if (all) close_round();
}

Planner::Planner(Settings settings) : state_(std::make_unique<State>()) {
  state_->settings = std::move(settings);
  if (state_->settings.subagents.empty()) state_->settings.subagents = {Kind::rewrite};
}
Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

bool Planner::finished() const { return state_->phase == Phase::finished; }

std::uint32_t Planner::next_round() const { return state_->round + 1; }

std::vector<Decision> Planner::on(const Event& event) {
  State& state = *state_;
  if (state.phase == Phase::finished) return {};
  if (auto* started = std::get_if<Started>(&event)) state.start(*started);
  if (auto* received = std::get_if<ProposalReceived>(&event)) state.receive(*received);
  if (auto* judged = std::get_if<Judged>(&event)) state.judge(*judged);
  if (auto* hint = std::get_if<Hint>(&event)) state.hints.push_back(hint->text);
  if (auto* ban = std::get_if<Ban>(&event)) state.banned.insert(ban->family);
  if (auto* stop = std::get_if<Stop>(&event)) state.stop = stop->reason;
  state.settle();
  return std::exchange(state.out, {});
}

}  // namespace lathe::planner
