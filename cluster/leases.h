#pragma once

// Who works on what: a pure machine. Time is an argument, in the owner's clock; nodes are told
// durations only. An item is in exactly one of ready, leased, done and quarantined. What it decides
// the caller makes durable (store/deeds.h) before anybody is told.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/digest.h"

namespace lathe::cluster {

/// Of a node: what it offers. Of an item: what it needs, all of it.
struct Capabilities {
  std::set<std::string> names;  // "arch:sm_90a", "gate:verify", "tool:ptxas", "device:GPU-..".
  std::uint64_t memory_bytes = 0;
  bool covers(const Capabilities& need) const;
  auto operator<=>(const Capabilities&) const = default;
};

struct LeaseSettings {
  std::uint64_t epoch = 1;  // Of the store: tokens of an earlier process are stale.
  std::uint64_t lease_ns = 30'000'000'000;
  std::size_t nodes_lost_max = 3;   // On so many different nodes a lease may die.
  std::uint64_t tokens_before = 0;  // Of this epoch, handed out by machines before this one.
};

struct Item {
  Digest id;  // Of what it computes: equal work is one item.
  std::uint64_t priority = 0;
  Capabilities need;
  bool may_hedge = true;          // Not a timing on one GPU.
  std::set<std::string> lost_on;  // From the store, where the coordinator starts again.
};

struct Lease {
  Digest item;
  std::string node;
  std::uint64_t token = 0;
  std::uint64_t granted_ns = 0, deadline_ns = 0;
};

enum class Outcome : std::uint8_t {
  accepted,   // The first answer of a token that holds the item.
  stale,      // The item was given to somebody else since.
  duplicate,  // The accepted answer once more.
  unknown     // No such item.
};
std::string_view name_of(Outcome outcome);

/// A lease that ended without an answer, and what became of its item.
struct Ended {
  enum class Fate : std::uint8_t { ready, still_leased, quarantined };
  Lease lease;
  Fate fate = Fate::ready;
};

class Leases {
 public:
  explicit Leases(const LeaseSettings& settings)
      : settings_(settings), count_(settings.tokens_before) {}

  /// False where equal work is known already: then whoever asks waits for that.
  bool add(const Item& item);
  /// The next item that the node can do: by priority, then age.
  std::optional<Lease> claim(const std::string& node, const Capabilities& offer,
                             std::uint64_t now_ns);
  /// A second lease on the oldest item that others have held since before `granted_before_ns`.
  std::optional<Lease> hedge(const std::string& node, const Capabilities& offer,
                             std::uint64_t granted_before_ns, std::uint64_t now_ns);
  /// A lease that the store remembers from before a restart.
  bool restore(const Item& item, const Lease& lease);
  /// The new deadline, or nothing where this node and token hold nothing any more.
  std::optional<std::uint64_t> renew(const std::string& node, const Digest& item,
                                     std::uint64_t token, std::uint64_t now_ns);
  Outcome complete(const std::string& node, const Digest& item, std::uint64_t token);
  /// Given back unharmed, by a node that drains.
  std::optional<Ended> give_back(const std::string& node, const Digest& item, std::uint64_t token);
  /// From now on the item, which nobody holds, is for nodes that offer so much memory.
  bool need_memory(const Digest& item, std::uint64_t memory_bytes);
  /// All that the node holds goes to others at once.
  std::vector<Ended> node_lost(const std::string& node);
  std::vector<Ended> expire(std::uint64_t now_ns);
  /// Takes an item away: nobody waits for it any more. Its holders become stale.
  bool cancel(const Digest& item);

  std::vector<Lease> held_by(const std::string& node) const;
  std::optional<std::uint64_t> next_deadline_ns() const;
  std::size_t ready_count() const;
  std::size_t leased_count() const { return leased_; }
  std::size_t done_count() const { return done_.size(); }
  std::size_t quarantined_count() const { return quarantined_.size(); }
  bool is_quarantined(const Digest& item) const { return quarantined_.contains(item); }
  /// Empty where the invariants hold; else the one that does not.
  std::string check() const;

 private:
  struct Open {
    Item item;
    std::uint64_t sequence = 0;
    std::vector<Lease> holders;  // Empty: ready.
  };
  /// Highest priority first, then the oldest.
  using Place = std::tuple<std::uint64_t, std::uint64_t, Digest>;

  static Place place_of(const Open& open);
  Lease grant(Open& open, const std::string& node, std::uint64_t now_ns);
  Ended end(Open& open, std::size_t holder, bool lost);
  void hold(const Lease& lease);
  void let_go(const Lease& lease);
  Open* holder(const std::string& node, const Digest& item, std::uint64_t token,
               std::size_t& index);

  LeaseSettings settings_;
  std::uint64_t count_ = 0, sequence_ = 0;
  std::size_t leased_ = 0;
  std::map<Digest, Open> open_;
  std::map<Capabilities, std::set<Place>> ready_;                // By need: few needs, many items.
  std::set<std::pair<std::uint64_t, std::uint64_t>> deadlines_;  // Deadline and token.
  std::map<std::uint64_t, Digest> tokens_;                       // Of live leases.
  std::map<std::string, std::set<std::uint64_t>> nodes_;         // Tokens a node holds.
  std::map<Digest, std::uint64_t> done_;                         // And the token that did it.
  std::set<Digest> quarantined_;
};

}  // namespace lathe::cluster
