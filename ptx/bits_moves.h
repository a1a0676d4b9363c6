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

/// A one in every byte.
template <class Word>
constexpr Word ones_of(Word) {
  return static_cast<Word>(static_cast<Word>(~Word{0}) / 0xFF);
}

/// A place in memory as bytes and their marks; the same for all lanes, but for the offset, where
/// they are in common.
template <class Places>
struct BytesOf {
  const Places& at;
  explicit BytesOf(const Places& places) : at(places) {}
  std::byte* bytes(unsigned lane) const { return at[lane].region->bytes + at[lane].offset; }
  std::uint8_t* defined(unsigned lane) const {
    Bits::Region& region = *at[lane].region;
    return region.defined == nullptr ? nullptr : region.defined + at[lane].offset;
  }
};
template <class Places>
requires(InCommon<Places>) struct BytesOf<Places> {
  const std::uint64_t* where;
  std::byte* memory;
  std::uint8_t* marks;
  std::uint64_t begin;
  explicit BytesOf(const Places& at)
      : where(at.where->data()),
        memory(at.region->bytes),
        marks(at.region->defined),
        begin(at.begin) {}
  std::byte* bytes(unsigned lane) const { return memory + (where[lane] - begin); }
  std::uint8_t* defined(unsigned lane) const {
    return marks == nullptr ? nullptr : marks + (where[lane] - begin);
  }
};

/// Whether all that the lanes of a mask read is defined.
template <class Places>
bool Bits::all_set(const Places& at, unsigned total, Mask mask) {
  if constexpr (InCommon<Places>) {
    if (at.region->defined == nullptr) return true;
    if (mask == every_lane && at.reach == Reach::same)
      return is_set(*at.region, at[0].offset, total);
    if (mask == every_lane && at.reach == Reach::row)
      return is_set(*at.region, at[0].offset, lane_count * total);
    if (total <= 8) {
      bool set = true;
      const BytesOf<Places> place(at);
      with_bytes(total, [&](auto word) {
        auto all = ones_of(word);
        for_lanes(mask, [&](unsigned i) {
          std::memcpy(&word, place.defined(i), sizeof word);
          all &= word;
        });
        set = all == ones_of(word);
      });
      return set;
    }
  }
  bool set = true;
  for_lanes(mask, [&](unsigned i) { set = set && is_set(*at[i].region, at[i].offset, total); });
  return set;
}

template <class Slots, class Places>
bool Bits::read_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each, bool sign,
                    Mask mask) {
  auto total = static_cast<unsigned>(each * slots.size());
  if (!all_set(at, total, mask)) return false;
  const BytesOf<Places> place(at);
  with_bytes(each, [&](auto word) {
    for (std::size_t k = 0; k < slots.size(); ++k) {
      std::byte* to = lanes.bytes.data() + slots[k].place;
      std::size_t width = slots[k].width, skip = k * sizeof word;
      lanes.defined[slots[k].place / 64] |= mask;
      if (width != sizeof word) {
        for_lanes(mask, [&](unsigned i) {
          std::memcpy(&word, place.bytes(i) + skip, sizeof word);
          std::memcpy(to + i * width, &word, sizeof word);
          if (width > sizeof word) fill_above(to + i * width, sizeof word, width, sign);
        });
        continue;
      }
      if constexpr (InCommon<Places>) {
        if (mask == every_lane && at.reach == Reach::row && slots.size() == 1) {
          std::memcpy(to, place.bytes(0), lane_count * sizeof word);
          continue;
        }
        if (mask == every_lane && at.reach == Reach::same) {
          std::memcpy(&word, place.bytes(0) + skip, sizeof word);
          for (std::size_t i = 0; i < lane_count; ++i)
            std::memcpy(to + i * sizeof word, &word, sizeof word);
          continue;
        }
      }
      for_lanes(mask, [&](unsigned i) {
        std::memcpy(&word, place.bytes(i) + skip, sizeof word);
        std::memcpy(to + i * sizeof word, &word, sizeof word);
      });
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
  const BytesOf<Places> place(at);
  if constexpr (InCommon<Places> && !compare)
    if (mask == every_lane && at.reach == Reach::row && slots.size() == 1 &&
        slots[0].width == each) {
      std::size_t bytes = lane_count * std::size_t{each};
      std::memcpy(place.bytes(0), lanes.bytes.data() + slots[0].place, bytes);
      if (std::uint8_t* marks = place.defined(0)) std::memset(marks, 1, bytes);
      return true;
    }
  with_bytes(each, [&](auto word) {
    const auto ones = ones_of(word);
    for_lanes(mask, [&](unsigned i) {
      std::byte* to = place.bytes(i);
      std::uint8_t* marks = place.defined(i);
      bool same = compare && is_set(*at[i].region, at[i].offset, total);
      for (std::size_t k = 0; k < slots.size(); ++k, to += sizeof word) {
        std::memcpy(&word, lanes.bytes.data() + slots[k].place + i * slots[k].width, sizeof word);
        if constexpr (compare) same = same && std::memcmp(to, &word, sizeof word) == 0;
        std::memcpy(to, &word, sizeof word);
        if (marks != nullptr) std::memcpy(marks + k * sizeof word, &ones, sizeof word);
      }
      if (same) unchanged |= Mask{1} << i;
    });
  });
  return true;
}

}  // namespace lathe::ptx
