#pragma once

// A tiny HTTP server on the loopback for tests: each connection gets the next scripted answer, byte
// for byte, and what was asked is kept.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace lathe::planner::world {

/// One connection's answer. `hang` keeps the connection open after the bytes.
struct Script {
  std::string bytes;
  bool hang = false;
};

inline std::string response(const std::string& status, const std::string& type,
                            const std::string& body, const std::string& more = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n" + more +
         "\r\n" + body;
}

class Server {
 public:
  explicit Server(std::vector<Script> scripts) : scripts_(std::move(scripts)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 16);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }
  std::size_t served() const { return served_; }
  /// Read these once the client is done.
  const std::vector<std::string>& asked() const { return asked_; }

 private:
  bool readable(int socket) {
    pollfd wait{socket, POLLIN, 0};
    return ::poll(&wait, 1, 20) > 0;
  }

  std::string read_request(int socket) {
    std::string text;
    char bytes[4096];
    while (!stop_) {
      if (!readable(socket)) continue;
      ssize_t count = ::recv(socket, bytes, sizeof bytes, 0);
      if (count <= 0) break;
      text.append(bytes, static_cast<std::size_t>(count));
      std::size_t end = text.find("\r\n\r\n"), length = text.find("Content-Length: ");
      if (end == std::string::npos || length == std::string::npos) continue;
      if (text.size() >= end + 4 + std::stoul(text.substr(length + 16))) break;
    }
    return text;
  }

  void serve() {
    while (!stop_) {
      if (!readable(listener_)) continue;
      int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) continue;
      asked_.push_back(read_request(socket));
      const Script& script = scripts_[std::min(served_.load(), scripts_.size() - 1)];
      ++served_;  // Before the client can know.
      ::send(socket, script.bytes.data(), script.bytes.size(), MSG_NOSIGNAL);
      char byte;
      while (script.hang && !stop_)
        if (readable(socket) && ::recv(socket, &byte, 1, 0) <= 0) break;
      ::close(socket);
    }
  }

  std::vector<Script> scripts_;
  std::vector<std::string> asked_;
  std::atomic<std::size_t> served_{0};
  std::atomic<bool> stop_{false};
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace lathe::planner::world
