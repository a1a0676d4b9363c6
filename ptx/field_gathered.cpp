// Comparing what is there with what was gathered.

#include "ptx/field_gathered.h"

#include <algorithm>

namespace lathe::ptx::field {

static_assert(std::has_unique_object_representations_v<Cell>);

void Gathered::FromCells::take(const Plane& plane, const Cell* first, unsigned count,
                               unsigned bytes) {
  bool same_cells = cells.size() == count &&
                    std::memcmp(cells.data(), first, count * sizeof(Cell)) == 0 && !runs.empty();
  if (!same_cells) {
    cells.assign(first, first + count);
    std::vector<std::size_t> places;
    for (const Cell& cell : cells) places.push_back(cell.at());
    std::sort(places.begin(), places.end());
    runs.clear();
    for (std::size_t at : places) {
      if (!runs.empty() && at <= runs.back().at + runs.back().bytes)
        runs.back().bytes = std::max(runs.back().bytes, at + bytes - runs.back().at);
      else
        runs.push_back({at, bytes});
    }
  }
  bits.clear();
  tags.clear();
  for (const Run& run : runs) {
    bits.insert(bits.end(), &plane.bits[run.at], &plane.bits[run.at] + run.bytes);
    tags.insert(tags.end(), &plane.tags[run.at], &plane.tags[run.at] + run.bytes);
  }
}

bool Gathered::FromCells::holds(const Plane& plane, const Cell* first, unsigned count) const {
  if (!operand || cells.size() != count ||
      std::memcmp(cells.data(), first, count * sizeof(Cell)) != 0)
    return false;
  std::size_t done = 0;
  for (const Run& run : runs) {
    if (std::memcmp(&tags[done], &plane.tags[run.at], run.bytes * sizeof(Tag)) != 0 ||
        std::memcmp(&bits[done], &plane.bits[run.at], run.bytes) != 0)
      return false;
    done += run.bytes;
  }
  return true;
}

bool Gathered::FromMemory::holds(const Plane* where,
                                 const std::vector<std::uint64_t>& stamps) const {
  if (slices.empty() || where != plane) return false;
  std::uint64_t last = 0;
  for (std::uint32_t piece : pieces) last = std::max(last, stamps[piece]);
  return last <= time;
}

Gathered::FromCells& Gathered::at(const Plane& plane, const Cell* cells, unsigned count,
                                  unsigned kind) {
  std::uint64_t key = mix(reinterpret_cast<std::uintptr_t>(&plane) ^ std::uint64_t{kind} << 56,
                          cells[0].at() << 32 ^ cells[count - 1].at());
  if (cells_.size() >= places_max && !cells_.contains(key)) cells_.clear();
  return cells_[key];
}

void Gathered::forget() {
  for (auto& [key, held] : cells_)
    if (held.operand && !held.operand->lasts) held.operand.reset();
  for (auto& [key, held] : memories_)
    if (std::any_of(held.slices.begin(), held.slices.end(),
                    [](const Operand& slice) { return !slice->lasts; }))
      held.slices.clear();
}

}  // namespace lathe::ptx::field
