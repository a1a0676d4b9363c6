#include "actors/gateway.h"

#include <caf/openssl/publish.hpp>
#include <caf/scoped_actor.hpp>
#include <chrono>
#include <thread>

#include "actors/door.h"
#include "base/clock.h"
#include "base/json.h"
#include "cluster/blobs.h"
#include "cluster/events.h"

namespace lathe::actors {
namespace {

/// How long nodes have to hear that the run is over.
constexpr std::chrono::milliseconds farewell{500};

class OpenGateway : public Gateway {
 public:
  OpenGateway(caf::actor_system& system, std::unique_ptr<cluster::BlobServer> blobs,
              std::unique_ptr<cluster::Publisher> events)
      : system_(system), blobs_(std::move(blobs)), events_(std::move(events)) {}

  Result<Done> listen(const Listening& listening, std::uint64_t lease_ms, Tell tell) {
    DoorSettings settings;
    settings.cluster = [directory = listening.cluster] { return cluster::open_cluster(directory); };
    settings.now_s = wall_seconds;
    // The door may outlive this gateway by a message or two, so it holds what it answers from.
    settings.publish = [blobs = blobs_](const std::string& bytes) { return blobs->publish(bytes); };
    settings.take = [blobs = blobs_](const Digest& digest) { return blobs->take(digest); };
    settings.lease_ms = lease_ms;
    settings.tell = tell;
    door_ = system_.spawn(door, std::move(settings));
    auto port = caf::openssl::publish(door_, listening.port, listening.host.c_str(), true);
    if (!port)
      return Error{Fault::unavailable,
                   "cannot listen on " + listening.host + ":" + std::to_string(listening.port),
                   "choose another --listen",
                   {}};
    Json json;
    json["address"] = listening.host + ":" + std::to_string(*port);
    tell("listening", json.dump());
    return Done{};
  }

  void serve(const DispatcherActor& dispatcher) override {
    caf::anon_send(door_, Serve{dispatcher});
  }

  void publish(const std::string& kind, const std::string& json) override {
    if (!events_) return;
    // A viewer that is slow or gone loses events and sees the gap; nobody here waits for it.
    static_cast<void>(events_->publish(kind, json));
  }

  void close() override {
    caf::anon_send(door_, Serve{});
    std::this_thread::sleep_for(farewell);
    caf::anon_send(door_, Drain{});
  }

 private:
  caf::actor_system& system_;
  std::shared_ptr<cluster::BlobServer> blobs_;
  std::unique_ptr<cluster::Publisher> events_;
  caf::actor door_;
};

}  // namespace

Result<std::unique_ptr<Gateway>> open_gateway(caf::actor_system& system, const Listening& listening,
                                              std::uint64_t lease_ms, Tell tell) {
  Result<cluster::Cluster> cluster = cluster::open_cluster(listening.cluster);
  if (!cluster) return cluster.error();
  std::string address = listening.host + ":" + std::to_string(listening.port);
  Result<std::string> blob_address = cluster::port_after(address, 1);
  if (!blob_address) return blob_address.error();
  auto blobs = cluster::BlobServer::open(listening.cluster, *blob_address, wall_seconds);
  if (!blobs) return blobs.error();
  std::unique_ptr<cluster::Publisher> events;
  if (!listening.events.empty()) {
    auto opened = cluster::Publisher::open(listening.cluster, listening.events, wall_seconds);
    if (!opened) return opened.error();
    events = *std::move(opened);
  }
  auto gateway = std::make_unique<OpenGateway>(system, *std::move(blobs), std::move(events));
  if (Result<Done> listened = gateway->listen(listening, lease_ms, std::move(tell)); !listened)
    return listened.error();
  return std::unique_ptr<Gateway>(std::move(gateway));
}

}  // namespace lathe::actors
