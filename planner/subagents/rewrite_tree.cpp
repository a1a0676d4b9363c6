// A chain of one associative operation over values of one thread becomes a balanced tree. Its nodes
// stand where their last value was taken before, so that nothing waits for what it did not wait
// for.

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <optional>

#include "planner/subagents/draft.h"

namespace lathe::planner {
namespace {

constexpr std::size_t leaves_min = 4;

struct Leaf {
  std::string text;
  std::optional<RegisterId> id;  // None: an immediate.
  Index taken = 0;               // The instruction that reads it.
};

/// An expression of one operation whose inner values are used nowhere else.
struct Chain {
  Index root = 0;
  std::vector<Index> nodes;  // With the root.
  std::vector<Leaf> leaves;  // From left to right.
  unsigned depth = 0;
};

bool is_associative(const ptx::Instruction& instruction) {
  if (instruction.guard || instruction.operands.size() != 3 || instruction.modifiers.empty())
    return false;
  std::string_view opcode = instruction.opcode, type = instruction.modifiers.back();
  if (opcode != "add" && opcode != "max" && opcode != "min") return false;
  for (std::string_view known : {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2", "f32x2"})
    if (type == known) {
      for (std::string_view directed : {"rz", "rm", "rp", "sat", "xorsign"})
        if (has_modifier(instruction, directed)) return false;
      return true;
    }
  return false;
}

class Finder {
 public:
  explicit Finder(const Flow& flow) : flow_(flow) {}

  std::vector<Chain> chains() {
    std::vector<Chain> out;
    std::vector<bool> inside(flow_.size(), false);
    for (Index i = flow_.size(); i-- > 0;) {
      if (inside[i] || !is_associative(flow_.at(i)) || !flow_.outermost(i)) continue;
      Chain chain;
      chain.root = i;
      chain.depth = expand(i, chain);
      for (Index node : chain.nodes) inside[node] = true;
      if (worthwhile(chain)) out.push_back(std::move(chain));
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  /// The node that makes an operand, where nobody else reads that value.
  std::optional<Index> inner(Index user, const ptx::Operand& operand) const {
    auto id = flow_.find(user, operand.text);
    if (operand.kind != ptx::Operand::Kind::name || !id || !flow_.single_use(*id))
      return std::nullopt;
    Index maker = flow_.writers(*id).front();
    if (maker >= user || flow_.block_of(maker) != flow_.block_of(user)) return std::nullopt;
    const ptx::Instruction &made = flow_.at(maker), &used = flow_.at(user);
    if (!is_associative(made) || made.opcode != used.opcode || made.modifiers != used.modifiers ||
        !flow_.outermost(maker))
      return std::nullopt;
    return maker;
  }

  /// Depth of the expression under `node`. A chain of n values is n deep, so no recursion.
  unsigned expand(Index root, Chain& chain) const {
    struct Visit {
      Index node;
      unsigned level;
      std::size_t operand;
    };
    std::vector<Visit> stack{{root, 1, 1}};
    chain.nodes.push_back(root);
    unsigned depth = 1;
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.operand > 2) {
        stack.pop_back();
        continue;
      }
      const ptx::Operand& operand = flow_.at(visit.node).operands[visit.operand++];
      depth = std::max(depth, visit.level);
      if (auto maker = inner(visit.node, operand)) {
        chain.nodes.push_back(*maker);
        stack.push_back({*maker, visit.level + 1, 1});
      } else {
        chain.leaves.push_back(
            {std::string(operand.text), flow_.find(visit.node, operand.text), visit.node});
      }
    }
    return depth;
  }

  bool worthwhile(const Chain& chain) const {
    auto best = static_cast<unsigned>(std::bit_width(chain.leaves.size() - 1));
    if (chain.leaves.size() < leaves_min || chain.depth < best + 2) return false;
    // A leaf must still hold its value where the tree's node takes it, the root at the latest.
    for (const Leaf& leaf : chain.leaves)
      if (leaf.id && flow_.written_between(*leaf.id, leaf.taken, chain.root)) return false;
    return true;
  }

  const Flow& flow_;
};

void write_tree(const Site& site, Draft& draft, const Chain& chain) {
  const ptx::Instruction& root = site.flow.at(chain.root);
  std::string opcode = opcode_of(root);
  auto id = site.flow.find(chain.root, root.operands[0].text);
  std::string_view type = id ? site.flow.type_of(*id) : std::string_view("b32");
  std::map<Index, std::string> at;  // What replaces each node of the chain.
  for (Index node : chain.nodes) at[node];
  std::vector<Leaf> level = chain.leaves;
  // Where nothing stands between the steps, whole levels follow one another: more steps lie between
  // a value and its use.
  auto [first, last] = std::minmax_element(chain.nodes.begin(), chain.nodes.end());
  if (*last - *first + 1 == chain.nodes.size())
    for (Leaf& leaf : level) leaf.taken = chain.root;
  while (level.size() > 1) {
    std::vector<Leaf> up;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) {
      bool top = level.size() == 2;
      Leaf node;
      node.text = top ? std::string(root.operands[0].text) : draft.fresh(type);
      node.taken = top ? chain.root : std::max(level[i].taken, level[i + 1].taken);
      std::string& text = at[node.taken];
      if (!text.empty()) text += "\n\t";
      text += opcode + " \t" + node.text + ", " + level[i].text + ", " + level[i + 1].text + ";";
      up.push_back(std::move(node));
    }
    if (level.size() % 2) up.push_back(level.back());
    level = std::move(up);
  }
  for (auto& [node, text] : at) draft.replace(node, std::move(text));
}

std::string effect_of(const Site& site, const Chain& chain) {
  return std::to_string(chain.leaves.size()) + " values are joined by " +
         opcode_of(site.flow.at(chain.root)) + " in " +
         std::to_string(std::bit_width(chain.leaves.size() - 1)) + " dependent steps instead of " +
         std::to_string(chain.depth);
}

Rewrite rewrite(const Site& site, const std::vector<Chain>& chains) {
  Draft draft(site);
  Rewrite out;
  out.family = family::tree_reduction;
  out.condition =
      "every partial result is read once, by the next step, in the same block, and the operation "
      "is associative up to rounding";
  for (const Chain& chain : chains) {
    write_tree(site, draft, chain);
    out.effect += (out.effect.empty() ? "" : "; ") + effect_of(site, chain);
  }
  out.edits = draft.take();
  return out;
}

}  // namespace

void tree_reductions(const Site& site, std::vector<Rewrite>& out) {
  std::vector<Chain> chains = Finder(site.flow).chains();
  if (chains.empty()) return;
  out.push_back(rewrite(site, chains));
  if (chains.size() > 1)
    for (const Chain& chain : chains) out.push_back(rewrite(site, {chain}));
}

}  // namespace lathe::planner
