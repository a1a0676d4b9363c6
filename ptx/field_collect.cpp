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
  if (lanes.registers->holds(place, lane_count * width, Content::exact)) return true;
  const Tag* tags = &lanes.settled(place, lane_count * width).tags[place];
  if (mask == every_lane) {
    if (any_of(tags, lane_count * width) != 0) return false;
    lanes.registers->put(place, lane_count * width, {0, 0, Content::exact});
    return true;
  }
  Tag any = 0;
  for (; mask != 0; mask &= mask - 1) {
    const Tag* lane = tags + static_cast<unsigned>(std::countr_zero(mask)) * width;
    for (unsigned i = 0; i < width; ++i) any |= lane[i];
  }
  return any == 0;
}

void Field::mark_exact(Lanes& lanes, Spot place, unsigned width, Mask mask) {
  if (mask == every_lane || lanes.registers->holds(place, lane_count * width, Content::exact))
    return lanes.registers->put(place, lane_count * width, {0, 0, Content::exact});
  Tag* tags = &lanes.settled(place, lane_count * width).tags[place];
  for (; mask != 0; mask &= mask - 1)
    std::fill_n(tags + static_cast<unsigned>(std::countr_zero(mask)) * width, width, 0);
}

bool Field::exact_all(const Lanes& lanes, Spot place, unsigned width, Mask mask,
                      std::array<std::uint64_t, lane_count>& bits) const {
  if ((width != 4 && width != 8) || !all_exact(lanes, place, width, mask)) return false;
  const std::uint8_t* at = &lanes.registers->bits[place];
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
    if ((mask >> lane & 1) != 0)
      std::memcpy(&lanes.registers->bits[place + 4 * lane], &bits[lane], 4);
  mark_exact(lanes, place, 4, mask);
}

std::optional<Mask> Field::truths(const Lanes& lanes, Spot place, Mask mask) const {
  if (!all_exact(lanes, place, 4, mask)) return std::nullopt;
  Mask out = 0;
  for (unsigned lane = 0; lane < lane_count; ++lane) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &lanes.registers->bits[place + 4 * std::size_t{lane}], 4);
    out |= Mask{bits != 0} << lane;
  }
  return out & mask;
}

namespace {

/// Bytes of 32 registers of four bytes, and which number each is of, from the first's on.
constexpr unsigned row_bytes = 4 * lane_count;
constexpr std::array<Tag, row_bytes> byte_steps = [] {
  std::array<Tag, row_bytes> out{};
  for (unsigned i = 0; i < row_bytes; ++i) out[i] = i / 4 << 3 | i % 4;
  return out;
}();

}  // namespace

LATHE_WIDE_LOOPS RowLook look_at_row(const Tag* tags) {
  Tag any = 0, differ = 0, first = tags[0];
  for (unsigned i = 0; i < row_bytes; ++i) {
    any |= tags[i];
    differ |= tags[i] ^ (first + byte_steps[i]);
  }
  return {any == 0, differ == 0 && (first & 7) == 0 && first != 0};
}

void Field::put_names(Registers& to, Spot place, std::uint32_t id, unsigned step, unsigned width,
                      bool owned) {
  strips_->release(to, place, lane_count * width);
  Content content{id, static_cast<std::uint16_t>(step), Content::names,
                  static_cast<std::uint8_t>(width)};
  content.owned = owned;
  to.put(place, lane_count * width, content);
}

/// Four bytes of shared, local or parameter memory to all lanes of a register; false where they are
/// no whole number and not exact.
bool Field::read_one(const Region& from, std::uint64_t offset, Registers& to, Spot place) {
  const Tag* tags = &from.plane->tags[offset];
  if ((tags[0] | tags[1] | tags[2] | tags[3]) == 0) {
    for (std::size_t at = place; at < place + row_bytes; at += 4)
      std::memcpy(&to.bits[at], &from.plane->bits[offset], 4);
    strips_->release(to, place, row_bytes);
    to.put(place, row_bytes, {0, 0, Content::exact});
    return true;
  }
  Tag first = tags[0];
  if ((first & 7) != 0 || first == 0 || tags[1] != first + 1 || tags[2] != first + 2 ||
      tags[3] != first + 3)
    return false;
  put_names(to, place, first >> 3, 0, 4, false);
  return true;
}

/// Lane after lane as in memory.
void Field::read_row(const Region& from, std::uint64_t offset, Registers& to, Spot place,
                     unsigned each) {
  const Tag* tags = &from.plane->tags[offset];
  std::size_t bytes = std::size_t{lane_count} * each;
  RowLook row = each == 4 ? look_at_row(tags) : RowLook{};
  if (row.names) return put_names(to, place, tags[0] >> 3, 1, 4, false);
  strips_->release(to, place, bytes);
  std::memcpy(&to.bits[place], &from.plane->bits[offset], bytes);
  bool exact = each == 4 ? row.exact : any_of(tags, static_cast<unsigned>(bytes)) == 0;
  to.put(place, bytes, {0, 0, exact ? Content::exact : Content::by_tags});
  if (!exact) std::memcpy(&to.tags[place], tags, bytes * sizeof(Tag));
}

void Field::copy_register(Lanes& to, Spot to_place, const Lanes& from, Spot place, unsigned width) {
  Registers &target = *to.registers, &source = *from.registers;
  std::size_t bytes = std::size_t{lane_count} * width;
  Content content = source.content(place);
  if (content.kind == Content::by_tags || !source.holds(place, bytes, content.kind)) {
    source.settle(place, bytes);
    content = {};
  }
  content.owned = false;
  if (content.kind != Content::by_tags) source.put(place, bytes, content);
  if (content.kind != Content::names)
    std::memmove(&target.bits[to_place], &source.bits[place], bytes);
  if (content.kind == Content::by_tags)
    std::memmove(&target.tags[to_place], &source.tags[place], bytes * sizeof(Tag));
  if (&target != &source || to_place != place) strips_->release(target, to_place, bytes);
  target.put(to_place, bytes, content);
}

void Registers::write_out(std::size_t part) {
  const Content content = contents_[part];
  contents_[part] = {};
  Tag* to = &tags[part * part_bytes];
  if (content.kind == Content::exact) {
    std::fill_n(to, part_bytes, 0);
    return;
  }
  unsigned lanes = part_bytes / content.width, first = content.part * lanes;
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned byte = 0; byte < content.width; ++byte)
      *to++ = (content.id + content.step * (first + lane)) << 3 | byte;
}

std::vector<bool> Field::live(std::uint32_t begin, std::size_t count, unsigned each) const {
  std::vector<bool> live(count);
  auto limit = static_cast<std::uint32_t>(count * each);
  auto shift = static_cast<unsigned>(std::countr_zero(each));
  auto mark = [&](std::uint32_t id) {
    std::uint32_t at = id - begin;  // Below `begin` it becomes huge.
    if (at < limit) live[at >> shift] = true;
  };
  auto look = [&](const Tag* tags, std::size_t many) {
    if (many == tags_at_once && !any_named(tags, begin, limit)) return;
    for (std::size_t i = 0; i < many; ++i) mark(tags[i] >> 3);
  };
  static_assert(tags_at_once == Registers::part_bytes);
  for (const std::weak_ptr<Plane>& weak : planes_)
    if (std::shared_ptr<Plane> plane = weak.lock())
      for (std::size_t first = 0; first < plane->tags.size(); first += tags_at_once)
        look(&plane->tags[first], std::min(tags_at_once, plane->tags.size() - first));
  for (const std::weak_ptr<Registers>& weak : registers_)
    if (std::shared_ptr<Registers> held = weak.lock())
      for (std::size_t i = 0; i < held->contents().size(); ++i) {
        const Content& content = held->contents()[i];
        std::size_t first = i * tags_at_once;
        if (content.kind == Content::by_tags && first < held->tags.size())
          look(&held->tags[first], std::min(tags_at_once, held->tags.size() - first));
        if (content.kind != Content::names) continue;
        unsigned lanes = Registers::part_bytes / content.width;
        for (unsigned lane = 0; lane < lanes; ++lane)
          mark(content.id + content.step * (content.part * lanes + lane));
      }
  for (std::uint32_t id : float_sources_) mark(id);
  return live;
}

/// So many bytes are looked at to find what is live.
std::size_t Field::looked_at() const {
  std::size_t sum = 0;
  for (const std::weak_ptr<Plane>& weak : planes_)
    if (std::shared_ptr<Plane> plane = weak.lock()) sum += plane->tags.size();
  for (const std::weak_ptr<Registers>& weak : registers_)
    if (std::shared_ptr<Registers> held = weak.lock()) sum += held->tags.size();
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
