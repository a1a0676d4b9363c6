#pragma once

// Which operand of a matrix product was last gathered from where. Loops come back to the same
// registers and the same matrices in shared memory, so that most products find their operands by
// one comparison of what is there with what was.

#include <cstring>
#include <unordered_map>

#include "ptx/domain.h"
#include "ptx/field_plane.h"
#include "ptx/field_tile.h"

namespace lathe::ptx::field {

class Gathered {
 public:
  /// From cells of registers, with what they held.
  struct FromCells {
    Operand operand;
    std::vector<Cell> cells;
    struct Run {
      std::size_t at = 0, bytes = 0;
    };
    std::vector<Run> runs;  // The bytes of all cells, adjacent ones together.
    std::vector<std::uint8_t> bits;
    std::vector<Tag> tags;

    void take(const Plane& plane, const Cell* first, unsigned count, unsigned bytes);
    bool holds(const Plane& plane, const Cell* first, unsigned count) const;
  };
  /// From shared memory, a matrix in slices, with the pieces of memory that it lies in.
  struct FromMemory {
    std::vector<Operand> slices;
    const Plane* plane = nullptr;
    std::vector<std::uint32_t> pieces;
    std::uint64_t time = 0;

    bool holds(const Plane* where, const std::vector<std::uint64_t>& stamps) const;
  };

  /// The place for what is gathered from these cells.
  FromCells& at(const Plane& plane, const Cell* cells, unsigned count, unsigned kind);
  FromMemory& at(const std::uint32_t* offsets) { return memories_[offsets]; }
  void forget();

 private:
  static constexpr std::size_t places_max = 4096;
  std::unordered_map<std::uint64_t, FromCells> cells_;
  std::unordered_map<const std::uint32_t*, FromMemory> memories_;  // By their list of offsets.
};

}  // namespace lathe::ptx::field
