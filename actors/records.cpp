#include "actors/records.h"

#include <algorithm>

#include "base/json.h"
#include "pipeline/codec.h"
#include "pipeline/figures.h"

namespace lathe::actors {
namespace {

Json parsed(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json(text) : json;
}

store::ProposalRecord record_of(const planner::Proposal& proposal, const Digest& candidate,
                                planner::Kind kind, store::Batch& batch) {
  store::ProposalRecord record;
  if (!proposal.ptx.empty()) {
    record.candidate = candidate;
    record.ptx = batch.blob(proposal.ptx);
  }
  if (proposal.failure) record.failure = proposal.failure->code + ": " + proposal.failure->reason;
  record.family = proposal.family;
  record.subagent = planner::name_of(kind);
  record.explanation = proposal.explanation;
  if (!proposal.prompt.empty()) record.prompt = batch.blob(proposal.prompt);
  if (!proposal.reply.empty()) record.reply = batch.blob(proposal.reply);
  record.proposal = batch.blob(planner::encode(proposal));
  record.cost_micro = proposal.cost.micro_dollars;
  record.tokens_in = proposal.cost.input_tokens;
  record.tokens_out = proposal.cost.output_tokens;
  return record;
}

store::RoundKey round_key(const Search& search, std::uint32_t round) {
  return {search.run, search.identity, round};
}

}  // namespace

std::uint64_t priority_of(Gate gate) {
  // What is nearer to its end goes first, so that a round ends soon and few candidates are open.
  return static_cast<std::uint64_t>(gate);
}

template <class Next>
Verdict verdict_of(const Step<Next>& step) {
  Verdict verdict;
  verdict.gate = Gate::screen;
  if (step.passed() != nullptr) {
    verdict.answer = Verdict::Answer::passed;
    verdict.evidence = {"passed", "passed", {}, "{}"};
  } else if (const Rejected* rejected = step.rejected()) {
    verdict.answer = Verdict::Answer::rejected;
    verdict.evidence = rejected->evidence;
  } else if (const Undecided* undecided = step.undecided()) {
    verdict.answer = Verdict::Answer::undecided;
    verdict.reason_code = undecided->reason;
    verdict.evidence = undecided->evidence;
  }
  verdict.evidence.place.file.clear();
  return verdict;
}
template Verdict verdict_of(const Step<Screened>& step);

std::string verdict_line(const Digest& candidate, const Verdict& verdict) {
  Json json;
  json["candidate"] = short_hex(candidate);
  json["gate"] = name_of(verdict.gate);
  json["answer"] = name_of(verdict.answer);
  if (verdict.answer == Verdict::Answer::undecided)
    json["reason_code"] = name_of(verdict.reason_code);
  if (verdict.answer != Verdict::Answer::passed) {
    json["code"] = verdict.evidence.code;
    json["reason"] = verdict.evidence.reason;
    if (verdict.evidence.place.line != 0) json["line"] = verdict.evidence.place.line;
  }
  json["evidence"] = parsed(verdict.evidence.json);
  return json.dump();
}

std::string proposal_line(const planner::Assignment& assignment,
                          const planner::Proposal& proposal) {
  Json json;
  json["round"] = assignment.round;
  json["branch"] = assignment.branch;
  json["turn"] = assignment.turn;
  json["subagent"] = planner::name_of(assignment.kind);
  json["family"] = proposal.family;
  json["explanation"] = proposal.explanation;
  if (proposal.failure) {
    json["failure"] = proposal.failure->code;
    json["reason"] = proposal.failure->reason;
  } else {
    json["candidate"] = short_hex(planner::candidate_digest(proposal.ptx));
  }
  return json.dump();
}

store::ProposalKey proposal_key(const Search& search, const planner::Assignment& assignment) {
  return {search.run, search.identity, assignment.round, assignment.branch, assignment.turn};
}

Result<Done> find_proposal(store::Store& store, const store::ProposalKey& key,
                           std::optional<planner::Proposal>& found) {
  Result<std::optional<store::ProposalRecord>> record = store.get(key);
  if (!record) return record.error();
  if (!*record) return Done{};
  Result<std::string> bytes = store.blob((*record)->proposal);
  if (!bytes) return bytes.error();
  Result<planner::Proposal> proposal = planner::decode_proposal(*bytes);
  if (!proposal) return proposal.error();
  found = *std::move(proposal);
  return Done{};
}

Result<Done> keep_proposal(store::Store& store, const Search& search,
                           const planner::Assignment& assignment,
                           const planner::Proposal& proposal) {
  store::Batch batch;
  Digest candidate = planner::candidate_digest(proposal.ptx);
  batch.put(proposal_key(search, assignment),
            record_of(proposal, candidate, assignment.kind, batch));
  if (!proposal.ptx.empty()) {
    store::CandidateRecord record;
    record.ptx = batch.blob(proposal.ptx);
    record.parent = assignment.parent;
    record.family = proposal.family;
    record.subagent = planner::name_of(assignment.kind);
    record.explanation = proposal.explanation;
    record.round = assignment.round;
    record.branch = assignment.branch;
    batch.put(store::CandidateKey{search.identity, candidate}, record);
  }
  return store.keep(std::move(batch));
}

Result<Done> keep_open_round(store::Store& store, const Search& search,
                             const planner::RoundRecord& record) {
  Result<std::optional<store::RoundRecord>> known = store.get(round_key(search, record.round));
  if (!known) return known.error();
  // A resumed run opens its rounds again; one that is closed stays so.
  if (*known && (*known)->closed) return Done{};
  store::Batch batch;
  batch.put(round_key(search, record.round), store::RoundRecord{false, planner::print(record)});
  return store.keep(std::move(batch));
}

Result<Done> keep_round(store::Store& store, const Search& search,
                        const std::vector<planner::Admit>& admitted,
                        const planner::CloseRound& close,
                        const std::map<Digest, std::string>& resources) {
  store::Batch batch;
  for (const planner::Admit& admit : admitted) {
    store::FrontierKey key{search.identity, admit.proved ? 0u : 1u,
                           store::picoseconds(admit.timing.time_ns), admit.candidate};
    store::FrontierRecord record;
    record.timing = encode(admit.timing);
    if (admit.proof) record.proof = encode(*admit.proof);
    if (auto found = resources.find(admit.candidate); found != resources.end())
      record.resources_json = found->second;
    Result<Done> put = store::admit(store, batch, key, record);
    if (!put) return put;
  }
  batch.put(round_key(search, close.record.round),
            store::RoundRecord{true, planner::print(close.record)});
  batch.durable();
  return store.keep(std::move(batch));
}

Result<Done> keep_finish(store::Store& store, std::uint64_t number,
                         const std::vector<planner::Finish>& finishes) {
  store::RunKey key{store::Descending{number}};
  Result<std::optional<store::RunRecord>> run = store.get(key);
  if (!run) return run.error();
  if (!*run) return Error{Fault::malformed, "the run's own record is missing", "", {}};
  store::RunRecord record = **run;
  record.state = store::RunState::finished;
  record.outcome.clear();
  std::vector<std::string> reasons;
  for (const planner::Finish& finish : finishes)
    if (std::find(reasons.begin(), reasons.end(), finish.reason) == reasons.end())
      reasons.push_back(finish.reason);
  for (const std::string& reason : reasons)
    record.outcome += (record.outcome.empty() ? "" : "; ") + reason;
  store::Batch batch;
  batch.put(key, record).durable();
  return store.keep(std::move(batch));
}

}  // namespace lathe::actors
