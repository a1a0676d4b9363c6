#pragma once

// Who works on what: a pure machine that is told the time. The owner's clock alone decides a
// deadline; a token fences off whoever held an item before.
//
//   waiting --claim--> leased --complete--> (gone)
//      ^                 |
//      +--expire, lost, give_back            leased --the third node lost--> poisoned

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/digest.h"

namespace lathe::cluster {

struct LeaseLimits {
  std::uint64_t lease_ns = 30'000'000'000;
  std::size_t nodes_lost_max = 3;  // An item whose lease died on as many different nodes is poison.
  std::size_t losses_max =
      6;  // Or as often on fewer: a farm of one node is not the item's fault for ever.
};

struct Grant {
  Digest item;
  std::uint64_t token = 0;
  std::uint64_t deadline_ns = 0;
};

enum class Returned : std::uint8_t { accepted, stale };

/// An item that went back to waiting, or that nobody will be given again.
struct Loss {
  Digest item;
  std::uint64_t token = 0;
  std::string node;
  bool poisoned = false;
};

class Leases {
 public:
  /// Tokens carry the epoch, so that those of an earlier owner are stale.
  Leases(std::uint64_t epoch, LeaseLimits limits) : epoch_(epoch), limits_(limits) {}

  /// False where it is waiting or leased already.
  bool add(const Digest& item, std::uint64_t priority);
  /// The waiting item of the highest priority, among those the oldest; one that died on this node
  /// before only where nothing else waits.
  std::optional<Grant> claim(const std::string& node, std::uint64_t now_ns);
  /// False where the token no longer holds it.
  bool renew(const Digest& item, std::uint64_t token, std::uint64_t now_ns);
  /// Accepted ends the item. Whether a result that is not accepted was a duplicate, the store
  /// knows.
  Returned complete(const Digest& item, std::uint64_t token);
  /// Back to waiting without blame.
  bool give_back(const Digest& item, std::uint64_t token);
  std::vector<Loss> expire(std::uint64_t now_ns);
  std::vector<Loss> node_lost(const std::string& node);

  std::size_t waiting() const { return waiting_.size(); }
  std::size_t leased() const;

 private:
  struct Item {
    std::uint64_t priority = 0, sequence = 0;
    std::uint64_t token = 0;  // 0: waiting.
    std::uint64_t deadline_ns = 0;
    std::string node;
    std::set<std::string> lost_on;
    std::size_t losses = 0;
  };
  using Place = std::tuple<std::uint64_t, std::uint64_t, Digest>;  // ~priority, sequence, item.

  Place place_of(const Digest& digest, const Item& item) const {
    return {~item.priority, item.sequence, digest};
  }
  Loss lose(const Digest& digest, Item& item);

  std::uint64_t epoch_, counter_ = 0, sequence_ = 0;
  LeaseLimits limits_;
  std::map<Digest, Item> items_;
  std::set<Place> waiting_;
};

}  // namespace lathe::cluster
