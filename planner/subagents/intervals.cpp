// Walks along blocks, forward and back, each instruction once.

#include "planner/subagents/intervals.h"

#include <algorithm>

namespace lathe::planner {
namespace {

bool touches_memory(const Touch& touch) { return touch.reads || touch.writes || touch.orders; }

/// Takes one instruction; false where a barrier ends the path.
bool visit(const Flow& flow, Index index, Interval& interval) {
  const ptx::Instruction& instruction = flow.at(index);
  if (is_block_barrier(instruction)) return false;
  if (touches_memory(touch_of(instruction))) interval.touches.push_back(index);
  return true;
}

void finish(Interval& interval) {
  std::sort(interval.touches.begin(), interval.touches.end());
  interval.touches.erase(std::unique(interval.touches.begin(), interval.touches.end()),
                         interval.touches.end());
}

bool forward(const Flow& flow, Index begin, Index end, Interval& interval) {
  for (Index i = begin; i < end; ++i)
    if (!visit(flow, i, interval)) return false;
  return true;
}

bool backward(const Flow& flow, Index begin, Index end, Interval& interval) {
  for (Index i = end; i-- > begin;)
    if (!visit(flow, i, interval)) return false;
  return true;
}

}  // namespace

Interval interval_after(const Flow& flow, Index from) {
  Interval interval;
  interval.open = !flow.certain();
  std::uint32_t start = flow.block_of(from);
  std::vector<std::uint32_t> open;
  std::vector<bool> seen(flow.blocks().size(), false);
  if (forward(flow, from + 1, flow.blocks()[start].end, interval)) open = flow.blocks()[start].next;
  while (!open.empty()) {
    std::uint32_t block = open.back();
    open.pop_back();
    if (seen[block]) continue;
    seen[block] = true;
    const Block& here = flow.blocks()[block];
    if (forward(flow, here.begin, here.end, interval))
      open.insert(open.end(), here.next.begin(), here.next.end());
  }
  finish(interval);
  return interval;
}

Interval interval_before(const Flow& flow, Index from) {
  Interval interval;
  interval.open = !flow.certain();
  std::uint32_t start = flow.block_of(from);
  std::vector<std::uint32_t> open;
  std::vector<bool> seen(flow.blocks().size(), false);
  if (backward(flow, flow.blocks()[start].begin, from, interval))
    open = flow.blocks()[start].previous;
  while (!open.empty()) {
    std::uint32_t block = open.back();
    open.pop_back();
    if (seen[block]) continue;
    seen[block] = true;
    const Block& here = flow.blocks()[block];
    if (backward(flow, here.begin, here.end, interval))
      open.insert(open.end(), here.previous.begin(), here.previous.end());
  }
  finish(interval);
  return interval;
}

bool may_conflict(const Touch& a, const Touch& b) {
  if (a.orders || b.orders) return true;
  if (!a.writes && !b.writes) return false;
  return !((a.shared && b.global) || (a.global && b.shared));
}

bool barrier_before_shared_write(const Flow& flow, Index from) {
  Interval after = interval_after(flow, from);
  if (after.open) return false;
  return std::none_of(after.touches.begin(), after.touches.end(), [&](Index index) {
    Touch touch = touch_of(flow.at(index));
    return touch.orders || (touch.writes && !touch.global);
  });
}

}  // namespace lathe::planner
