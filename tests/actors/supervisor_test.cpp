// The supervisor with real threads: an actor that dies is started again from the store, and the run
// ends as if nothing had happened.

#include "actors/supervisor.h"

#include <atomic>
#include <future>
#include <set>

#include "farm.h"

namespace lathe::actors {
namespace {

using namespace farm;
using Ends = Result<std::vector<planner::Finish>>;

/// Starts the run and waits for its end.
struct Supervised {
  explicit Supervised(std::vector<std::shared_ptr<const Contract>> used)
      : contracts(std::move(used)) {
    std::tie(store, number) = begun(contracts);
  }

  Ends run(std::function<void(caf::actor_system&, const SupervisorActor&)> meanwhile = {}) {
    Run run;
    run.store = store;
    for (const auto& contract : contracts) {
      auto search = search_of(7, number, contract);
      search->tell = planner_tell;
      search->propose = propose;
      run.searches.push_back(search);
    }
    run.dispatcher = {store->epoch(), 0, 30'000, 1000, steady_clock(), dispatcher_tell};
    run.runner = run_made_up;
    run.offers = made_up_offers();
    run.tell = [this](const std::string& kind, const std::string&) {
      if (kind == "restart") ++restarts;
    };
    auto promise = std::make_shared<std::promise<Ends>>();
    std::future<Ends> future = promise->get_future();
    run.end = [promise](Ends ends) { promise->set_value(std::move(ends)); };
    caf::actor_system_config config;
    config.set("scheduler.max-threads", std::size_t{2});
    caf::actor_system system{config};
    SupervisorActor actor = system.spawn(supervisor, std::move(run));
    caf::anon_send(actor, Begin{});
    if (meanwhile) meanwhile(system, actor);
    bool ended = future.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    if (!ended) return Error{Fault::exhausted, "the run did not end", "", {}};
    return future.get();
  }
  store::RunRecord record() { return **store->get(store::RunKey{store::Descending{number}}); }

  std::vector<std::shared_ptr<const Contract>> contracts;
  std::shared_ptr<store::Store> store;
  std::uint64_t number = 0;
  std::atomic<int> restarts = 0;
  std::function<Result<planner::Proposal>(const planner::Assignment&)> propose = propose_made_up;
  std::function<void(const std::string&, const std::string&)>
      planner_tell = [](const std::string&, const std::string&) {},
      dispatcher_tell = [](const std::string&, const std::string&) {};
};

std::string undisturbed() {
  static const std::string text = [] {
    Supervised whole({contract()});
    REQUIRE(whole.run());
    CHECK(whole.restarts == 0);
    return exported(*whole.store);
  }();
  return text;
}

/// Dies on the n-th event of the kind.
std::function<void(const std::string&, const std::string&)> dies_on(const std::string& kind,
                                                                    int number) {
  auto count = std::make_shared<std::atomic<int>>(0);
  return [kind, number, count](const std::string& told, const std::string&) {
    if (told == kind && ++*count == number) throw std::runtime_error("planted");
  };
}

TEST_CASE("a run ends, and its record says so") {
  Supervised run({contract()});
  Ends ends = run.run();
  REQUIRE(ends);
  REQUIRE(ends->size() == 1);
  CHECK(run.record().state == store::RunState::finished);
  CHECK(run.record().outcome == ends->front().reason);
}

TEST_CASE("a dispatcher that dies is started again, and the run ends as an undisturbed one") {
  for (const char* kind : {"claimed", "completed"}) {
    Supervised run({contract()});
    run.dispatcher_tell = dies_on(kind, 9);
    REQUIRE(run.run());
    CHECK(run.restarts == 1);
    CHECK(exported(*run.store) == undisturbed());
  }
}

TEST_CASE("a planner that dies is started again, and the run ends as an undisturbed one") {
  for (const char* kind : {"plan", "proposal", "verdict", "round"}) {
    CAPTURE(kind);
    Supervised run({contract()});
    run.planner_tell = dies_on(kind, 2);
    REQUIRE(run.run());
    CHECK(run.restarts == 1);
    CHECK(exported(*run.store) == undisturbed());
  }
}

TEST_CASE("an actor that dies again and again ends the run with an error, and nothing is lost") {
  Supervised run({contract()});
  run.dispatcher_tell = [](const std::string& kind, const std::string&) {
    if (kind == "claimed") throw std::runtime_error("planted");
  };
  Ends ends = run.run();
  REQUIRE_FALSE(ends);
  CHECK(ends.error().fault == Fault::unavailable);
  CHECK(run.record().state == store::RunState::running);
  run.dispatcher_tell = [](const std::string&, const std::string&) {};
  REQUIRE(run.run());
  CHECK(exported(*run.store) == undisturbed());
}

TEST_CASE("a run of two contracts is finished when both searches are") {
  auto two = std::vector{contract(), contract("sum_8x512_fp16_sm_90a")};
  Supervised run(two);
  Ends ends = run.run();
  REQUIRE(ends);
  CHECK(ends->size() == 2);
  CHECK(run.record().state == store::RunState::finished);
  // Two searches that ended alike are said once.
  CHECK((*ends)[0].reason == (*ends)[1].reason);
  CHECK(run.record().outcome == (*ends)[0].reason);
}

TEST_CASE("a run that a person stops is not finished, and goes on as an undisturbed one") {
  Supervised run({contract()});
  std::promise<void> begun;
  std::atomic<bool> told = false;
  run.planner_tell = [&](const std::string& kind, const std::string&) {
    if (kind == "plan" && !told.exchange(true)) begun.set_value();
  };
  Ends ends = run.run([&](caf::actor_system&, const SupervisorActor& actor) {
    begun.get_future().wait();
    caf::anon_send(actor, StopRun{});
  });
  REQUIRE(ends);
  CHECK(run.record().state == store::RunState::running);
  run.planner_tell = [](const std::string&, const std::string&) {};
  REQUIRE(run.run());
  CHECK(run.record().state == store::RunState::finished);
  CHECK(exported(*run.store) == undisturbed());
}

TEST_CASE("a search that fails ends the run with its error and leaves it open") {
  Supervised run({contract()});
  run.propose = [](const planner::Assignment&) -> Result<planner::Proposal> {
    return Error{Fault::unavailable, "the endpoint is away", "", {}};
  };
  Ends ends = run.run();
  REQUIRE_FALSE(ends);
  CHECK(ends.error().what == "the endpoint is away");
  CHECK(run.restarts == 0);
  CHECK(run.record().state == store::RunState::running);
}

}  // namespace
}  // namespace lathe::actors
