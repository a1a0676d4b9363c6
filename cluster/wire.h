#pragma once

// The farm's messages: what CAF carries between processes is one string, which is one of these as a
// versioned msgpack map (base/record.h). None is larger than 64 KiB; what is larger is a blob.
// `hello` comes from a node before all else; nothing is answered before `welcome`.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/result.h"

namespace lathe::cluster {

inline constexpr std::size_t message_bytes_max = 64u << 10;

/// What a node found in itself.
struct Gpu {
  static constexpr std::uint64_t version = 1;
  std::string uuid, name, architecture, driver;
  std::uint64_t memory_bytes = 0;
  static void fields(auto& self, auto&& field) {
    field("uuid", self.uuid);
    field("name", self.name);
    field("architecture", self.architecture);
    field("driver", self.driver);
    field("memory_bytes", self.memory_bytes);
  }
};

/// Node: here I am. The secret of its bundle proves the name, which the certificate alone does not.
struct Hello {
  static constexpr std::uint64_t version = 1;
  std::string node, secret, program;
  std::uint64_t epoch = 0;  // The newest run epoch that it has seen.
  std::vector<std::string> capabilities;
  std::uint64_t memory_bytes = 0, credit = 0;
  std::vector<Gpu> gpus;
  static void fields(auto& self, auto&& field) {
    field("node", self.node);
    field("secret", self.secret);
    field("program", self.program);
    field("epoch", self.epoch);
    field("capabilities", self.capabilities);
    field("memory_bytes", self.memory_bytes);
    field("credit", self.credit);
    field("gpus", self.gpus);
  }
};

/// Coordinator: you are in. A node refuses an epoch below the newest it has seen.
struct Welcome {
  static constexpr std::uint64_t version = 1;
  std::uint64_t epoch = 0, connection = 0, lease_ms = 0, renew_ms = 0;
  static void fields(auto& self, auto&& field) {
    field("epoch", self.epoch);
    field("connection", self.connection);
    field("lease_ms", self.lease_ms);
    field("renew_ms", self.renew_ms);
  }
};

/// Either side: no. With `retry_ms` it means busy.
struct Refusal {
  static constexpr std::uint64_t version = 1;
  std::string reason;
  std::uint64_t retry_ms = 0;
  static void fields(auto& self, auto&& field) {
    field("reason", self.reason);
    field("retry_ms", self.retry_ms);
  }
};

/// Node: I can take so many items more.
struct Want {
  static constexpr std::uint64_t version = 1;
  std::uint64_t count = 0;
  static void fields(auto& self, auto&& field) { field("count", self.count); }
};

/// Coordinator: do this. The request is a blob, and so is what earlier holders finished of it.
struct Offer {
  static constexpr std::uint64_t version = 2;
  Digest item;
  std::uint64_t token = 0, gate = 0, lease_ms = 0;
  Digest request;
  Digest journal = {};  // Zeros: nothing was finished.
  static void fields(auto& self, auto&& field) {
    field("item", self.item);
    field("token", self.token);
    field("gate", self.gate);
    field("lease_ms", self.lease_ms);
    field("request", self.request);
    field("journal", self.journal, 2);
  }
};

struct Held {
  static constexpr std::uint64_t version = 1;
  Digest item;
  std::uint64_t token = 0;
  static void fields(auto& self, auto&& field) {
    field("item", self.item);
    field("token", self.token);
  }
};

/// Node: I am still at these.
struct Renewal {
  static constexpr std::uint64_t version = 1;
  std::vector<Held> leases;
  static void fields(auto& self, auto&& field) { field("leases", self.leases); }
};

/// Coordinator: these are not yours any more; stop them.
struct Revoked {
  static constexpr std::uint64_t version = 1;
  std::vector<Held> leases;
  static void fields(auto& self, auto&& field) { field("leases", self.leases); }
};

/// Node: the answer. Kept on its disk until it is acknowledged.
struct ResultMessage {
  static constexpr std::uint64_t version = 1;
  Digest item;
  std::uint64_t token = 0, epoch = 0;
  std::string reply;  // Where it is small.
  Digest blob;        // Else the reply's digest; zeros: it is in `reply`.
  static void fields(auto& self, auto&& field) {
    field("item", self.item);
    field("token", self.token);
    field("epoch", self.epoch);
    field("reply", self.reply);
    field("blob", self.blob);
  }
};

/// Coordinator: the answer is committed, or will never be ("stale", "duplicate", "unknown").
struct Acknowledged {
  static constexpr std::uint64_t version = 1;
  Digest item;
  std::uint64_t token = 0;
  std::string outcome;
  static void fields(auto& self, auto&& field) {
    field("item", self.item);
    field("token", self.token);
    field("outcome", self.outcome);
  }
};

/// Node: I cannot do this; give it to others.
struct GiveBack {
  static constexpr std::uint64_t version = 1;
  Digest item;
  std::uint64_t token = 0;
  std::string reason;
  static void fields(auto& self, auto&& field) {
    field("item", self.item);
    field("token", self.token);
    field("reason", self.reason);
  }
};

/// Node: a unit of what I do is finished (verifier_node/journal.h). The answer is Revoked, without
/// the lease where it is still held.
struct NoteMessage {
  static constexpr std::uint64_t version = 1;
  Digest item;
  std::uint64_t token = 0;
  std::string unit;  // Where it is small.
  Digest blob;       // Else the unit's digest; zeros: it is in `unit`.
  static void fields(auto& self, auto&& field) {
    field("item", self.item);
    field("token", self.token);
    field("unit", self.unit);
    field("blob", self.blob);
  }
};

/// Either side: finish what runs, return the rest, leave.
struct DrainMessage {
  static constexpr std::uint64_t version = 1;
  std::string reason;
  static void fields(auto& self, auto&& field) { field("reason", self.reason); }
};

/// A sign of life, and its echo.
struct Ping {
  static constexpr std::uint64_t version = 1;
  std::uint64_t number = 0;
  bool echo = false;
  static void fields(auto& self, auto&& field) {
    field("number", self.number);
    field("echo", self.echo);
  }
};

/// The place in this list is on the wire: add at the end only.
using Message = std::variant<Hello, Welcome, Refusal, Want, Offer, Renewal, Revoked, ResultMessage,
                             Acknowledged, GiveBack, DrainMessage, Ping, NoteMessage>;

/// Errors: malformed where it would be larger than a message may be.
Result<std::string> encode(const Message& message);
/// Errors: malformed; unsupported where a newer program wrote it.
Result<Message> decode(std::string_view bytes);

}  // namespace lathe::cluster
