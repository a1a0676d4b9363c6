// The coordinator's side of cluster/blobs.h.

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/record.h"
#include "cluster/blob_message.h"
#include "cluster/door.h"

namespace lathe::cluster {
namespace {

constexpr PackLimits limits{.array = 16, .map = 16, .string = 4096, .depth = 4};
/// How soon a revoked node that is connected is noticed.
constexpr auto reload_time = std::chrono::seconds(1);
constexpr auto poll_time = std::chrono::milliseconds(20);

/// A blob that is coming in; memory grows with what has come, not with what was claimed.
struct Upload {
  std::uint64_t size = 0;
  std::map<std::uint64_t, std::string> chunks;
};

using Shared = std::shared_ptr<const std::string>;

}  // namespace

struct BlobServer::Inside {
  explicit Inside(BlobServerOptions given)
      : options(std::move(given)), socket(door.context(), zmq::socket_type::router) {}
  ~Inside() {
    stopping = true;
    if (thread.joinable()) thread.join();
    socket.close();
  }

  void open() {
    door.guard(options.allowed);
    settle(socket, chunk_bytes + 4096, 64);
    serve_with(socket, options.keys);
    socket.set(zmq::sockopt::router_mandatory, true);
    address = bind_to(socket, options.address);
    thread = std::thread([this] { serve(); });
  }

  void serve();
  void answer(std::vector<zmq::message_t>& frames);
  BlobMessage respond(const std::string& node, const BlobMessage& asked,
                      const zmq::message_t* bytes, Shared& payload);
  BlobMessage take_chunk(const std::string& node, const BlobMessage& asked,
                         const zmq::message_t& bytes);
  BlobMessage finish(const std::string& node, const BlobMessage& asked, Upload& upload);
  Upload& upload_of(const std::string& node, const BlobMessage& asked);
  void drop(const std::string& node, const Digest& digest);
  Shared look_up(const Digest& digest);

  BlobServerOptions options;
  Door door;  // Outlives the socket.
  zmq::socket_t socket;
  std::string address;
  std::atomic<bool> stopping{false};
  std::thread thread;

  mutable std::mutex mutex;  // Of the shelf.
  std::map<Digest, Shared> shelf;

  // The thread's own.
  std::map<std::pair<std::string, Digest>, Upload> uploads;
  std::map<std::string, std::deque<Digest>> order;  // Uploads of a node, oldest first.
  std::pair<Digest, Shared> last_found;  // So that a blob of many chunks is looked up once.
};

void BlobServer::Inside::serve() {
  auto loaded = std::chrono::steady_clock::now();
  while (!stopping) {
    try {
      if (std::chrono::steady_clock::now() - loaded >= reload_time) {
        door.reload();
        loaded = std::chrono::steady_clock::now();
      }
      zmq::pollitem_t item{socket.handle(), 0, ZMQ_POLLIN, 0};
      zmq::poll(&item, 1, poll_time);
      if ((item.revents & ZMQ_POLLIN) == 0) continue;
      std::vector<zmq::message_t> frames;
      do {
        frames.emplace_back();
        if (!socket.recv(frames.back())) break;
      } while (frames.back().more());
      answer(frames);
    } catch (const zmq::error_t& error) {
      if (error.num() == ETERM) return;
      // The peer is gone or does not read: it will ask again.
    }
  }
}

/// Frames: the peer's routing id, a message, perhaps bytes. Anything else is passed over.
void BlobServer::Inside::answer(std::vector<zmq::message_t>& frames) {
  if (frames.size() < 2 || frames.size() > 3) return;
  const char* user = nullptr;
  try {
    user = frames[1].gets("User-Id");
  } catch (const zmq::error_t&) {
    return;
  }
  if (user == nullptr || !door.is_allowed(user)) return;
  Result<BlobMessage> asked = decode_record<BlobMessage>(frames[1].to_string_view(), limits);
  if (!asked) return;
  Shared payload;
  BlobMessage reply = respond(user, *asked, frames.size() == 3 ? &frames[2] : nullptr, payload);
  std::string head = encode_record(reply);
  bool more = payload != nullptr;
  // Where the queue to this peer is full the reply is dropped: it has not kept to its credit.
  if (!socket.send(frames[0], zmq::send_flags::sndmore | zmq::send_flags::dontwait)) return;
  socket.send(zmq::buffer(head), more ? zmq::send_flags::sndmore : zmq::send_flags::none);
  if (more)
    socket.send(zmq::buffer(payload->data() + reply.offset, chunk_size(reply.size, reply.offset)),
                zmq::send_flags::none);
}

BlobMessage BlobServer::Inside::respond(const std::string& node, const BlobMessage& asked,
                                        const zmq::message_t* bytes, Shared& payload) {
  BlobMessage reply{BlobWord::refused, asked.digest, asked.offset, asked.size, ""};
  if (asked.word == BlobWord::put && bytes != nullptr) return take_chunk(node, asked, *bytes);
  if (asked.word != BlobWord::get || bytes != nullptr) {
    reply.reason = "the message makes no sense";
    return reply;
  }
  Shared found = look_up(asked.digest);
  if (!found) {
    reply.word = BlobWord::missing;
    return reply;
  }
  reply.size = found->size();
  if (asked.offset % chunk_bytes != 0 || asked.offset / chunk_bytes >= chunk_count(reply.size)) {
    reply.reason = "there is no chunk at this place";
    return reply;
  }
  reply.word = BlobWord::chunk;
  payload = found;
  return reply;
}

Upload& BlobServer::Inside::upload_of(const std::string& node, const BlobMessage& asked) {
  auto [upload, is_new] = uploads.try_emplace({node, asked.digest});
  if (is_new) {
    upload->second.size = asked.size;
    std::deque<Digest>& mine = order[node];
    mine.push_back(asked.digest);
    if (mine.size() > options.uploads_max) drop(node, Digest(mine.front()));
  }
  return upload->second;
}

void BlobServer::Inside::drop(const std::string& node, const Digest& digest) {
  uploads.erase({node, digest});
  std::erase(order[node], digest);
}

BlobMessage BlobServer::Inside::take_chunk(const std::string& node, const BlobMessage& asked,
                                           const zmq::message_t& bytes) {
  BlobMessage reply{BlobWord::refused, asked.digest, asked.offset, asked.size, ""};
  if (asked.size > options.blob_bytes_max) {
    reply.reason = "the blob is larger than this server takes";
    return reply;
  }
  if (look_up(asked.digest)) {
    reply.word = BlobWord::whole;
    return reply;
  }
  if (asked.offset % chunk_bytes != 0 || asked.offset / chunk_bytes >= chunk_count(asked.size) ||
      bytes.size() != chunk_size(asked.size, asked.offset)) {
    reply.reason = "the chunk does not fit its blob";
    return reply;
  }
  Upload& upload = upload_of(node, asked);
  if (upload.size != asked.size) {
    drop(node, asked.digest);
    reply.reason = "the blob has changed its size";
    return reply;
  }
  upload.chunks.try_emplace(asked.offset, bytes.to_string());
  if (upload.chunks.size() == chunk_count(upload.size)) return finish(node, asked, upload);
  reply.word = BlobWord::got;
  return reply;
}

BlobMessage BlobServer::Inside::finish(const std::string& node, const BlobMessage& asked,
                                       Upload& upload) {
  BlobMessage reply{BlobWord::refused, asked.digest, asked.offset, asked.size, ""};
  std::string whole;
  whole.reserve(upload.size);
  for (auto& [offset, chunk] : upload.chunks) whole += chunk;
  drop(node, asked.digest);
  if (sha256(whole) != asked.digest) {
    reply.reason = "the bytes have another digest";
    return reply;
  }
  std::lock_guard lock(mutex);
  shelf[asked.digest] = std::make_shared<const std::string>(std::move(whole));
  reply.word = BlobWord::whole;
  return reply;
}

Shared BlobServer::Inside::look_up(const Digest& digest) {
  {
    std::lock_guard lock(mutex);
    auto found = shelf.find(digest);
    if (found != shelf.end()) return found->second;
  }
  if (last_found.second && last_found.first == digest) return last_found.second;
  if (!options.find) return nullptr;
  std::optional<std::string> bytes = options.find(digest);
  if (!bytes) return nullptr;
  last_found = {digest, std::make_shared<const std::string>(*std::move(bytes))};
  return last_found.second;
}

BlobServer::BlobServer(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
BlobServer::~BlobServer() = default;

Result<std::unique_ptr<BlobServer>> BlobServer::start(BlobServerOptions options) {
  std::string address = options.address;
  try {
    auto inside = std::make_unique<Inside>(std::move(options));
    inside->open();
    return std::unique_ptr<BlobServer>(new BlobServer(std::move(inside)));
  } catch (const zmq::error_t& error) {
    return socket_error(error, "serve blobs at", address);
  }
}

Result<std::unique_ptr<BlobServer>> BlobServer::open(const std::filesystem::path& cluster,
                                                     const std::string& address,
                                                     std::function<std::uint64_t()> now_s) {
  Result<Cluster> opened = open_cluster(cluster);
  if (!opened) return opened.error();
  BlobServerOptions options;
  options.address = address;
  options.keys = opened->curve;
  options.allowed = keys_of_directory(cluster, std::move(now_s));
  return start(std::move(options));
}

Digest BlobServer::publish(std::string bytes) {
  Digest digest = sha256(bytes);
  std::lock_guard lock(inside_->mutex);
  inside_->shelf[digest] = std::make_shared<const std::string>(std::move(bytes));
  return digest;
}

std::optional<std::string> BlobServer::find(const Digest& digest) const {
  std::lock_guard lock(inside_->mutex);
  auto found = inside_->shelf.find(digest);
  if (found == inside_->shelf.end()) return {};
  return *found->second;
}

std::optional<std::string> BlobServer::take(const Digest& digest) {
  std::optional<std::string> bytes = find(digest);
  forget(digest);
  return bytes;
}

void BlobServer::forget(const Digest& digest) {
  std::lock_guard lock(inside_->mutex);
  inside_->shelf.erase(digest);
}

const std::string& BlobServer::address() const { return inside_->address; }

}  // namespace lathe::cluster
