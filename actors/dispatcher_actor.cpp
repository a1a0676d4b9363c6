#include "actors/dispatcher_actor.h"

#include <chrono>

#include "base/json.h"
#include "pipeline/codec.h"
#include "verifier_node/journal.h"

namespace lathe::actors {
namespace {

using Self = DispatcherActor::stateful_pointer<DispatcherState>;
using EndPromise = caf::typed_response_promise<WorkEnd>;
using OfferPromise = caf::typed_response_promise<Offer>;
using CompletedPromise = caf::typed_response_promise<Completed>;

constexpr std::chrono::minutes local_wait_max{60 * 24 * 30};
constexpr std::uint64_t nanoseconds_a_millisecond = 1'000'000;
/// Of one item's journal, with what has become needless of it.
constexpr std::uint64_t journal_bytes_max = std::uint64_t{1} << 30;
/// So many units are told of together.
constexpr std::uint64_t units_told = 8;
/// A farm of one node is not the item's fault for ever.
constexpr std::size_t losses_max = 6;

/// The same words now and after a resumption: they end up in a record.
Error given_up_error() {
  return {Fault::exhausted, "its lease died again and again", "see the nodes' logs", {}};
}

std::uint64_t now_of(Self self) { return self->state.settings.clock(); }

void tell(Self self, const char* kind, const Digest& item, const std::string& node,
          const std::string& what) {
  Json json;
  json["item"] = short_hex(item);
  if (auto found = self->state.orders.find(item); found != self->state.orders.end()) {
    json["candidate"] = short_hex(found->second.order.key.candidate);
    json["gate"] = name_of(found->second.order.key.gate);
  }
  json["node"] = node;
  if (!what.empty()) json["what"] = what;
  self->state.settings.tell(kind, json.dump());
}

WorkEnd error_end(Error error) {
  WorkEnd end;
  end.reply.error = std::move(error);
  return end;
}

/// Everybody who waits for this work hears its end.
void end_order(Self self, const Digest& item, const WorkEnd& end) {
  auto found = self->state.orders.find(item);
  if (found == self->state.orders.end()) return;
  std::vector<EndPromise> waiting = std::move(found->second.waiting);
  self->state.orders.erase(found);
  for (EndPromise& promise : waiting) promise.deliver(end);
}

store::LeaseRecord lease_record(const DispatcherState::Order& order, const cluster::Lease& grant,
                                const std::string& node) {
  store::LeaseRecord lease;
  lease.work.contract = order.order.key.contract;
  lease.work.candidate = order.order.key.candidate;
  lease.work.gate = static_cast<std::uint64_t>(order.order.key.gate);
  lease.work.run = order.order.run;
  lease.work.priority = order.order.priority;
  lease.token = grant.token;
  lease.node = node;
  lease.deadline_ns = grant.deadline_ns;
  return lease;
}

/// What earlier holders of this work have finished of it.
Result<std::string> read_journal(const store::Store& store, const Digest& item,
                                 std::uint64_t& count) {
  Result<std::vector<std::string>> units = store::journal_of(store, item);
  if (!units) return units.error();
  std::string journal;
  for (const std::string& unit : *units) journal += verifier_node::framed(unit);
  count = units->size();
  return journal;
}

/// The claim is durable before the node hears of it.
void offer(Self self, DispatcherState::Waiter waiter, const cluster::Lease& grant) {
  DispatcherState::Order& order = self->state.orders.at(grant.item);
  order.offered = true;
  Offer given{grant.item, grant.token, order.order.key.gate, self->state.settings.lease_ms,
              order.order.request};
  store::LeaseRecord lease = lease_record(order, grant, waiter.node);
  auto journal = std::make_shared<std::string>();
  auto units = std::make_shared<std::uint64_t>(0);
  auto run = [item = grant.item, lease, journal, units](store::Store& store) -> Result<Done> {
    // What cannot be read is done again.
    if (auto known = read_journal(store, item, *units)) *journal = *std::move(known);
    store::Batch batch;
    Result<bool> claimed = store::claim(store, batch, item, lease);
    if (!claimed) return claimed.error();
    if (!*claimed)
      return Error{Fault::malformed, "claimed work was not waiting in the store", "", {}};
    return store.keep(std::move(batch.durable()));
  };
  self->request(self->state.store, local_wait_max, Deed{run})
      .then(
          [self, waiter, given, journal, units](const DeedEnd& end) mutable {
            if (!end.result) {
              // Without an order nobody may hold it: the next claim must not find it.
              self->state.leases->cancel(given.item);
              end_order(self, given.item, error_end(end.result.error()));
              waiter.promise.deliver(Offer{});
              return;
            }
            if (*units != 0) given.journal = journal;
            tell(self, "claimed", given.item, waiter.node,
                 *units == 0 ? "" : "goes on from " + std::to_string(*units) + " units");
            waiter.promise.deliver(given);
          },
          [](const caf::error&) {});
}

/// Gives waiting work to waiting nodes.
void match(Self self) {
  DispatcherState& state = self->state;
  for (std::size_t i = 0; i < state.waiters.size() && !state.draining;) {
    const DispatcherState::Waiter& next = state.waiters[i];
    std::optional<cluster::Lease> grant = state.leases->claim(next.node, next.offers, now_of(self));
    if (!grant) {
      ++i;  // There may be work that it cannot do, and another can.
      continue;
    }
    DispatcherState::Waiter waiter = next;
    state.waiters.erase(state.waiters.begin() + static_cast<std::ptrdiff_t>(i));
    offer(self, waiter, *grant);
  }
}

/// The answer of work that ended between the asker's look and its order.
Result<Done> find_reply(store::Store& store, const store::ResultKey& key,
                        std::optional<WorkReply>& reply) {
  Result<std::optional<store::VerdictRecord>> found = store::find_verdict(store, key);
  if (!found) return found.error();
  if (!*found) return given_up_error();
  Result<Verdict> verdict = decode_verdict((*found)->verdict);
  if (!verdict) return verdict.error();
  WorkReply known;
  known.verdict = *std::move(verdict);
  known.outcome = static_cast<WorkReply::Outcome>(known.verdict.answer);
  if (!store::is_none((*found)->output)) {
    Result<std::string> output = store.blob((*found)->output);
    if (!output) return output.error();
    known.passed = *std::move(output);
  }
  reply = std::move(known);
  return Done{};
}

void take_order(Self self, const WorkOrder& order, EndPromise promise) {
  Digest item = store::result_key(order.key);
  auto [found, fresh] = self->state.orders.try_emplace(item);
  found->second.waiting.push_back(promise);
  if (!fresh) return;
  found->second.order = order;
  store::WorkRecord work;
  work.contract = order.key.contract;
  work.candidate = order.key.candidate;
  work.gate = static_cast<std::uint64_t>(order.key.gate);
  work.run = order.run;
  work.priority = order.priority;
  auto known = std::make_shared<std::optional<WorkReply>>();
  auto run = [item, work, known, key = order.key,
              request = order.request](store::Store& store) -> Result<Done> {
    Result<store::WorkState> before = store::state_of(store, item);
    if (!before) return before.error();
    if (*before == store::WorkState::done) return find_reply(store, key, *known);
    store::Batch batch;
    store::WorkRecord record = work;
    record.request = batch.blob(*request);
    Result<bool> queued = store::enqueue(store, batch, item, record);
    if (!queued) return queued.error();
    return *queued ? store.keep(std::move(batch)) : Result<Done>(Done{});
  };
  self->request(self->state.store, local_wait_max, Deed{run})
      .then(
          [self, item, known, priority = order.priority, needs = order.needs](const DeedEnd& end) {
            if (!end.result) return end_order(self, item, error_end(end.result.error()));
            if (*known) return end_order(self, item, WorkEnd{**known});
            self->state.leases->add({item, priority, {needs, 0}, false, {}});
            match(self);
          },
          [](const caf::error&) {});
}

/// What happened to a lease that died, in the store and to those who wait.
void note_loss(Self self, const cluster::Lease& lease, bool given_up) {
  tell(self, "lost", lease.item, lease.node, given_up ? "given up" : "given to another");
  auto run = [lease, given_up](store::Store& store) -> Result<Done> {
    store::Batch batch;
    Result<bool> changed = given_up
                               ? store::quarantine(store, batch, lease.item)
                               : store::requeue(store, batch, lease.item, lease.token, lease.node);
    if (!changed) return changed.error();
    return *changed ? store.keep(std::move(batch)) : Result<Done>(Done{});
  };
  self->request(self->state.store, local_wait_max, Deed{run})
      .then(
          [self, item = lease.item, given_up](const DeedEnd&) {
            if (given_up) end_order(self, item, error_end(given_up_error()));
            match(self);
          },
          [](const caf::error&) {});
}

void note_losses(Self self, const std::vector<cluster::Ended>& ended) {
  for (const cluster::Ended& end : ended) {
    auto order = self->state.orders.find(end.lease.item);
    bool too_often = order != self->state.orders.end() && ++order->second.losses >= losses_max;
    if (order != self->state.orders.end()) order->second.offered = false;
    bool given_up = end.fate == cluster::Ended::Fate::quarantined || too_often;
    if (too_often) self->state.leases->cancel(end.lease.item);
    note_loss(self, end.lease, given_up);
  }
}

/// Memory that the work ran out of on this node, where another's may take more; else nothing.
std::optional<std::uint64_t> outgrown(Self self, const Complete& complete) {
  const WorkReply& reply = complete.reply;
  const std::map<std::string, std::uint64_t>& memory = self->state.memory_of;
  auto here = memory.find(complete.node);
  if (reply.outcome != WorkReply::Outcome::undecided || here == memory.end() ||
      reply.verdict.evidence.code != short_of_memory)
    return std::nullopt;
  bool roomier = std::any_of(memory.begin(), memory.end(),
                             [&](const auto& node) { return node.second > here->second; });
  return roomier ? std::optional(here->second) : std::nullopt;
}

/// A worker that died says nothing of the candidate: the work is tried again, elsewhere if
/// possible, and where memory did not suffice, where there is more than `outgrown`.
void take_back(Self self, const Complete& complete, std::optional<std::uint64_t> outgrown,
               CompletedPromise promise) {
  std::optional<cluster::Ended> ended =
      self->state.leases->give_back(complete.node, complete.item, complete.token);
  if (ended && outgrown) self->state.leases->need_memory(complete.item, *outgrown + 1);
  tell(self, "failed", complete.item, complete.node,
       outgrown ? complete.reply.verdict.evidence.reason : complete.reply.error.what);
  promise.deliver(Completed{ended ? store::Completion::accepted : store::Completion::stale});
  if (ended) note_losses(self, {*ended});
}

/// Units that do not read are nobody's; those that come without a lease are too late.
void keep_unit(Self self, const Note& note) {
  auto order = self->state.orders.find(note.item);
  if (order == self->state.orders.end()) return;
  order->second.bytes += note.unit->size();
  if (order->second.bytes > journal_bytes_max) return;
  auto steps = std::make_shared<std::uint64_t>(0);
  auto run = [item = note.item, bytes = note.unit, steps](store::Store& store) -> Result<Done> {
    Result<verifier_node::Unit> unit = verifier_node::decode_unit(*bytes);
    if (!unit) return unit.error();
    *steps = unit->steps;
    store::Batch batch;
    Result<Done> noted = store::note_unit(store, batch, {item, unit->name}, {unit->whole, *bytes});
    return noted ? store.keep(std::move(batch)) : noted;
  };
  self->request(self->state.store, local_wait_max, Deed{run})
      .then(
          [self, item = note.item, node = note.node, steps](const DeedEnd& end) {
            auto found = self->state.orders.find(item);
            if (!end.result || found == self->state.orders.end()) return;
            found->second.steps += *steps;
            if (++found->second.units % units_told == 0)
              tell(self, "noted", item, node,
                   std::to_string(found->second.units) + " units, " +
                       std::to_string(found->second.steps) + " warp instructions");
          },
          [](const caf::error&) {});
}

/// Result, completion and the end of the lease are one batch; the store's fence decides.
void take_result(Self self, const Complete& complete, CompletedPromise promise) {
  auto found = self->state.orders.find(complete.item);
  std::optional<store::ResultKey> key;
  if (found != self->state.orders.end()) key = found->second.order.key;
  bool held = self->state.leases->complete(complete.node, complete.item, complete.token) ==
              cluster::Outcome::accepted;
  auto completion = std::make_shared<store::Completion>(store::Completion::stale);
  auto run = [complete, key, held, completion](store::Store& store) -> Result<Done> {
    store::Batch batch;
    Result<store::Completion> fenced =
        store::complete(store, batch, complete.item, complete.token, complete.node);
    if (!fenced) return fenced.error();
    *completion = *fenced;
    if (*fenced != store::Completion::accepted) return Done{};
    if (!key || !held) *completion = store::Completion::stale;
    if (*completion != store::Completion::accepted) return Done{};
    store::keep_verdict(batch, *key, encode(complete.reply.verdict), complete.reply.passed);
    return store.keep(std::move(batch.durable()));
  };
  self->request(self->state.store, local_wait_max, Deed{run})
      .then(
          [self, complete, completion, promise](const DeedEnd& end) mutable {
            if (!end.result) {
              end_order(self, complete.item, error_end(end.result.error()));
              promise.deliver(Completed{store::Completion::stale});
              return;
            }
            if (*completion == store::Completion::accepted) {
              const auto order = self->state.orders.find(complete.item);
              bool noted = order != self->state.orders.end() && order->second.units != 0;
              tell(self, "completed", complete.item, complete.node,
                   noted ? std::to_string(order->second.units) + " units, " +
                               std::to_string(order->second.steps) + " warp instructions"
                         : "");
              end_order(self, complete.item, WorkEnd{complete.reply});
            } else {
              tell(self, "stale", complete.item, complete.node,
                   std::string(store::name_of(*completion)));
            }
            promise.deliver(Completed{*completion});
          },
          [](const caf::error&) {});
}

/// Work that waits while nodes do, because none that came could do it, is said once.
void tell_of_needs(Self self) {
  DispatcherState& state = self->state;
  if (state.waiters.empty()) return;
  for (auto& [item, order] : state.orders) {
    if (order.offered || order.told) continue;
    std::string missing;
    for (const std::string& need : order.order.needs)
      if (!state.offers_seen.contains(need)) missing += (missing.empty() ? "" : ", ") + need;
    if (missing.empty()) continue;
    order.told = true;
    tell(self, "waits", item, "", "no node so far offers " + missing);
  }
}

void expire(Self self) {
  DispatcherState& state = self->state;
  std::uint64_t now = now_of(self);
  note_losses(self, state.leases->expire(now));
  tell_of_needs(self);
  while (!state.waiters.empty() && state.waiters.front().until_ns <= now) {
    state.waiters.front().promise.deliver(Offer{});
    state.waiters.pop_front();
  }
  std::uint64_t period = std::clamp<std::uint64_t>(state.settings.lease_ms / 4, 20, 1000);
  self->delayed_send(self, std::chrono::milliseconds(period), Expire{});
}

/// Leases of an earlier owner are nobody's: their items wait again.
void forget_old_leases(Self self) {
  auto run = [](store::Store& store) -> Result<Done> {
    Result<store::Waiting> waiting = store::waiting(store);
    if (!waiting) return waiting.error();
    for (const auto& [item, lease] : waiting->leased) {
      store::Batch batch;
      Result<bool> back = store::requeue(store, batch, item, lease.token, "");
      if (!back) return back.error();
      if (Result<Done> done = store.keep(std::move(batch)); !done) return done;
    }
    return Done{};
  };
  self->request(self->state.store, local_wait_max, Deed{run})
      .then([](const DeedEnd&) {}, [](const caf::error&) {});
}

void drain(Self self) {
  self->state.draining = true;
  for (DispatcherState::Waiter& waiter : self->state.waiters) waiter.promise.deliver(Offer{});
  self->state.waiters.clear();
}

void lose_node(Self self, const std::string& node) {
  std::erase_if(self->state.waiters, [&](DispatcherState::Waiter& waiter) {
    if (waiter.node != node) return false;
    waiter.promise.deliver(Offer{});
    return true;
  });
  self->state.memory_of.erase(node);
  note_losses(self, self->state.leases->node_lost(node));
}

}  // namespace

Clock steady_clock() {
  return [] {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
  };
}

DispatcherActor::behavior_type dispatcher_actor(Self self, StoreActor store,
                                                DispatcherSettings settings) {
  static_assert(!std::is_aggregate_v<DispatcherState>);
  self->state.settings = std::move(settings);
  self->state.store = std::move(store);
  cluster::LeaseSettings limits;
  limits.epoch = self->state.settings.epoch;
  limits.tokens_before = self->state.settings.tokens_before;
  limits.lease_ns = self->state.settings.lease_ms * nanoseconds_a_millisecond;
  self->state.leases = std::make_unique<cluster::Leases>(limits);
  forget_old_leases(self);
  self->send(self, Expire{});
  return {
      [self](const WorkOrder& order) -> caf::result<WorkEnd> {
        auto promise = self->make_response_promise<EndPromise>();
        take_order(self, order, promise);
        return promise;
      },
      [self](const Claim& claim) -> caf::result<Offer> {
        auto promise = self->make_response_promise<OfferPromise>();
        std::uint64_t wait_ns = self->state.settings.claim_wait_ms * nanoseconds_a_millisecond;
        self->state.offers_seen.insert(claim.offers.begin(), claim.offers.end());
        DispatcherState::Waiter waiter;
        waiter.node = claim.node;
        waiter.offers.names = claim.offers;
        waiter.offers.memory_bytes = memory_in(claim.offers);
        self->state.memory_of[claim.node] = waiter.offers.memory_bytes;
        waiter.until_ns = now_of(self) + wait_ns;
        waiter.promise = promise;
        self->state.waiters.push_back(std::move(waiter));
        match(self);
        return promise;
      },
      [self](const Renew& renew) -> Renewed {
        return {self->state.leases->renew(renew.node, renew.item, renew.token, now_of(self))
                    .has_value()};
      },
      [self](const Complete& complete) -> caf::result<Completed> {
        auto promise = self->make_response_promise<CompletedPromise>();
        std::optional<std::uint64_t> memory = outgrown(self, complete);
        if (memory || complete.reply.outcome == WorkReply::Outcome::error)
          take_back(self, complete, memory, promise);
        else
          take_result(self, complete, promise);
        return promise;
      },
      [self](const Note& note) -> Renewed {
        bool held =
            self->state.leases->renew(note.node, note.item, note.token, now_of(self)).has_value();
        if (held) keep_unit(self, note);
        return {held};
      },
      [self](const NodeLost& lost) { lose_node(self, lost.node); },
      [self](Expire) { expire(self); },
      [self](Drain) { drain(self); },
  };
}

}  // namespace lathe::actors
