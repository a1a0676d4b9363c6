#pragma once

// Atomics of one lane after another: scalars, vectors, packed halves, 128 bits. Included by
// machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

/// The new value of one lane's location, from places: 1 the old, 2 the result, 3 and 4 the sources.
template <Type T, class D, class Lanes>
void combine_values(D& d, Lanes& lanes, const Operation& op, unsigned lane, bool flush) {
  auto get = [&](std::size_t i) { return detail::load_value<D, T>(d, lanes, op.places[i], lane); };
  auto old = get(1), b = get(3), result = b;
  if constexpr (is_integer(T)) {
    // clang-format off
    switch (op.mode) {
      case Mode::add: result = old + b; break;
      case Mode::min: result = smaller(old, b); break;
      case Mode::max: result = larger(old, b); break;
      case Mode::bit_and: result = old & b; break;
      case Mode::bit_or: result = old | b; break;
      case Mode::bit_xor: result = old ^ b; break;
      case Mode::increment:
        result = select(old < b, old + literal(old, 1), literal(old, 0));
        break;
      case Mode::decrement:
        result = select(old == literal(old, 0) || b < old, b, old - literal(old, 1));
        break;
      case Mode::compare_exchange: result = select(old == b, get(4), old); break;
      default: break;
    }
    // clang-format on
  } else {
    Form form;
    form.type = T;
    // The unit beside global memory flushes subnormals of f32, that of shared memory does not.
    if (T == Type::f32 && flush) form.set(Flag::ftz);
    if (op.mode == Mode::add) result = add(form, old, b);
    if constexpr (T == Type::f64) {  // The same unit hands on a NaN of f64 as it is.
      Form is_nan;
      is_nan.constant = 3;
      bool global_sum = flush && op.mode == Mode::add;
      if (global_sum && is_special(is_nan, old)) result = old;
      if (global_sum && is_special(is_nan, b)) result = b;
    }
    if (op.mode == Mode::min) result = minimum(form, old, b);
    if (op.mode == Mode::max) result = maximum(form, old, b);
  }
  detail::store_value<D, T>(d, lanes, op.places[2], lane, result);
}

template <class D, class O>
template <Type T>
void Machine<D, O>::combine(Lanes& lanes, const Operation& op, unsigned lane, bool flush) {
  const std::array<Spot, 4> touched{op.places[1], op.places[2], op.places[3], op.places[4]};
  for_each_run(d_, lanes, touched,
               [&](auto& d, auto& one) { combine_values<T>(d, one, op, lane, flush); });
}

template <class D, class O>
void Machine<D, O>::combine(Lanes& lanes, const Operation& op, unsigned lane, bool flush) {
  combine_by_type(lanes, op, lane, flush);
  const std::array<Spot, 4> sources{op.places[1], op.places[3], op.places[4], op.places[4]};
  const std::array<Spot, 4> touched{op.places[1], op.places[2], op.places[3], op.places[4]};
  for_each_run(d_, lanes, touched, [&](auto& d, auto& one) {
    d.settle(one, Definedness::all, op.places[2], cell_bytes(op.form.type), sources.data(),
             Mask{1} << lane);
  });
}

template <class D, class O>
void Machine<D, O>::combine_by_type(Lanes& lanes, const Operation& op, unsigned lane, bool flush) {
  // clang-format off
  switch (op.form.type) {
    case Type::b16: return combine<Type::b16>(lanes, op, lane, flush);
    case Type::b32: case Type::u32: return combine<Type::u32>(lanes, op, lane, flush);
    case Type::b64: case Type::u64: return combine<Type::u64>(lanes, op, lane, flush);
    case Type::s32: return combine<Type::s32>(lanes, op, lane, flush);
    case Type::s64: return combine<Type::s64>(lanes, op, lane, flush);
    case Type::f32: return combine<Type::f32>(lanes, op, lane, flush);
    case Type::f64: return combine<Type::f64>(lanes, op, lane, flush);
    case Type::f16: return combine<Type::f16>(lanes, op, lane, flush);
    case Type::bf16: return combine<Type::bf16>(lanes, op, lane, flush);
    case Type::f16x2: return combine<Type::f16x2>(lanes, op, lane, flush);
    case Type::bf16x2: return combine<Type::bf16x2>(lanes, op, lane, flush);
    default: return trap(TrapKind::unsupported, "an atomic of this type", op, lane);
  }
  // clang-format on
}

/// exch and cas of 128 bits move them; cas compares exact halves.
template <class D, class O>
void Machine<D, O>::combine_wide(Lanes& lanes, const Operation& op, unsigned lane) {
  auto cell = [&](std::size_t place, std::uint8_t byte) {
    return Cell{op.places[place], 16, byte, static_cast<std::uint8_t>(lane)};
  };
  std::size_t from = 3;
  if (op.mode == Mode::compare_exchange) {
    bool equal = true;
    for (std::uint8_t byte : {std::uint8_t{0}, std::uint8_t{8}}) {
      auto old = d_.exact(lanes, cell(1, byte), 8), wanted = d_.exact(lanes, cell(3, byte), 8);
      if (!old || !wanted)
        return trap(TrapKind::undefined_value, "what an atomic compares is no known number", op,
                    lane);
      equal = equal && *old == *wanted;
    }
    from = equal ? 4 : 1;
  }
  d_.copy(lanes, cell(2, 0), lanes, cell(from, 0), 16);
}

/// One element of every lane; the old values stay in places[1].
template <class D, class O>
void Machine<D, O>::atomic_element(Warp& warp, const Operation& op, Mask active,
                                   const Locations& at, unsigned offset) {
  unsigned bytes = op.element_bytes;
  auto cell = [&](std::size_t place, unsigned lane) {
    return Slot{op.places[place], static_cast<std::uint8_t>(cell_bytes(op.form.type))}.cell(lane);
  };
  for (unsigned lane = 0; lane < lane_count && !trap_; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    Region& region = *at[lane].region;
    std::uint64_t where = at[lane].offset + offset;
    if constexpr (requires { d_.reduce(region, where, warp.lanes, op, lane); }) {
      if (d_.reduce(region, where, warp.lanes, op, lane)) continue;
    }
    d_.read(region, where, warp.lanes, cell(1, lane), bytes);
    if (op.form.type == Type::b128)
      combine_wide(warp.lanes, op, lane);
    else
      combine(warp.lanes, op, lane, at[lane].space == Space::global);
    if (!trap_) d_.write(region, where, warp.lanes, cell(2, lane), bytes);
  }
}

/// Of a vector each element is an atomic of its own, and the results come when all are done: a
/// destination may be a source.
template <class D, class O>
void Machine<D, O>::atomic(Warp& warp, const Operation& op, Mask active) {
  Addresses where{};
  Locations at;
  unsigned bytes = op.element_bytes, count = op.element_count;
  if (!locate_all(warp, op, active, bytes * count, where, at)) return;
  const Slot* slots = program_.slots.data() + op.slot_begin;  // Of each: result, old, source.
  if (count == 1) {
    atomic_element(warp, op, active, at, 0);
  } else {
    for (unsigned i = 0; i < count; ++i) {
      Operation element = op;
      element.places[0] = slots[3 * i].place;
      element.places[1] = slots[3 * i + 1].place;
      element.places[3] = element.places[4] = slots[3 * i + 2].place;
      atomic_element(warp, element, active, at, bytes * i);
    }
  }
  for (unsigned i = 0; i < count && !trap_; ++i) {
    Slot d = count == 1 ? op.fixed[0] : slots[3 * i],
         old = count == 1 ? op.fixed[1] : slots[3 * i + 1];
    for (unsigned lane = 0; lane < lane_count; ++lane)
      if ((active >> lane & 1) != 0)
        d_.copy(warp.lanes, d.cell(lane), warp.lanes, old.cell(lane), d.width);
  }
  tell(op, active, bytes * count, at, where, AccessKind::atomic, 0, false);
}

}  // namespace lathe::ptx
