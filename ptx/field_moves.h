#pragma once

// Loads and stores of a whole warp in the field domain. Included by field.h.

#include "ptx/field.h"

namespace lathe::ptx::field {

template <class Slots, class Places>
bool Field::read_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each, bool,
                     Mask mask) {
  for (const auto& slot : slots)
    if (slot.width != each) return false;
  collect_if_large();
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    lane_ = lane;
    std::uint64_t offset = at[lane].offset;
    for (const auto& slot : slots) {
      copy_in(*at[lane].region, offset, lanes, slot.place + std::size_t{lane} * each, each);
      offset += each;
    }
  }
  return true;
}

/// One lane after the other, as if each stored alone.
template <bool compare, class Slots, class Places>
bool Field::write_all(const Lanes& lanes, const Slots& slots, const Places& at, unsigned each,
                      Mask mask, Mask& unchanged) {
  ++clock_;
  for (std::uint8_t lane = 0; lane < lane_count; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    lane_ = lane;
    std::uint64_t offset = at[lane].offset;
    Region& region = *at[lane].region;
    bool same = true;
    for (const auto& slot : slots) {
      Cell cell{slot.place, slot.width, 0, lane};
      if constexpr (compare) same = same && this->same(region, offset, lanes, cell, each);
      copy_out(region, offset, lanes, cell.at(), each);
      offset += each;
    }
    if (same) unchanged |= Mask{1} << lane;
  }
  return true;
}

inline void Field::copy_in(Region& from, std::uint64_t offset, Lanes& to, std::size_t at,
                           unsigned bytes) {
  std::uint8_t* bits = &to.plane->bits[at];
  Tag* tags = &to.plane->tags[at];
  if (from.tensor >= 0) return fetch(from, offset, bits, tags, bytes);
  if (bytes == 4) {
    std::memcpy(bits, &from.plane->bits[offset], 4);
    std::memcpy(tags, &from.plane->tags[offset], 4 * sizeof(Tag));
  } else {
    std::memcpy(bits, &from.plane->bits[offset], bytes);
    std::memcpy(tags, &from.plane->tags[offset], bytes * sizeof(Tag));
  }
}

/// At the time that the clock shows.
inline void Field::copy_out(Region& to, std::uint64_t offset, const Lanes& from, std::size_t at,
                            unsigned bytes) {
  const std::uint8_t* bits = &from.plane->bits[at];
  const Tag* tags = &from.plane->tags[at];
  if (to.tensor >= 0) return deposit(to, offset, bits, tags, bytes);
  if (bytes == 4) {
    std::memcpy(&to.plane->bits[offset], bits, 4);
    std::memcpy(&to.plane->tags[offset], tags, 4 * sizeof(Tag));
  } else {
    std::memcpy(&to.plane->bits[offset], bits, bytes);
    std::memcpy(&to.plane->tags[offset], tags, bytes * sizeof(Tag));
  }
  // No access crosses more than one boundary of pieces.
  to.stamps[offset / piece_bytes] = clock_;
  to.stamps[(offset + bytes - 1) / piece_bytes] = clock_;
}

}  // namespace lathe::ptx::field
