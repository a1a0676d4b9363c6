#pragma once

// Loads and stores of a whole warp in the bits domain. Included by bits.h.

#include "ptx/bits.h"
#include "ptx/common_place.h"

namespace lathe::ptx {

/// Calls `use` with the number of each lane of a mask, in order.
template <class Use>
[[gnu::always_inline]] inline void for_lanes(Mask mask, Use use) {
  if (mask == every_lane) {
    for (unsigned lane = 0; lane < lane_count; ++lane) use(lane);
  } else {
    for (; mask != 0; mask &= mask - 1) use(static_cast<unsigned>(std::countr_zero(mask)));
  }
}

template <class Slots, class Places>
bool Bits::read_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each, bool sign,
                    Mask mask) {
  auto total = static_cast<unsigned>(each * slots.size());
  if constexpr (InCommon<Places>) {
    bool row = mask == every_lane && slots.size() == 1 && slots[0].width == each;
    if (row && at.in_a_row(each)) {
      if (!is_set(*at.region, at[0].offset, lane_count * each)) return false;
      std::memcpy(lanes.bytes.data() + slots[0].place, at.region->bytes + at[0].offset,
                  lane_count * std::size_t{each});
      lanes.defined[slots[0].place / 64] = every_lane;
      return true;
    }
    if (row && at.in_a_row(0)) {
      if (!is_set(*at.region, at[0].offset, each)) return false;
      with_bytes(each, [&](auto word) {
        std::memcpy(&word, at.region->bytes + at[0].offset, sizeof word);
        std::byte* to = lanes.bytes.data() + slots[0].place;
        for (std::size_t i = 0; i < lane_count; ++i)
          std::memcpy(to + i * sizeof word, &word, sizeof word);
      });
      lanes.defined[slots[0].place / 64] = every_lane;
      return true;
    }
  }
  bool set = true;
  auto look = [&](unsigned i) { set = set && is_set(*at[i].region, at[i].offset, total); };
  if constexpr (InCommon<Places>) {
    if (at.region->defined != nullptr) for_lanes(mask, look);
  } else {
    for_lanes(mask, look);
  }
  if (!set) return false;
  with_bytes(each, [&](auto word) {
    for (std::size_t k = 0; k < slots.size(); ++k) {
      std::byte* to = lanes.bytes.data() + slots[k].place;
      unsigned width = slots[k].width;
      for_lanes(mask, [&](unsigned i) {
        std::memcpy(&word, at[i].region->bytes + at[i].offset + k * sizeof word, sizeof word);
        std::memcpy(to + i * width, &word, sizeof word);
        if (width > sizeof word) fill_above(to + i * width, sizeof word, width, sign);
      });
      lanes.defined[slots[k].place / 64] |= mask;
    }
  });
  return true;
}

template <bool compare, class Slots, class Places>
bool Bits::write_all(const Lanes& lanes, const Slots& slots, const Places& at, unsigned each,
                     Mask mask, Mask& unchanged) {
  for (const auto& slot : slots)
    if ((mask & ~lanes.defined[slot.place / 64]) != 0) return false;
  auto total = static_cast<unsigned>(each * slots.size());
  with_bytes(each, [&](auto word) {
    for_lanes(mask, [&](unsigned i) {
      Region& region = *at[i].region;
      std::byte* to = region.bytes + at[i].offset;
      bool same = compare && is_set(region, at[i].offset, total);
      for (std::size_t k = 0; k < slots.size(); ++k, to += sizeof word) {
        std::memcpy(&word, lanes.bytes.data() + slots[k].place + i * slots[k].width, sizeof word);
        if constexpr (compare) same = same && std::memcmp(to, &word, sizeof word) == 0;
        std::memcpy(to, &word, sizeof word);
      }
      if (region.defined != nullptr) std::memset(region.defined + at[i].offset, 1, total);
      if (same) unchanged |= Mask{1} << i;
    });
  });
  return true;
}

}  // namespace lathe::ptx
