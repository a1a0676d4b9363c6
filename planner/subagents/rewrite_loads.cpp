// Loads of global memory rise above what does not feed them, so that all of a block are in flight
// together before the first is waited for.

#include <algorithm>
#include <set>

#include "planner/subagents/draft.h"

namespace lathe::planner {
namespace {

/// A load with the zeros that its registers get before it.
struct Load {
  Index index = 0;
  std::vector<Index> zeros;  // Writes that the load overwrites unread: they go.
};

bool is_global_load(const ptx::Instruction& instruction) {
  Touch touch = touch_of(instruction);
  return instruction.opcode == "ld" && touch.global && touch.reads && !touch.orders &&
         !instruction.guard;
}

/// `mov r, 0` before an unguarded load into r that nothing reads in between.
std::vector<Index> dead_zeros(const Flow& flow, Index load) {
  std::vector<Index> dead;
  Index begin = flow.blocks()[flow.block_of(load)].begin;
  for (RegisterId id : flow.written_by(load)) {
    const auto& writers = flow.writers(id);
    auto here = std::find(writers.begin(), writers.end(), load);
    if (here == writers.begin()) continue;
    Index before = *(here - 1);
    const ptx::Instruction& mov = flow.at(before);
    if (before < begin || mov.opcode != "mov" || mov.guard || mov.operands.size() != 2 ||
        mov.operands[0].kind != ptx::Operand::Kind::name || flow.read_between(id, before, load + 1))
      continue;
    dead.push_back(before);
  }
  return dead;
}

/// Whether an instruction must stay before the load.
bool holds(const Flow& flow, const Load& load, Index other) {
  const ptx::Instruction& instruction = flow.at(other);
  Touch touch = touch_of(instruction);
  if (touch.orders) return true;
  // A store to shared memory is no alias of global memory; any other may be.
  if (touch.writes && !touch.shared) return true;
  std::set<RegisterId> reads(flow.read_by(load.index).begin(), flow.read_by(load.index).end());
  std::set<RegisterId> writes(flow.written_by(load.index).begin(),
                              flow.written_by(load.index).end());
  for (RegisterId id : flow.written_by(other))
    if (reads.contains(id) || writes.contains(id)) return true;
  for (RegisterId id : flow.read_by(other))
    if (writes.contains(id)) return true;
  return false;
}

/// Loads of one block with the first: those that may stand right behind it.
struct Batch {
  Index after = 0;  // The first load.
  std::vector<Load> moved;
};

/// What makes the load's address and may rise with it: pure arithmetic between the two loads.
bool rises(const Flow& flow, Index index, Index first) {
  const ptx::Instruction& instruction = flow.at(index);
  static const std::set<std::string_view> pure{"add", "sub", "mul", "mad", "shl",  "shr", "and",
                                               "or",  "xor", "cvt", "mov", "cvta", "bfe"};
  if (instruction.guard || !flow.outermost(index) || !pure.contains(instruction.opcode))
    return false;
  for (RegisterId id : flow.written_by(index))
    if (flow.writers(id).size() != 1 || flow.read_between(id, first, index)) return false;
  for (RegisterId id : flow.read_by(index)) {
    auto maker = flow.reaching(id, index);
    if (!maker || (flow.block_of(*maker) == flow.block_of(index) && *maker >= first)) return false;
  }
  return true;
}

class Hoist {
 public:
  explicit Hoist(const Flow& flow) : flow_(flow) {}

  /// The loads of a block that may stand right behind its first, and the address arithmetic that
  /// must go with them, in order.
  std::vector<Index> movable(Index begin, Index end, std::vector<Index>& zeros) {
    std::vector<Index> moved;
    Index first = end;
    for (Index i = begin; i < end; ++i) {
      if (!is_global_load(flow_.at(i)) || !flow_.outermost(i)) continue;
      if (first == end) {
        first = i;
        continue;
      }
      consider(first, i, moved, zeros);
    }
    return moved;
  }

 private:
  void consider(Index first, Index index, std::vector<Index>& moved, std::vector<Index>& zeros) {
    Load load{index, dead_zeros(flow_, index)};
    std::set<Index> gone(load.zeros.begin(), load.zeros.end());
    std::vector<Index> addresses;
    bool crossed = false;
    for (Index other = first; other < index; ++other) {
      if (gone.contains(other)) continue;
      bool stays = std::find(moved.begin(), moved.end(), other) == moved.end();
      if (other == first || !stays) {
        if (other != first || !feeds(other, index)) continue;
        return;
      }
      if (!holds(flow_, load, other)) {
        crossed = crossed || !is_global_load(flow_.at(other));
        continue;
      }
      if (!rises(flow_, other, first)) return;
      addresses.push_back(other);
    }
    if (!crossed) return;
    moved.insert(moved.end(), addresses.begin(), addresses.end());
    moved.push_back(index);
    zeros.insert(zeros.end(), load.zeros.begin(), load.zeros.end());
  }

  bool feeds(Index from, Index to) const {
    for (RegisterId id : flow_.written_by(from))
      for (RegisterId read : flow_.read_by(to))
        if (id == read) return true;
    return false;
  }

  const Flow& flow_;
};

std::string text_of(const Site& site, Index index) {
  const ptx::Span& span = site.flow.at(index).span;
  return site.module.text->substr(span.begin, span.end - span.begin);
}

}  // namespace

void hoisted_loads(const Site& site, std::vector<Rewrite>& out) {
  const Flow& flow = site.flow;
  Draft draft(site);
  std::size_t count = 0;
  for (const Block& block : flow.blocks()) {
    std::vector<Index> zeros;
    std::vector<Index> moved = Hoist(flow).movable(block.begin, block.end, zeros);
    if (moved.empty()) continue;
    Index first = block.begin;
    while (!is_global_load(flow.at(first)) || !flow.outermost(first)) ++first;
    std::string together = text_of(site, first);
    for (Index index : moved) {
      together += "\n\t" + text_of(site, index);
      draft.remove(index);
      count += is_global_load(flow.at(index));
    }
    for (Index index : zeros) draft.remove(index);
    draft.replace(first, std::move(together));
  }
  if (count == 0) return;
  out.push_back({std::string(family::hoisted_loads),
                 "nothing between the loads writes memory that they may read, orders memory, or "
                 "touches their registers",
                 std::to_string(count) +
                     " loads are issued right behind the first of their block instead of after "
                     "the work on earlier ones",
                 draft.take()});
}

}  // namespace lathe::planner
