#include "actors/system.h"

#include <unistd.h>

#include <caf/io/middleman.hpp>
#include <caf/openssl/manager.hpp>
#include <chrono>

namespace lathe::actors {
namespace {

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
      system_(std::make_unique<caf::actor_system>(*config_)),
      talks_(certificates.has_value()) {}

System::~System() {
  if (!talks_) return;
  // Not freed: see the header.
  static_cast<void>(system_.release());
  static_cast<void>(config_.release());
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
