#pragma once

// Moves between registers and whole-warp instructions: shuffles, votes, reductions.
// Included by machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

/// Every live lane of the warp must be here.
template <class D, class O>
bool Machine<D, O>::whole(Warp& warp, const Operation& op, Mask active, const char* what) {
  if (active == warp.live && active == every_lane) return true;
  trap(TrapKind::divergent_barrier, std::string(what) + " is executed by a part of the warp only",
       op, first_lane(active));
  return false;
}

/// Lanes of a .sync instruction that name the same mask work together: calls `use` for each such
/// group. Every executing lane must be in its own mask, and all live lanes of the mask here.
template <class D, class O>
template <class Use>
void Machine<D, O>::by_groups(Warp& warp, const Operation& op, Mask active, Use use) {
  if (!op.flag) return use(active);
  Addresses masks{};
  if (!controls(warp.lanes, op.fixed[3], active, op, "a membermask", masks)) return;
  for (Mask left = active; left != 0 && !trap_;) {
    unsigned first = first_lane(left);
    Mask group = 0, mask = static_cast<Mask>(masks[first]);
    for (unsigned lane = 0; lane < lane_count; ++lane)
      group |= Mask{mask == static_cast<Mask>(masks[lane])} << lane;
    group &= left;
    if ((mask & group) != group)
      return trap(TrapKind::bad_operand, "the membermask lacks the executing lane", op,
                  first_lane(group & ~mask));
    if ((mask & warp.live & ~group) != 0)
      return trap(TrapKind::divergent_barrier, "a lane of the membermask does not execute this", op,
                  first);
    use(group);
    left &= ~group;
  }
}

template <class D, class O>
void Machine<D, O>::together(Warp& warp, const Operation& op, Mask group) {
  if (op.effect == Effect::shuffle) return shuffle(warp, op, group);
  if (op.effect == Effect::vote) return vote(warp, op, group);
  if (op.effect == Effect::match) return match(warp, op, group);
  reduce(warp, op, group);
}

template <class D, class O>
void Machine<D, O>::put_all(Warp& warp, Slot slot, std::uint64_t bits, Mask mask) {
  if constexpr (requires { d_.put_all(warp.lanes, Spot{}, 4u, bits, mask); })
    return d_.put_all(warp.lanes, slot.place, slot.width, bits, mask);
  for (unsigned lane = 0; lane < lane_count; ++lane)
    if ((mask >> lane & 1) != 0) d_.put(warp.lanes, slot.cell(lane), slot.width, bits);
}

/// A whole register of the active lanes.
template <class D, class O>
void Machine<D, O>::copy_register(Lanes& lanes, Slot to, Slot from, Mask active) {
  if constexpr (requires { d_.copy_all(lanes, Spot{}, Spot{}, 4u, active); }) {
    d_.copy_all(lanes, to.place, from.place, to.width, active);
  } else {
    for (unsigned lane = 0; lane < lane_count; ++lane)
      if ((active >> lane & 1) != 0)
        d_.copy(lanes, to.cell(lane), lanes, from.cell(lane), to.width);
  }
}

template <class D, class O>
void Machine<D, O>::move(Warp& warp, const Operation& op, Mask active) {
  const Slot &to = op.fixed[0], &from = op.fixed[1];
  if (op.effect == Effect::move) return copy_register(warp.lanes, to, from, active);
  if constexpr (requires { d_.copy_part(warp.lanes, Cell{}, Cell{}, 4u, active); })
    if (d_.copy_part(warp.lanes, to.cell(0, op.slot_begin), from.cell(0, op.slot_count),
                     op.element_bytes, active))
      return;
  for (unsigned lane = 0; lane < lane_count; ++lane)
    if ((active >> lane & 1) != 0)
      d_.copy(warp.lanes, to.cell(lane, op.slot_begin), warp.lanes, from.cell(lane, op.slot_count),
              op.element_bytes);
}

/// The selectors of prmt's modes (the manual's table), as those of the default mode.
constexpr std::uint64_t prmt_selector(Mode mode, std::uint64_t c) {
  constexpr std::array<std::array<std::uint16_t, 4>, 6> table{{
      {0x3210, 0x4321, 0x5432, 0x6543},  // f4e
      {0x5670, 0x6701, 0x7012, 0x0123},  // b4e
      {0x0000, 0x1111, 0x2222, 0x3333},  // rc8
      {0x3210, 0x3211, 0x3222, 0x3333},  // ecl
      {0x0000, 0x1110, 0x2210, 0x3210},  // ecr
      {0x1010, 0x3232, 0x1010, 0x3232},  // rc16
  }};
  if (mode < Mode::forward4) return c;
  return table[static_cast<std::size_t>(mode) - static_cast<std::size_t>(Mode::forward4)][c & 3];
}

/// Whole bytes are moved; a replicated sign goes through the row that computes it.
template <class D, class O>
void Machine<D, O>::permute(Warp& warp, const Operation& op, Mask active) {
  Slot stage{op.places[0], 4}, a{op.places[1], 4}, b{op.places[2], 4}, c{op.places[3], 4};
  Addresses selectors{};
  if (!controls(warp.lanes, c, active, op, "the selector of prmt", selectors)) return;
  auto permuted = [&](std::uint64_t x, std::uint64_t y, unsigned lane) {
    return functions::permuted(x, y, prmt_selector(op.mode, selectors[lane]));
  };
  if constexpr (requires { d_.put_from_two(warp.lanes, Spot{}, 0u, 0u, active, permuted); }) {
    if (d_.put_from_two(warp.lanes, op.fixed[0].place, a.place, b.place, active, permuted)) return;
  } else if constexpr (requires { d_.exact_all(warp.lanes, Spot{}, 4u, active, selectors); }) {
    Addresses x{}, y{};
    if (d_.exact_all(warp.lanes, a.place, 4, active, x) &&
        d_.exact_all(warp.lanes, b.place, 4, active, y)) {
      for (unsigned lane = 0; lane < lane_count; ++lane)
        x[lane] = permuted(x[lane], y[lane], lane);
      return d_.put_lanes(warp.lanes, op.fixed[0].place, x, active);
    }
  }
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    std::uint64_t selector = prmt_selector(op.mode, selectors[lane]);
    if ((selector & 0x8888) != 0) {
      auto x = control(warp.lanes, a, lane, op, "a sign that prmt replicates");
      auto y = control(warp.lanes, b, lane, op, "a sign that prmt replicates");
      if (!x || !y) return;
      d_.put(warp.lanes, stage.cell(lane), 4, functions::permuted(*x, *y, selector));
      continue;
    }
    for (unsigned i = 0; i < 4; ++i) {
      unsigned byte = selector >> (4 * i) & 7;
      Slot from = byte < 4 ? a : b;
      d_.copy(warp.lanes, stage.cell(lane, i), warp.lanes, from.cell(lane, byte & 3), 1);
    }
  }
  for (unsigned lane = 0; lane < lane_count; ++lane)
    if ((active >> lane & 1) != 0)
      d_.copy(warp.lanes, op.fixed[0].cell(lane), warp.lanes, stage.cell(lane), 4);
}

/// Which lane each lane of a shuffle reads, and which of them are in range.
struct ShuffleLanes {
  std::array<std::uint8_t, lane_count> from{};
  Mask valid = 0;
};
template <class Words>
ShuffleLanes shuffle_lanes(Mode mode, const Words& by, const Words& limits) {
  ShuffleLanes lanes;
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    int segment = static_cast<int>(limits[lane] >> 8 & 31);
    int clamp = static_cast<int>(limits[lane] & 31), amount = static_cast<int>(by[lane] & 31);
    int self = static_cast<int>(lane), least = self & segment;
    int most = least | (clamp & ~segment), from = self;
    bool in = false;
    if (mode == Mode::up) from = self - amount, in = from >= most;
    if (mode == Mode::down) from = self + amount, in = from <= most;
    if (mode == Mode::butterfly) from = self ^ amount, in = from <= most;
    if (mode == Mode::index) from = least | (amount & ~segment), in = from <= most;
    lanes.from[lane] = static_cast<std::uint8_t>(in ? from : self);
    lanes.valid |= Mask{in} << lane;
  }
  return lanes;
}

template <class D, class O>
void Machine<D, O>::shuffle(Warp& warp, const Operation& op, Mask active) {
  Slot stage{op.places[0], 4}, a{op.places[1], 4}, b{op.places[2], 4}, c{op.places[3], 4};
  Addresses by{}, limits{};
  if (!controls(warp.lanes, b, active, op, "the lane of a shuffle", by) ||
      !controls(warp.lanes, c, active, op, "the clamp of a shuffle", limits))
    return;
  ShuffleLanes lanes = shuffle_lanes(op.mode, by, limits);
  for (unsigned lane = 0; lane < lane_count; ++lane)
    if ((active >> lane & 1) != 0 && (active >> lanes.from[lane] & 1) == 0)
      // The value of a lane that is not here is undefined; reading it in the mask is a fault.
      return trap(
          TrapKind::bad_operand,
          "a shuffle reads lane " + std::to_string(lanes.from[lane]) + ", which does not take part",
          op, lane);
  bool done = false;
  if constexpr (requires { d_.copy_lanes(warp.lanes, Spot{}, Spot{}, lanes.from, active); })
    done = d_.copy_lanes(warp.lanes, op.fixed[0].place, a.place, lanes.from, active);
  if (!done) {
    for (unsigned lane = 0; lane < lane_count; ++lane)
      if ((active >> lane & 1) != 0)
        d_.copy(warp.lanes, stage.cell(lane), warp.lanes, a.cell(lanes.from[lane]), 4);
    copy_register(warp.lanes, op.fixed[0], stage, active);
  }
  for (unsigned lane = 0; lane < lane_count && op.fixed[1].present(); ++lane)
    if ((active >> lane & 1) != 0)
      d_.put(warp.lanes, op.fixed[1].cell(lane), 4, lanes.valid >> lane & 1);
}

template <class D, class O>
void Machine<D, O>::vote(Warp& warp, const Operation& op, Mask active) {
  if (op.effect == Effect::active_mask) return put_all(warp, op.fixed[0], active, active);
  if (op.effect == Effect::elect) {
    auto bits = control(warp.lanes, Slot{op.places[1], 4}, first_lane(active), op, "a membermask");
    if (!bits) return;
    unsigned leader = first_lane(active & static_cast<Mask>(*bits));
    put_all(warp, op.fixed[0], leader, active);
    for (unsigned lane = 0; lane < lane_count; ++lane)
      if ((active >> lane & 1) != 0)
        d_.put(warp.lanes, op.fixed[1].cell(lane), 4, lane == leader ? 1 : 0);
    return;
  }
  std::optional<Mask> truths = d_.truths(warp.lanes, op.places[1], active);
  if (!truths)
    return trap(TrapKind::undefined_value, "a vote over an undefined predicate", op,
                first_lane(active));
  std::uint64_t result = *truths;
  if (op.mode == Mode::all) result = *truths == active;
  if (op.mode == Mode::any) result = *truths != 0;
  if (op.mode == Mode::uniform) result = *truths == active || *truths == 0;
  put_all(warp, op.fixed[0], result, active);
}

template <class D, class O>
void Machine<D, O>::match(Warp& warp, const Operation& op, Mask active) {
  std::array<std::uint64_t, lane_count> values{};
  Slot value{op.places[1], static_cast<std::uint8_t>(cell_bytes(op.form.type))};
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    auto bits = control(warp.lanes, value, lane, op, "the value of a match");
    if (!bits) return;
    values[lane] = *bits;
  }
  bool all = true;
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    Mask equal = 0;
    for (unsigned other = 0; other < lane_count; ++other)
      if ((active >> other & 1) != 0 && values[other] == values[lane]) equal |= Mask{1} << other;
    all = all && equal == active;
    if (op.mode == Mode::any) d_.put(warp.lanes, op.fixed[0].cell(lane), 4, equal);
  }
  if (op.mode == Mode::any) return;
  put_all(warp, op.fixed[0], all ? active : 0, active);
  if (op.fixed[1].present()) put_all(warp, op.fixed[1], all ? 1 : 0, active);
}

/// Of one run's registers; `floats_unset`: whoever has no data has no floats.
template <Type T, class D, class Lanes>
void reduce_lanes(D& d, Lanes& lanes, const Operation& op, Mask active, bool floats_unset) {
  Form form = op.form;
  auto first = static_cast<unsigned>(std::countr_zero(active));
  auto value = [&](unsigned lane) {
    return detail::load_value<D, T>(d, lanes, op.places[1], lane);
  };
  auto result = value(first);
  if constexpr (T == Type::f32) {
    if (form.has(Flag::abs)) result = absolute(form, result);
    if constexpr (D::vectorises) result = minimum(form, result, result);  // A canonical NaN.
  }
  for (unsigned lane = first + 1; lane < lane_count; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    auto next = value(lane);
    if constexpr (T == Type::f32) {
      result = op.mode == Mode::min ? minimum(form, result, next) : maximum(form, result, next);
    } else {
      // clang-format off
      switch (op.mode) {
        case Mode::add: result = result + next; break;
        case Mode::min: result = smaller(result, next); break;
        case Mode::max: result = larger(result, next); break;
        case Mode::bit_and: result = result & next; break;
        case Mode::bit_or: result = result | next; break;
        default: result = result ^ next; break;
      }
      // clang-format on
    }
  }
  bool unset = floats_unset && T == Type::f32;
  if constexpr (requires { d.unset(lanes, Cell{}, 4u); })
    for (unsigned lane = 0; lane < lane_count; ++lane)
      unset |= (active >> lane & 1) != 0 && !d.exact(lanes, Slot{op.places[1], 4}.cell(lane), 4);
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    Cell stage = Slot{op.places[0], 4}.cell(lane);
    d.put(lanes, stage, 4, 0);
    detail::store_value<D, T>(d, lanes, op.places[0], lane, result);
    if constexpr (requires { d.unset(lanes, Cell{}, 4u); })
      if (unset) d.unset(lanes, stage, 4);  // One undefined value is enough.
    d.copy(lanes, op.fixed[0].cell(lane), lanes, stage, 4);
  }
}

template <class D, class O>
template <Type T>
void Machine<D, O>::reduce_as(Warp& warp, const Operation& op, Mask active) {
  if constexpr (NotesControl<D>) d_.note_operand(warp.lanes, op.places[1], 4, active, 0);
  const std::array<Spot, 3> touched{op.places[0], op.places[1], op.fixed[0].place};
  for_each_run(d_, warp.lanes, touched, [&](auto& d, auto& lanes) {
    reduce_lanes<T>(d, lanes, op, active, NotesControl<D>);
  });
}

template <class D, class O>
void Machine<D, O>::reduce(Warp& warp, const Operation& op, Mask active) {
  if (op.form.type == Type::f32) return reduce_as<Type::f32>(warp, op, active);
  if (op.form.type == Type::s32) return reduce_as<Type::s32>(warp, op, active);
  reduce_as<Type::u32>(warp, op, active);
}

}  // namespace lathe::ptx
