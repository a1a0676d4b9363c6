// Where diverged lanes meet again: the immediate post-dominator of each branch (Cooper, Harvey,
// Kennedy, "A simple, fast dominance algorithm", on the reversed graph).

#include <algorithm>

#include "ptx/decoder.h"

namespace lathe::ptx {
namespace {

/// Basic blocks by the operation each begins at; the last is a virtual exit.
struct Graph {
  std::vector<std::uint32_t> begins;
  std::vector<std::vector<std::uint32_t>> successors;
  std::uint32_t exit() const { return static_cast<std::uint32_t>(successors.size() - 1); }
};

bool ends_path(const Operation& op) {
  return (op.effect == Effect::exit || op.effect == Effect::trap) && op.guard == no_spot;
}

Graph make_graph(const std::vector<Operation>& operations) {
  Graph graph;
  std::vector<bool> leads(operations.size() + 1, false);
  leads[0] = true;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const Operation& op = operations[i];
    if (op.effect == Effect::branch) leads[op.target] = leads[i + 1] = true;
    if (ends_path(op)) leads[i + 1] = true;
  }
  std::vector<std::uint32_t> block_of(operations.size() + 1);
  for (std::uint32_t i = 0; i < operations.size(); ++i) {
    if (leads[i]) graph.begins.push_back(i);
    block_of[i] = static_cast<std::uint32_t>(graph.begins.size() - 1);
  }
  auto exit = static_cast<std::uint32_t>(graph.begins.size());
  block_of[operations.size()] = exit;
  graph.successors.resize(exit + 1);
  for (std::uint32_t b = 0; b < exit; ++b) {
    std::size_t end = b + 1 < exit ? graph.begins[b + 1] : operations.size();
    const Operation& last = operations[end - 1];
    std::vector<std::uint32_t>& next = graph.successors[b];
    if (ends_path(last)) {
      next.push_back(exit);
    } else if (last.effect == Effect::branch) {
      next.push_back(block_of[last.target]);
      if (last.guard != no_spot) next.push_back(block_of[end]);
    } else {
      next.push_back(block_of[end]);
    }
  }
  return graph;
}

/// Blocks from which the exit is reached, the exit first, in reverse post-order of the reversed
/// graph.
std::vector<std::uint32_t> order_from_exit(const std::vector<std::vector<std::uint32_t>>& before,
                                           std::uint32_t exit) {
  std::vector<std::uint32_t> order;
  std::vector<std::uint8_t> seen(before.size(), 0);
  std::vector<std::pair<std::uint32_t, std::size_t>> stack{{exit, 0}};
  seen[exit] = 1;
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    if (next < before[block].size()) {
      std::uint32_t to = before[block][next++];
      if (seen[to] == 0) seen[to] = 1, stack.emplace_back(to, 0);
    } else {
      order.push_back(block);
      stack.pop_back();
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

void find_joins(std::vector<Operation>& operations) {
  Graph graph = make_graph(operations);
  std::vector<std::vector<std::uint32_t>> before(graph.successors.size());
  for (std::uint32_t b = 0; b < graph.successors.size(); ++b)
    for (std::uint32_t next : graph.successors[b]) before[next].push_back(b);
  std::vector<std::uint32_t> order = order_from_exit(before, graph.exit());
  constexpr std::uint32_t none = ~0u;
  std::vector<std::uint32_t> rank(graph.successors.size(), none),
      join(graph.successors.size(), none);
  for (std::uint32_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  join[graph.exit()] = graph.exit();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t block : order) {
      if (block == graph.exit()) continue;
      std::uint32_t found = none;
      for (std::uint32_t next : graph.successors[block]) {
        if (rank[next] == none || join[next] == none) continue;
        std::uint32_t other = next;
        while (found != none && found != other) {
          while (found != other && rank[found] > rank[other]) found = join[found];
          while (found != other && rank[other] > rank[found]) other = join[other];
        }
        found = other;
      }
      if (found != join[block]) join[block] = found, changed = true;
    }
  }
  for (std::uint32_t b = 0; b < graph.begins.size(); ++b) {
    std::size_t end = b + 1 < graph.begins.size() ? graph.begins[b + 1] : operations.size();
    Operation& last = operations[end - 1];
    if (last.effect != Effect::branch || join[b] == none || join[b] == graph.exit()) continue;
    last.join = graph.begins[join[b]];
  }
}

}  // namespace lathe::ptx
