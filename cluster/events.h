#pragma once

// What happens, for whoever watches: PUB and SUB with msgpack maps. A slow viewer is never waited
// for; what it missed shows as a gap in the numbers, and it asks the store for the rest.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/identity.h"

namespace lathe::cluster {

struct EventMessage {
  static constexpr std::uint64_t version = 1;
  std::uint64_t epoch = 0;     // Of the publisher: numbers begin anew with each.
  std::uint64_t sequence = 0;  // Without gaps, from 1.
  std::string kind;            // "verdict", "admitted", "round", ..: also the topic.
  std::uint64_t run = 0;
  std::string event_json = "{}";
  static void fields(auto& self, auto&& field) {
    field("epoch", self.epoch);
    field("sequence", self.sequence);
    field("kind", self.kind);
    field("run", self.run);
    field("event_json", self.event_json);
  }
};

Result<std::string> encode_event(const EventMessage& event);
Result<EventMessage> decode_event(std::string_view bytes);

/// Keeps count of what a viewer has seen. Pure.
class GapWatch {
 public:
  struct Seen {
    std::uint64_t missed = 0;  // Events between the last one and this.
    bool anew = false;         // The first one ever, or of a new epoch: take a snapshot.
    bool old = false;          // Seen before, or of the epoch before: to be passed over.
  };
  Seen see(std::uint64_t epoch, std::uint64_t sequence);

 private:
  std::uint64_t epoch_ = 0, before_ = 0, sequence_ = 0;
};

struct PublisherOptions {
  std::string address;            // HOST:PORT; PORT may be *.
  std::uint64_t epoch = 0;        // 0: one is drawn.
  std::optional<CurveKeys> keys;  // Required off the loopback.
  AllowedKeys allowed;
};

/// Safe to call from several threads.
class Publisher {
 public:
  /// Errors: unavailable (Absent::permission) off the loopback without keys.
  static Result<std::unique_ptr<Publisher>> start(const PublisherOptions& options);
  /// With the keys of a cluster's directory.
  static Result<std::unique_ptr<Publisher>> open(const std::filesystem::path& cluster,
                                                 const std::string& address,
                                                 std::function<std::uint64_t()> now_s = {});
  ~Publisher();
  /// Its number. Errors: malformed where it is larger than a message may be.
  Result<std::uint64_t> publish(const std::string& kind, std::uint64_t run,
                                const std::string& event_json);
  Result<std::uint64_t> publish(const std::string& kind, const std::string& event_json) {
    return publish(kind, 0, event_json);
  }
  const std::string& address() const;

 private:
  struct Inside;
  explicit Publisher(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

struct SubscriberOptions {
  std::string address;
  std::string topic;  // Kinds that begin with this; empty: all. Gaps are seen only with all.
  std::optional<CurveKeys> keys;
  std::string server_public;
};

class Subscriber {
 public:
  static Result<std::unique_ptr<Subscriber>> connect(const SubscriberOptions& options);
  ~Subscriber();
  struct Received {
    EventMessage event;
    GapWatch::Seen seen;
  };
  /// Nothing where none came in time. Messages that are no events are passed over.
  Result<std::optional<Received>> next(unsigned timeout_ms);

 private:
  struct Inside;
  explicit Subscriber(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace lathe::cluster
