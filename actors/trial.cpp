#include "actors/trial.h"

#include "actors/planner_actor.h"
#include "actors/records.h"
#include "actors/settings.h"
#include "base/files.h"
#include "gpu_node/gpu_node.h"
#include "pipeline/admission.h"
#include "pipeline/codec.h"
#include "planner/frontier.h"
#include "ptx/patch.h"

namespace lathe::actors {
namespace {

struct Incumbent {
  std::string ptx;
  Digest digest;
  bool is_reference = true;
};

/// The best of the frontier, else the reference.
Result<Incumbent> incumbent_of(const store::Store& store, const Contract& contract,
                               const Digest& identity) {
  auto rows = store::frontier(store, identity, 1);
  if (!rows) return rows.error();
  if (rows->empty())
    return Incumbent{contract.reference, planner::candidate_digest(contract.reference), true};
  Digest best = rows->front().key.candidate;
  auto record = store.get(store::CandidateKey{identity, best});
  if (!record) return record.error();
  if (!*record)
    return Error{Fault::malformed, "the frontier names a candidate that is not there", "", {}};
  Result<std::string> ptx = store.blob((*record)->ptx);
  if (!ptx) return ptx.error();
  return Incumbent{*std::move(ptx), best, false};
}

struct Trial {
  const TrialRequest& request;
  Search search;
  Course course;
  std::string incumbent;
  TrialEnd end;
  store::Batch batch;

  void note(const Verdict& verdict, std::string_view output, const store::ResultKey& key) {
    store::keep_verdict(batch, key, encode(verdict), output);
    end.verdicts.push_back(verdict);
    if (request.tell) request.tell(verdict);
  }
  /// True where the gate was passed. Errors: no answer came.
  Result<bool> run(Gate gate);
  Result<bool> run_screen(const std::string& ptx);
};

Result<bool> Trial::run_screen(const std::string& ptx) {
  Step<Screened> step = screen(Proposed{search.contract, ptx});
  if (const Error* error = step.error()) return *error;
  if (const Screened* screened = step.passed()) course.payload = encode(*screened);
  WorkRequest asked = request_of(search, course, Gate::screen, end.candidate, "");
  Verdict verdict = verdict_of(step);
  note(verdict, course.payload, key_of(search, asked, end.candidate));
  return verdict.answer == Verdict::Answer::passed;
}

Result<bool> Trial::run(Gate gate) {
  WorkRequest asked = request_of(search, course, gate, end.candidate, incumbent);
  if (request.begin) request.begin(gate);
  WorkReply reply = request.runner({encode(asked)});
  if (reply.outcome == WorkReply::Outcome::error) return reply.error;
  note(reply.verdict, reply.passed, key_of(search, asked, end.candidate));
  bool passed = reply.outcome == WorkReply::Outcome::passed;
  if (gate == Gate::assemble && passed) end.resources_json = reply.verdict.evidence.json;
  if (gate == Gate::verify && passed)
    if (Result<Proof> proof = decode_proof(reply.passed)) end.proof = *proof;
  if (gate == Gate::benchmark && !reply.passed.empty())
    if (Result<Timing> timing = decode_timing(reply.passed)) end.timing = *timing;
  if (passed && gate != Gate::verify && gate != Gate::benchmark) course.payload = reply.passed;
  return passed;
}

Result<Done> judge(Trial& trial) {
  for (Gate gate : {Gate::assemble, Gate::sanitize, Gate::test, Gate::verify, Gate::benchmark}) {
    Result<bool> passed = trial.run(gate);
    if (!passed) return passed.error();
    if (!*passed) {
      trial.end.decision = "not admitted: " + std::string(name_of(gate)) + " says " +
                           std::string(name_of(trial.end.verdicts.back().answer));
      return Done{};
    }
  }
  trial.end.admitted = trial.end.timing && trial.end.timing->verdict == "faster";
  trial.end.decision = trial.end.admitted ? "admitted: faster than the incumbent, and proved"
                                          : "not admitted: not faster than the incumbent";
  return Done{};
}

Result<Done> keep(Trial& trial, store::Store& store, const std::string& ptx) {
  store::CandidateRecord record;
  record.ptx = trial.batch.blob(ptx);
  record.parent = trial.end.incumbent;
  record.family = "free_form";
  record.subagent = planner::name_of(planner::Kind::person);
  record.explanation = "a person's own PTX";
  trial.batch.put(store::CandidateKey{trial.search.identity, trial.end.candidate}, record);
  if (trial.end.admitted) {
    store::FrontierKey key{trial.search.identity, 0, store::picoseconds(trial.end.timing->time_ns),
                           trial.end.candidate};
    store::FrontierRecord row;
    row.timing = encode(*trial.end.timing);
    if (trial.end.proof) row.proof = encode(*trial.end.proof);
    row.resources_json = trial.end.resources_json;
    if (Result<Done> put = store::admit(store, trial.batch, key, row); !put) return put;
  }
  return store.keep(std::move(trial.batch.durable()));
}

}  // namespace

Result<TrialEnd> try_candidate(const TrialRequest& request) {
  Result<std::string> ptx = read_text(request.candidate);
  if (!ptx) return ptx.error();
  Opened opened = open_contract(request.contract);
  if (!opened.errors.empty()) return opened.errors.front();
  Result<gpu_node::Assembler> assembler = gpu_node::choose_assembler(opened.contract->ptx_isa);
  if (!assembler) return assembler.error();
  Result<std::unique_ptr<store::Store>> store = open_store(request.store, "lathe try");
  if (!store) return store.error();
  Trial trial{request, {}, {}, {}, {}, {}};
  trial.search.contract = opened.contract;
  trial.search.identity = store::keep_contract(trial.batch, *opened.contract);
  trial.search.settings.seed = request.seed;
  trial.search.assembler = "ptxas " + assembler->version;
  trial.search.engine = engine_version();
  trial.end.contract = trial.search.identity;
  trial.end.candidate = planner::candidate_digest(*ptx);
  Result<Incumbent> incumbent = incumbent_of(**store, *opened.contract, trial.search.identity);
  if (!incumbent) return incumbent.error();
  trial.incumbent = incumbent->ptx;
  trial.end.incumbent = incumbent->digest;
  trial.end.incumbent_is_reference = incumbent->is_reference;
  trial.end.difference = ptx::diff(incumbent->ptx, *ptx);
  Result<bool> screened = trial.run_screen(*ptx);
  if (!screened) return screened.error();
  if (!*screened)
    trial.end.decision = "not admitted: screen says rejected";
  else if (Result<Done> judged = judge(trial); !judged)
    return judged.error();
  if (Result<Done> kept = keep(trial, **store, *ptx); !kept) return kept.error();
  return trial.end;
}

}  // namespace lathe::actors
