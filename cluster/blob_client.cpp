// A node's side of cluster/blobs.h.

#include <deque>
#include <mutex>
#include <set>

#include "base/record.h"
#include "cluster/blob_message.h"
#include "cluster/door.h"

namespace lathe::cluster {
namespace {

constexpr PackLimits limits{.array = 16, .map = 16, .string = 4096, .depth = 4};
constexpr unsigned poll_ms = 20;
/// After this long without a word, what was asked is asked again: ZeroMQ drops what was in flight
/// when a connection breaks.
constexpr unsigned ask_again_ms = 2000;

struct Reply {
  BlobMessage message;
  zmq::message_t bytes;
};

Error unavailable(std::string what, Absent absent) {
  return {Fault::unavailable, std::move(what), "", {}, absent};
}

/// Chunks that are still to be asked for, and those that were.
struct Window {
  std::deque<std::uint64_t> waiting;
  std::set<std::uint64_t> in_flight;

  void fill(std::uint64_t size, std::uint64_t first_chunk) {
    for (std::uint64_t i = first_chunk; i < chunk_count(size); ++i)
      waiting.push_back(i * chunk_bytes);
  }
  void again() {
    waiting.insert(waiting.begin(), in_flight.begin(), in_flight.end());
    in_flight.clear();
  }
  bool done() const { return waiting.empty() && in_flight.empty(); }
};

}  // namespace

struct BlobClient::Inside {
  explicit Inside(BlobClientOptions given)
      : options(std::move(given)),
        socket(door.context(), zmq::socket_type::dealer),
        knocking(door.context(), socket) {}

  void open() {
    settle(socket, chunk_bytes + 4096, 64);
    connect_with(socket, options.keys, options.server_public);
    socket.set(zmq::sockopt::immediate, true);  // Nothing is queued for a server that is not there.
    socket.connect("tcp://" + options.address);
  }

  /// Sends as much as the credit allows; `bytes` of a chunk where it is a put.
  void send(Window& window, BlobMessage message, std::string_view blob);
  /// The next message about this digest; nothing after a while of silence.
  std::optional<Reply> receive(const Digest& digest);
  /// Drives one transfer: `handle` answers true when it is over.
  template <class Handle>
  Result<Done> transfer(Window& window, const BlobMessage& message, std::string_view blob,
                        Handle&& handle);

  BlobClientOptions options;
  Door door;
  zmq::socket_t socket;
  Knocking knocking;
  std::mutex mutex;
};

void BlobClient::Inside::send(Window& window, BlobMessage message, std::string_view blob) {
  while (!window.waiting.empty() && window.in_flight.size() < chunks_in_flight) {
    message.offset = window.waiting.front();
    std::string head = encode_record(message);
    bool put = message.word == BlobWord::put;
    zmq::send_flags more = put ? zmq::send_flags::sndmore : zmq::send_flags::none;
    if (!socket.send(zmq::buffer(head), more | zmq::send_flags::dontwait)) return;
    if (put)
      socket.send(
          zmq::buffer(blob.substr(message.offset, chunk_size(message.size, message.offset))),
          zmq::send_flags::none);
    window.waiting.pop_front();
    window.in_flight.insert(message.offset);
  }
}

std::optional<Reply> BlobClient::Inside::receive(const Digest& digest) {
  zmq::pollitem_t item{socket.handle(), 0, ZMQ_POLLIN, 0};
  zmq::poll(&item, 1, std::chrono::milliseconds(poll_ms));
  if ((item.revents & ZMQ_POLLIN) == 0) return {};
  std::vector<zmq::message_t> frames;
  do {
    frames.emplace_back();
    if (!socket.recv(frames.back())) break;
  } while (frames.back().more());
  if (frames.size() > 2) return {};
  Result<BlobMessage> message = decode_record<BlobMessage>(frames[0].to_string_view(), limits);
  // Late words about an earlier transfer are passed over.
  if (!message || message->digest != digest) return {};
  Reply reply{*std::move(message), {}};
  if (frames.size() == 2) reply.bytes = std::move(frames[1]);
  return reply;
}

template <class Handle>
Result<Done> BlobClient::Inside::transfer(Window& window, const BlobMessage& message,
                                          std::string_view blob, Handle&& handle) {
  try {
    for (unsigned silent_ms = 0; silent_ms < options.patience_ms;) {
      send(window, message, blob);
      std::optional<Reply> reply = receive(message.digest);
      if (!reply) {
        silent_ms += poll_ms;
        if (silent_ms % ask_again_ms == 0) window.again();
        continue;
      }
      silent_ms = 0;
      if (reply->message.word == BlobWord::missing)
        return unavailable("the server has no blob " + short_hex(message.digest), Absent::file);
      if (reply->message.word == BlobWord::refused)
        return Error{
            reply->message.size > options.blob_bytes_max ? Fault::exhausted : Fault::malformed,
            "the server refuses the blob: " + reply->message.reason,
            "",
            {}};
      Result<bool> over = handle(*reply);
      if (!over) return over.error();
      if (*over) return Done{};
    }
    if (knocking.refused())
      return Error{Fault::unavailable,
                   "the server at " + options.address + " does not let this node in",
                   "ask for a new bundle: lathe cluster admit",
                   {},
                   Absent::permission};
    return unavailable("nobody answers at " + options.address, Absent::service);
  } catch (const zmq::error_t& error) {
    return socket_error(error, "reach", options.address);
  }
}

BlobClient::BlobClient(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
BlobClient::~BlobClient() = default;

Result<std::unique_ptr<BlobClient>> BlobClient::connect(BlobClientOptions options) {
  std::string address = options.address;
  try {
    auto inside = std::make_unique<Inside>(std::move(options));
    inside->open();
    return std::unique_ptr<BlobClient>(new BlobClient(std::move(inside)));
  } catch (const zmq::error_t& error) {
    return socket_error(error, "connect to", address);
  }
}

Result<std::unique_ptr<BlobClient>> BlobClient::open(const Bundle& bundle) {
  BlobClientOptions options;
  options.address = bundle.blob_address;
  options.keys = {bundle.curve_public, bundle.curve_secret};
  options.server_public = bundle.coordinator_curve_public;
  return connect(std::move(options));
}

Result<std::string> BlobClient::fetch(const Digest& digest) {
  std::lock_guard lock(inside_->mutex);
  Window window;
  window.waiting.push_back(0);  // The first chunk tells how many there are.
  std::string bytes;
  bool size_known = false;
  Result<Done> done = inside_->transfer(
      window, {BlobWord::get, digest, 0, 0, ""}, "", [&](const Reply& reply) -> Result<bool> {
        const BlobMessage& message = reply.message;
        if (message.word != BlobWord::chunk || !window.in_flight.contains(message.offset))
          return false;
        if (!size_known && message.size > inside_->options.blob_bytes_max)
          return Error{Fault::exhausted, "the blob is larger than this node takes", "", {}};
        if ((size_known && message.size != bytes.size()) ||
            message.offset / chunk_bytes >= chunk_count(message.size) ||
            reply.bytes.size() != chunk_size(message.size, message.offset))
          return Error{Fault::malformed, "the server sent a chunk that does not fit", "", {}};
        if (!size_known) {
          size_known = true;
          bytes.resize(message.size);
          window.fill(message.size, 1);
        }
        std::copy_n(static_cast<const char*>(reply.bytes.data()), reply.bytes.size(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(message.offset));
        window.in_flight.erase(message.offset);
        return window.done();
      });
  if (!done) return done.error();
  if (sha256(bytes) != digest)
    return Error{Fault::malformed,
                 "the server sent bytes of another digest than " + short_hex(digest),
                 "",
                 {}};
  return bytes;
}

Result<Digest> BlobClient::store(std::string_view bytes) { return store_as(sha256(bytes), bytes); }

Result<Digest> BlobClient::store_as(const Digest& digest, std::string_view bytes) {
  std::lock_guard lock(inside_->mutex);
  Window window;
  window.fill(bytes.size(), 0);
  Result<Done> done = inside_->transfer(window, {BlobWord::put, digest, 0, bytes.size(), ""}, bytes,
                                        [&](const Reply& reply) -> Result<bool> {
                                          if (reply.message.word == BlobWord::whole) return true;
                                          window.in_flight.erase(reply.message.offset);
                                          // Everything was received once, and yet it is not whole:
                                          // the server has started anew since.
                                          if (window.done()) window.fill(bytes.size(), 0);
                                          return false;
                                        });
  if (!done) return done.error();
  return digest;
}

}  // namespace lathe::cluster
