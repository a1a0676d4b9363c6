// The search machine: the order of gates, who is admitted, what seeds the next round, and that the
// order of answers decides nothing.

#include <catch2/catch.hpp>
#include <set>

#include "world.h"

namespace lathe::planner {
namespace {

using namespace world;
using Answer = Verdict::Answer;

Digest id(int mark) { return candidate_digest(kernel(mark)); }

/// Each branch of each round proposes a kernel of its own: mark = 10 * round + branch.
Proposal numbered(const Assignment& a) {
  return proposal(kernel(static_cast<int>(10 * a.round + a.branch)));
}

Settings settings(std::uint32_t rounds, std::uint32_t branches,
                  std::vector<Kind> kinds = {Kind::rewrite}) {
  Settings made;
  made.rounds = rounds;
  made.branches = branches;
  made.subagents = std::move(kinds);
  return made;
}

World played(const Settings& how, World world = {}) {
  if (!world.propose) world.propose = numbered;
  Planner planner(how);
  world.run(planner);
  return world;
}

TEST_CASE("the reference passes every gate before a search starts") {
  World world = played(settings(1, 1));
  for (Gate gate :
       {Gate::screen, Gate::assemble, Gate::sanitize, Gate::test, Gate::verify, Gate::benchmark})
    CHECK(world.evaluated[{id(0), gate}] == 1);
}

TEST_CASE("a reference that is refused ends the run as failed, and nothing is proposed") {
  World world;
  world.refusals[{id(0), Gate::sanitize}] =
      verdict(Gate::sanitize, Answer::rejected, "bounds", "reads beyond x");
  world = played(settings(1, 1), world);
  REQUIRE(world.end);
  CHECK(world.end->failed);
  CHECK(world.end->reason ==
        "the reference itself is rejected at sanitize (bounds): reads beyond x");
  CHECK(world.assignments.empty());
}

TEST_CASE("a reference that nobody can prove ends a run under the policy gate") {
  World world;
  world.refusals[{id(0), Gate::verify}] = verdict(Gate::verify, Answer::undecided, "", "tcgen05");
  world = played(settings(1, 1), world);
  CHECK(world.end->failed);
}

TEST_CASE("a reference that nobody can prove may be searched under the policy label") {
  World world;
  world.refusals[{id(0), Gate::verify}] = verdict(Gate::verify, Answer::undecided, "", "tcgen05");
  Settings how = settings(1, 1);
  how.policy = Policy::label;
  world = played(how, world);
  CHECK_FALSE(world.end->failed);
  CHECK(world.assignments.size() == 1);
}

TEST_CASE("a fake kernel that passes the test gate keeps the search from starting") {
  World world;
  world.decoys = {{"null", kernel(90)}, {"copy", kernel(91)}};
  world.refusals[{id(90), Gate::test}] = verdict(Gate::test, Answer::rejected, "value");
  world = played(settings(1, 1), world);
  CHECK(world.end->failed);
  CHECK(world.end->reason == "the gates do not refuse the fake kernel `copy`");
}

TEST_CASE("fake kernels that are all refused let the search start, and are never timed") {
  World world;
  world.decoys = {{"null", kernel(90)}};
  world.refusals[{id(90), Gate::test}] = verdict(Gate::test, Answer::rejected, "value");
  world = played(settings(1, 1), world);
  CHECK_FALSE(world.end->failed);
  CHECK(world.evaluated.count({id(90), Gate::benchmark}) == 0);
}

TEST_CASE("a fake kernel about which a gate cannot tell counts as not refused") {
  World world;
  world.decoys = {{"null", kernel(90)}};
  world.refusals[{id(90), Gate::test}] = verdict(Gate::test, Answer::undecided);
  world = played(settings(1, 1), world);
  CHECK(world.end->failed);
}

TEST_CASE("a gate is asked only after the one before it passed") {
  World world;
  world.refusals[{id(11), Gate::assemble}] =
      verdict(Gate::assemble, Answer::rejected, "assemble", "line 3");
  world = played(settings(1, 1), world);
  CHECK(world.evaluated[{id(11), Gate::assemble}] == 1);
  CHECK(world.evaluated.count({id(11), Gate::sanitize}) == 0);
  CHECK(world.evaluated.count({id(11), Gate::benchmark}) == 0);
  CHECK(world.admitted.empty());
}

TEST_CASE("verify and benchmark are asked side by side once the test has passed") {
  Planner planner(settings(1, 1));
  World world;
  std::vector<Decision> last;
  std::vector<Decision> now = planner.on(Started{contract(), {}});
  while (now.size() == 1) {
    auto next = world.answer(now[0]);
    REQUIRE(next);
    now = planner.on(*next);
  }
  REQUIRE(now.size() == 2);
  CHECK(std::get<Evaluate>(now[0]).gate == Gate::verify);
  CHECK(std::get<Evaluate>(now[1]).gate == Gate::benchmark);
}

TEST_CASE("a faster and proved candidate is admitted and seeds the next round") {
  World world;
  world.time_ns[id(12)] = 800;
  world = played(settings(2, 2), world);
  REQUIRE(world.admitted.size() == 1);
  CHECK(world.admitted[0].candidate == id(12));
  CHECK(world.admitted[0].proved);
  REQUIRE(world.rounds.size() == 2);
  CHECK(world.rounds[0].chosen == id(12));
  CHECK(world.rounds[1].baseline == id(12));
  CHECK(world.end->best == id(12));
}

TEST_CASE("a tie is not a win") {
  World world;
  world.time_ns[id(11)] = 999.5;  // Below gain_min.
  world = played(settings(1, 2), world);
  CHECK(world.admitted.empty());
  CHECK(world.rounds[0].decision == "no candidate is measurably faster: the baseline stays");
  CHECK_FALSE(world.end->best);
}

TEST_CASE("an interval that touches the incumbent's time is a tie") {
  World world;
  world.propose = numbered;
  Planner planner(settings(1, 1));
  std::vector<Event> waiting{Started{contract(), {}}};
  while (!waiting.empty()) {
    Event event = waiting.back();
    waiting.pop_back();
    if (auto* judged = std::get_if<Judged>(&event); judged && judged->candidate == id(11))
      if (judged->timing) {
        judged->timing->time_ns = 900;
        judged->timing->verdict = "faster";
        judged->timing->high_ns = 1001;
      }
    for (const Decision& decision : planner.on(event))
      if (auto next = world.answer(decision)) waiting.push_back(*next);
  }
  CHECK(world.admitted.empty());
}

TEST_CASE("a refuted candidate is not admitted, however fast") {
  World world;
  world.time_ns[id(11)] = 10;
  world.refusals[{id(11), Gate::verify}] =
      verdict(Gate::verify, Answer::rejected, "value", "differs");
  for (Policy policy : {Policy::gate, Policy::label}) {
    Settings how = settings(1, 1);
    how.policy = policy;
    CHECK(played(how, world).admitted.empty());
  }
}

TEST_CASE("what nobody could prove is refused by gate and kept, marked, by label") {
  World world;
  world.time_ns[id(11)] = 10;
  world.refusals[{id(11), Gate::verify}] = verdict(Gate::verify, Answer::undecided);
  Settings how = settings(1, 1);
  CHECK(played(how, world).admitted.empty());
  how.policy = Policy::label;
  World labelled = played(how, world);
  REQUIRE(labelled.admitted.size() == 1);
  CHECK_FALSE(labelled.admitted[0].proved);
}

TEST_CASE("an unproved candidate never outranks a proved one") {
  World world;
  world.time_ns[id(11)] = 10;
  world.time_ns[id(12)] = 900;
  world.refusals[{id(11), Gate::verify}] = verdict(Gate::verify, Answer::undecided);
  Settings how = settings(1, 2);
  how.policy = Policy::label;
  world = played(how, world);
  CHECK(world.admitted.size() == 2);
  CHECK(world.rounds[0].chosen == id(12));
}

TEST_CASE("under the policy off nothing is proved and nothing is called so") {
  World world;
  world.time_ns[id(11)] = 10;
  Settings how = settings(1, 1);
  how.policy = Policy::off;
  world = played(how, world);
  CHECK(world.evaluated.count({id(11), Gate::verify}) == 0);
  REQUIRE(world.admitted.size() == 1);
  CHECK_FALSE(world.admitted[0].proved);
}

TEST_CASE("of several faster ones the fastest seeds the next round and all are admitted") {
  World world;
  world.time_ns[id(11)] = 900;
  world.time_ns[id(12)] = 700;
  world.time_ns[id(13)] = 800;
  world = played(settings(1, 3), world);
  CHECK(world.rounds[0].admitted == std::vector<Digest>{id(12), id(13), id(11)});
  CHECK(world.rounds[0].chosen == id(12));
}

TEST_CASE("identical candidates of one round are evaluated once") {
  World world;
  world.time_ns[id(7)] = 900;
  world.propose = [](const Assignment& a) {
    return proposal((a.branch == 2 ? "// another comment\n" : "") + kernel(7));
  };
  world = played(settings(1, 3), world);
  CHECK(world.evaluated[{id(7), Gate::benchmark}] == 1);
  CHECK(world.admitted.size() == 1);
  const auto& branches = world.rounds[0].branches;
  CHECK_FALSE(branches[0].attempts[0].seen_before);
  CHECK(branches[1].attempts[0].seen_before);
}

TEST_CASE("a candidate of an earlier round is not evaluated again") {
  World world;
  world.propose = [](const Assignment&) { return proposal(kernel(7)); };
  world = played(settings(3, 1), world);
  CHECK(world.evaluated[{id(7), Gate::screen}] == 1);
  CHECK(world.rounds[1].branches[0].attempts[0].seen_before);
}

TEST_CASE("the parent proposed again is nothing new") {
  World world;
  world.propose = [](const Assignment&) { return proposal(kernel(0)); };
  world = played(settings(1, 1), world);
  CHECK(world.evaluated[{id(0), Gate::screen}] == 1);
  CHECK(world.rounds[0].branches[0].attempts[0].seen_before);
}

TEST_CASE("the order of answers within a round decides nothing") {
  World first;
  first.time_ns[id(12)] = 900;
  first.time_ns[id(14)] = 900;
  first.time_ns[id(23)] = 500;
  first.refusals[{id(13), Gate::test}] = verdict(Gate::test, Answer::rejected, "value", "wrong");
  first.refusals[{id(21), Gate::verify}] = verdict(Gate::verify, Answer::rejected, "race");
  std::vector<std::string> expected =
      played(settings(3, 4, {Kind::rewrite, Kind::model}), first).log;
  CHECK(expected.size() > 6);
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    first.seed = seed;
    CHECK(played(settings(3, 4, {Kind::rewrite, Kind::model}), first).log == expected);
  }
}

TEST_CASE("a repeated answer and one that nobody asked for change nothing") {
  Planner planner(settings(1, 1));
  planner.on(Started{contract(), {}});
  CHECK(planner.on(Judged{id(0), Gate::test, verdict(Gate::test, Answer::passed), {}, {}}).empty());
  CHECK(planner.on(Judged{id(5), Gate::screen, verdict(Gate::screen, Answer::passed), {}, {}})
            .empty());
  Judged screened{id(0), Gate::screen, verdict(Gate::screen, Answer::passed), {}, {}};
  CHECK(planner.on(screened).size() == 1);
  CHECK(planner.on(screened).empty());
  CHECK(planner.on(ProposalReceived{1, 1, 0, proposal(kernel(1))}).empty());
}

TEST_CASE("a run ends when its rounds are done") {
  World world = played(settings(3, 2));
  CHECK(world.rounds.size() == 3);
  CHECK(world.end->reason == "all 3 rounds are done");
  CHECK_FALSE(world.end->failed);
}

TEST_CASE("a run ends when no rewrite is left for the baseline") {
  World world;
  world.propose = [](const Assignment&) { return failure("none_left"); };
  world = played(settings(100, 4), world);
  CHECK(world.rounds.size() < 10);
  CHECK(world.end->reason.starts_with("no proposals are left for this baseline"));
}

TEST_CASE("only rewrites that are offered are planned") {
  Settings how = settings(10, 4);
  how.offers = [](const ptx::Module&, const Contract&) {
    return std::vector<std::string>{"reciprocal", "tree_reduction", "reciprocal"};
  };
  World world = played(how);
  REQUIRE(world.rounds.size() == 1);
  const auto& branches = world.rounds[0].branches;
  REQUIRE(branches.size() == 3);
  CHECK(branches[0].family == "tree_reduction");
  CHECK(branches[1].family == "reciprocal");
  CHECK(branches[2].family == "reciprocal");
  CHECK(branches[2].variant == 1);
}

TEST_CASE("a new baseline may be rewritten by every family again") {
  World world;
  world.time_ns[id(11)] = 900;
  Settings how = settings(2, 1);
  how.offers = [](const ptx::Module&, const Contract&) {
    return std::vector<std::string>{"tree_reduction"};
  };
  world = played(how, world);
  CHECK(world.rounds.size() == 2);
  CHECK(world.rounds[1].branches[0].variant == 0);
}

TEST_CASE("a banned family is not planned from the next round on") {
  World world;
  world.propose = numbered;
  Planner planner(settings(1, 4));
  world.run(planner, {Ban{"tree_reduction"}});
  for (const auto& branch : world.rounds[0].branches) CHECK(branch.family != "tree_reduction");
}

TEST_CASE("a hint reaches the assignments and the record") {
  World world;
  world.propose = numbered;
  Planner planner(settings(1, 1));
  world.run(planner, {Hint{"try rcp"}});
  CHECK(world.assignments[0].hints == std::vector<std::string>{"try rcp"});
  CHECK(world.rounds[0].hints == std::vector<std::string>{"try rcp"});
}

TEST_CASE("a stop ends the run when its round has closed") {
  World world;
  world.propose = numbered;
  Planner planner(settings(5, 1));
  world.run(planner, {Stop{"asked by a person"}});
  CHECK(world.end->reason == "stopped: asked by a person");
  CHECK(planner.finished());
  CHECK(planner.on(Hint{"late"}).empty());
}

TEST_CASE("a model gets one turn to repair what a gate refused, with the reason") {
  World world;
  world.propose = [](const Assignment& a) { return proposal(kernel(a.turn == 0 ? 5 : 6)); };
  world.refusals[{id(5), Gate::assemble}] =
      verdict(Gate::assemble, Answer::rejected, "assemble", "unknown modifier");
  world.time_ns[id(6)] = 500;
  world = played(settings(1, 1, {Kind::model}), world);
  REQUIRE(world.assignments.size() == 2);
  CHECK(world.assignments[1].previous == kernel(5));
  CHECK(world.assignments[1].lessons.back().reason == "unknown modifier");
  CHECK(world.rounds[0].branches[0].attempts.size() == 2);
  CHECK(world.admitted.size() == 1);
}

TEST_CASE("a rewrite that is refused gets no second turn, and a slow candidate neither") {
  World world;
  world.refusals[{id(11), Gate::test}] = verdict(Gate::test, Answer::rejected, "value");
  CHECK(played(settings(1, 1), world).assignments.size() == 1);
  CHECK(played(settings(1, 1, {Kind::model})).assignments.size() == 1);
}

TEST_CASE("a spent budget ends a run of models and not one that can rewrite") {
  World world;
  world.propose = [](const Assignment& a) {
    return a.kind == Kind::model ? failure("budget") : numbered(a);
  };
  World models = played(settings(4, 2, {Kind::model}), world);
  CHECK(models.rounds.size() == 1);
  CHECK(models.end->reason == "the budget is spent");
  World both = played(settings(4, 2, {Kind::rewrite, Kind::model}), world);
  CHECK(both.rounds.size() == 4);
  CHECK(both.rounds[1].branches.size() == 1);
}

TEST_CASE("lessons of earlier rounds reach later proposers in order") {
  World world;
  world.refusals[{id(11), Gate::test}] = verdict(Gate::test, Answer::rejected, "value", "row 7");
  world = played(settings(2, 2), world);
  const Assignment& later = world.assignments[2];
  REQUIRE(later.lessons.size() == 2);
  CHECK(later.lessons[0].gate == "test");
  CHECK(later.lessons[0].reason == "row 7");
  CHECK(later.lessons[1].code == "no_gain");
}

TEST_CASE("seeds differ between branches and repeat between runs") {
  World one = played(settings(2, 2)), two = played(settings(2, 2));
  REQUIRE(one.assignments.size() == 4);
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(one.assignments[i].seed == two.assignments[i].seed);
    seeds.insert(one.assignments[i].seed);
  }
  CHECK(seeds.size() == 4);
}

TEST_CASE("a round has a hypothesis and its evidence before any branch starts") {
  World world = played(settings(1, 2));
  CHECK_FALSE(world.rounds[0].diagnosis.hypothesis.empty());
  CHECK_FALSE(world.rounds[0].diagnosis.references.empty());
  CHECK(world.log[0].find("\"hypothesis\"") != std::string::npos);
}

TEST_CASE("text that does not parse is a candidate of its own and meets the screen") {
  World world;
  world.propose = [](const Assignment&) { return proposal("not ptx"); };
  Digest broken = candidate_digest("not ptx");
  world.refusals[{broken, Gate::screen}] = verdict(Gate::screen, Answer::rejected, "syntax");
  world = played(settings(1, 1), world);
  CHECK(world.evaluated[{broken, Gate::screen}] == 1);
  CHECK(world.rounds[0].branches[0].attempts[0].judgements[0].verdict.evidence.code == "syntax");
}

}  // namespace
}  // namespace lathe::planner
