// A remote node: slots that work as local ones do, behind a link instead of a dispatcher.

#include <caf/scoped_actor.hpp>
#include <chrono>
#include <future>

#include "actors/link.h"
#include "actors/node_actor.h"
#include "actors/run.h"
#include "actors/system.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "cluster/blobs.h"
#include "cluster/identity.h"

namespace lathe::actors {
namespace {

WorkReply failed(Error error) {
  WorkReply reply;
  reply.error = std::move(error);
  return reply;
}

Result<std::string> fetched(cluster::BlobClient& blobs, const std::string& name) {
  Result<Digest> digest = parse_digest(name);
  if (!digest) return digest.error();
  return blobs.fetch(*digest);
}

/// What a slot is offered are digests: request and journal are fetched, the request is run in a
/// child, and a large unit or reply put where the coordinator finds it before it hears of it.
Runner remote_runner(std::shared_ptr<cluster::BlobClient> blobs, Runner run) {
  return [blobs, run](const Errand& names) -> WorkReply {
    Result<std::string> request = fetched(*blobs, names.request);
    if (!request) return failed(request.error());
    Errand errand{*std::move(request), "", [blobs, &names](const std::string& unit) {
                    if (unit.size() > inline_reply_bytes_max && !blobs->store(unit)) return;
                    names.note(unit);
                  }};
    if (!names.journal.empty()) {
      Result<std::string> journal = fetched(*blobs, names.journal);
      if (!journal) return failed(journal.error());
      errand.journal = *std::move(journal);
    }
    WorkReply reply = run(errand);
    std::string bytes = encode(reply);
    if (bytes.size() <= inline_reply_bytes_max) return reply;
    Result<Digest> put = blobs->store(bytes);
    return put ? reply : failed(put.error());
  };
}

Result<Done> wait(caf::actor_system& system, const DispatcherActor& link,
                  std::future<Result<Done>>& future, const std::atomic<int>* stop) {
  caf::scoped_actor self{system};
  bool told = false;
  while (future.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
    if (stop != nullptr && *stop != 0 && !std::exchange(told, true)) self->send(link, Drain{});
  return future.get();
}

NodeSettings slot_settings(const NodeRequest& request, const cluster::Bundle& bundle,
                           const std::set<std::string>& offers,
                           const std::shared_ptr<cluster::BlobClient>& blobs) {
  NodeSettings settings;
  settings.name = bundle.name;
  settings.offers = offers;
  settings.runner =
      remote_runner(blobs, child_runner(std::chrono::seconds(3600), request.memory_bytes));
  settings.tell = [tell = request.tell](const std::string& kind, const Offer& offer,
                                        const std::string& note) {
    Json json;
    json["item"] = short_hex(offer.item);
    json["gate"] = name_of(offer.gate);
    if (!note.empty()) json["what"] = note;
    tell(kind, json.dump());
  };
  return settings;
}

}  // namespace

Result<Done> serve_node(const NodeRequest& request) {
  Result<cluster::Bundle> bundle = cluster::open_bundle(request.bundle, wall_seconds());
  if (!bundle) return bundle.error();
  Scratch scratch;
  Result<cluster::TlsFiles> files = cluster::write_tls(*bundle, scratch.path());
  if (!files) return files.error();
  auto client = cluster::BlobClient::open(*bundle);
  if (!client) return client.error();
  std::shared_ptr<cluster::BlobClient> blobs = *std::move(client);
  Result<std::unique_ptr<System>> system =
      make_system(Certificates{files->certificate, files->key, files->authority});
  if (!system) return system.error();
  auto promise = std::make_shared<std::promise<Result<Done>>>();
  std::future<Result<Done>> future = promise->get_future();
  LinkSettings link;
  std::size_t colon = bundle->address.rfind(':');
  link.host = bundle->address.substr(0, colon);
  link.port = static_cast<std::uint16_t>(std::stoul(bundle->address.substr(colon + 1)));
  link.node = bundle->name;
  link.secret = bundle->secret;
  link.slots = request.slots;
  link.offers = offers_here(request.memory_bytes);
  link.return_wait_max = std::chrono::milliseconds(request.wait_ms);
  link.tell = request.tell;
  link.end = [promise](Result<Done> done) { promise->set_value(std::move(done)); };
  caf::actor_system& actors = (*system)->actors();
  std::set<std::string> offers = link.offers;
  DispatcherActor line = actors.spawn(link_actor, std::move(link));
  std::vector<NodeActor> slots;
  for (std::uint32_t slot = 0; slot < request.slots; ++slot) {
    slots.push_back(actors.spawn(node_actor, line, slot_settings(request, *bundle, offers, blobs)));
    caf::anon_send(slots.back(), Pull{});
  }
  Result<Done> done = wait(actors, line, future, request.stop);
  for (const NodeActor& slot : slots) caf::anon_send_exit(slot, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(line, caf::exit_reason::user_shutdown);
  return done;
}

}  // namespace lathe::actors
