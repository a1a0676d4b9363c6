#include "actors/door.h"

#include "base/json.h"
#include "cluster/wire.h"

namespace lathe::actors {
namespace {

using Self = caf::stateful_actor<DoorState>*;
using Promise = caf::typed_response_promise<std::string>;

constexpr std::chrono::seconds dispatcher_wait_max{60};

std::string bytes_of(const cluster::Message& message) {
  Result<std::string> bytes = cluster::encode(message);
  return bytes ? *std::move(bytes) : std::string();
}

std::string refusal(const std::string& reason, std::uint64_t retry_ms = 0) {
  return bytes_of(cluster::Refusal{reason, retry_ms});
}

void tell(Self self, const std::string& node, const std::string& what) {
  Json json;
  json["node"] = node;
  json["what"] = what;
  self->state.settings.tell("node", json.dump());
}

void forget(Self self, const caf::actor_addr& address) {
  auto found = self->state.nodes.find(address);
  if (found == self->state.nodes.end()) return;
  std::string node = found->second.name;
  self->state.nodes.erase(found);
  tell(self, node, "gone");
  if (self->state.dispatcher) self->send(self->state.dispatcher, NodeLost{node});
}

/// Who connects again has lost what it held before.
void forget_older(Self self, const std::string& node) {
  for (auto known = self->state.nodes.begin(); known != self->state.nodes.end();) {
    caf::actor_addr address = known->first;
    bool same = known->second.name == node;
    ++known;
    if (!same) continue;
    self->demonitor(address);
    forget(self, address);
  }
}

std::string admit(Self self, const cluster::Hello& hello) {
  DoorState& state = self->state;
  Result<cluster::Cluster> cluster = state.settings.cluster();
  if (!cluster) return refusal("the farm's admissions cannot be read", 1000);
  Result<Done> checked =
      cluster::check_hello(*cluster, hello.node, hello.secret, state.settings.now_s());
  if (!checked) {
    tell(self, hello.node, "refused: " + checked.error().what);
    return refusal(checked.error().what);
  }
  forget_older(self, hello.node);
  caf::actor_addr address = caf::actor_cast<caf::actor_addr>(self->current_sender());
  self->monitor(address);
  state.nodes[address] = {hello.node, {hello.capabilities.begin(), hello.capabilities.end()}};
  tell(self, hello.node, "joined");
  return bytes_of(cluster::Welcome{0, ++state.connections, state.settings.lease_ms,
                                   state.settings.lease_ms / 6});
}

/// Once it is offered anew, or answered, nobody fetches it any more.
void forget_journal(Self self, const Digest& item) {
  auto found = self->state.journals.find(item);
  if (found == self->state.journals.end()) return;
  self->state.settings.take(found->second);
  self->state.journals.erase(found);
}

std::string offer_bytes(Self self, const Offer& offer) {
  if (offer.token == 0) return refusal("no work", 1);
  cluster::Offer message;
  message.item = offer.item;
  message.token = offer.token;
  message.gate = static_cast<std::uint64_t>(offer.gate);
  message.lease_ms = offer.lease_ms;
  message.request = self->state.settings.publish(*offer.request);
  forget_journal(self, offer.item);
  if (offer.journal) {
    message.journal = self->state.settings.publish(*offer.journal);
    self->state.journals[offer.item] = message.journal;
  }
  return bytes_of(message);
}

std::string drain_bytes() { return bytes_of(cluster::DrainMessage{"the run is over"}); }

caf::result<std::string> want(Self self, const DoorState::Node& node) {
  if (self->state.draining || !self->state.dispatcher) return drain_bytes();
  auto promise = self->make_response_promise<Promise>();
  self->request(self->state.dispatcher, dispatcher_wait_max, Claim{node.name, node.offers})
      .then([self,
             promise](const Offer& offer) mutable { promise.deliver(offer_bytes(self, offer)); },
            [self, promise](const caf::error&) mutable {
              promise.deliver(self->state.draining ? drain_bytes() : refusal("no dispatcher", 500));
            });
  return promise;
}

/// What is not held any more comes back.
template <class Asked>
caf::result<std::string> ask_of_lease(Self self, const cluster::Held& held, Asked asked) {
  auto promise = self->make_response_promise<Promise>();
  self->request(self->state.dispatcher, dispatcher_wait_max, std::move(asked))
      .then(
          [promise, held](const Renewed& renewed) mutable {
            cluster::Revoked revoked;
            if (!renewed.held) revoked.leases.push_back(held);
            promise.deliver(bytes_of(revoked));
          },
          [promise](const caf::error&) mutable { promise.deliver(refusal("no dispatcher", 500)); });
  return promise;
}

/// One lease a message keeps the answer simple.
caf::result<std::string> renew(Self self, const std::string& node,
                               const cluster::Renewal& renewal) {
  if (renewal.leases.size() != 1) return refusal("a renewal names one lease");
  cluster::Held held = renewal.leases.front();
  return ask_of_lease(self, held, Renew{node, held.item, held.token});
}

/// What a message holds itself, or what was put on the shelf before it.
std::optional<std::string> bytes_of(Self self, const std::string& small, const Digest& blob) {
  return blob == Digest{} ? std::optional(small) : self->state.settings.take(blob);
}

caf::result<std::string> note(Self self, const std::string& node,
                              const cluster::NoteMessage& message) {
  std::optional<std::string> unit = bytes_of(self, message.unit, message.blob);
  if (!unit) return refusal("the unit's bytes are not here", 200);
  return ask_of_lease(self, {message.item, message.token},
                      Note{node, message.item, message.token,
                           std::make_shared<const std::string>(*std::move(unit))});
}

caf::result<std::string> take_result(Self self, const std::string& node,
                                     const cluster::ResultMessage& message) {
  std::optional<std::string> bytes = bytes_of(self, message.reply, message.blob);
  if (!bytes) return refusal("the result's bytes are not here", 200);
  Result<WorkReply> reply = decode_reply(*bytes);
  if (!reply) return refusal("the result does not read: " + reply.error().what);
  auto promise = self->make_response_promise<Promise>();
  self->request(self->state.dispatcher, dispatcher_wait_max,
                Complete{node, message.item, message.token, *std::move(reply)})
      .then(
          [self, promise, message](const Completed& completed) mutable {
            if (completed.completion == store::Completion::accepted)
              forget_journal(self, message.item);
            promise.deliver(bytes_of(cluster::Acknowledged{
                message.item, message.token, std::string(store::name_of(completed.completion))}));
          },
          [promise](const caf::error&) mutable { promise.deliver(refusal("no dispatcher", 500)); });
  return promise;
}

caf::result<std::string> receive(Self self, const std::string& bytes) {
  Result<cluster::Message> message = cluster::decode(bytes);
  if (!message) return refusal(message.error().what);
  if (auto* hello = std::get_if<cluster::Hello>(&*message)) return admit(self, *hello);
  auto known = self->state.nodes.find(caf::actor_cast<caf::actor_addr>(self->current_sender()));
  if (known == self->state.nodes.end()) return refusal("say hello first", 1);
  if (std::holds_alternative<cluster::Want>(*message)) return want(self, known->second);
  const std::string node = known->second.name;
  if (!self->state.dispatcher) return refusal("no dispatcher", 500);
  if (auto* renewal = std::get_if<cluster::Renewal>(&*message)) return renew(self, node, *renewal);
  if (auto* unit = std::get_if<cluster::NoteMessage>(&*message)) return note(self, node, *unit);
  if (auto* result = std::get_if<cluster::ResultMessage>(&*message))
    return take_result(self, node, *result);
  return refusal("this message is not for a coordinator");
}

}  // namespace

caf::behavior door(Self self, DoorSettings settings) {
  static_assert(!std::is_aggregate_v<DoorState>);
  self->state.settings = std::move(settings);
  self->set_down_handler([self](const caf::down_msg& down) { forget(self, down.source); });
  // Another's order to die is nobody's right: the gateway alone ends its door, by closing.
  self->set_exit_handler([](const caf::exit_msg&) {});
  return {
      [self](const std::string& bytes) -> caf::result<std::string> { return receive(self, bytes); },
      [self](const Serve& serve) {
        self->state.dispatcher = serve.dispatcher;
        self->state.draining = !serve.dispatcher;
        if (self->state.draining) self->state.settings.tell("closing", "{}");
      },
      [self](Drain) { self->quit(); },
  };
}

}  // namespace lathe::actors
