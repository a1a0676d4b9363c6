#include "cluster/blobs.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <zmq.hpp>

#include "base/files.h"
#include "base/record.h"
#include "cluster/blob_message.h"
#include "cluster/door.h"

namespace lathe::cluster {
namespace {

std::string text_of(std::size_t size) {
  std::string text;
  text.reserve(size + 16);
  for (std::uint64_t i = 0; text.size() < size; ++i) text += std::to_string(i * i);
  text.resize(size);
  return text;
}

/// A server and the keys of one node that it lets in.
struct Farm {
  explicit Farm(BlobServerOptions options = {}) {
    options.address = "127.0.0.1:*";
    options.keys = coordinator;
    options.allowed = [this] {
      std::vector<AllowedKey> keys;
      if (!revoked) keys.push_back({"node", node.public_key});
      return keys;
    };
    Result<std::unique_ptr<BlobServer>> started = BlobServer::start(std::move(options));
    if (!started) FAIL(started.error().what);
    server = *std::move(started);
  }
  std::unique_ptr<BlobClient> client(const CurveKeys& keys, unsigned patience_ms = 10'000) const {
    BlobClientOptions options{server->address(), keys, coordinator.public_key};
    options.patience_ms = patience_ms;
    return *BlobClient::connect(options);
  }
  CurveKeys coordinator = make_curve_keys(), node = make_curve_keys();
  std::atomic<bool> revoked{false};
  std::unique_ptr<BlobServer> server;
};

TEST_CASE("a published blob is fetched, whatever its size") {
  Farm farm;
  auto client = farm.client(farm.node);
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, chunk_bytes - 1, chunk_bytes,
                           chunk_bytes + 1, 40 * chunk_bytes + 17}) {
    std::string bytes = text_of(size);
    Result<std::string> got = client->fetch(farm.server->publish(bytes));
    REQUIRE(got);
    CHECK(*got == bytes);
  }
}

TEST_CASE("a node stores a blob with the server, whatever its size") {
  Farm farm;
  auto client = farm.client(farm.node);
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, chunk_bytes, 40 * chunk_bytes + 17}) {
    std::string bytes = text_of(size);
    Result<Digest> digest = client->store(bytes);
    REQUIRE(digest);
    CHECK(*digest == sha256(bytes));
    CHECK(farm.server->find(*digest) == bytes);
    CHECK(farm.server->take(*digest) == bytes);
    CHECK_FALSE(farm.server->find(*digest));
  }
}

TEST_CASE("storing the same blob twice is done twice") {
  Farm farm;
  auto client = farm.client(farm.node);
  CHECK(client->store("bytes"));
  CHECK(client->store("bytes"));
}

TEST_CASE("a blob that is not there is missing, not waited for") {
  Farm farm;
  Result<std::string> got = farm.client(farm.node)->fetch(sha256("nothing"));
  REQUIRE_FALSE(got);
  CHECK(got.error().absent == Absent::file);
}

TEST_CASE("what is not on the shelf is asked of the store, once a blob") {
  std::string bytes = text_of(5 * chunk_bytes);
  std::atomic<int> asked{0};
  BlobServerOptions options;
  options.find = [&](const Digest& digest) -> std::optional<std::string> {
    ++asked;
    if (digest != sha256(bytes)) return {};
    return bytes;
  };
  Farm farm(std::move(options));
  auto client = farm.client(farm.node);
  CHECK(*client->fetch(sha256(bytes)) == bytes);
  CHECK(asked == 1);
  CHECK_FALSE(client->fetch(sha256("other")));
}

TEST_CASE("a key that was not admitted is refused, although it is a good key") {
  Farm farm;
  Digest digest = farm.server->publish("secret");
  Result<std::string> got = farm.client(make_curve_keys(), 600)->fetch(digest);
  REQUIRE_FALSE(got);
  CHECK(got.error().fault == Fault::unavailable);
  CHECK(got.error().absent == Absent::permission);
  CHECK(*farm.client(farm.node)->fetch(digest) == "secret");
}

TEST_CASE("a server that is not the coordinator gets nothing") {
  Farm farm;
  BlobClientOptions options{farm.server->address(), farm.node, make_curve_keys().public_key};
  options.patience_ms = 600;
  CHECK_FALSE((*BlobClient::connect(options))->store("secret"));
  CHECK_FALSE(farm.server->find(sha256("secret")));
}

TEST_CASE("a client without keys is refused") {
  Farm farm;
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::dealer);
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::rcvtimeo, 400);
  socket.connect("tcp://" + farm.server->address());
  std::string head = encode_record(BlobMessage{BlobWord::get, farm.server->publish("x"), 0, 0, ""});
  socket.send(zmq::buffer(head), zmq::send_flags::dontwait);
  zmq::message_t reply;
  CHECK_FALSE(socket.recv(reply));
}

TEST_CASE("a node that is revoked while it is connected gets no answer any more") {
  Farm farm;
  Digest digest = farm.server->publish("x");
  auto client = farm.client(farm.node, 600);
  REQUIRE(client->fetch(digest));
  farm.revoked = true;
  bool answered = true;
  for (int i = 0; i < 400 && answered; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    answered = client->fetch(digest).has_value();
  }
  CHECK_FALSE(answered);
}

TEST_CASE("nobody at the address is said after the client's patience") {
  Farm farm;
  std::string address = farm.server->address();
  farm.server.reset();
  BlobClientOptions options{address, farm.node, farm.coordinator.public_key};
  options.patience_ms = 200;
  Result<std::string> got = (*BlobClient::connect(options))->fetch(sha256("x"));
  REQUIRE_FALSE(got);
  CHECK(got.error().absent == Absent::service);
}

TEST_CASE("bytes that have another digest are refused by the server") {
  Farm farm;
  auto client = farm.client(farm.node);
  Result<Digest> stored = client->store_as(sha256("right"), "wrong");
  REQUIRE_FALSE(stored);
  CHECK(stored.error().what.find("another digest") != std::string::npos);
  CHECK_FALSE(farm.server->find(sha256("right")));
  CHECK(client->store_as(sha256("right"), "right"));
}

TEST_CASE("bytes that have another digest are refused by the client") {
  BlobServerOptions options;
  options.find = [](const Digest&) { return std::optional<std::string>{"not what was asked for"}; };
  Farm farm(std::move(options));
  Result<std::string> got = farm.client(farm.node)->fetch(sha256("right"));
  REQUIRE_FALSE(got);
  CHECK(got.error().fault == Fault::malformed);
}

TEST_CASE("a blob may be just as large as the server takes") {
  BlobServerOptions options;
  options.blob_bytes_max = chunk_bytes + 1;
  Farm farm(std::move(options));
  auto client = farm.client(farm.node);
  CHECK(client->store(text_of(chunk_bytes + 1)));
  CHECK_FALSE(client->store(text_of(chunk_bytes + 2)));
}

/// Speaks to the server with a node's keys, but without a client's manners.
struct Raw {
  explicit Raw(const Farm& farm) : socket(door.context(), zmq::socket_type::dealer) {
    settle(socket, 1 << 20, 64);
    connect_with(socket, farm.node, farm.coordinator.public_key);
    socket.set(zmq::sockopt::rcvtimeo, 2000);
    socket.connect("tcp://" + farm.server->address());
  }
  void say(const std::vector<std::string>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i)
      socket.send(zmq::buffer(frames[i]),
                  i + 1 < frames.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
  }
  std::optional<BlobMessage> hear() {
    zmq::message_t head;
    if (!socket.recv(head)) return {};
    Result<BlobMessage> message = decode_record<BlobMessage>(head.to_string_view());
    while (head.more())
      if (!socket.recv(head)) break;
    if (!message) return {};
    return *message;
  }
  Door door;
  zmq::socket_t socket;
};

TEST_CASE("garbage, cut messages and messages of too many frames leave the server well") {
  Farm farm;
  Digest digest = farm.server->publish("x");
  Raw raw(farm);
  std::string good = encode_record(BlobMessage{BlobWord::get, digest, 0, 0, ""});
  raw.say({"garbage"});
  raw.say({""});
  for (std::size_t size = 0; size < good.size(); ++size) raw.say({good.substr(0, size)});
  raw.say({good, "", "", ""});
  raw.say({good});
  // Whatever came before was passed over without a word: the first answer is to the good one.
  std::optional<BlobMessage> heard = raw.hear();
  REQUIRE(heard);
  CHECK(heard->word == BlobWord::chunk);
  CHECK(farm.client(farm.node)->fetch(digest));
}

TEST_CASE("a chunk that does not exist is refused, not read beyond the end") {
  Farm farm;
  Digest digest = farm.server->publish("x");
  Raw raw(farm);
  for (std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{chunk_bytes}, UINT64_MAX}) {
    raw.say({encode_record(BlobMessage{BlobWord::get, digest, offset, 0, ""})});
    std::optional<BlobMessage> heard = raw.hear();
    REQUIRE(heard);
    CHECK(heard->word == BlobWord::refused);
  }
}

TEST_CASE("a chunk that does not fit its blob is refused") {
  Farm farm;
  Raw raw(farm);
  auto put = [&](std::uint64_t offset, std::uint64_t size, const std::string& bytes) {
    raw.say({encode_record(BlobMessage{BlobWord::put, sha256("b"), offset, size, ""}), bytes});
    std::optional<BlobMessage> heard = raw.hear();
    return heard ? heard->word : BlobWord::missing;
  };
  CHECK(put(0, 5, "four") == BlobWord::refused);
  CHECK(put(1, 5, "four") == BlobWord::refused);
  CHECK(put(UINT64_MAX - chunk_bytes + 1, 5, "x") == BlobWord::refused);
  CHECK(put(0, UINT64_MAX, std::string(chunk_bytes, 'x')) == BlobWord::refused);
  CHECK(put(0, 2 * chunk_bytes, std::string(chunk_bytes, 'x')) == BlobWord::got);
  CHECK(put(chunk_bytes, 2 * chunk_bytes + 1, std::string(chunk_bytes, 'x')) == BlobWord::refused);
  CHECK(put(0, 1, "b") == BlobWord::whole);
}

TEST_CASE("an unfinished upload gives way to newer ones of the same node") {
  BlobServerOptions options;
  options.uploads_max = 1;
  Farm farm(std::move(options));
  Raw raw(farm);
  std::string first = text_of(chunk_bytes + 1), second = "x" + first;
  auto put = [&](const std::string& blob, std::uint64_t offset) {
    raw.say({encode_record(BlobMessage{BlobWord::put, sha256(blob), offset, blob.size(), ""}),
             blob.substr(offset, chunk_bytes)});
    return raw.hear()->word;
  };
  CHECK(put(first, 0) == BlobWord::got);
  CHECK(put(second, 0) == BlobWord::got);
  CHECK(put(first, chunk_bytes) == BlobWord::got);  // Its first chunk was dropped.
  CHECK(put(first, 0) == BlobWord::whole);
}

TEST_CASE("a bundle is all that a node needs, also one that was written while the server runs") {
  Scratch scratch;
  std::filesystem::path cluster = scratch.path() / "cluster";
  REQUIRE(init_cluster(cluster, 1'790'000'000));
  auto server = *BlobServer::open(cluster, "127.0.0.1:*");
  Digest digest = server->publish("x");
  Result<Bundle> bundle =
      admit_node(cluster, "n", "127.0.0.1:4700", scratch.path() / "n", 1'790'000'000);
  REQUIRE(bundle);
  bundle->blob_address = server->address();
  CHECK(*(*BlobClient::open(*bundle))->fetch(digest) == "x");
}

TEST_CASE("an address that is taken is unavailable") {
  Farm farm;
  BlobServerOptions options;
  options.address = farm.server->address();
  options.keys = farm.coordinator;
  Result<std::unique_ptr<BlobServer>> second = BlobServer::start(std::move(options));
  REQUIRE_FALSE(second);
  CHECK(second.error().fault == Fault::unavailable);
}

}  // namespace
}  // namespace lathe::cluster
