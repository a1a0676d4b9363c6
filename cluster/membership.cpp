#include "cluster/membership.h"

namespace lathe::cluster {

std::string_view name_of(NodeState state) {
  switch (state) {
    case NodeState::up:
      return "up";
    case NodeState::draining:
      return "draining";
    case NodeState::quarantined:
      return "quarantined";
    case NodeState::down:
      return "down";
  }
  return "?";
}

std::uint64_t Membership::join(const std::string& name, const Capabilities& offer,
                               std::uint64_t credit, std::uint64_t now_ns) {
  Node& node = nodes_[name];
  node.state = node.distrusted ? NodeState::quarantined : NodeState::up;
  node.offer = offer;
  node.credit = credit;
  node.heard_ns = now_ns;
  node.given = 0;
  if (node.right_since == 0) node.vouched_ns = now_ns;
  return ++node.connection;
}

bool Membership::heard(const std::string& name, std::uint64_t connection, std::uint64_t now_ns) {
  auto node = nodes_.find(name);
  if (node == nodes_.end() || node->second.connection != connection) return false;
  if (node->second.state == NodeState::down) return false;
  node->second.heard_ns = now_ns;
  return true;
}

bool Membership::left(const std::string& name, std::uint64_t connection) {
  auto node = nodes_.find(name);
  if (node == nodes_.end() || node->second.connection != connection) return false;
  node->second.state = NodeState::down;
  return true;
}

std::vector<std::string> Membership::silent(std::uint64_t now_ns) {
  std::vector<std::string> lost;
  for (auto& [name, node] : nodes_) {
    if (node.state == NodeState::down || node.heard_ns + settings_.silence_ns > now_ns) continue;
    node.state = NodeState::down;
    lost.push_back(name);
  }
  return lost;
}

bool Membership::drain(const std::string& name) {
  auto node = nodes_.find(name);
  if (node == nodes_.end() || node->second.state != NodeState::up) return false;
  node->second.state = NodeState::draining;
  return true;
}

bool Membership::lease_lost(const std::string& name, std::uint64_t now_ns) {
  auto found = nodes_.find(name);
  if (found == nodes_.end()) return false;
  std::deque<std::uint64_t>& lost = found->second.lost_ns;
  lost.push_back(now_ns);
  while (!lost.empty() && lost.front() + settings_.window_ns <= now_ns) lost.pop_front();
  return lost.size() >= settings_.leases_lost_max && drain(name);
}

bool Membership::may_take(const std::string& name, std::size_t held) const {
  const Node* node = find(name);
  if (node == nullptr || held >= node->credit) return false;
  return node->state == NodeState::up || node->state == NodeState::quarantined;
}

bool Membership::canary_due(const std::string& name) const {
  const Node* node = find(name);
  if (node == nullptr) return false;
  return node->state == NodeState::quarantined || node->given % settings_.canary_every == 0;
}

bool Membership::gave(const std::string& name) {
  auto node = nodes_.find(name);
  if (node == nodes_.end()) return false;
  ++node->second.given;
  return canary_due(name);
}

std::optional<Membership::Doubt> Membership::canary(const std::string& name, bool right,
                                                    std::uint64_t now_ns) {
  auto found = nodes_.find(name);
  if (found == nodes_.end()) return {};
  Node& node = found->second;
  if (!right) {
    Doubt doubt{node.vouched_ns};
    node.right_since = 0;
    node.distrusted = true;
    if (node.state != NodeState::down) node.state = NodeState::quarantined;
    return doubt;
  }
  node.vouched_ns = now_ns;
  ++node.right_since;
  if (node.distrusted && node.right_since >= settings_.canaries_to_return) {
    node.distrusted = false;
    if (node.state == NodeState::quarantined) node.state = NodeState::up;
  }
  return {};
}

const Node* Membership::find(const std::string& name) const {
  auto node = nodes_.find(name);
  return node == nodes_.end() ? nullptr : &node->second;
}

std::vector<std::string> Membership::names() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_) names.push_back(name);
  return names;
}

}  // namespace lathe::cluster
