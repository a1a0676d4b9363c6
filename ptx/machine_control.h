#pragma once

// What must be bits: operands that decide where or how something is done; and how a fault ends the
// block. Included by machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

template <class D, class O>
Proxy Machine<D, O>::fence_proxy(const Operation& op) {
  if (!op.flag) return Proxy::generic;
  return op.space == Space::generic  ? Proxy::async
         : op.space == Space::global ? Proxy::async_global
                                     : Proxy::async_shared;
}

template <class D, class O>
void Machine<D, O>::trap(TrapKind kind, std::string what, const Operation& op, unsigned lane,
                         std::uint64_t address) {
  if (trap_) return;
  trap_ = Trap{kind,    here().number, now_warp_ % warps_each_ * lane_count + lane,
               op.line, op.column,     std::move(what),
               address};
}

template <class D, class O>
std::optional<std::uint64_t> Machine<D, O>::bits_of(const Lanes& lanes, Slot slot, unsigned lane,
                                                    const Operation& op, const char* what) {
  std::optional<std::uint64_t> bits =
      d_.exact(lanes, slot.cell(lane), slot.width < 8 ? slot.width : 8);
  if (!bits && !d_.complaint())
    trap(TrapKind::undefined_value, std::string(what) + " is no known number", op, lane);
  return bits;
}

template <class D, class O>
bool Machine<D, O>::bits_of(const Lanes& lanes, Slot slot, Mask active, const Operation& op,
                            const char* what, Addresses& bits) {
  if constexpr (requires { d_.exact_all(lanes, Spot{}, 4u, active, bits); })
    if (d_.exact_all(lanes, slot.place, slot.width, active, bits)) return true;
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    std::optional<std::uint64_t> each = bits_of(lanes, slot, lane, op, what);
    if (!each) return false;
    bits[lane] = *each;
  }
  return true;
}

template <class D, class O>
std::optional<std::uint64_t> Machine<D, O>::control(const Lanes& lanes, Slot slot, unsigned lane,
                                                    const Operation& op, const char* what) {
  std::optional<std::uint64_t> bits = bits_of(lanes, slot, lane, op, what);
  if constexpr (NotesControl<D>)
    if (bits) d_.note_control(lane, *bits);
  return bits;
}

template <class D, class O>
bool Machine<D, O>::controls(const Lanes& lanes, Slot slot, Mask active, const Operation& op,
                             const char* what, Addresses& bits) {
  if (!bits_of(lanes, slot, active, op, what, bits)) return false;
  if constexpr (NotesControl<D>) d_.note_controls(active, bits);
  return true;
}

}  // namespace lathe::ptx
