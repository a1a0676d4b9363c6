#include "cluster/leases.h"

#include <algorithm>

namespace lathe::cluster {

bool Capabilities::covers(const Capabilities& need) const {
  return memory_bytes >= need.memory_bytes &&
         std::includes(names.begin(), names.end(), need.names.begin(), need.names.end());
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::accepted:
      return "accepted";
    case Outcome::stale:
      return "stale";
    case Outcome::duplicate:
      return "duplicate";
    case Outcome::unknown:
      return "unknown";
  }
  return "?";
}

Leases::Place Leases::place_of(const Open& open) {
  return {~open.item.priority, open.sequence, open.item.id};
}

bool Leases::need_memory(const Digest& item, std::uint64_t memory_bytes) {
  auto found = open_.find(item);
  if (found == open_.end() || !found->second.holders.empty()) return false;
  Open& open = found->second;
  auto queue = ready_.find(open.item.need);
  queue->second.erase(place_of(open));
  if (queue->second.empty()) ready_.erase(queue);
  open.item.need.memory_bytes = std::max(open.item.need.memory_bytes, memory_bytes);
  ready_[open.item.need].insert(place_of(open));
  return true;
}

bool Leases::add(const Item& item) {
  if (open_.contains(item.id) || done_.contains(item.id) || quarantined_.contains(item.id))
    return false;
  Open open{item, ++sequence_, {}};
  ready_[item.need].insert(place_of(open));
  open_.emplace(item.id, std::move(open));
  return true;
}

void Leases::hold(const Lease& lease) {
  deadlines_.insert({lease.deadline_ns, lease.token});
  tokens_[lease.token] = lease.item;
  nodes_[lease.node].insert(lease.token);
}

void Leases::let_go(const Lease& lease) {
  deadlines_.erase({lease.deadline_ns, lease.token});
  tokens_.erase(lease.token);
  auto node = nodes_.find(lease.node);
  if (node == nodes_.end()) return;
  node->second.erase(lease.token);
  if (node->second.empty()) nodes_.erase(node);
}

Lease Leases::grant(Open& open, const std::string& node, std::uint64_t now_ns) {
  Lease lease{open.item.id, node, settings_.epoch << 32 | ++count_, now_ns,
              now_ns + settings_.lease_ns};
  if (open.holders.empty()) ++leased_;
  open.holders.push_back(lease);
  hold(lease);
  return lease;
}

std::optional<Lease> Leases::claim(const std::string& node, const Capabilities& offer,
                                   std::uint64_t now_ns) {
  auto best = ready_.end();
  for (auto queue = ready_.begin(); queue != ready_.end(); ++queue)
    if (offer.covers(queue->first) &&
        (best == ready_.end() || *queue->second.begin() < *best->second.begin()))
      best = queue;
  if (best == ready_.end()) return {};
  Open& open = open_.at(std::get<Digest>(*best->second.begin()));
  best->second.erase(best->second.begin());
  if (best->second.empty()) ready_.erase(best);
  return grant(open, node, now_ns);
}

std::optional<Lease> Leases::hedge(const std::string& node, const Capabilities& offer,
                                   std::uint64_t granted_before_ns, std::uint64_t now_ns) {
  Open* oldest = nullptr;
  for (const auto& [token, item] : tokens_) {
    Open& open = open_.at(item);
    if (open.holders.size() != 1 || !open.item.may_hedge || !offer.covers(open.item.need)) continue;
    const Lease& first = open.holders.front();
    if (first.node == node || first.granted_ns >= granted_before_ns) continue;
    if (oldest == nullptr || first.granted_ns < oldest->holders.front().granted_ns) oldest = &open;
  }
  if (oldest == nullptr) return {};
  return grant(*oldest, node, now_ns);
}

bool Leases::restore(const Item& item, const Lease& lease) {
  if (lease.item != item.id || lease.token >> 32 >= settings_.epoch) return false;
  if (!add(item)) return false;
  Open& open = open_.at(item.id);
  auto queue = ready_.find(item.need);
  queue->second.erase(place_of(open));
  if (queue->second.empty()) ready_.erase(queue);
  ++leased_;
  open.holders.push_back(lease);
  hold(lease);
  return true;
}

Leases::Open* Leases::holder(const std::string& node, const Digest& item, std::uint64_t token,
                             std::size_t& index) {
  auto found = open_.find(item);
  if (found == open_.end()) return nullptr;
  const std::vector<Lease>& holders = found->second.holders;
  for (index = 0; index < holders.size(); ++index)
    if (holders[index].token == token && holders[index].node == node) return &found->second;
  return nullptr;
}

std::optional<std::uint64_t> Leases::renew(const std::string& node, const Digest& item,
                                           std::uint64_t token, std::uint64_t now_ns) {
  std::size_t index = 0;
  Open* open = holder(node, item, token, index);
  if (open == nullptr) return {};
  Lease& lease = open->holders[index];
  // A lease that has run out is not lengthened, even where nobody has looked yet.
  if (lease.deadline_ns <= now_ns) return {};
  let_go(lease);
  lease.deadline_ns = std::max(lease.deadline_ns, now_ns + settings_.lease_ns);
  hold(lease);
  return lease.deadline_ns;
}

Outcome Leases::complete(const std::string& node, const Digest& item, std::uint64_t token) {
  if (auto done = done_.find(item); done != done_.end())
    return done->second == token ? Outcome::duplicate : Outcome::stale;
  if (quarantined_.contains(item)) return Outcome::stale;
  std::size_t index = 0;
  Open* open = holder(node, item, token, index);
  if (open == nullptr) return open_.contains(item) ? Outcome::stale : Outcome::unknown;
  for (const Lease& lease : open->holders) let_go(lease);
  --leased_;
  open_.erase(item);
  done_[item] = token;
  return Outcome::accepted;
}

Ended Leases::end(Open& open, std::size_t holder, bool lost) {
  Ended ended{open.holders[holder], Ended::Fate::still_leased};
  let_go(ended.lease);
  open.holders.erase(open.holders.begin() + static_cast<std::ptrdiff_t>(holder));
  if (lost) open.item.lost_on.insert(ended.lease.node);
  if (!open.holders.empty()) return ended;
  --leased_;
  if (open.item.lost_on.size() >= settings_.nodes_lost_max) {
    ended.fate = Ended::Fate::quarantined;
    quarantined_.insert(open.item.id);
    open_.erase(ended.lease.item);
    return ended;
  }
  ended.fate = Ended::Fate::ready;
  ready_[open.item.need].insert(place_of(open));  // At its old place: it has waited long enough.
  return ended;
}

std::optional<Ended> Leases::give_back(const std::string& node, const Digest& item,
                                       std::uint64_t token) {
  std::size_t index = 0;
  Open* open = holder(node, item, token, index);
  if (open == nullptr) return {};
  return end(*open, index, false);
}

std::vector<Ended> Leases::node_lost(const std::string& node) {
  std::vector<Ended> ended;
  for (const Lease& lease : held_by(node)) {
    std::size_t index = 0;
    if (Open* open = holder(node, lease.item, lease.token, index))
      ended.push_back(end(*open, index, true));
  }
  return ended;
}

std::vector<Ended> Leases::expire(std::uint64_t now_ns) {
  std::vector<Ended> ended;
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
    std::uint64_t token = deadlines_.begin()->second;
    Open& open = open_.at(tokens_.at(token));
    for (std::size_t i = 0; i < open.holders.size(); ++i)
      if (open.holders[i].token == token) {
        ended.push_back(end(open, i, true));
        break;
      }
  }
  return ended;
}

bool Leases::cancel(const Digest& item) {
  auto found = open_.find(item);
  if (found == open_.end()) return false;
  Open& open = found->second;
  if (open.holders.empty()) {
    auto queue = ready_.find(open.item.need);
    queue->second.erase(place_of(open));
    if (queue->second.empty()) ready_.erase(queue);
  } else {
    for (const Lease& lease : open.holders) let_go(lease);
    --leased_;
  }
  open_.erase(found);
  return true;
}

std::vector<Lease> Leases::held_by(const std::string& node) const {
  std::vector<Lease> held;
  auto found = nodes_.find(node);
  if (found == nodes_.end()) return held;
  for (std::uint64_t token : found->second)
    for (const Lease& lease : open_.at(tokens_.at(token)).holders)
      if (lease.token == token) held.push_back(lease);
  return held;
}

std::optional<std::uint64_t> Leases::next_deadline_ns() const {
  if (deadlines_.empty()) return {};
  return deadlines_.begin()->first;
}

std::size_t Leases::ready_count() const {
  std::size_t count = 0;
  for (const auto& [need, queue] : ready_) count += queue.size();
  return count;
}

std::string Leases::check() const {
  std::size_t holders = 0, leased = 0;
  for (const auto& [id, open] : open_) {
    auto queue = ready_.find(open.item.need);
    bool queued = queue != ready_.end() && queue->second.contains(place_of(open));
    if (queued != open.holders.empty()) return "an item is both ready and leased, or neither";
    if (done_.contains(id)) return "an item is both open and done";
    if (quarantined_.contains(id)) return "an item is both open and quarantined";
    if (!open.holders.empty()) ++leased;
    holders += open.holders.size();
    for (const Lease& lease : open.holders)
      if (!deadlines_.contains({lease.deadline_ns, lease.token})) return "a lease cannot run out";
  }
  if (ready_count() + leased != open_.size()) return "the queue holds an item that is not open";
  if (leased != leased_) return "the count of leased items is wrong";
  if (holders != tokens_.size() || holders != deadlines_.size())
    return "a token is without a lease";
  for (const Digest& id : quarantined_)
    if (done_.contains(id)) return "an item is both done and quarantined";
  return "";
}

}  // namespace lathe::cluster
