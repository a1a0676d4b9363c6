#include "actors/link.h"

#include <caf/openssl/manager.hpp>
#include <set>

#include "base/json.h"
#include "cluster/wire.h"

namespace lathe::actors {
namespace {

using Self = DispatcherActor::stateful_pointer<LinkState>;
using OfferPromise = caf::typed_response_promise<Offer>;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds connect_wait_max{5};
constexpr seconds hello_wait_max{5};
constexpr seconds want_wait_max{40};
constexpr seconds answer_wait_max{15};
constexpr milliseconds pause_min{100}, pause_max{2000};

void connect(Self self);

void tell(Self self, const char* kind, const std::string& what) {
  self->state.settings.tell(kind, Json{{"what", what}}.dump());
}

void end(Self self, Result<Done> result) {
  if (std::exchange(self->state.ended, true)) return;
  self->state.settings.end(std::move(result));
}

Error refused(const std::string& why) {
  return {Fault::unavailable,
          "the coordinator refuses this node: " + why,
          "ask for a bundle that is valid there (lathe cluster admit)",
          {},
          Absent::permission};
}

Error nobody_there(const LinkState& state) {
  std::string at = state.settings.host + ":" + std::to_string(state.settings.port);
  std::string seconds = std::to_string(state.settings.return_wait_max.count() / 1000);
  if (state.welcomed_once)
    return {Fault::unavailable,
            "the coordinator at " + at + " has ended, and none came back within " + seconds + " s",
            "its run is over, or lathe resume goes on with it; then join again",
            {}};
  return {Fault::unavailable,
          "no coordinator answers at " + at,
          "start one with lathe lower --cluster --listen",
          {}};
}

/// Later again, with a longer pause each time, but not for ever. What is wrong is told once.
void connect_later(Self self, const std::string& why) {
  LinkState& state = self->state;
  state.door = nullptr;
  if (state.ended) return;
  if (std::exchange(state.down, why) != why) tell(self, "link", "down: " + why);
  state.waited += state.pause;
  const auto& settings = state.settings;
  if (state.waited > (state.welcomed_once ? settings.return_wait_max : settings.connect_wait_max))
    return end(self, nobody_there(state));
  self->delayed_send(self, state.pause, Expire{});
  state.pause = std::min(state.pause * 2, pause_max);
}

/// One question to the door. `then` gets the message; no answer takes the link down.
template <class Then, class Failed>
void ask(Self self, const caf::actor& door, const cluster::Message& message, seconds wait,
         Then then, Failed failed) {
  Result<std::string> bytes = cluster::encode(message);
  if (!bytes) return failed(bytes.error().what);
  self->request(door, wait, *bytes)
      .then(
          [then, failed](const std::string& answer) mutable {
            Result<cluster::Message> decoded = cluster::decode(answer);
            if (!decoded) return failed(decoded.error().what);
            then(*decoded);
          },
          [failed, self](const caf::error& error) mutable {
            failed(self->system().render(error));
          });
}

void want(Self self, OfferPromise promise) {
  caf::actor door = self->state.door;
  if (!door) {
    self->state.claims.push_back(promise);
    return;
  }
  ask(
      self, door, cluster::Want{1}, want_wait_max,
      [self, promise](const cluster::Message& message) mutable {
        Offer offer;
        if (auto* given = std::get_if<cluster::Offer>(&message)) {
          offer.item = given->item;
          offer.token = given->token;
          offer.gate = static_cast<Gate>(given->gate);
          offer.lease_ms = given->lease_ms;
          // The runner fetches what the digest names, on its own thread.
          offer.request = std::make_shared<const std::string>(hex(given->request));
          if (given->journal != Digest{})
            offer.journal = std::make_shared<const std::string>(hex(given->journal));
        } else if (std::holds_alternative<cluster::DrainMessage>(message)) {
          end(self, Done{});
        }
        promise.deliver(offer);
      },
      [promise](const std::string&) mutable { promise.deliver(Offer{}); });
}

void welcome(Self self, const caf::actor& door, const cluster::Message& message) {
  LinkState& state = self->state;
  if (auto* refusal = std::get_if<cluster::Refusal>(&message)) {
    if (refusal->retry_ms == 0) return end(self, refused(refusal->reason));
    return connect_later(self, refusal->reason);
  }
  if (!std::holds_alternative<cluster::Welcome>(message))
    return end(self, refused("it answers hello with something else"));
  state.door = door;
  state.welcomed_once = true;
  state.pause = pause_min;
  state.waited = milliseconds(0);
  state.down.clear();
  self->monitor(door);
  tell(self, "link", "up");
  for (auto claims = std::exchange(state.claims, {}); OfferPromise & promise : claims)
    want(self, promise);
}

void greet(Self self, const caf::actor& door) {
  cluster::Hello hello;
  hello.node = self->state.settings.node;
  hello.secret = self->state.settings.secret;
  hello.program = "lathe node";
  const std::set<std::string>& offers = self->state.settings.offers;
  hello.capabilities.assign(offers.begin(), offers.end());
  hello.credit = self->state.settings.slots;
  ask(
      self, door, hello, hello_wait_max,
      [self, door](const cluster::Message& message) { welcome(self, door, message); },
      [self](const std::string& why) { connect_later(self, why); });
}

void connect(Self self) {
  if (self->state.door || self->state.ended) return;
  self->request(self->system().openssl_manager().actor_handle(), connect_wait_max,
                caf::connect_atom::value, self->state.settings.host, self->state.settings.port)
      .then(
          [self](const caf::node_id&, caf::strong_actor_ptr& door, const std::set<std::string>&) {
            if (!door) return connect_later(self, "nobody is published there");
            greet(self, caf::actor_cast<caf::actor>(door));
          },
          [self](const caf::error& error) {
            bool shaken = error == caf::sec::disconnect_during_handshake;
            if (shaken && !self->state.welcomed_once)
              return end(self, refused("its certificate is not of this farm"));
            // The library's words name its own calls, not what a person could do.
            bool unreachable = error == caf::sec::cannot_connect_to_node;
            connect_later(self, unreachable ? "nobody answers at the coordinator's address"
                                            : self->system().render(error));
          });
}

void renew(Self self, const Renew& asked, caf::typed_response_promise<Renewed> promise) {
  if (!self->state.door) return promise.deliver(Renewed{false}), void();
  ask(
      self, self->state.door, cluster::Renewal{{{asked.item, asked.token}}}, answer_wait_max,
      [promise](const cluster::Message& message) mutable {
        auto* revoked = std::get_if<cluster::Revoked>(&message);
        promise.deliver(Renewed{revoked != nullptr && revoked->leases.empty()});
      },
      [promise](const std::string&) mutable { promise.deliver(Renewed{false}); });
}

/// A large one was put where the coordinator finds it before this was asked (serve_node.cpp).
void note(Self self, const Note& asked, caf::typed_response_promise<Renewed> promise) {
  if (!self->state.door) return promise.deliver(Renewed{false}), void();
  cluster::NoteMessage message;
  message.item = asked.item;
  message.token = asked.token;
  if (asked.unit->size() > inline_reply_bytes_max)
    message.blob = sha256(*asked.unit);
  else
    message.unit = *asked.unit;
  ask(
      self, self->state.door, message, answer_wait_max,
      [promise](const cluster::Message& answer) mutable {
        auto* revoked = std::get_if<cluster::Revoked>(&answer);
        promise.deliver(Renewed{revoked != nullptr && revoked->leases.empty()});
      },
      [promise](const std::string&) mutable { promise.deliver(Renewed{false}); });
}

store::Completion completion_of(const std::string& outcome) {
  if (outcome == "accepted") return store::Completion::accepted;
  return outcome == "duplicate" ? store::Completion::duplicate : store::Completion::stale;
}

/// The slot keeps its result and asks again until somebody has taken or refused it.
void complete(Self self, const Complete& asked, caf::typed_response_promise<Completed> promise) {
  auto fail = [promise](const std::string&) mutable {
    promise.deliver(caf::make_error(caf::sec::remote_lookup_failed));
  };
  if (!self->state.door) return fail("");
  cluster::ResultMessage message;
  message.item = asked.item;
  message.token = asked.token;
  message.reply = encode(asked.reply);
  if (message.reply.size() > inline_reply_bytes_max) {
    message.blob = sha256(message.reply);
    message.reply.clear();
  }
  ask(
      self, self->state.door, message, answer_wait_max,
      [self, promise, fail](const cluster::Message& answer) mutable {
        if (auto* refusal = std::get_if<cluster::Refusal>(&answer)) return fail(refusal->reason);
        auto* acknowledged = std::get_if<cluster::Acknowledged>(&answer);
        if (acknowledged == nullptr) return fail("an answer to something else");
        promise.deliver(Completed{completion_of(acknowledged->outcome)});
      },
      fail);
}

}  // namespace

DispatcherActor::behavior_type link_actor(Self self, LinkSettings settings) {
  static_assert(!std::is_aggregate_v<LinkState>);
  self->state.settings = std::move(settings);
  self->set_down_handler([self](const caf::down_msg& down) {
    if (self->state.door && down.source == self->state.door->address())
      connect_later(self, "the coordinator is gone");
  });
  self->send(self, Expire{});
  return {
      [](const WorkOrder&) -> caf::result<WorkEnd> { return caf::sec::unexpected_message; },
      [self](const Claim&) -> caf::result<Offer> {
        auto promise = self->make_response_promise<OfferPromise>();
        want(self, promise);
        return promise;
      },
      [self](const Renew& asked) -> caf::result<Renewed> {
        auto promise = self->make_response_promise<caf::typed_response_promise<Renewed>>();
        renew(self, asked, promise);
        return promise;
      },
      [self](const Complete& asked) -> caf::result<Completed> {
        auto promise = self->make_response_promise<caf::typed_response_promise<Completed>>();
        complete(self, asked, promise);
        return promise;
      },
      [self](const Note& asked) -> caf::result<Renewed> {
        auto promise = self->make_response_promise<caf::typed_response_promise<Renewed>>();
        note(self, asked, promise);
        return promise;
      },
      [](const NodeLost&) {},
      [self](Expire) { connect(self); },
      [self](Drain) { end(self, Done{}); },
  };
}

}  // namespace lathe::actors
