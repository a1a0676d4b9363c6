#pragma once

// clusterlaunchcontrol: asking that a cluster which has not begun be cancelled, and what the answer
// says. Every cluster of a launch runs here, so the answer is always no: sixteen zero bytes, which
// only .query_cancel may read. A domain that is to hold for all launches has no answer. Included by
// machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

template <class D, class O>
void Machine<D, O>::launch_control(Warp& warp, const Operation& op, Mask active) {
  if constexpr (!TellsOne<D>) {
    trap(TrapKind::unsupported,
         "`" + program_.texts[op.instruction] +
             "`: whether a cluster is cancelled is the launch's to say; give each block its share "
             "by %ctaid, or loop over blocks by the grid's size",
         op, first_lane(active));
  } else {
    for (Mask left = active; left != 0 && !trap_; left &= left - 1) {
      unsigned lane = first_lane(left);
      if (op.mode == Mode::none)
        try_cancel(warp, op, lane);
      else
        query_cancel(warp, op, lane);
    }
  }
}

/// The answer comes as a copy does: through the async proxy, and then its bytes are told.
template <class D, class O>
void Machine<D, O>::try_cancel(Warp& warp, const Operation& op, unsigned lane) {
  constexpr unsigned bytes = 16;
  Addresses to{};
  Location at;
  if (here().refused)
    return trap(TrapKind::bad_operand,
                "a block that has seen a cancellation fail asks for another one", op, lane);
  if (!addresses_of(warp, op, op.address, Mask{1} << lane, to)) return;
  if (to[lane] % bytes != 0)
    return trap(TrapKind::misaligned, "the answer of a try_cancel is aligned to its 16 bytes", op,
                lane, to[lane]);
  if (!locate(op.space, to[lane], bytes, true, op, lane, at)) return;
  if (at.space != Space::shared || at.rank != rank())
    return trap(TrapKind::bad_operand, "the answer of a try_cancel is in its own block's memory",
                op, lane, to[lane]);
  BulkCopy copy;
  copy.form = &program_.async_forms[op.matrix];
  copy.op = &op;
  copy.warp = now_warp_, copy.lane = lane, copy.shared_rank = at.rank;
  copy.bytes = bytes;
  copy.pieces.push_back({at.offset, 0, bytes, false});  // It is filled with zeros.
  if (!resolve_signal(warp, op, lane, copy)) return;
  if (op.flag) {
    copy.signals_own = true;
    copy.ranks.clear();
    for (std::uint32_t rank = 0; rank < blocks_.size(); ++rank) copy.ranks.push_back(rank);
  }
  for (std::uint32_t rank : copy.ranks) {
    std::uint64_t owner = copy.signals_own ? rank : copy.barrier_rank;
    std::uint64_t key = copy.barrier | owner << rank_shift;
    if (find_mbarrier(key) == nullptr)
      return trap(TrapKind::bad_operand, "no mbarrier is initialised there", op, lane);
    if constexpr (O::active) {
      tell_pieces(copy, Space::shared, rank, AccessKind::write);
      tell_completion(op, lane, key);
    }
    if (run_.schedule != AsyncSchedule::at_issue)
      d_.poison(*blocks_[rank].shared, at.offset, bytes);
  }
  Flight flight;
  flight.warp = now_warp_;
  flight.lane = lane;
  flight.carry_out = [this, copy = std::move(copy)] { carry_out_bulk(copy); };
  launch(std::move(flight));
}

template <class D, class O>
void Machine<D, O>::query_cancel(Warp& warp, const Operation& op, unsigned lane) {
  Cell low = op.fixed[1].cell(lane), high = op.fixed[1].cell(lane, 8);
  auto first = d_.exact(warp.lanes, low, 8), second = d_.exact(warp.lanes, high, 8);
  if (!first || !second)
    return trap(TrapKind::undefined_value, "the answer of a try_cancel is undefined", op, lane);
  if (*first != 0 || *second != 0)
    return trap(TrapKind::bad_operand, "this is no answer of a try_cancel", op, lane);
  if (op.mode == Mode::index)
    return trap(TrapKind::bad_operand, "a cancellation that failed has no block to tell of", op,
                lane);
  here().refused = true;
  if (op.fixed[0].present()) d_.put(warp.lanes, op.fixed[0].cell(lane), op.fixed[0].width, 0);
}

}  // namespace lathe::ptx
