// A run that is killed anywhere and fed its stored answers ends with the same records; and the
// planner with the real rewrites on the shipped kernels ends by itself.

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/files.h"
#include "planner/diagnosis.h"
#include "tests/places.h"
#include "world.h"

namespace lathe::planner {
namespace {

using namespace world;

/// Answers that a store would hold, by what was asked.
struct Stored {
  std::map<std::pair<Digest, Gate>, Judged> verdicts;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Proposal> proposals;
};

/// Plays until `events_max` answers were given; what was answered is stored, as a shell would.
std::vector<std::string> play(World& world, const Settings& settings, Stored& stored,
                              std::size_t events_max, std::uint64_t seed) {
  Planner planner(settings);
  world.log.clear();
  world.seed = seed;
  std::vector<Event> waiting{Started{contract(), world.decoys}};
  for (std::size_t step = 0; !waiting.empty() && step < events_max; ++step) {
    std::size_t pick = philox64(seed, 1, step) % waiting.size();
    Event event = waiting[pick];
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(pick));
    if (auto* judged = std::get_if<Judged>(&event))
      stored.verdicts.insert_or_assign({judged->candidate, judged->gate}, *judged);
    if (auto* got = std::get_if<ProposalReceived>(&event))
      stored.proposals.insert_or_assign({got->round, got->branch, got->turn}, got->proposal);
    for (const Decision& decision : planner.on(event)) {
      auto next = world.answer(decision);
      if (auto* asked = std::get_if<Evaluate>(&decision)) {
        auto known = stored.verdicts.find({asked->candidate, asked->gate});
        if (known != stored.verdicts.end()) next = known->second;
      }
      if (auto* asked = std::get_if<Propose>(&decision)) {
        const Assignment& a = asked->assignment;
        auto known = stored.proposals.find({a.round, a.branch, a.turn});
        if (known != stored.proposals.end())
          next = ProposalReceived{a.round, a.branch, a.turn, known->second};
      }
      if (next) waiting.push_back(*next);
    }
  }
  return world.log;
}

TEST_CASE("a run killed at any event and resumed from its stored answers ends the same") {
  Settings settings;
  settings.rounds = 3;
  settings.branches = 3;
  settings.subagents = {Kind::rewrite, Kind::model};
  World world;
  world.propose = [](const Assignment& a) {
    int mark = static_cast<int>(10 * a.round + a.branch + 100 * a.turn);
    return a.branch == 3 && a.round == 2 ? failure("none_left") : proposal(kernel(mark));
  };
  auto id = [](int mark) { return candidate_digest(kernel(mark)); };
  world.time_ns[id(13)] = 900;
  world.time_ns[id(21)] = 850;
  world.time_ns[id(122)] = 800;
  world.refusals[{id(22), Gate::test}] = verdict(Gate::test, Verdict::Answer::rejected, "value");
  world.refusals[{id(31), Gate::verify}] =
      verdict(Gate::verify, Verdict::Answer::rejected, "race", "two threads");
  Stored whole;
  std::vector<std::string> expected = play(world, settings, whole, 100'000, 1);
  REQUIRE(expected.size() > 8);
  CHECK(expected.back().starts_with("finish all 3 rounds"));
  for (std::size_t killed = 1; killed < 80; ++killed) {
    Stored stored;
    play(world, settings, stored, killed, killed);
    play(world, settings, stored, killed + 7, killed + 1);
    CHECK(play(world, settings, stored, 100'000, killed + 2) == expected);
  }
}

TEST_CASE("with the real rewrites a search of a shipped kernel gains and ends by itself") {
  for (const char* name : {"sum_fp16_sm_90a", "softmax_fp16_sm_89"}) {
    std::filesystem::path folder =
        std::filesystem::path(source_folder) / "suite" / "contracts" / name;
    auto contract = std::make_shared<Contract>();
    contract->reference = *read_text(folder / "reference.ptx");
    ptx::Module module = ptx::parse(contract->reference, "reference.ptx").module;
    for (const ptx::Function& function : module.functions)
      if (function.entry) contract->entry = function.name;
    contract->target = std::string(module.target.at(0));
    auto time_of = [&](const std::string& text) {
      Features seen = features_of(ptx::parse(text, "c").module, contract->entry);
      return static_cast<double>(20 * seen.longest_chain + 50 * seen.barriers + seen.instructions);
    };
    Settings settings;
    settings.rounds = 50;
    settings.offers = offered_families;
    Planner planner(settings);
    auto rewriter = make_rewriter();
    std::vector<Event> waiting{Started{contract, {}}};
    std::optional<Finish> end;
    std::size_t admitted = 0;
    while (!waiting.empty()) {
      Event event = waiting.back();
      waiting.pop_back();
      for (const Decision& decision : planner.on(event)) {
        if (auto* asked = std::get_if<Propose>(&decision)) {
          const Assignment& a = asked->assignment;
          waiting.push_back(ProposalReceived{a.round, a.branch, a.turn, *rewriter->propose(a)});
        } else if (auto* gate = std::get_if<Evaluate>(&decision)) {
          Judged judged{
              gate->candidate, gate->gate, verdict(gate->gate, Verdict::Answer::passed), {}, {}};
          if (gate->gate == Gate::benchmark)
            judged.timing = timing(time_of(*gate->ptx), time_of(*gate->incumbent_ptx));
          waiting.push_back(judged);
        } else if (auto* finish = std::get_if<Finish>(&decision)) {
          end = *finish;
        }
        admitted += std::holds_alternative<Admit>(decision);
      }
    }
    REQUIRE(end);
    CHECK(end->reason.starts_with("no proposals are left"));
    CHECK(end->best);
    CHECK(admitted >= 2);
  }
}

}  // namespace
}  // namespace lathe::planner
