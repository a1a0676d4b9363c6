#pragma once

// Where the lanes of a warp's access are, when all of them are in one allocation. A domain's
// read_all and write_all take it like places lane by lane.

#include <array>
#include <cstdint>

#include "ptx/domain.h"
#include "ptx/observer.h"

namespace lathe::ptx {

template <class Region>
struct CommonPlace {
  Region* region = nullptr;
  std::uint64_t begin = 0;  // The address of the allocation.
  const std::array<std::uint64_t, lane_count>* where = nullptr;
  Space space = Space::global;
  std::uint32_t buffer = 0, rank = 0;

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
