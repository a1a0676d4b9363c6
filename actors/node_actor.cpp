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

WorkReply exhausted(const std::string& request, const std::string& reason) {
  WorkReply reply;
  reply.outcome = WorkReply::Outcome::undecided;
  reply.verdict.answer = Verdict::Answer::undecided;
  reply.verdict.reason_code = Reason::exhausted;
  reply.verdict.evidence = {"exhausted", reason, {}, "{}"};
  if (Result<WorkRequest> decoded = decode_request(request)) {
    reply.verdict.gate = decoded->gate;
    reply.verdict.limits = limits_of(*decoded);
  }
  return reply;
}

void run_child(Self self) {
  NodeActor node{self};
  const Offer work = self->state.work;
  Runner runner = self->state.settings.runner;
  run_aside(self, self->state.settings.aside, [node, work, runner] {
    caf::anon_send(node, ChildEnd{work.item, work.token, runner(*work.request)});
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
  return [wall_max, memory_bytes_max](const std::string& request) -> WorkReply {
    ProcessLimits limits;
    limits.wall = wall_max;
    limits.memory_bytes = memory_bytes_max;
    limits.output_bytes = 512ull << 20;
    Result<ProcessEnd> end = run_process({own_program().string(), "worker"}, request, limits);
    if (!end) return failed(end.error());
    if (end->timed_out)
      return exhausted(request,
                       "the gate did not end within " + std::to_string(wall_max.count()) + " s");
    if (end->signal != 0 || end->status != 0) {
      bool memory = end->err.find("bad_alloc") != std::string::npos;
      if (memory) return exhausted(request, "the gate needed more memory than it may take");
      return failed({Fault::unavailable,
                     "the worker died: signal " + std::to_string(end->signal) + ", status " +
                         std::to_string(end->status) + " " + end->err.substr(0, 500),
                     "the work is tried elsewhere",
                     {}});
    }
    Result<WorkReply> reply = decode_reply(end->out);
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
      [self](Drain) {
        self->state.draining = true;
        if (self->state.work.token == 0 && !self->state.claiming) self->quit();
      },
  };
}

}  // namespace lathe::actors
