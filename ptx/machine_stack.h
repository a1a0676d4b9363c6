#pragma once

// The stack of a thread: what alloca gives and stackrestore takes back holds nothing that anybody
// may rely on. Included by machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

/// The stack of a thread grows down from the end of its local memory; the register that nobody
/// names holds its lowest byte in use.
template <class D, class O>
void Machine<D, O>::stack(Warp& warp, const Operation& op, Mask active) {
  Addresses given{}, tops{};
  const char* what = op.flag ? "a stack pointer" : "the size of an alloca";
  if (!controls(warp.lanes, op.fixed[1], active, op, what, given) ||
      !controls(warp.lanes, op.fixed[2], active, op, "the stack pointer", tops))
    return;
  for (Mask left = active; left != 0; left &= left - 1) {
    unsigned lane = first_lane(left);
    bool good = op.flag ? restore_stack(warp, op, lane, tops[lane], given[lane])
                        : allocate_stack(warp, op, lane, tops[lane], given[lane]);
    if (!good) return;
  }
}

template <class D, class O>
bool Machine<D, O>::allocate_stack(Warp& warp, const Operation& op, unsigned lane,
                                   std::uint64_t top, std::uint64_t bytes) {
  std::uint64_t lowest = program_.local_bytes - program_.stack_bytes, align = op.form.constant;
  std::uint64_t to = (top - bytes) / align * align;
  if (bytes > top - lowest || to < lowest) {
    trap(TrapKind::exhausted,
         "an alloca of " + std::to_string(bytes) + " bytes, where the stack of a thread has " +
             std::to_string(top - lowest) + " of " + std::to_string(stack_bytes_max) + " left",
         op, lane);
    return false;
  }
  std::uint64_t thread = now_warp_ * lane_count + lane;
  d_.poison(*local_, thread * program_.local_bytes + to, top - to);
  d_.put(warp.lanes, op.fixed[2].cell(lane), op.fixed[2].width, to);
  d_.put(warp.lanes, op.fixed[0].cell(lane), op.fixed[0].width, to);
  return true;
}

/// The stack only shrinks so, and what lay below is nobody's any more.
template <class D, class O>
bool Machine<D, O>::restore_stack(Warp& warp, const Operation& op, unsigned lane, std::uint64_t top,
                                  std::uint64_t to) {
  if (to < top || to > program_.local_bytes) {
    trap(TrapKind::bad_operand, "a stackrestore takes what a stacksave gave before", op, lane, to);
    return false;
  }
  std::uint64_t thread = now_warp_ * lane_count + lane;
  d_.poison(*local_, thread * program_.local_bytes + top, to - top);
  d_.put(warp.lanes, op.fixed[2].cell(lane), op.fixed[2].width, to);
  return true;
}

}  // namespace lathe::ptx
