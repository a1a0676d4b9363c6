#include "cluster/leases.h"

namespace lathe::cluster {

bool Leases::add(const Digest& digest, std::uint64_t priority) {
  auto [found, added] = items_.try_emplace(digest);
  if (!added) return false;
  found->second.priority = priority;
  found->second.sequence = ++sequence_;
  waiting_.insert(place_of(digest, found->second));
  return true;
}

std::optional<Grant> Leases::claim(const std::string& node, std::uint64_t now_ns) {
  if (waiting_.empty()) return std::nullopt;
  auto chosen = waiting_.begin();
  for (auto place = waiting_.begin(); place != waiting_.end(); ++place)
    if (!items_.at(std::get<2>(*place)).lost_on.contains(node)) {
      chosen = place;
      break;
    }
  Digest digest = std::get<2>(*chosen);
  waiting_.erase(chosen);
  Item& item = items_.at(digest);
  item.token = epoch_ << 32 | ++counter_;
  item.deadline_ns = now_ns + limits_.lease_ns;
  item.node = node;
  return Grant{digest, item.token, item.deadline_ns};
}

bool Leases::renew(const Digest& digest, std::uint64_t token, std::uint64_t now_ns) {
  auto found = items_.find(digest);
  if (found == items_.end() || token == 0 || found->second.token != token) return false;
  found->second.deadline_ns = now_ns + limits_.lease_ns;
  return true;
}

Returned Leases::complete(const Digest& digest, std::uint64_t token) {
  auto found = items_.find(digest);
  if (found == items_.end() || token == 0 || found->second.token != token) return Returned::stale;
  items_.erase(found);
  return Returned::accepted;
}

bool Leases::give_back(const Digest& digest, std::uint64_t token) {
  auto found = items_.find(digest);
  if (found == items_.end() || token == 0 || found->second.token != token) return false;
  found->second.token = 0;
  waiting_.insert(place_of(digest, found->second));
  return true;
}

Loss Leases::lose(const Digest& digest, Item& item) {
  Loss loss{digest, item.token, item.node, false};
  item.lost_on.insert(item.node);
  item.token = 0;
  loss.poisoned =
      item.lost_on.size() >= limits_.nodes_lost_max || ++item.losses >= limits_.losses_max;
  if (!loss.poisoned) waiting_.insert(place_of(digest, item));
  return loss;
}

std::vector<Loss> Leases::expire(std::uint64_t now_ns) {
  std::vector<Loss> losses;
  for (auto& [digest, item] : items_)
    if (item.token != 0 && item.deadline_ns < now_ns) losses.push_back(lose(digest, item));
  for (const Loss& loss : losses)
    if (loss.poisoned) items_.erase(loss.item);
  return losses;
}

std::vector<Loss> Leases::node_lost(const std::string& node) {
  std::vector<Loss> losses;
  for (auto& [digest, item] : items_)
    if (item.token != 0 && item.node == node) losses.push_back(lose(digest, item));
  for (const Loss& loss : losses)
    if (loss.poisoned) items_.erase(loss.item);
  return losses;
}

std::size_t Leases::leased() const { return items_.size() - waiting_.size(); }

}  // namespace lathe::cluster
