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
  Block& block = block_of(w);
  Barrier& b = block.barriers[*id];
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
  o_.on_barrier_arrive(w, number(op), static_cast<unsigned>(*id) + 16 * (w / warps_each_),
                       needed != 0 ? static_cast<std::uint32_t>(needed) : run_.shape.threads(),
                       active, waits);
  complete(block, static_cast<std::uint32_t>(*id));
}

/// bar.warp.sync: who executes it is in its mask, and orders his accesses with the mask's others.
template <class D, class O>
void Machine<D, O>::warp_barrier(Warp& warp, const Operation& op, Mask active) {
  std::array<Mask, lane_count> masks{};
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    auto bits = control(warp.lanes, op.fixed[3], lane, op, "a membermask");
    if (!bits) return;
    masks[lane] = static_cast<Mask>(*bits);
    if ((masks[lane] >> lane & 1) == 0)
      return trap(TrapKind::bad_operand, "the membermask lacks the executing lane", op, lane);
    if ((masks[lane] & warp.live & ~active) != 0)
      return trap(TrapKind::unsupported,
                  "lanes that come to a bar.warp.sync from different parts of the kernel", op,
                  lane);
  }
  for (Mask left = active; left != 0;) {
    unsigned first = first_lane(left);
    Mask same = 0;
    for (unsigned lane = first; lane < lane_count; ++lane)
      if ((left >> lane & 1) != 0 && masks[lane] == masks[first]) same |= Mask{1} << lane;
    left &= ~same;
    o_.on_warp_barrier(now_warp_, number(op), same);
  }
}

/// Lets everybody go who waits at this barrier, if all have come.
template <class D, class O>
bool Machine<D, O>::complete(Block& block, std::uint32_t id) {
  Barrier& b = block.barriers[id];
  auto rank = static_cast<std::uint32_t>(&block - blocks_.data());
  if (!b.used) return false;
  if (b.needed != 0) {
    if (b.counted < b.needed) return false;
  } else {
    for (std::size_t w = rank * warps_each_; w < (rank + 1) * warps_each_; ++w)
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
  o_.on_barrier_complete(id + 16 * rank, done.arrived, done.waiting);
  return true;
}

template <class D, class O>
void Machine<D, O>::complete_barriers(std::uint32_t w) {
  Block& block = block_of(w);
  for (std::uint32_t id = 0; id < block.barriers.size(); ++id) complete(block, id);
}

template <class D, class O>
typename Machine<D, O>::MemoryBarrier* Machine<D, O>::find_mbarrier(std::uint64_t key) {
  auto& objects = blocks_[key >> rank_shift].mbarriers;
  auto found = objects.find(key & ((1u << rank_shift) - 1));
  return found == objects.end() ? nullptr : &found->second;
}

/// Counts arrivals and bytes, and ends the phase when none is pending and all bytes have come.
template <class D, class O>
void Machine<D, O>::arrive(std::uint64_t key, std::int64_t count, std::int64_t bytes) {
  MemoryBarrier* object = find_mbarrier(key);
  if (object == nullptr) return;
  object->pending -= count;
  object->transactions -= bytes;
  if (object->pending != 0 || object->transactions != 0) return;
  if constexpr (O::active) {
    UnitEvent event;
    event.kind = UnitEvent::Kind::phase;
    event.offset = key;
    event.phase = object->phase;
    event.warp = now_warp_;
    o_.on_unit(event);
  }
  ++object->phase;
  object->pending = object->expected;
  wake_mbarriers();
}

template <class D, class O>
void Machine<D, O>::wake_mbarriers() {
  for (Warp& warp : warps_)
    for (Part& part : warp.parts) {
      if (part.state != State::mbarrier) continue;
      MemoryBarrier* object = find_mbarrier(part.waits_for);
      if (object == nullptr || object->phase > part.waits_phase) part.state = State::ready;
    }
}

/// The eight bytes of an mbarrier are accessed like any others.
template <class D, class O>
void Machine<D, O>::tell_mbarrier(const Operation& op, Mask mask, std::uint64_t key,
                                  AccessKind kind) {
  if constexpr (O::active) {
    Addresses addresses{};
    std::array<std::uint32_t, lane_count> buffers{};
    addresses.fill(key);
    Access access;
    access.space = Space::shared;
    access.kind = kind;
    access.mbarrier = true;
    access.instruction = number(op);
    access.warp = now_warp_;
    access.mask = mask;
    access.bytes = 8;
    access.addresses = &addresses;
    access.buffers = &buffers;
    o_.on_access(access);
  }
}

template <class D, class O>
void Machine<D, O>::mbarrier(Warp& warp, std::uint32_t p, const Operation& op, Mask active) {
  if (op.mode == Mode::pending_count) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      if ((active >> lane & 1) == 0) continue;
      auto state = control(warp.lanes, op.fixed[1], lane, op, "the state of an mbarrier");
      if (!state) return;
      d_.put(warp.lanes, op.fixed[0].cell(lane), 4, *state >> 32);
    }
    return;
  }
  Addresses where{};
  Locations at;
  if (!locate_all(warp, op, active, 8, where, at)) return;
  for (unsigned lane = 0; lane < lane_count; ++lane)
    if ((active >> lane & 1) != 0 && at[lane].space != Space::shared)
      return trap(TrapKind::bad_operand, "an mbarrier lies in shared memory", op, lane,
                  where[lane]);
  if (op.mode >= Mode::test_wait && op.mode <= Mode::try_parity)
    return mbarrier_wait(warp, p, op, active, at);
  for (unsigned lane = 0; lane < lane_count && !trap_; ++lane)
    if ((active >> lane & 1) != 0 && !mbarrier_one(warp, op, lane, at[lane], where[lane])) return;
}

/// One lane's operation that does not wait.
template <class D, class O>
bool Machine<D, O>::mbarrier_one(Warp& warp, const Operation& op, unsigned lane, const Location& at,
                                 std::uint64_t where) {
  std::uint64_t value = 1, key = at.key();
  Mask bit = Mask{1} << lane;
  if (op.fixed[1].present()) {
    auto bits = control(warp.lanes, op.fixed[1], lane, op, "an operand of an mbarrier");
    if (!bits) return false;
    value = *bits;
  }
  auto fails = [&](TrapKind kind, std::string what) {
    trap(kind, std::move(what), op, lane, where);
    return false;
  };
  constexpr std::uint64_t most = (1u << 20) - 1;
  if (value > most || (value == 0 && op.mode == Mode::init))
    return fails(TrapKind::bad_operand, "an mbarrier counts from 1 to 1048575");
  if (op.mode == Mode::init) {
    auto count = static_cast<std::int64_t>(value);
    blocks_[at.rank].mbarriers[at.offset] = {0, count, count, 0};
    d_.zero(*at.region, at.offset, 8);
    o_.on_mbarrier_init(now_warp_, number(op), key, static_cast<std::uint32_t>(value));
    tell_mbarrier(op, bit, key, AccessKind::write);
    return true;
  }
  MemoryBarrier* object = find_mbarrier(key);
  if (object == nullptr) return fails(TrapKind::bad_operand, "no mbarrier is initialised there");
  if (op.mode == Mode::inval) {
    for (const Warp& other : warps_)
      for (const Part& part : other.parts)
        if (part.state == State::mbarrier && part.waits_for == key)
          return fails(TrapKind::bad_operand, "an mbarrier is invalidated that a thread waits for");
    blocks_[at.rank].mbarriers.erase(at.offset);
    tell_mbarrier(op, bit, key, AccessKind::write);
    return true;
  }
  if (op.mode == Mode::expect || op.mode == Mode::complete)
    tell_completion(op, lane, key);
  else
    tell_mbarrier(op, bit, key, AccessKind::atomic);
  bool drops = op.mode == Mode::drop || op.mode == Mode::drop_expect;
  bool expects =
      op.mode == Mode::expect || op.mode == Mode::arrive_expect || op.mode == Mode::drop_expect;
  auto count = static_cast<std::int64_t>(expects ? 1 : value);
  if (expects) object->transactions += static_cast<std::int64_t>(value);
  if (op.mode == Mode::complete) arrive(key, 0, static_cast<std::int64_t>(value));
  if (op.mode == Mode::expect || op.mode == Mode::complete) return true;
  if (op.mode == Mode::arrive_copies) return arrive_copies(warp, op, lane, key);
  if (count > object->pending)
    return fails(TrapKind::bad_operand, "more arrive at an mbarrier than it expects in a phase");
  if (op.flag && count == object->pending && object->transactions == 0)
    return fails(TrapKind::bad_operand, "an arrival with .noComplete completes its phase");
  if (drops) object->expected -= count;
  if (op.fixed[0].present())
    d_.put(warp.lanes, op.fixed[0].cell(lane), 8,
           (object->phase & 0xFFFFFFFFu) | static_cast<std::uint64_t>(object->pending) << 32);
  o_.on_mbarrier_arrive(now_warp_, number(op), bit, key, object->phase, op.strong);
  arrive(key, count, 0);
  return true;
}

/// cp.async.mbarrier.arrive: an arrival when the thread's copies so far have landed.
template <class D, class O>
bool Machine<D, O>::arrive_copies(Warp& warp, const Operation& op, unsigned lane,
                                  std::uint64_t key) {
  MemoryBarrier* object = find_mbarrier(key);
  if (!op.flag) ++object->pending;  // Without .noinc the arrival is counted beside the others.
  std::uint64_t until = warp.copies_made;
  Flight flight;
  flight.warp = now_warp_;
  flight.lane = lane;
  flight.carry_out = [this, &warp, &op, lane, key, until] {
    std::vector<Copy> left;
    for (const Copy& copy : warp.copies) {
      if (copy.lane == lane && copy.number < until)
        land(warp, copy);
      else
        left.push_back(copy);
    }
    warp.copies = std::move(left);
    if (MemoryBarrier* object = find_mbarrier(key)) {
      if constexpr (O::active) {
        UnitEvent event = unit_event(UnitEvent::Kind::signal, Unit::thread, op, Mask{1} << lane);
        event.offset = key;
        event.phase = object->phase;
        o_.on_unit(event);
      }
      arrive(key, 1, 0);
    }
  };
  launch(std::move(flight));
  return true;
}

/// A wait may end without the phase having ended, and a kernel must look at what it says. Under an
/// observer that doubts waits each does so once, as if the thread had come early.
template <class D, class O>
bool Machine<D, O>::gives_up(Warp& warp, const Operation& op, Mask active, std::uint64_t key,
                             std::uint64_t phase) {
  if (!doubts_waits(o_)) return false;
  std::uint64_t who = std::uint64_t{number(op)} << 32 | active;
  return warp.given_up.insert({who, key, phase}).second;
}

/// Threads that wait for a phase are parked until it completes, then wait again and are told so.
template <class D, class O>
void Machine<D, O>::mbarrier_wait(Warp& warp, std::uint32_t p, const Operation& op, Mask active,
                                  const Locations& at) {
  bool parity = op.mode == Mode::test_parity || op.mode == Mode::try_parity;
  bool blocks = op.mode == Mode::try_wait || op.mode == Mode::try_parity;
  Mask done = 0;
  bool early = false;
  std::array<std::uint64_t, lane_count> phases{};
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    auto value = control(warp.lanes, op.fixed[1], lane, op, "the phase of an mbarrier");
    if (!value) return;
    MemoryBarrier* object = find_mbarrier(at[lane].key());
    if (object == nullptr || at[lane].rank != rank())
      return trap(TrapKind::bad_operand,
                  object == nullptr ? "no mbarrier is initialised there"
                                    : "a thread waits for an mbarrier of another block",
                  op, lane);
    phases[lane] = object->phase;
    std::uint64_t token = *value & 0xFFFFFFFFu;
    bool over = parity ? (object->phase & 1) != (*value & 1) : token < object->phase;
    if (!parity && token + 1 < object->phase)
      return trap(TrapKind::bad_operand, "a wait for a phase that is neither current nor the last",
                  op, lane);
    if (lane == first_lane(active))
      early = gives_up(warp, op, active, at[lane].key(), object->phase - (over ? 1 : 0));
    if (over && !early) done |= Mask{1} << lane;
    if (over || early || !blocks) continue;
    Part& part = warp.parts[p];
    part.state = State::mbarrier;
    part.waits_at = number(op);
    part.waits_for = at[lane].key();
    part.waits_phase = object->phase;
    --part.pc;  // Executed again once the phase is over.
    return;
  }
  for (unsigned lane = 0; lane < lane_count; ++lane)
    if ((active >> lane & 1) != 0) d_.put(warp.lanes, op.fixed[0].cell(lane), 4, done >> lane & 1);
  // Whoever polls lets the units and the other threads go on.
  if (!blocks && !early && done != active) {
    fly();
    warp.polled = p;
    gave_way_ = true;
  }
  for (Mask left = active; left != 0;) {
    unsigned first = first_lane(left);
    Mask same = 0;
    for (unsigned lane = first; lane < lane_count; ++lane)
      if ((left >> lane & 1) != 0 && at[lane].key() == at[first].key()) same |= Mask{1} << lane;
    left &= ~same;
    tell_mbarrier(op, same, at[first].key(), AccessKind::atomic);
    if ((same & done) != 0 && phases[first] != 0)
      o_.on_mbarrier_wait(now_warp_, number(op), same & done, at[first].key(), phases[first] - 1,
                          op.strong);
  }
}

}  // namespace lathe::ptx
