#pragma once

// A whole search in a simulated world: planner, dispatcher, nodes and a store in memory; proposals
// and verdicts are made up, each a function of what was asked.

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "actor_world.h"
#include "actors/dispatcher_actor.h"
#include "actors/node_actor.h"
#include "actors/planner_actor.h"
#include "actors/records.h"
#include "actors/store_actor.h"
#include "pipeline/admission.h"
#include "pipeline/codec.h"
#include "store/export.h"
#include "tests/places.h"

namespace lathe::actors::farm {

inline std::shared_ptr<const Contract> contract(const std::string& name = "sum_8x512_fp16_sm_89") {
  Opened opened = open_contract(std::string(source_folder) + "/tests/kernels/contracts/" + name);
  INFO((opened.errors.empty() ? std::string() : opened.errors.front().what));
  REQUIRE(opened.contract);
  return opened.contract;
}

inline const std::string mark_text = "\tadd.s32 \t%r1, %r1, ";

/// The parent with another mark: a kernel that differs from it in one instruction.
inline std::string marked(std::string text, std::uint64_t mark) {
  std::string line = mark_text + std::to_string(mark) + ";\n";
  if (std::size_t at = text.find(mark_text); at != std::string::npos)
    return text.replace(at, text.find('\n', at) + 1 - at, line);
  return text.insert(text.rfind("\tret;"), line);
}

inline std::uint64_t mark_of(const std::string& text) {
  std::size_t at = text.find(mark_text);
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + mark_text.size()));
}

inline double time_of(std::uint64_t mark) {
  return mark == 0 ? 1000 : 1100 - static_cast<double>(philox64(3, 0, mark) % 300);
}

inline WorkReply answer(const WorkRequest& request, Verdict::Answer said, std::string code,
                        std::string passed = "") {
  WorkReply reply;
  reply.outcome = static_cast<WorkReply::Outcome>(said);
  reply.verdict.gate = request.gate;
  reply.verdict.answer = said;
  reply.verdict.reason_code = Reason::unsupported;
  reply.verdict.evidence = {code, "a sentence about " + code, {}, "{}"};
  reply.verdict.limits = limits_of(request);
  reply.passed = std::move(passed);
  return reply;
}

/// What passes hands the candidate's text on. By its mark a candidate is refused at some gate.
inline WorkReply run_made_up(const Errand& errand) {
  Result<WorkRequest> request = decode_request(errand.request);
  if (!request) return {};
  std::string text = request->payload;
  if (request->gate == Gate::assemble) {
    Result<Screened> screened = decode_screened(request->payload);
    if (!screened) return {};
    text = screened->ptx;
  }
  std::uint64_t mark = mark_of(text);
  if (mark >= 1000)  // A decoy.
    return request->gate == Gate::test ? answer(*request, Verdict::Answer::rejected, "value")
                                       : answer(*request, Verdict::Answer::passed, "passed", text);
  if (mark % 9 == 4 && request->gate == Gate::sanitize)
    return answer(*request, Verdict::Answer::rejected, "race");
  if (mark % 9 == 5 && request->gate == Gate::test)
    return answer(*request, Verdict::Answer::rejected, "value");
  if (mark % 9 == 7 && request->gate == Gate::verify)
    return answer(*request, Verdict::Answer::undecided, "unsupported");
  if (request->gate == Gate::verify)
    return answer(*request, Verdict::Answer::passed, "passed", encode(Proof{}));
  if (request->gate != Gate::benchmark)
    return answer(*request, Verdict::Answer::passed, "passed", text);
  Timing timing;
  timing.device = "made up";
  timing.time_ns = timing.low_ns = timing.high_ns = time_of(mark);
  timing.incumbent_ns = time_of(mark_of(request->incumbent));
  timing.baseline_ns = time_of(0);
  timing.verdict = timing.time_ns < timing.incumbent_ns ? "faster" : "slower";
  timing.bound_by = "latency";
  return answer(*request, Verdict::Answer::passed, "passed", encode(timing));
}

/// By the assignment's seed: a new mark, a repeated one, text that does not parse, or nothing.
inline Result<planner::Proposal> propose_made_up(const planner::Assignment& assignment) {
  planner::Proposal proposal;
  proposal.family = assignment.family;
  proposal.explanation = "a made-up change";
  std::uint64_t draw = philox64(assignment.seed, 1, assignment.turn);
  if (draw % 8 == 0) {
    proposal.failure = planner::Failure{"none_left", "nothing came to mind"};
  } else {
    proposal.ptx = marked(assignment.contract->reference, 1 + draw / 8 % 60);
    if (draw % 8 == 1) proposal.ptx.insert(proposal.ptx.rfind("\tret;"), "\tgarbage here;\n");
    proposal.cost.micro_dollars = 7;
    proposal.cost.requests = 1;
  }
  return proposal;
}

/// Of nodes that can do all that a made-up search needs.
inline std::set<std::string> made_up_offers() {
  std::set<std::string> offers{"tool:ptxas 13.0.0"};
  for (Gate gate : {Gate::assemble, Gate::sanitize, Gate::test, Gate::verify, Gate::benchmark})
    offers.insert("gate:" + std::string(name_of(gate)));
  return offers;
}

struct End {
  std::optional<Result<planner::Finish>> result;
};

inline std::shared_ptr<Search> search_of(std::uint64_t seed, std::uint64_t run,
                                         std::shared_ptr<const Contract> contract) {
  auto search = std::make_shared<Search>();
  search->run = run;
  search->contract = contract;
  search->identity = contract->identity();
  search->settings.rounds = 3;
  search->settings.branches = 3;
  search->settings.seed = seed;
  search->settings.subagents = {planner::Kind::rewrite, planner::Kind::model};
  search->decoys = {{"null", marked(contract->reference, 1000)},
                    {"copy", marked(contract->reference, 1001)}};
  search->assembler = "ptxas 13.0.0";
  search->engine = "lathe 0";
  search->propose = propose_made_up;
  search->tell = [](const std::string&, const std::string&) {};
  return search;
}

/// The store and the number of a run that has just begun.
inline std::pair<std::shared_ptr<store::Store>, std::uint64_t> begun(
    const std::vector<std::shared_ptr<const Contract>>& contracts) {
  std::shared_ptr<store::Store> store(store::Store::in_memory());
  store::Batch batch;
  store::RunRecord record;
  record.settings_json = "{}";
  for (const auto& contract : contracts)
    record.contracts.push_back(store::keep_contract(batch, *contract));
  Result<std::uint64_t> run = store->new_run(batch, record);
  REQUIRE(run);
  REQUIRE(store->commit(std::move(batch)));
  return {store, *run};
}

/// One life of the run's actors: until its end, or until it is killed.
class Life {
 public:
  Life(std::uint64_t seed, std::shared_ptr<Search> search, std::shared_ptr<store::Store> store,
       std::uint64_t epoch, int nodes = 2, const Runner& runner = run_made_up)
      : world_(seed) {
    search->aside = world_.aside();
    search->end = [this](Result<planner::Finish> result) {
      CHECK_FALSE(end_.result);
      end_.result = std::move(result);
    };
    DispatcherSettings settings{
        epoch, 0, 1000, 500, world_.clock(), [](const std::string&, const std::string&) {}};
    auto keeper = world_.spawn(store_actor, store);
    auto dispatcher = world_.spawn(dispatcher_actor, keeper, settings);
    for (int i = 0; i < nodes; ++i) {
      NodeSettings node;
      node.name = "n" + std::to_string(i);
      node.offers = made_up_offers();
      node.runner = runner;
      node.tell = [](const std::string&, const Offer&, const std::string&) {};
      node.aside = world_.aside();
      caf::anon_send(world_.spawn(node_actor, dispatcher, node), Pull{});
    }
    caf::anon_send(
        world_.spawn(planner_actor, std::shared_ptr<const Search>(search), keeper, dispatcher),
        Begin{});
  }

  /// How many steps it took; the end is there unless it was stopped before.
  std::uint64_t run(std::uint64_t steps_max = UINT64_MAX) {
    std::uint64_t steps = 0;
    while (steps < steps_max && !end_.result && world_.step()) ++steps;
    return steps;
  }
  const End& end() const { return end_; }
  ActorWorld& world() { return world_; }

 private:
  End end_;
  ActorWorld world_;
};

inline std::string exported(const store::Store& store) {
  Result<std::string> text = store::export_text(store);
  REQUIRE(text);
  return *text;
}

}  // namespace lathe::actors::farm
