#pragma once

// Barriers of a block, and mbarrier objects. Included by machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

/// An aligned barrier counts whole warps, as the hardware does.
template <class D, class O>
void Machine<D, O>::barrier(Warp& warp, std::uint32_t w, std::uint32_t p, const Operation& op,
                            Mask active) {
  unsigned lane = first_lane(active);
  if (!op.flag && active != warp.live)
    return trap(TrapKind::divergent_barrier, "a barrier is executed by a part of the warp only", op,
                lane);
  auto id = control(warp.lanes, op.fixed[0], lane, op, "the number of a barrier");
  if (!id) return;
  if (*id > 15) return trap(TrapKind::bad_operand, "barriers are numbered 0 to 15", op, lane);
  std::uint64_t needed = 0;
  if (op.fixed[1].present()) {
    auto count = control(warp.lanes, op.fixed[1], lane, op, "the count of a barrier");
    if (!count) return;
    needed = *count;
    if (needed == 0 || needed % lane_count != 0)
      return trap(TrapKind::bad_operand, "the count of a barrier is a multiple of 32", op, lane);
  }
  Barrier& b = barriers_[*id];
  if (b.arrived.empty()) b.arrived.resize(warps_.size()), b.waiting.resize(warps_.size());
  if (b.used && b.needed != needed)
    return trap(TrapKind::bad_operand, "two counts meet at barrier " + std::to_string(*id), op,
                lane);
  if ((b.arrived[w] & active) != 0)
    return trap(TrapKind::bad_operand,
                "a warp arrives twice at barrier " + std::to_string(*id) + " before it completes",
                op, lane);
  b.used = true;
  b.needed = static_cast<std::uint32_t>(needed);
  b.counted += op.flag ? static_cast<std::uint32_t>(std::popcount(active)) : lane_count;
  b.arrived[w] |= active;
  bool waits = op.mode != Mode::arrive;
  if (op.fixed[3].present()) {
    std::optional<Mask> truths = d_.truths(warp.lanes, op.fixed[3].place, active);
    if (!truths)
      return trap(TrapKind::undefined_value, "bar.red of an undefined predicate", op, lane);
    b.population += static_cast<std::uint32_t>(std::popcount(*truths));
    b.all = b.all && *truths == active;
    b.any = b.any || *truths != 0;
  }
  if (waits) {
    b.waiting[w] |= active;
    b.parts.push_back({w, p, number(op), active});
    Part& part = warp.parts[p];
    part.state = State::barrier;
    part.waits_at = number(op);
    part.waits_for = *id;
  }
  o_.on_barrier_arrive(w, number(op), static_cast<unsigned>(*id),
                       needed != 0 ? static_cast<std::uint32_t>(needed) : run_.shape.threads(),
                       active, waits);
  complete(static_cast<std::uint32_t>(*id));
}

/// Lets everybody go who waits at this barrier, if all have come.
template <class D, class O>
bool Machine<D, O>::complete(std::uint32_t id) {
  Barrier& b = barriers_[id];
  if (!b.used) return false;
  if (b.needed != 0) {
    if (b.counted < b.needed) return false;
  } else {
    for (std::size_t w = 0; w < warps_.size(); ++w)
      if ((warps_[w].live & ~b.arrived[w]) != 0) return false;
  }
  for (const Waiting& waiting : b.parts) {
    Warp& warp = warps_[waiting.warp];
    warp.parts[waiting.part].state = State::ready;
    const Operation& op = program_.operations[waiting.operation];
    if (!op.fixed[2].present()) continue;
    std::uint64_t result = op.mode == Mode::popc          ? b.population
                           : op.mode == Mode::logical_and ? (b.all ? 1 : 0)
                                                          : (b.any ? 1 : 0);
    put_all(warp, op.fixed[2], result, waiting.mask);
  }
  Barrier done;
  std::swap(b, done);
  o_.on_barrier_complete(id, done.arrived, done.waiting);
  return true;
}

template <class D, class O>
void Machine<D, O>::complete_barriers() {
  for (std::uint32_t id = 0; id < barriers_.size(); ++id) complete(id);
}

/// Counts arrivals, and ends the phase when none is pending and all bytes have come.
template <class D, class O>
void Machine<D, O>::arrive(MemoryBarrier& object, std::int64_t count) {
  object.pending -= count;
  if (object.pending != 0 || object.transactions != 0) return;
  ++object.phase;
  object.pending = object.expected;
  wake_mbarriers();
}

template <class D, class O>
void Machine<D, O>::wake_mbarriers() {
  for (Warp& warp : warps_)
    for (Part& part : warp.parts)
      if (part.state == State::mbarrier && mbarriers_[part.waits_for].phase > part.waits_phase)
        part.state = State::ready;
}

/// A thread that waits for a phase is parked until it completes, then waits again and is told so.
template <class D, class O>
void Machine<D, O>::mbarrier(Warp& warp, std::uint32_t p, const Operation& op, Mask active) {
  Addresses where;
  Locations at;
  if (!locate_all(warp, op, active, 8, where, at)) return;
  for (unsigned lane = 0; lane < lane_count && !trap_; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    std::uint64_t offset = at[lane].offset, value = 1;
    if (op.fixed[1].present()) {
      auto bits = control(warp.lanes, op.fixed[1], lane, op, "an operand of an mbarrier");
      if (!bits) return;
      value = *bits;
    }
    if (op.mode == Mode::init) {
      mbarriers_[offset] = {0, static_cast<std::int64_t>(value), static_cast<std::int64_t>(value),
                            0};
      d_.zero(*shared_, offset, 8);
      o_.on_mbarrier_init(now_warp_, number(op), offset, static_cast<std::uint32_t>(value));
      continue;
    }
    auto found = mbarriers_.find(offset);
    if (found == mbarriers_.end())
      return trap(TrapKind::bad_operand, "no mbarrier is initialised there", op, lane, where[lane]);
    MemoryBarrier& object = found->second;
    std::uint64_t phase = object.phase;
    if (op.mode == Mode::inval) {
      mbarriers_.erase(found);
      continue;
    }
    if (op.mode == Mode::expect || op.mode == Mode::arrive_expect)
      object.transactions += static_cast<std::int64_t>(value);
    if (op.mode == Mode::complete) {
      object.transactions -= static_cast<std::int64_t>(value);
      arrive(object, 0);
    }
    if (op.mode == Mode::arrive || op.mode == Mode::arrive_expect) {
      if (op.fixed[0].present()) d_.put(warp.lanes, op.fixed[0].cell(lane), 8, phase);
      o_.on_mbarrier_arrive(now_warp_, number(op), Mask{1} << lane, offset, phase);
      arrive(object, op.mode == Mode::arrive ? static_cast<std::int64_t>(value) : 1);
    }
    if (op.mode < Mode::test_wait) continue;
    bool parity = op.mode == Mode::test_parity || op.mode == Mode::try_parity;
    bool done = parity ? (phase & 1) != (value & 1) : value < phase;
    if (!done && (op.mode == Mode::try_wait || op.mode == Mode::try_parity)) {
      Part& part = warp.parts[p];
      part.state = State::mbarrier;
      part.waits_at = number(op);
      part.waits_for = offset;
      part.waits_phase = phase;
      --part.pc;  // Executed again once the phase is over.
      return;
    }
    d_.put(warp.lanes, op.fixed[0].cell(lane), 4, done ? 1 : 0);
    if (done) o_.on_mbarrier_wait(now_warp_, number(op), Mask{1} << lane, offset, phase);
  }
}

template <class D, class O>
void Machine<D, O>::report_deadlock() {
  std::string what = "nobody can go on:";
  const Operation* first = nullptr;
  for (std::uint32_t w = 0; w < warps_.size(); ++w)
    for (const Part& part : warps_[w].parts) {
      if (part.state != State::barrier && part.state != State::mbarrier) continue;
      const Operation& op = program_.operations[part.waits_at];
      if (first == nullptr) first = &op, now_warp_ = w;
      if (what.size() > 600) continue;
      what += " warp " + std::to_string(w) + " waits at line " + std::to_string(op.line) + " for " +
              (part.state == State::barrier ? "barrier " : "the mbarrier at ") +
              std::to_string(part.waits_for) + ";";
    }
  what.pop_back();
  trap(TrapKind::deadlock, what, first != nullptr ? *first : program_.operations[0], 0);
}

}  // namespace lathe::ptx
