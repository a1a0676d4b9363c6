#include "cluster/door.h"

#include <atomic>
#include <cerrno>
#include <cstring>

namespace lathe::cluster {
namespace {

constexpr char zap_address[] = "inproc://zeromq.zap.01";

std::string_view view(const zmq::message_t& frame) {
  return {static_cast<const char*>(frame.data()), frame.size()};
}

/// All frames of one message.
std::vector<zmq::message_t> receive(zmq::socket_t& socket) {
  std::vector<zmq::message_t> frames;
  do {
    frames.emplace_back();
    if (!socket.recv(frames.back())) return {};
  } while (frames.back().more());
  return frames;
}

}  // namespace

Door::~Door() {
  // Ends every blocked call of this context; the sockets themselves are closed by their owners.
  context_.shutdown();
  if (keeper_.joinable()) keeper_.join();
}

void Door::guard(AllowedKeys keys) {
  keys_ = std::move(keys);
  reload();
  zmq::socket_t knocks(context_, zmq::socket_type::rep);
  knocks.set(zmq::sockopt::linger, 0);
  knocks.bind(zap_address);
  keeper_ = std::thread(
      [this, socket = std::move(knocks)]() mutable { answer_knocks(std::move(socket)); });
}

void Door::reload() {
  std::optional<std::vector<AllowedKey>> keys;
  if (keys_) keys = keys_();
  std::lock_guard lock(mutex_);
  if (!keys) return;  // It cannot be told now: the old list stands.
  names_.clear();
  for (const AllowedKey& key : *keys) names_[key.curve_public] = key.name;
}

bool Door::is_allowed(const std::string& name) const {
  std::lock_guard lock(mutex_);
  for (const auto& [key, allowed] : names_)
    if (allowed == name) return true;
  return false;
}

std::optional<std::string> Door::name_of_key(std::string_view raw_key) const {
  if (raw_key.size() != 32) return {};
  char text[41] = {};
  zmq_z85_encode(text, reinterpret_cast<const std::uint8_t*>(raw_key.data()), raw_key.size());
  std::lock_guard lock(mutex_);
  auto name = names_.find(text);
  if (name == names_.end()) return {};
  return name->second;
}

/// The ZAP protocol, RFC 27: version, request, domain, address, identity, mechanism, key.
void Door::answer_knocks(zmq::socket_t knocks) {
  try {
    for (;;) {
      std::vector<zmq::message_t> frames = receive(knocks);
      if (frames.size() < 2) continue;
      std::optional<std::string> name;
      reload();
      if (frames.size() == 7 && view(frames[0]) == "1.0" && view(frames[5]) == "CURVE")
        name = name_of_key(view(frames[6]));
      const std::string reply[] = {"1.0",
                                   std::string(view(frames[1])),
                                   name ? "200" : "400",
                                   name ? "OK" : "not admitted",
                                   name.value_or(""),
                                   ""};
      for (std::size_t i = 0; i < std::size(reply); ++i)
        knocks.send(zmq::buffer(reply[i]),
                    i + 1 < std::size(reply) ? zmq::send_flags::sndmore : zmq::send_flags::none);
    }
  } catch (const zmq::error_t&) {
    // The context was shut down: nobody will knock any more.
  }
}

void settle(zmq::socket_t& socket, std::int64_t message_bytes_max, int queue_max) {
  socket.set(zmq::sockopt::linger, 0);
  socket.set(zmq::sockopt::maxmsgsize, message_bytes_max);
  socket.set(zmq::sockopt::sndhwm, queue_max);
  socket.set(zmq::sockopt::rcvhwm, queue_max);
  socket.set(zmq::sockopt::heartbeat_ivl, 1000);
  socket.set(zmq::sockopt::heartbeat_timeout, 5000);
  socket.set(zmq::sockopt::heartbeat_ttl, 5000);
  socket.set(zmq::sockopt::reconnect_ivl, 100);
  socket.set(zmq::sockopt::reconnect_ivl_max, 2000);
}

void serve_with(zmq::socket_t& socket, const CurveKeys& keys) {
  socket.set(zmq::sockopt::zap_domain, "lathe");
  socket.set(zmq::sockopt::curve_server, true);
  socket.set(zmq::sockopt::curve_secretkey, keys.secret_key);
}

void connect_with(zmq::socket_t& socket, const CurveKeys& keys, const std::string& server_public) {
  socket.set(zmq::sockopt::curve_publickey, keys.public_key);
  socket.set(zmq::sockopt::curve_secretkey, keys.secret_key);
  socket.set(zmq::sockopt::curve_serverkey, server_public);
}

std::string bind_to(zmq::socket_t& socket, const std::string& address) {
  socket.bind("tcp://" + address);
  return socket.get(zmq::sockopt::last_endpoint).substr(std::strlen("tcp://"));
}

Knocking::Knocking(zmq::context_t& context, zmq::socket_t& socket)
    : socket_(socket), events_(context, zmq::socket_type::pair) {
  static std::atomic<unsigned> count{0};
  std::string address = "inproc://lathe.knocking." + std::to_string(++count);
  zmq_socket_monitor(socket.handle(), address.c_str(),
                     ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                         ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL);
  events_.set(zmq::sockopt::linger, 0);
  events_.connect(address);
}

Knocking::~Knocking() { zmq_socket_monitor(socket_.handle(), nullptr, 0); }

bool Knocking::refused() {
  zmq::message_t frame;
  while (events_.recv(frame, zmq::recv_flags::dontwait))
    // The address, which follows the event, is of no interest.
    if (frame.more()) refused_ = true;
  return refused_;
}

Error socket_error(const zmq::error_t& error, const std::string& deed, const std::string& address) {
  bool kept_out = error.num() == EACCES;
  return {Fault::unavailable,
          "cannot " + deed + " " + address + ": " + error.what(),
          error.num() == EADDRINUSE ? "choose another port" : "",
          {},
          kept_out ? Absent::permission : Absent::service};
}

}  // namespace lathe::cluster
