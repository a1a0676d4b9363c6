#include "actors/system.h"

#include <unistd.h>

#include <atomic>
#include <caf/io/middleman.hpp>
#include <caf/openssl/manager.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace lathe::actors {
namespace {

constexpr std::chrono::seconds end_wait_max{10};

struct Config : caf::actor_system_config {
  explicit Config(const std::optional<Certificates>& certificates) {
    set("scheduler.policy", caf::atom("sharing"));
    set("scheduler.max-threads", std::size_t{2});
    if (!certificates) return;
    load<caf::io::middleman>();
    load<caf::openssl::manager>();
    set("middleman.heartbeat-interval", caf::timespan{std::chrono::seconds{1}});
    set("middleman.connection-timeout", caf::timespan{std::chrono::seconds{5}});
    openssl_certificate = certificates->certificate.string();
    openssl_key = certificates->key.string();
    openssl_cafile = certificates->authority.string();
  }
};

}  // namespace

System::System(const std::optional<Certificates>& certificates)
    : config_(std::make_unique<Config>(certificates)),
      system_(std::make_unique<caf::actor_system>(*config_)) {}

System::~System() {
  auto ended = std::make_shared<std::atomic<bool>>(false);
  std::thread([ended] {
    for (auto waited = std::chrono::milliseconds(0); waited < end_wait_max;
         waited += std::chrono::milliseconds(100)) {
      if (*ended) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    if (!*ended) std::_Exit(0);
  }).detach();
  system_.reset();
  *ended = true;
}

Result<std::unique_ptr<System>> make_system(const std::optional<Certificates>& certificates) {
  if (certificates)
    for (const auto& file : {certificates->certificate, certificates->key, certificates->authority})
      if (::access(file.c_str(), R_OK) != 0)
        return Error{Fault::unavailable,
                     "the farm's certificate cannot be read",
                     "make one with lathe cluster init or admit",
                     {file.string(), 0, 0},
                     Absent::permission};
  return std::make_unique<System>(certificates);
}

}  // namespace lathe::actors
