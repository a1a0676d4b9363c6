#pragma once

// Loads and stores of a whole warp in the field domain. Included by field.h.

#include <bit>

#include "ptx/common_place.h"
#include "ptx/field.h"

namespace lathe::ptx::field {

/// Of an input whose elements are of so many bytes, and which nothing changes, the name of the
/// first one; 0: it is read in another way.
inline std::uint32_t Field::names_of(const Region& from, unsigned each) const {
  if (from.tensor < 0 || !from.pages.empty()) return 0;
  auto tensor = static_cast<std::size_t>(from.tensor);
  const Recipe& recipe = point_->recipes()[tensor];
  if (recipe.output || recipe.changes || width_of(recipe.type) != 8 * each) return 0;
  return inputs_[tensor];
}

/// Whole registers of which one form says what they hold; false: lane by lane.
template <class Slots, class Places>
bool Field::read_register(const Region& from, std::uint32_t names, const Places& at,
                          const Slots& slots, unsigned each, Lanes& lanes) {
  Registers& to = *lanes.registers;
  if (names != 0) {
    // Elements that lie as far apart from lane to lane as those of the first two.
    std::uint64_t first = at[0].offset, step = at[1].offset - first;
    if ((each != 4 && each != 2) || first % each != 0 || step % each != 0 ||
        step / each > step_max || !at.in_a_row(static_cast<unsigned>(step)))
      return false;
    auto id = names + static_cast<std::uint32_t>(first / each);
    for (const auto& slot : slots)
      put_names(to, slot.place, id++, static_cast<unsigned>(step / each), each, false);
    return true;
  }
  if (from.tensor >= 0 || slots.size() != 1) return false;
  if (at.in_a_row(each)) {
    read_row(from, at[0].offset, to, slots[0].place, each);
    return true;
  }
  return each == 4 && at.in_a_row(0) && read_one(from, at[0].offset, to, slots[0].place);
}

/// Before each of these lanes is written, its bits and tags.
inline void Field::take_place(Registers& to, Spot place, unsigned width, Mask mask) {
  if (mask == every_lane)
    to.put(place, lane_count * width, {});
  else
    to.settle(place, lane_count * width);
}

template <class Slots, class Places>
bool Field::read_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each, bool,
                     Mask mask) {
  for (const auto& slot : slots)
    if (slot.width != each) return false;
  collect_if_large();
  std::uint32_t names = 0;
  if constexpr (InCommon<Places>) {
    names = names_of(*at.region, each);
    if (mask == every_lane && read_register(*at.region, names, at, slots, each, lanes)) return true;
  }
  for (const auto& slot : slots) take_place(*lanes.registers, slot.place, each, mask);
  for (Mask left = mask; left != 0; left &= left - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(left));
    lane_ = lane;
    std::uint64_t offset = at[lane].offset;
    for (const auto& slot : slots) {
      std::size_t to = slot.place + std::size_t{lane} * each;
      if (names != 0 && offset % each == 0) {
        Tag tag = (names + static_cast<std::uint32_t>(offset / each)) << 3;
        std::memset(&lanes.registers->bits[to], 0, each);
        for (unsigned byte = 0; byte < each; ++byte) lanes.registers->tags[to + byte] = tag | byte;
      } else {
        copy_in(*at[lane].region, offset, lanes, to, each);
      }
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
  for (const auto& slot : slots) lanes.settled(slot.place, lane_count * slot.width);
  for (Mask left = mask; left != 0; left &= left - 1) {
    auto lane = static_cast<std::uint8_t>(std::countr_zero(left));
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
  std::uint8_t* bits = &to.registers->bits[at];
  Tag* tags = &to.registers->tags[at];
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
  const std::uint8_t* bits = &from.registers->bits[at];
  const Tag* tags = &from.registers->tags[at];
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
