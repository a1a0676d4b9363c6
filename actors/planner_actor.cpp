#include "actors/planner_actor.h"

#include <caf/send.hpp>
#include <optional>

#include "actors/records.h"
#include "base/random.h"
#include "pipeline/admission.h"
#include "pipeline/codec.h"

namespace lathe::actors {
namespace {

using Self = PlannerActor::stateful_pointer<PlannerState>;
using planner::Decision;

/// The store and the dispatcher live in this process: only a fault of ours keeps them from
/// answering.
constexpr std::chrono::minutes local_wait_max{60 * 24 * 30};

void carry_out(Self self, std::vector<Decision> decisions);

void feed(Self self, const planner::Event& event) {
  if (!self->state.ended) carry_out(self, self->state.planner->on(event));
}

void fail(Self self, Error error) {
  if (self->state.ended) return;
  self->state.ended = true;
  self->state.search->end(std::move(error));
}

/// Runs the deed; then `next`, unless it failed, which ends the search.
template <class Next>
void with_store(Self self, std::function<Result<Done>(store::Store&)> run, Next next) {
  self->request(self->state.store, local_wait_max, Deed{std::move(run)})
      .then(
          [self, next](const DeedEnd& end) {
            if (self->state.ended) return;
            if (end.result)
              next();
            else
              fail(self, end.result.error());
          },
          // Its supervisor sees the owner's end too, and starts everything again.
          [](const caf::error&) {});
}

planner::Judged judged(const Digest& candidate, const Verdict& verdict, std::string_view output) {
  planner::Judged event{candidate, verdict.gate, verdict, {}, {}};
  if (output.empty() || verdict.answer == Verdict::Answer::rejected) return event;
  if (verdict.gate == Gate::benchmark)
    if (Result<Timing> timing = decode_timing(output)) event.timing = *timing;
  if (verdict.gate == Gate::verify)
    if (Result<Proof> proof = decode_proof(output)) event.proof = *proof;
  return event;
}

/// The verdict is committed: note what the gate made and tell the planner.
void answer(Self self, const Digest& candidate, const Verdict& verdict, const std::string& output) {
  Course& course = self->state.courses[candidate];
  bool forks = verdict.gate == Gate::verify || verdict.gate == Gate::benchmark;
  if (verdict.answer == Verdict::Answer::passed && !forks) {
    course.payload = output;
    course.passed = verdict.gate;
    if (verdict.gate == Gate::assemble) course.resources_json = verdict.evidence.json;
  }
  self->state.search->tell("verdict", verdict_line(candidate, verdict));
  feed(self, judged(candidate, verdict, output));
}

void screen_here(Self self, const planner::Evaluate& evaluate, const store::ResultKey& key) {
  Step<Screened> step = screen(Proposed{self->state.search->contract, *evaluate.ptx});
  if (const Error* error = step.error()) return fail(self, *error);
  auto verdict = std::make_shared<Verdict>(verdict_of(step));
  auto output = std::make_shared<std::string>();
  if (const Screened* screened = step.passed()) *output = encode(*screened);
  with_store(
      self,
      [key, verdict, output](store::Store& store) -> Result<Done> {
        store::Batch batch;
        store::keep_verdict(batch, key, encode(*verdict), *output);
        return store.keep(std::move(batch));
      },
      [self, candidate = evaluate.candidate, verdict, output] {
        answer(self, candidate, *verdict, *output);
      });
}

/// A piece of work that died on every node that took it tells nothing of the candidate.
Verdict abandoned(Gate gate, const Error& error) {
  Verdict verdict;
  verdict.gate = gate;
  verdict.answer = Verdict::Answer::undecided;
  verdict.reason_code = Reason::exhausted;
  verdict.evidence = {"quarantined", error.what, {}, "{}"};
  return verdict;
}

void order(Self self, Digest candidate, Gate gate, const store::ResultKey& key,
           std::shared_ptr<const std::string> request, std::set<std::string> needs) {
  WorkOrder order{key, std::move(request), self->state.search->run, priority_of(gate),
                  std::move(needs)};
  self->request(self->state.dispatcher, local_wait_max, std::move(order))
      .then(
          [self, candidate, gate](const WorkEnd& end) {
            if (end.reply.outcome != WorkReply::Outcome::error)
              return answer(self, candidate, end.reply.verdict, end.reply.passed);
            if (end.reply.error.fault == Fault::unavailable) return fail(self, end.reply.error);
            answer(self, candidate, abandoned(gate, end.reply.error), "");
          },
          [](const caf::error&) {});
}

struct Known {
  std::optional<Verdict> verdict;
  std::string output;
};

Result<Done> look_up(store::Store& store, const store::ResultKey& key, Known& known) {
  Result<std::optional<store::VerdictRecord>> found = store::find_verdict(store, key);
  if (!found) return found.error();
  if (!*found) return Done{};
  Result<Verdict> verdict = decode_verdict((*found)->verdict);
  if (!verdict) return verdict.error();
  if (!store::is_none((*found)->output)) {
    Result<std::string> output = store.blob((*found)->output);
    if (!output) return output.error();
    known.output = *std::move(output);
  }
  known.verdict = *std::move(verdict);
  return Done{};
}

void evaluate(Self self, const planner::Evaluate& asked) {
  const Search& search = *self->state.search;
  Course& course = self->state.courses[asked.candidate];
  course.ptx = asked.ptx;
  WorkRequest request = request_of(search, course, asked.gate, asked.candidate,
                                   asked.incumbent_ptx ? *asked.incumbent_ptx : "");
  store::ResultKey key = key_of(search, request, asked.candidate);
  auto bytes = std::make_shared<const std::string>(encode(request));
  auto known = std::make_shared<Known>();
  with_store(
      self, [key, known](store::Store& store) { return look_up(store, key, *known); },
      [self, asked, key, bytes, known, needs = needs_of(request)] {
        if (known->verdict) return answer(self, asked.candidate, *known->verdict, known->output);
        if (asked.gate == Gate::screen) return screen_here(self, asked, key);
        order(self, asked.candidate, asked.gate, key, bytes, needs);
      });
}

void propose(Self self, const planner::Propose& asked) {
  auto search = self->state.search;
  auto known = std::make_shared<std::optional<planner::Proposal>>();
  const planner::Assignment& assignment = asked.assignment;
  store::ProposalKey key = proposal_key(*search, assignment);
  with_store(
      self, [key, known](store::Store& store) { return find_proposal(store, key, *known); },
      [self, assignment, known, search] {
        if (*known)
          return feed(self, planner::ProposalReceived{assignment.round, assignment.branch,
                                                      assignment.turn, **known});
        PlannerActor planner{self};
        run_aside(self, search->aside, [planner, assignment, search] {
          caf::anon_send(planner, SubagentEnd{assignment, search->propose(assignment)});
        });
      });
}

void receive(Self self, const SubagentEnd& end) {
  if (!end.proposal) return fail(self, end.proposal.error());
  auto search = self->state.search;
  auto proposal = std::make_shared<const planner::Proposal>(*end.proposal);
  search->tell("proposal", proposal_line(end.assignment, *proposal));
  with_store(
      self,
      [search, assignment = end.assignment, proposal](store::Store& store) {
        return keep_proposal(store, *search, assignment, *proposal);
      },
      [self, assignment = end.assignment, proposal] {
        feed(self, planner::ProposalReceived{assignment.round, assignment.branch, assignment.turn,
                                             *proposal});
      });
}

/// All that was asked of the store before is done when the end is told.
void finish(Self self, const planner::Finish& decision) {
  with_store(
      self, [](store::Store&) -> Result<Done> { return Done{}; },
      [self, decision] {
        self->state.ended = true;
        self->state.search->end(decision);
      });
}

/// Admissions and the closing of their round are one batch.
void close_round(Self self, std::vector<planner::Admit> admitted,
                 const planner::CloseRound& close) {
  auto search = self->state.search;
  std::map<Digest, std::string> resources;
  for (const planner::Admit& admit : admitted)
    resources[admit.candidate] = self->state.courses[admit.candidate].resources_json;
  with_store(
      self,
      [search, admitted = std::move(admitted), close, resources](store::Store& store) {
        return keep_round(store, *search, admitted, close, resources);
      },
      [self, record = close.record] { self->state.search->tell("round", planner::print(record)); });
}

void carry_out(Self self, std::vector<Decision> decisions) {
  std::vector<planner::Admit> admitted;
  for (Decision& decision : decisions) {
    if (self->state.ended) return;
    if (auto* admit = std::get_if<planner::Admit>(&decision)) {
      admitted.push_back(*admit);
    } else if (auto* close = std::get_if<planner::CloseRound>(&decision)) {
      close_round(self, std::exchange(admitted, {}), *close);
    } else if (auto* open = std::get_if<planner::OpenRound>(&decision)) {
      auto search = self->state.search;
      with_store(
          self,
          [search, record = open->record](store::Store& store) {
            return keep_open_round(store, *search, record);
          },
          [self, record = open->record] {
            self->state.search->tell("plan", planner::print(record));
          });
    } else if (auto* asked = std::get_if<planner::Propose>(&decision)) {
      propose(self, *asked);
    } else if (auto* gate = std::get_if<planner::Evaluate>(&decision)) {
      evaluate(self, *gate);
    } else if (auto* end = std::get_if<planner::Finish>(&decision)) {
      finish(self, *end);
    }
  }
}

}  // namespace

WorkRequest request_of(const Search& search, const Course& course, Gate gate,
                       const Digest& candidate, const std::string& incumbent_ptx) {
  WorkRequest request;
  request.gate = gate;
  request.payload = course.payload;
  if (gate == Gate::benchmark) request.incumbent = incumbent_ptx;
  std::uint64_t name = 0;
  for (std::size_t i = 0; i < 8; ++i) name = name << 8 | candidate.bytes[i];
  // The reference's answers are kept between candidates, so the device's inputs are one a run.
  request.seed = gate == Gate::verify
                     ? philox64(search.settings.seed, static_cast<std::uint64_t>(gate), name)
                     : search.settings.seed;
  request.ptx_isa = search.contract->ptx_isa;
  request.assembler = search.assembler;
  request.steps_max = search.steps_max;
  return request;
}

store::ResultKey key_of(const Search& search, const WorkRequest& request, const Digest& candidate) {
  store::ResultKey key;
  key.candidate = candidate;
  key.contract = search.identity;
  key.gate = request.gate;
  key.parameters = limits_of(request);
  if (request.gate == Gate::benchmark)
    key.parameters += " incumbent=" + hex(planner::candidate_digest(request.incumbent));
  key.toolchain = search.engine + ", " + search.assembler;
  key.architecture = "emulated " + search.contract->target;
  return key;
}

PlannerActor::behavior_type planner_actor(Self self, std::shared_ptr<const Search> search,
                                          StoreActor store, DispatcherActor dispatcher) {
  static_assert(!std::is_aggregate_v<PlannerState>);
  self->state.search = std::move(search);
  self->state.store = std::move(store);
  self->state.dispatcher = std::move(dispatcher);
  self->state.planner = std::make_unique<planner::Planner>(self->state.search->settings);
  return {
      [self](Begin) {
        feed(self, planner::Started{self->state.search->contract, self->state.search->decoys});
      },
      [self](const SubagentEnd& end) { receive(self, end); },
      [self](const Steer& steer) { feed(self, steer.event); },
  };
}

}  // namespace lathe::actors
