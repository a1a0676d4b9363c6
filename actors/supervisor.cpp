#include "actors/supervisor.h"

#include <chrono>
#include <optional>

#include "actors/records.h"

namespace lathe::actors {
namespace {

using Self = SupervisorActor::stateful_pointer<SupervisorState>;

constexpr std::chrono::minutes local_wait_max{60 * 24 * 30};
/// Tokens that one generation's dispatcher may hand out before it would meet the next one's.
constexpr std::uint64_t tokens_a_generation = 1u << 24;

void stop_children(Self self) {
  SupervisorState& state = self->state;
  auto stop = [&](auto& handle) {
    if (handle) self->send_exit(handle, caf::exit_reason::user_shutdown);
    handle = nullptr;
  };
  for (NodeActor& node : state.nodes) stop(node);
  for (PlannerActor& planner : state.planners) stop(planner);
  stop(state.dispatcher);
  stop(state.store);
  state.nodes.clear();
  state.planners.clear();
}

void end(Self self, Result<std::vector<planner::Finish>> result) {
  if (self->state.ended) return;
  self->state.ended = true;
  stop_children(self);
  self->state.run.end(std::move(result));
}

/// The planner's end comes back as a message, so that one of an earlier generation is told from a
/// new one.
std::shared_ptr<const Search> with_end(Self self, std::size_t index) {
  auto search = std::make_shared<Search>(*self->state.run.searches[index]);
  SupervisorActor supervisor{self};
  search->end = [supervisor, index,
                 generation = self->state.generation](Result<planner::Finish> f) {
    caf::anon_send(supervisor, SearchEnded{generation, index, std::move(f)});
  };
  return search;
}

/// When every search has ended. A run that a person stopped is not over: it can be resumed.
bool conclude(Self self) {
  std::vector<planner::Finish> all;
  for (const auto& finish : self->state.finished)
    if (finish) all.push_back(*finish);
  if (all.size() != self->state.finished.size()) return false;
  if (self->state.stopping || self->state.run.searches.empty()) {
    end(self, std::move(all));
    return true;
  }
  auto run = [number = self->state.run.searches.front()->run, all](store::Store& store) {
    return keep_finish(store, number, all);
  };
  self->request(self->state.store, local_wait_max, Deed{run})
      .then(
          [self, all](const DeedEnd& kept) {
            if (kept.result)
              end(self, all);
            else
              end(self, kept.result.error());
          },
          // The store's owner died: once it is there again, this is done again.
          [](const caf::error&) {});
  return true;
}

void stop_when_rounds_close(Self self) {
  for (const PlannerActor& planner : self->state.planners)
    if (planner) self->send(planner, Steer{planner::Stop{"a person asked for it"}});
}

void start(Self self) {
  SupervisorState& state = self->state;
  state.run.dispatcher.tokens_before = state.generation++ * tokens_a_generation;
  state.store = self->spawn<caf::monitored + caf::detached>(store_actor, state.run.store);
  state.dispatcher =
      self->spawn<caf::monitored>(dispatcher_actor, state.store, state.run.dispatcher);
  if (state.run.serve) state.run.serve(state.dispatcher);
  if (conclude(self)) return;
  for (std::uint32_t slot = 0; slot < state.run.slots; ++slot) {
    NodeSettings settings;
    settings.name = "local-" + std::to_string(slot);
    settings.offers = state.run.offers;
    settings.runner = state.run.runner;
    // The dispatcher tells of this node's work as of everybody's.
    settings.tell = [](const std::string&, const Offer&, const std::string&) {};
    state.nodes.push_back(
        self->spawn<caf::monitored>(node_actor, state.dispatcher, std::move(settings)));
    self->send(state.nodes.back(), Pull{});
  }
  for (std::size_t i = 0; i < state.run.searches.size(); ++i) {
    if (state.finished[i]) {
      state.planners.push_back(PlannerActor{});
      continue;
    }
    state.planners.push_back(self->spawn<caf::monitored>(planner_actor, with_end(self, i),
                                                         state.store, state.dispatcher));
    self->send(state.planners.back(), Begin{});
  }
  if (state.stopping) stop_when_rounds_close(self);
}

void note_end(Self self, const SearchEnded& ended) {
  SupervisorState& state = self->state;
  if (ended.generation != state.generation || state.ended) return;
  if (!ended.finish) return end(self, ended.finish.error());
  state.finished[ended.search] = *ended.finish;
  conclude(self);
}

void restart(Self self, const caf::down_msg& down) {
  SupervisorState& state = self->state;
  bool planned =
      down.reason == caf::exit_reason::user_shutdown || down.reason == caf::exit_reason::normal;
  auto is_ours = [&] {
    auto is = [&](const auto& handle) { return handle && handle->address() == down.source; };
    if (is(state.store) || is(state.dispatcher)) return true;
    for (const auto& planner : state.planners)
      if (is(planner)) return true;
    for (const auto& node : state.nodes)
      if (is(node)) return true;
    return false;
  };
  if (state.ended || planned || !is_ours()) return;
  if (++state.restarts > state.run.restarts_max)
    return end(
        self,
        Error{
            Fault::unavailable, "an actor of the run died again and again", "resume the run", {}});
  state.run.tell("restart", R"({"reason": "an actor died; all start again from the store"})");
  stop_children(self);
  start(self);
}

}  // namespace

SupervisorActor::behavior_type supervisor(Self self, Run run) {
  static_assert(!std::is_aggregate_v<SupervisorState>);
  self->state.run = std::move(run);
  self->state.finished.resize(self->state.run.searches.size());
  self->set_down_handler([self](const caf::down_msg& down) { restart(self, down); });
  return {
      [self](Begin) { start(self); },
      [self](const SearchEnded& ended) { note_end(self, ended); },
      [self](StopRun) {
        self->state.stopping = true;
        stop_when_rounds_close(self);
      },
  };
}

}  // namespace lathe::actors
