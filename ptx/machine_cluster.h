#pragma once

// Clusters: their barrier, and addresses of other blocks' shared memory. Included by machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

/// What observers take for the mbarrier of the cluster's own barrier.
inline constexpr std::uint64_t cluster_token = ~std::uint64_t{0};

/// Everybody who still runs arrives once a phase; who waits is let go when all have come.
template <class D, class O>
void Machine<D, O>::cluster_barrier(Warp& warp, std::uint32_t p, const Operation& op, Mask active) {
  unsigned lane = first_lane(active);
  if (!op.flag && active != warp.live)
    return trap(TrapKind::divergent_barrier, "a barrier is executed by a part of the warp only", op,
                lane);
  if (op.mode == Mode::arrive) {
    if ((warp.arrived_cluster & active) != 0)
      return trap(TrapKind::bad_operand,
                  "a thread arrives twice at the cluster's barrier without waiting", op,
                  first_lane(warp.arrived_cluster & active));
    warp.arrived_cluster |= active;
    for (unsigned i = 0; i < lane_count; ++i)
      if ((active >> i & 1) != 0) warp.cluster_phase[i] = cluster_phase_;
    o_.on_mbarrier_arrive(now_warp_, number(op), active, cluster_token, cluster_phase_, op.strong);
    return complete_cluster();
  }
  if ((active & ~warp.arrived_cluster) != 0)
    return trap(TrapKind::bad_operand, "a thread waits at the cluster's barrier without arriving",
                op, first_lane(active & ~warp.arrived_cluster));
  if (warp.cluster_phase[lane] == cluster_phase_) {
    Part& part = warp.parts[p];
    part.state = State::cluster;
    part.waits_at = number(op);
    --part.pc;  // Executed again once the phase is over.
    return;
  }
  warp.arrived_cluster &= ~active;
  o_.on_mbarrier_wait(now_warp_, number(op), active, cluster_token, warp.cluster_phase[lane],
                      false);
}

template <class D, class O>
void Machine<D, O>::complete_cluster() {
  bool any = false;
  for (const Warp& warp : warps_) {
    auto here = [&](unsigned lane) {
      return (warp.arrived_cluster >> lane & 1) != 0 && warp.cluster_phase[lane] == cluster_phase_;
    };
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      if ((warp.live >> lane & 1) != 0 && !here(lane)) return;
      any |= here(lane);
    }
  }
  if (!any) return;
  ++cluster_phase_;
  for (Warp& warp : warps_)
    for (Part& part : warp.parts)
      if (part.state == State::cluster) part.state = State::ready;
}

/// mapa: the same place in another block's shared memory. getctarank: whose a place is.
template <class D, class O>
void Machine<D, O>::map_address(Warp& warp, const Operation& op, Mask active) {
  const Slot &d = op.fixed[0], &a = op.fixed[1], &b = op.fixed[2];
  constexpr std::uint64_t rank_bits = std::uint64_t{0xFF} << rank_shift;
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    auto address = control(warp.lanes, a, lane, op, "an address");
    if (!address) return;
    if (op.mode == Mode::index) {
      d_.put(warp.lanes, d.cell(lane), d.width, (*address & rank_bits) >> rank_shift);
      continue;
    }
    auto rank = control(warp.lanes, b, lane, op, "the rank of a block");
    if (!rank) return;
    if (*rank >= blocks_.size())
      return trap(TrapKind::bad_operand,
                  "the cluster has no block of rank " + std::to_string(*rank), op, lane);
    d_.put(warp.lanes, d.cell(lane), d.width, (*address & ~rank_bits) | *rank << rank_shift);
  }
}

}  // namespace lathe::ptx
