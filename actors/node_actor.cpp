#include "actors/node_actor.h"

#include <caf/send.hpp>

#include "base/process.h"

namespace lathe::actors {
namespace {

using Self = NodeActor::stateful_pointer<NodeState>;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds claim_wait_max{40};
constexpr seconds answer_wait_max{60};
constexpr milliseconds pause_after_error{200}, pause_after_none{20};

WorkReply failed(Error error) {
  WorkReply reply;
  reply.error = std::move(error);
  return reply;
}

WorkReply exhausted(const std::string& request, std::string_view code, const std::string& reason) {
  WorkReply reply;
  reply.outcome = WorkReply::Outcome::undecided;
  reply.verdict.answer = Verdict::Answer::undecided;
  reply.verdict.reason_code = Reason::exhausted;
  reply.verdict.evidence = {std::string(code), reason, {}, "{}"};
  if (Result<WorkRequest> decoded = decode_request(request)) {
    reply.verdict.gate = decoded->gate;
    reply.verdict.limits = limits_of(*decoded);
  }
  return reply;
}

std::string memory_text(std::uint64_t bytes_max) {
  if (bytes_max == 0) return "the gate needed more memory than there is";
  return "the gate needed more than the " + std::to_string(bytes_max >> 20) +
         " MiB of memory that it may take: --memory allows more";
}

void run_child(Self self) {
  NodeActor node{self};
  const Offer work = self->state.work;
  Runner runner = self->state.settings.runner;
  run_aside(self, self->state.settings.aside, [node, work, runner] {
    Errand errand{
        *work.request, work.journal ? *work.journal : std::string(), [&](const std::string& unit) {
          caf::anon_send(node,
                         UnitEnd{work.item, work.token, std::make_shared<const std::string>(unit)});
        }};
    caf::anon_send(node, ChildEnd{work.item, work.token, runner(errand)});
  });
}

void beat_later(Self self) {
  self->delayed_send(self, milliseconds(std::max<std::uint64_t>(self->state.work.lease_ms / 6, 20)),
                     Beat{});
}

/// Of a node that drains, work that was on its way is still done: the lease is its own.
void take(Self self, const Offer& offer) {
  self->state.claiming = false;
  if (offer.token == 0) {
    if (self->state.draining)
      self->quit();
    else
      self->delayed_send(self, pause_after_none, Pull{});
    return;
  }
  self->state.work = offer;
  self->state.settings.tell("claimed", offer, "");
  run_child(self);
  beat_later(self);
}

void pull(Self self) {
  if (self->state.draining || self->state.claiming || self->state.work.token != 0) return;
  self->state.claiming = true;
  self->request(self->state.dispatcher, claim_wait_max,
                Claim{self->state.settings.name, self->state.settings.offers})
      .then([self](const Offer& offer) { take(self, offer); },
            [self](const caf::error&) {
              self->state.claiming = false;
              if (self->state.draining) return self->quit();
              self->delayed_send(self, pause_after_error, Pull{});
            });
}

void beat(Self self) {
  const Offer& work = self->state.work;
  if (work.token == 0) return;
  self->request(self->state.dispatcher, answer_wait_max,
                Renew{self->state.settings.name, work.item, work.token})
      .then([](Renewed) {}, [](const caf::error&) {});
  beat_later(self);
}

/// One that is lost on the way costs its own work and no more.
void pass_on(Self self, const UnitEnd& unit) {
  self->request(self->state.dispatcher, answer_wait_max,
                Note{self->state.settings.name, unit.item, unit.token, unit.unit})
      .then([](Renewed) {}, [](const caf::error&) {});
}

void give(Self self, ChildEnd end) {
  Complete complete{self->state.settings.name, end.item, end.token, end.reply};
  self->request(self->state.dispatcher, answer_wait_max, std::move(complete))
      .then(
          [self](Completed completed) {
            self->state.settings.tell("returned", self->state.work,
                                      std::string(store::name_of(completed.completion)));
            self->state.work = {};
            if (self->state.draining)
              self->quit();
            else
              self->send(self, Pull{});
          },
          // The result is kept until somebody has it.
          [self, end](const caf::error&) { self->delayed_send(self, pause_after_error, end); });
}

}  // namespace

Runner child_runner(seconds wall_max, std::uint64_t memory_bytes_max) {
  return [wall_max, memory_bytes_max](const Errand& errand) -> WorkReply {
    const std::string& request = errand.request;
    WorkerOutput output(errand.note);
    ProcessLimits limits;
    limits.wall = wall_max;
    limits.memory_bytes = memory_bytes_max;
    limits.take_out = [&output](std::string_view bytes) { output.take(bytes); };
    Result<ProcessEnd> end =
        run_process({own_program().string(), "worker"}, worker_input(errand), limits);
    if (!end) return failed(end.error());
    if (end->timed_out)
      return exhausted(request, "exhausted",
                       "the gate did not end within " + std::to_string(wall_max.count()) + " s");
    if (end->signal != 0 || end->status != 0) {
      bool memory = end->err.find("bad_alloc") != std::string::npos;
      if (memory) return exhausted(request, short_of_memory, memory_text(memory_bytes_max));
      return failed({Fault::unavailable,
                     "the worker died: signal " + std::to_string(end->signal) + ", status " +
                         std::to_string(end->status) + " " + end->err.substr(0, 500),
                     "the work is tried elsewhere",
                     {}});
    }
    Result<WorkReply> reply = decode_reply(output.reply());
    if (reply) return *std::move(reply);
    return failed({Fault::unavailable,
                   "the worker's answer does not read: " + reply.error().what,
                   "the work is tried elsewhere",
                   {}});
  };
}

NodeActor::behavior_type node_actor(Self self, DispatcherActor dispatcher, NodeSettings settings) {
  static_assert(!std::is_aggregate_v<NodeState>);
  self->state.dispatcher = std::move(dispatcher);
  self->state.settings = std::move(settings);
  return {
      [self](Pull) { pull(self); },
      [self](Beat) { beat(self); },
      [self](const ChildEnd& end) { give(self, end); },
      [self](const UnitEnd& unit) { pass_on(self, unit); },
      [self](Drain) {
        self->state.draining = true;
        if (self->state.work.token == 0 && !self->state.claiming) self->quit();
      },
  };
}

}  // namespace lathe::actors
