// What of the field domain's registers is exact, and which names registers and memory still hold.

#include <algorithm>
#include <bit>

#include "base/wide_loops.h"
#include "ptx/field.h"
#include "ptx/field_gathered.h"
#include "ptx/field_strip.h"

namespace lathe::ptx::field {
namespace {

LATHE_WIDE_LOOPS Tag any_of(const Tag* tags, unsigned count) {
  Tag any = 0;
  for (unsigned i = 0; i < count; ++i) any |= tags[i];
  return any;
}

/// Tags looked at together: most memory holds nothing of what is asked for.
constexpr std::size_t tags_at_once = 64;
LATHE_WIDE_LOOPS bool any_named(const Tag* tags, std::uint32_t begin, std::uint32_t limit) {
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < tags_at_once; ++i) found |= (tags[i] >> 3) - begin < limit ? 1u : 0u;
  return found != 0;
}

}  // namespace

bool Field::all_exact(const Lanes& lanes, Spot place, unsigned width, Mask mask) {
  const Tag* tags = &lanes.plane->tags[place];
  if (mask == every_lane) return any_of(tags, lane_count * width) == 0;
  Tag any = 0;
  for (; mask != 0; mask &= mask - 1) {
    const Tag* lane = tags + static_cast<unsigned>(std::countr_zero(mask)) * width;
    for (unsigned i = 0; i < width; ++i) any |= lane[i];
  }
  return any == 0;
}

void Field::mark_exact(Lanes& lanes, Spot place, unsigned width, Mask mask) {
  Tag* tags = &lanes.plane->tags[place];
  if (mask == every_lane) {
    std::fill_n(tags, lane_count * width, 0);
    return;
  }
  for (; mask != 0; mask &= mask - 1)
    std::fill_n(tags + static_cast<unsigned>(std::countr_zero(mask)) * width, width, 0);
}

bool Field::exact_all(const Lanes& lanes, Spot place, unsigned width, Mask mask,
                      std::array<std::uint64_t, lane_count>& bits) const {
  if ((width != 4 && width != 8) || !all_exact(lanes, place, width, mask)) return false;
  const std::uint8_t* at = &lanes.plane->bits[place];
  if (width == 8) {
    std::memcpy(bits.data(), at, sizeof bits);
    return true;
  }
  std::array<std::uint32_t, lane_count> words;
  std::memcpy(words.data(), at, sizeof words);
  std::copy(words.begin(), words.end(), bits.begin());
  return true;
}

void Field::put_lanes(Lanes& lanes, Spot place, const std::array<std::uint64_t, lane_count>& bits,
                      Mask mask) {
  for (unsigned lane = 0; lane < lane_count; ++lane)
    if ((mask >> lane & 1) != 0) std::memcpy(&lanes.plane->bits[place + 4 * lane], &bits[lane], 4);
  mark_exact(lanes, place, 4, mask);
}

std::optional<Mask> Field::truths(const Lanes& lanes, Spot place, Mask mask) const {
  if (!all_exact(lanes, place, 4, mask)) return std::nullopt;
  Mask out = 0;
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &lanes.plane->bits[place + 4 * std::size_t{lane}], 4);
    out |= Mask{bits != 0} << lane;
  }
  return out & mask;
}

std::vector<bool> Field::live(std::uint32_t begin, std::size_t count, unsigned each) const {
  std::vector<bool> live(count);
  auto limit = static_cast<std::uint32_t>(count * each);
  auto shift = static_cast<unsigned>(std::countr_zero(each));
  for (const std::weak_ptr<Plane>& weak : planes_)
    if (std::shared_ptr<Plane> plane = weak.lock())
      for (std::size_t first = 0; first < plane->tags.size(); first += tags_at_once) {
        std::size_t end = std::min(first + tags_at_once, plane->tags.size());
        const Tag* tags = plane->tags.data();
        if (end - first == tags_at_once && !any_named(tags + first, begin, limit)) continue;
        for (std::size_t i = first; i < end; ++i) {
          std::uint32_t at = (tags[i] >> 3) - begin;  // Below `begin` it becomes huge.
          if (at < limit) live[at >> shift] = true;
        }
      }
  for (std::uint32_t id : float_sources_)
    if (std::uint32_t at = id - begin; at < limit) live[at >> shift] = true;
  return live;
}

/// So many bytes are looked at to find what is live.
std::size_t Field::looked_at() const {
  std::size_t sum = 0;
  for (const std::weak_ptr<Plane>& weak : planes_)
    if (std::shared_ptr<Plane> plane = weak.lock()) sum += plane->tags.size();
  return sum;
}

void Field::collect_tiles() {
  tiles_->keep(live(first_tile, tiles_->size(), tile_elements));
  gathered_->forget();
}

void Field::collect_strips() {
  tiles_->forget_operands();
  gathered_->forget();
  strips_->keep(live(first_strip, strips_->size(), lane_count), looked_at() / lane_count);
}

void Field::collect() {
  std::vector<bool> live = this->live(0, numbers_.size(), 1);
  tiles_->forget_operands();
  gathered_->forget();
  for (std::uint32_t id = 1; id < numbers_.size(); ++id)
    if (!live[id]) free_.push_back(id);
  // Not so often that looking at all registers and memory is most of the work.
  collect_at_ = std::max({collect_least, 2 * (numbers_.size() - free_.size()), looked_at() / 4});
}

}  // namespace lathe::ptx::field
