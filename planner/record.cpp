// A round as JSON: for the store, for `lathe round` and for people.

#include "base/json.h"
#include "planner/planner.h"

namespace lathe::planner {
namespace {

Json json_of(const Timing& timing) {
  Json counters = Json::object();
  for (const auto& [name, count] : timing.counters) counters[name] = count;
  return {{"device", timing.device},
          {"modelled", timing.modelled},
          {"time_ns", timing.time_ns},
          {"low_ns", timing.low_ns},
          {"high_ns", timing.high_ns},
          {"incumbent_ns", timing.incumbent_ns},
          {"baseline_ns", timing.baseline_ns},
          {"verdict", timing.verdict},
          {"bound_by", timing.bound_by},
          {"reason", timing.reason},
          {"counters", counters}};
}

Json json_of(const Cost& cost) {
  Json json = {{"micro_dollars", cost.micro_dollars},
               {"input_tokens", cost.input_tokens},
               {"output_tokens", cost.output_tokens},
               {"requests", cost.requests}};
  if (!cost.price_known) {
    json.erase("micro_dollars");
    json["price"] = "unknown";
  }
  return json;
}

Json json_of(const Judgement& judgement) {
  const Verdict& verdict = judgement.verdict;
  Json json = {{"gate", name_of(judgement.gate)}, {"answer", name_of(verdict.answer)}};
  if (verdict.answer == Verdict::Answer::undecided)
    json["reason_code"] = name_of(verdict.reason_code);
  if (!verdict.evidence.code.empty()) json["code"] = verdict.evidence.code;
  if (!verdict.evidence.reason.empty()) json["reason"] = verdict.evidence.reason;
  if (verdict.evidence.place.line != 0) {
    json["line"] = verdict.evidence.place.line;
    json["column"] = verdict.evidence.place.column;
  }
  if (judgement.timing) json["timing"] = json_of(*judgement.timing);
  return json;
}

Json json_of(const Attempt& attempt) {
  Json json = {{"turn", attempt.turn}, {"family", attempt.family}};
  if (!attempt.explanation.empty()) json["explanation"] = attempt.explanation;
  if (attempt.failure)
    json["failure"] = {{"code", attempt.failure->code}, {"reason", attempt.failure->reason}};
  if (attempt.candidate) json["candidate"] = hex(*attempt.candidate);
  if (attempt.seen_before) json["seen_before"] = true;
  if (!attempt.remark.empty()) json["remark"] = attempt.remark;
  json["verdicts"] = Json::array();
  for (const Judgement& judgement : attempt.judgements)
    json["verdicts"].push_back(json_of(judgement));
  json["cost"] = json_of(attempt.cost);
  return json;
}

Json json_of(const BranchRecord& branch) {
  Json json = {
      {"branch", branch.branch}, {"subagent", name_of(branch.kind)}, {"family", branch.family}};
  if (branch.kind == Kind::rewrite) json["variant"] = branch.variant;
  json["attempts"] = Json::array();
  for (const Attempt& attempt : branch.attempts) json["attempts"].push_back(json_of(attempt));
  return json;
}

Json json_of(const Diagnosis& diagnosis) {
  Json json = {{"level", diagnosis.level},           {"bound_by", diagnosis.bound_by},
               {"hypothesis", diagnosis.hypothesis}, {"references", diagnosis.references},
               {"escalation", diagnosis.escalation}, {"suggestions", Json::array()}};
  for (const Suggestion& suggestion : diagnosis.suggestions)
    json["suggestions"].push_back({{"family", suggestion.family}, {"why", suggestion.why}});
  return json;
}

}  // namespace

std::string print(const RoundRecord& record) {
  Json json = {{"round", record.round},
               {"baseline", hex(record.baseline)},
               {"baseline_timing", json_of(record.baseline_timing)},
               {"diagnosis", json_of(record.diagnosis)},
               {"hints", record.hints},
               {"branches", Json::array()}};
  for (const BranchRecord& branch : record.branches) json["branches"].push_back(json_of(branch));
  json["admitted"] = Json::array();
  for (const Digest& digest : record.admitted) json["admitted"].push_back(hex(digest));
  if (record.chosen) json["chosen"] = hex(*record.chosen);
  json["decision"] = record.decision;
  json["cost"] = json_of(record.cost);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lathe::planner
