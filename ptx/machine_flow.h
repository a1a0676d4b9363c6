#pragma once

// Lanes that diverge, meet again, and leave. Included by machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

template <class D, class O>
void Machine<D, O>::diverge(Warp& warp, std::uint32_t p, const Operation& op, Mask taken) {
  Part& part = warp.parts[p];
  o_.on_branch(now_warp_, number(op), part.mask, taken);
  if (taken == 0) return;
  if (taken == part.mask) {
    part.pc = op.target;
    return;
  }
  Mask stays = part.mask & ~taken;
  std::uint32_t next = part.pc;
  std::uint32_t parent = part.parent;
  if (part.join != op.join || op.join == none) {
    parent = p;  // This part waits at the join for both.
    part.pc = op.join == none ? part.pc : op.join;
    part.state = State::children;
    part.children = 0;
    if (op.join == none) part.mask = 0;
  } else {
    part.state = State::dead;  // Its two halves take its place beside its siblings.
    --warp.parts[parent].children;
  }
  auto add = [&](std::uint32_t pc, Mask mask) {
    if (pc == op.join) return;  // Already there: the waiting parent has these lanes.
    warp.parts.push_back({pc, op.join, mask, parent, 0, State::ready, 0, 0, 0});
    ++warp.parts[parent].children;
  };
  add(next, stays);
  add(op.target, taken);
  if (warp.parts[parent].children == 0) warp.parts[parent].state = State::ready;
}

/// A part that has reached its join, or has no lanes left.
template <class D, class O>
void Machine<D, O>::finish(Warp& warp, std::uint32_t p) {
  for (;;) {
    Part& part = warp.parts[p];
    part.state = State::dead;
    std::uint32_t parent = part.parent;
    while (!warp.parts.empty() && warp.parts.back().state == State::dead) warp.parts.pop_back();
    if (parent == none) return;
    Part& above = warp.parts[parent];
    if (--above.children != 0) return;
    above.state = State::ready;
    if (above.mask != 0) return;
    p = parent;
  }
}

template <class D, class O>
void Machine<D, O>::leave(std::uint32_t w, Mask mask, const Operation& op) {
  Warp& warp = warps_[w];
  o_.on_exit(w, number(op), mask);
  warp.live &= ~mask;
  for (Part& part : warp.parts) part.mask &= ~mask;
  for (std::size_t p = warp.parts.size(); p-- > 0;)
    if (p < warp.parts.size() && warp.parts[p].state == State::ready && warp.parts[p].mask == 0) {
      finish(warp, static_cast<std::uint32_t>(p));
      break;
    }
  complete_barriers(w);
  complete_cluster();
}

}  // namespace lathe::ptx
