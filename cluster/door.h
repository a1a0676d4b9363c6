#pragma once

// ZeroMQ with a doorkeeper: CURVE encrypts, and the ZAP handler behind it lets in only the keys on
// its list. Without that handler CURVE would let in any key at all. For the .cpp files of cluster/.

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>
#include <zmq.hpp>

#include "base/result.h"
#include "cluster/identity.h"

namespace lathe::cluster {

/// A context and, where `guard` was called, its doorkeeper.
class Door {
 public:
  Door() = default;
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  zmq::context_t& context() { return context_; }
  /// Starts the doorkeeper. Before any guarded socket is bound.
  void guard(AllowedKeys keys);
  /// Asks again who may connect; at each knock it does so by itself. Whoever is connected already
  /// is judged by `is_allowed`.
  void reload();
  bool is_allowed(const std::string& name) const;

 private:
  void answer_knocks(zmq::socket_t knocks);
  std::optional<std::string> name_of_key(std::string_view raw_key) const;

  zmq::context_t context_{1};
  mutable std::mutex mutex_;
  AllowedKeys keys_;
  std::map<std::string, std::string> names_;  // By public key.
  std::thread keeper_;
};

/// What every socket of the farm has: heartbeats, quick reconnection, bounded queues and messages.
void settle(zmq::socket_t& socket, std::int64_t message_bytes_max, int queue_max);
void serve_with(zmq::socket_t& socket, const CurveKeys& keys);
void connect_with(zmq::socket_t& socket, const CurveKeys& keys, const std::string& server_public);
/// Binds to HOST:PORT (PORT may be *) and says where it is now, as HOST:PORT.
std::string bind_to(zmq::socket_t& socket, const std::string& address);

/// Notices that the other side does not let us in.
class Knocking {
 public:
  Knocking(zmq::context_t& context, zmq::socket_t& socket);
  ~Knocking();
  Knocking(const Knocking&) = delete;
  Knocking& operator=(const Knocking&) = delete;
  bool refused();

 private:
  zmq::socket_t& socket_;
  zmq::socket_t events_;
  bool refused_ = false;
};

Error socket_error(const zmq::error_t& error, const std::string& deed, const std::string& address);

}  // namespace lathe::cluster
