#pragma once

// Which nodes there are and what may be asked of them: a pure machine. Authority comes from the
// authenticated name, never from a claimed one; a node that was found wrong comes back only by
// answering known work rightly, not by connecting again.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/leases.h"

namespace lathe::cluster {

struct MembershipSettings {
  std::uint64_t silence_ns = 5'000'000'000;  // After this long without a sign: lost.
  std::size_t leases_lost_max = 3;           // So many within `window_ns`: drained.
  std::uint64_t window_ns = 600'000'000'000;
  std::uint64_t canary_every = 50;  // One item in so many has a known answer.
  std::uint64_t canaries_to_return = 3;
};

enum class NodeState : std::uint8_t { up, draining, quarantined, down };
std::string_view name_of(NodeState state);

struct Node {
  NodeState state = NodeState::down;
  Capabilities offer;
  std::uint64_t credit = 0;      // Items that it takes at once: what it runs and one more a GPU.
  std::uint64_t connection = 0;  // Raised at each joining: what an older connection says is void.
  std::uint64_t heard_ns = 0;
  std::uint64_t given = 0;        // Items, to know when a canary is due.
  std::uint64_t right_since = 0;  // Canaries answered rightly in a row.
  std::uint64_t vouched_ns = 0;   // Of the last right canary: later results are in doubt.
  bool distrusted = false;
  std::deque<std::uint64_t> lost_ns;  // When leases died on it.
};

class Membership {
 public:
  explicit Membership(const MembershipSettings& settings) : settings_(settings) {}

  /// The connection's number. A distrusted node comes back quarantined.
  std::uint64_t join(const std::string& name, const Capabilities& offer, std::uint64_t credit,
                     std::uint64_t now_ns);
  /// False where the connection is not the node's newest: it is to be closed.
  bool heard(const std::string& name, std::uint64_t connection, std::uint64_t now_ns);
  /// False where that was not the newest connection: the node itself is well.
  bool left(const std::string& name, std::uint64_t connection);
  /// Nodes that have been silent too long, which are down from now on.
  std::vector<std::string> silent(std::uint64_t now_ns);
  /// It finishes what it holds and is given nothing more.
  bool drain(const std::string& name);
  /// A lease died on it. True where it is drained for that.
  bool lease_lost(const std::string& name, std::uint64_t now_ns);

  /// Whether the node may be given one more item while it holds `held`.
  bool may_take(const std::string& name, std::size_t held) const;
  /// Counts an item that was given; true where the next one is to be a canary.
  bool gave(const std::string& name);
  /// Whether a canary is due: on joining, one in so many, and always in quarantine.
  bool canary_due(const std::string& name) const;
  struct Doubt {
    std::uint64_t since_ns = 0;  // What it answered after this is done again elsewhere.
  };
  /// An answer to known work. A wrong one quarantines the node and tells what is in doubt.
  std::optional<Doubt> canary(const std::string& name, bool right, std::uint64_t now_ns);

  const Node* find(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  MembershipSettings settings_;
  std::map<std::string, Node> nodes_;
};

}  // namespace lathe::cluster
