#pragma once

// A farm of processes: a coordinator with no slots of its own, and nodes that join it.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>

#include "base/random.h"
#include "living.h"

namespace lathe::system_test {

inline bool is_free(std::uint16_t port) {
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  bool free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return free;
}

/// One whose neighbour is free as well: blobs are served there.
inline std::uint16_t free_port() {
  for (std::uint64_t i = 0; i < 1000; ++i) {
    auto port = static_cast<std::uint16_t>(
        20'000 + philox64(static_cast<std::uint64_t>(::getpid()), 5, i) % 20'000);
    if (is_free(port) && is_free(static_cast<std::uint16_t>(port + 1))) return port;
  }
  FAIL("no port is free");
  return 0;
}

inline std::vector<std::string> lower(const std::string& store,
                                      const std::string& contract = small_contract()) {
  return {"lower", contract, "--store", store,      "--rounds", "1",        "--branches",
          "3",     "--seed", "3",       "--device", "emulated", "--verbose"};
}

class Farm {
 public:
  explicit Farm(const std::string& contract = small_contract())
      : address_("127.0.0.1:" + std::to_string(free_port())) {
    REQUIRE(ran({"cluster", "init", folder / "farm"}).status == 0);
    for (const char* name : {"ada", "bea"}) {
      Ran admitted = ran({"cluster", "admit", name, "--dir", folder / "farm", "--address", address_,
                          "--out", bundle(name)});
      INFO(admitted.err);
      REQUIRE(admitted.status == 0);
    }
    std::vector<std::string> command = lower(folder / "store", contract);
    for (std::string word : {"--cluster", "", "--listen", "", "--slots", "0", "--lease", "1.5"})
      command.push_back(word);
    command[command.size() - 7] = folder / "farm";
    command[command.size() - 5] = address_;
    coordinator = std::make_unique<Program>(command);
    bool listens = coordinator->read_until("listening", seconds(30));
    INFO(coordinator->err());
    REQUIRE(listens);
  }

  std::string bundle(const std::string& name) const { return folder / (name + ".bundle"); }
  std::unique_ptr<Program> node(const std::string& name, const std::string& wait = "60") const {
    return std::make_unique<Program>(std::vector<std::string>{
        "node", "--join", bundle(name), "--slots", "1", "--wait", wait, "--json"});
  }

  Folder folder;
  std::unique_ptr<Program> coordinator;

 private:
  std::string address_;
};

inline bool has(const std::string& line, const std::string& part) {
  return line.find(part) != std::string::npos;
}
inline bool is(const std::string& line, const std::string& kind) {
  return line.starts_with(kind + " ");
}

inline std::string item_of(const std::string& line) {
  std::size_t at = line.find("\"item\":\"");
  return at == std::string::npos ? "" : line.substr(at + 8, line.find('"', at + 8) - at - 8);
}

/// The next claim of this node: "" where none comes.
inline std::string next_claim(Program& coordinator, const std::string& node) {
  std::string item;
  coordinator.read_until(
      [&](const std::string& line) {
        if (!is(line, "claimed") || !has(line, "\"" + node)) return false;
        item = item_of(line);
        return true;
      },
      seconds(60));
  return item;
}

inline std::size_t count(const Program& program, const std::string& kind, const std::string& item) {
  std::size_t count = 0;
  for (const std::string& line : program.lines()) count += is(line, kind) && has(line, item);
  return count;
}

}  // namespace lathe::system_test
