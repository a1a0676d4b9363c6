#pragma once

// Where the lanes of a warp's access are, when all of them are in one allocation. A domain's
// read_all and write_all take it like places lane by lane.

#include <array>
#include <bit>
#include <cstdint>

#include "ptx/domain.h"
#include "ptx/observer.h"

namespace lathe::ptx {

/// How the places of all lanes lie to each other.
enum class Reach : std::uint8_t { any, same, row };

/// What a look at a warp's addresses tells: whether those of the active lanes are aligned and none
/// reaches beyond the end of an allocation; and, where all lanes are active, how they lie.
struct Fit {
  bool good = false;
  Reach reach = Reach::any;
};

/// `last` is the last offset from `begin` at which `bytes` (a power of two) have room, and less
/// than 2^63: an offset is beyond it if it, or what it lacks to it, has the highest bit. The sums
/// have no branch: they are made of whole vectors.
inline Fit fit_of(const std::array<std::uint64_t, lane_count>& where, Mask active,
                  std::uint64_t begin, std::uint64_t last, std::uint64_t bytes) {
  std::uint64_t outside = 0, low = 0, apart = 0;
  if (active != every_lane) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      std::uint64_t offset = where[lane] - begin, live = std::uint64_t{0} - (active >> lane & 1);
      outside |= (offset | (last - offset)) & live;
      low |= where[lane] & live;
    }
  } else {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      std::uint64_t offset = where[lane] - begin;
      outside |= offset | (last - offset);
      low |= where[lane];
    }
  }
  Fit fit{outside >> 63 == 0 && (low & (bytes - 1)) == 0, Reach::any};
  const std::uint64_t first = where[0], step = where[1] - first;
  if (active != every_lane || (step != 0 && step != bytes)) return fit;
  const int shift = std::countr_zero(bytes);
  if (step == 0)
    for (std::uint64_t at : where) apart |= at ^ first;
  else
    for (std::uint64_t lane = 0; lane < lane_count; ++lane)
      apart |= where[lane] ^ (first + (lane << shift));
  if (apart == 0) fit.reach = step == 0 ? Reach::same : Reach::row;
  return fit;
}

template <class Region>
struct CommonPlace {
  Region* region = nullptr;
  std::uint64_t begin = 0;  // The address of the allocation.
  const std::array<std::uint64_t, lane_count>* where = nullptr;
  Space space = Space::global;
  std::uint32_t buffer = 0, rank = 0;
  Reach reach = Reach::any;  // By the bytes of a lane's whole access.

  struct Place {
    Region* region;
    std::uint64_t offset;
  };
  Place operator[](unsigned lane) const { return {region, (*where)[lane] - begin}; }

  /// Whether lane after lane follows in memory, so many bytes each.
  bool in_a_row(unsigned each) const {
    std::uint64_t differ = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane)
      differ |= (*where)[lane] ^ ((*where)[0] + std::uint64_t{lane} * each);
    return differ == 0;
  }
};

template <class Places>
concept InCommon = requires(const Places& at) {
  at.in_a_row(4u);
};

}  // namespace lathe::ptx
