#include "cluster/events.h"

#include <mutex>

#include "base/record.h"
#include "cluster/certificate.h"
#include "cluster/door.h"
#include "cluster/wire.h"

namespace lathe::cluster {
namespace {

constexpr PackLimits limits{.array = 64, .map = 64, .string = message_bytes_max, .depth = 8};
constexpr int events_queued_max = 10'000;

}  // namespace

Result<std::string> encode_event(const EventMessage& event) {
  std::string bytes = encode_record(event);
  if (bytes.size() > message_bytes_max)
    return Error{Fault::malformed, "an event is larger than a message may be", "", {}};
  return bytes;
}

Result<EventMessage> decode_event(std::string_view bytes) {
  if (bytes.size() > message_bytes_max)
    return Error{Fault::malformed, "an event is larger than a message may be", "", {}};
  return decode_record<EventMessage>(bytes, limits);
}

GapWatch::Seen GapWatch::see(std::uint64_t epoch, std::uint64_t sequence) {
  bool is_before = before_ != 0 && epoch == before_;
  if (is_before || (epoch == epoch_ && sequence <= sequence_)) return {0, false, true};
  Seen seen;
  seen.anew = epoch != epoch_;
  if (!seen.anew) seen.missed = sequence - sequence_ - 1;
  if (seen.anew) before_ = epoch_;
  epoch_ = epoch;
  sequence_ = sequence;
  return seen;
}

struct Publisher::Inside {
  explicit Inside(std::uint64_t epoch)
      : epoch(epoch), socket(door.context(), zmq::socket_type::pub) {}
  std::uint64_t epoch, sequence = 0;
  Door door;
  zmq::socket_t socket;
  std::string address;
  std::mutex mutex;
};

Publisher::Publisher(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Publisher::~Publisher() = default;

Result<std::unique_ptr<Publisher>> Publisher::start(const PublisherOptions& options) {
  if (!options.keys && !is_loopback(options.address))
    return Error{Fault::unavailable,
                 "events are not published at " + options.address + " without keys",
                 "name a cluster directory, or publish at 127.0.0.1",
                 {},
                 Absent::permission};
  std::uint64_t epoch = options.epoch;
  if (epoch == 0) {
    Result<std::string> drawn = random_hex(7);
    if (!drawn) return drawn.error();
    epoch = std::stoull(*drawn, nullptr, 16) + 1;
  }
  try {
    auto inside = std::make_unique<Inside>(epoch);
    settle(inside->socket, message_bytes_max + 4096, events_queued_max);
    if (options.keys) {
      inside->door.guard(options.allowed);
      serve_with(inside->socket, *options.keys);
    }
    inside->address = bind_to(inside->socket, options.address);
    return std::unique_ptr<Publisher>(new Publisher(std::move(inside)));
  } catch (const zmq::error_t& error) {
    return socket_error(error, "publish events at", options.address);
  }
}

Result<std::unique_ptr<Publisher>> Publisher::open(const std::filesystem::path& cluster,
                                                   const std::string& address,
                                                   std::function<std::uint64_t()> now_s) {
  Result<Cluster> opened = open_cluster(cluster);
  if (!opened) return opened.error();
  PublisherOptions options;
  options.address = address;
  options.keys = opened->curve;
  options.allowed = keys_of_directory(cluster, std::move(now_s));
  return start(options);
}

Result<std::uint64_t> Publisher::publish(const std::string& kind, std::uint64_t run,
                                         const std::string& event_json) {
  std::lock_guard lock(inside_->mutex);
  Result<std::string> bytes =
      encode_event({inside_->epoch, inside_->sequence + 1, kind, run, event_json});
  if (!bytes) return bytes.error();
  try {
    inside_->socket.send(zmq::buffer(kind), zmq::send_flags::sndmore);
    inside_->socket.send(zmq::buffer(*bytes), zmq::send_flags::none);
  } catch (const zmq::error_t& error) {
    return socket_error(error, "publish at", inside_->address);
  }
  return ++inside_->sequence;
}

const std::string& Publisher::address() const { return inside_->address; }

struct Subscriber::Inside {
  Inside() : socket(door.context(), zmq::socket_type::sub) {}
  Door door;
  zmq::socket_t socket;
  GapWatch watch;
  std::string address;
};

Subscriber::Subscriber(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Subscriber::~Subscriber() = default;

Result<std::unique_ptr<Subscriber>> Subscriber::connect(const SubscriberOptions& options) {
  try {
    auto inside = std::make_unique<Inside>();
    inside->address = options.address;
    settle(inside->socket, message_bytes_max + 4096, events_queued_max);
    if (options.keys) connect_with(inside->socket, *options.keys, options.server_public);
    inside->socket.set(zmq::sockopt::subscribe, options.topic);
    inside->socket.connect("tcp://" + options.address);
    return std::unique_ptr<Subscriber>(new Subscriber(std::move(inside)));
  } catch (const zmq::error_t& error) {
    return socket_error(error, "watch", options.address);
  }
}

Result<std::optional<Subscriber::Received>> Subscriber::next(unsigned timeout_ms) {
  try {
    zmq::pollitem_t item{inside_->socket.handle(), 0, ZMQ_POLLIN, 0};
    zmq::poll(&item, 1, std::chrono::milliseconds(timeout_ms));
    while (inside_->socket.get(zmq::sockopt::events) & ZMQ_POLLIN) {
      std::vector<zmq::message_t> frames;
      do {
        frames.emplace_back();
        if (!inside_->socket.recv(frames.back())) break;
      } while (frames.back().more());
      if (frames.size() != 2) continue;
      Result<EventMessage> event = decode_event(frames[1].to_string_view());
      if (!event) continue;
      GapWatch::Seen seen = inside_->watch.see(event->epoch, event->sequence);
      if (!seen.old) return std::optional<Received>{Received{*std::move(event), seen}};
    }
    return std::optional<Received>{};
  } catch (const zmq::error_t& error) {
    return socket_error(error, "watch", inside_->address);
  }
}

}  // namespace lathe::cluster
