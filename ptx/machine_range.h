#pragma once

// A range of memory written at once: zeros of st.bulk, and what nobody knows after a discard.
// Included by machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

/// A weak write of a value that nobody knows.
template <class D, class O>
void Machine<D, O>::discard(Warp& warp, const Operation& op, Mask active) {
  if constexpr (TellsOne<D>) {
    Addresses where{};
    Locations at;
    if (!locate_all(warp, op, active, discarded_bytes, where, at, true)) return;
    for (Mask left = active; left != 0; left &= left - 1) {
      unsigned lane = first_lane(left);
      if (at[lane].space != Space::global)
        return trap(TrapKind::bad_operand, "a discard of memory that is not global", op, lane,
                    where[lane]);
      d_.scramble(*at[lane].region, at[lane].offset, discarded_bytes);
    }
    constexpr unsigned part = 16;
    for (unsigned done = 0; done < discarded_bytes; done += part) {
      tell(op, active, part, at, where, AccessKind::write, 0, false);
      for (unsigned lane = 0; lane < lane_count; ++lane)
        where[lane] += part, at[lane].offset += part;
    }
  } else {
    trap(TrapKind::unsupported,
         "`" + program_.texts[op.instruction] +
             "` leaves values that nobody knows; leave it out, it is a hint",
         op, first_lane(active));
  }
}

/// st.bulk: each lane's own range of shared memory.
template <class D, class O>
void Machine<D, O>::fill(Warp& warp, const Operation& op, Mask active) {
  constexpr unsigned unit = 8;
  constexpr std::uint64_t bytes_max = 1u << 24;
  Addresses where{}, sizes{};
  Locations at;
  const AsyncForm& form = program_.async_forms[op.matrix];
  if (!addresses_of(warp, op, op.address, active, where) ||
      !controls(warp.lanes, form.size, active, op, "the size of a st.bulk", sizes))
    return;
  std::uint64_t most = 0;
  for (Mask left = active; left != 0; left &= left - 1) {
    unsigned lane = first_lane(left);
    if (sizes[lane] % unit != 0 || sizes[lane] > bytes_max)
      return trap(TrapKind::bad_operand,
                  "a st.bulk writes a multiple of 8 bytes, and no more than 16777216", op, lane);
    if (where[lane] % unit != 0)
      return trap(TrapKind::misaligned, "a st.bulk begins at a multiple of 8", op, lane,
                  where[lane]);
    if (sizes[lane] == 0) continue;
    auto bytes = static_cast<unsigned>(sizes[lane]);
    if (!locate(op.space, where[lane], bytes, true, op, lane, at[lane])) return;
    if (at[lane].space != Space::shared || at[lane].rank != rank())
      return trap(TrapKind::bad_operand, "a st.bulk writes shared memory of its own block", op,
                  lane, where[lane]);
    d_.zero(*at[lane].region, at[lane].offset, bytes);
    most = std::max(most, sizes[lane]);
  }
  if constexpr (O::active)
    for (std::uint64_t done = 0; done < most; done += unit) {
      Mask writes = 0;
      for (unsigned lane = 0; lane < lane_count; ++lane)
        if ((active >> lane & 1) != 0 && done < sizes[lane]) writes |= Mask{1} << lane;
      tell(op, writes, unit, at, where, AccessKind::write, 0, false);
      for (unsigned lane = 0; lane < lane_count; ++lane) at[lane].offset += unit;
    }
}

}  // namespace lathe::ptx
