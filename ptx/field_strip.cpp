// Strips of numbers: where their lanes come from and go to.

#include "ptx/field_strip.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/wide_loops.h"

namespace lathe::ptx::field {
namespace {

using Lane32 = std::array<std::uint32_t, lane_count>;

/// Bytes of 32 registers of four bytes.
constexpr unsigned strip_bytes = 4 * lane_count;

/// Whether all lanes hold what the first does.
LATHE_WIDE_LOOPS bool is_one(const Tag* tags) {
  Tag differ = 0;
  for (unsigned i = 0; i < strip_bytes; ++i) differ |= tags[i] ^ tags[i % 4];
  return differ == 0;
}

/// What all lanes of a strip must have in common.
bool alike(const Number& a, const Number& b) {
  return a.numerator == b.numerator && a.denominator == b.denominator && a.valid == b.valid &&
         a.taint == b.taint && a.dormant == b.dormant && a.signs == b.signs && a.kind == b.kind &&
         a.fits == b.fits && a.square == b.square &&
         std::bit_cast<std::uint32_t>(a.rounds) == std::bit_cast<std::uint32_t>(b.rounds);
}

bool plain(const Number& a, Type type) {
  return a.finite() && a.term == 0 && a.set == 0 && !a.pending && a.type() == type;
}

/// Whether all of them name elements of inputs, and a number that is likely theirs alone.
LATHE_WIDE_LOOPS bool of_inputs(const Lane32& ids, std::uint32_t& mixed) {
  std::uint32_t sum = 0, outside = 0;
  for (unsigned i = 0; i < lane_count; ++i) {
    outside |= ids[i] - first_input >= lasting - first_input ? 1u : 0u;
    sum += ids[i] * (0x9E3779B1u + 0x7FEB352Cu * i);
  }
  mixed = (sum ^ sum >> 15) * 0x846CA68Bu;
  return outside == 0;
}

}  // namespace

Number Strips::number(std::uint32_t id) const {
  return number_of(at((id - first_strip) / lane_count), (id - first_strip) % lane_count);
}

Number Strips::number_of(const Strip& strip, unsigned lane) const {
  Number out = strip.first;
  out.shadow = strip.shadows[lane];
  for (unsigned slot = 0; slot < field_->point_->slot_count(); ++slot)
    out.r[slot] = strip.r[slot][lane];
  return out;
}

std::uint32_t Strips::new_strip() {
  if (!free_.empty()) {
    std::uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  if (used_ >> chunk_bits == chunks_.size())
    chunks_.push_back(std::make_unique<Strip[]>(std::size_t{1} << chunk_bits));
  return static_cast<std::uint32_t>(used_++);
}

bool Strips::begin(Mask active) {
  constexpr int lanes_min = 8;
  // Whether a polynomial stands for its function, each lane's argument says.
  if (std::popcount(active) < lanes_min || field_->lemma() != nullptr) return false;
  active_ = active;
  if (free_.empty() && used_ >= collect_at_) field_->collect_strips();
  // An instruction makes a few.
  return used_ + 16 < strips_max || free_.size() > 16;
}

void Strips::keep(const std::vector<bool>& live, std::size_t at_least) {
  free_.clear();
  for (auto i = static_cast<std::uint32_t>(used_); i-- > 0;)
    if (!live[i]) free_.push_back(i);
  collect_at_ = used_ - free_.size() + std::max(collect_least, at_least);
  collect_at_ = std::max(collect_at_, 2 * (used_ - free_.size()));
  // What is free is used before more are made.
  collect_at_ = std::max(collect_at_, used_);
  gatherings_.clear();
}

void Strips::clear() {
  used_ = 0;
  free_.clear();
  gatherings_.clear();
  collect_at_ = collect_least;
}

/// The other lanes take the first active one's; false where one of the active has none.
bool Strips::complete(Ids& ids) const {
  std::uint32_t first = ids[static_cast<unsigned>(std::countr_zero(active_))];
  bool all = true;
  for (unsigned lane = 0; lane < lane_count; ++lane)
    if ((active_ >> lane & 1) == 0)
      ids[lane] = first;
    else
      all = all && ids[lane] != 0;
  return all;
}

/// The names of the numbers in the active lanes.
bool Strips::ids_of(const Plane& plane, Spot place, Type type, Ids& ids) const {
  unsigned width = width_of(type) / 8;
  for (Mask left = active_; left != 0; left &= left - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(left));
    const Tag* t = &plane.tags[place + width * lane];
    if (t[0] != 0) {
      bool whole = (t[0] & 7) == 0 && t[1] == t[0] + 1;
      if (width == 4) whole = whole && t[2] == t[0] + 2 && t[3] == t[0] + 3;
      if (!whole || t[0] == poison_tag) return false;
      ids[lane] = t[0] >> 3;
    } else {
      if ((t[1] | (width == 4 ? t[2] | t[3] : 0)) != 0) return false;
      std::uint32_t bits = 0;
      std::memcpy(&bits, &plane.bits[place + width * lane], width);
      ids[lane] = field_->literal(bits, type);
    }
  }
  return complete(ids);
}

StripValue Strips::literal(std::uint32_t id, Type type) {
  std::unique_ptr<Strip>& known = literals_[id];
  if (!known) {
    auto strip = std::make_unique<Strip>();
    Number number = field_->number(id);
    if (!plain(number, type)) return {};
    strip->first = number;
    for (unsigned lane = 0; lane < lane_count; ++lane) take(number, lane, *strip, type);
    known = std::move(strip);
  }
  return plain(known->first, type) ? StripValue{this, known.get(), id, true} : StripValue{};
}

/// The same number in all lanes.
StripValue Strips::uniform(std::uint32_t id, Type type) {
  if (id >= lasting) return id == field_->poison_id() ? StripValue{} : literal(id, type);
  if (!made_here(id) && field_->is_word(id)) return {};
  Strip& single = singles_[next_single_++ % singles_count];
  single.first = field_->number_settled(id);
  return plain(single.first, type) ? StripValue{this, &single, id, true} : StripValue{};
}

/// With all lanes.
const Strip& Strips::filled(const StripValue& value) {
  if (!value.one || value.id >= lasting) return *value.strip;
  Strip& single = singles_[static_cast<std::size_t>(value.strip - singles_.data())];
  single.shadows.fill(single.first.shadow);
  for (unsigned slot = 0; slot < field_->point_->slot_count(); ++slot)
    single.r[slot].fill(single.first.r[slot]);
  return single;
}

/// One lane's number; false where it is not like the first's.
bool Strips::take(const Number& number, unsigned lane, Strip& into, Type type) const {
  if (!plain(number, type) || !alike(number, into.first)) return false;
  into.shadows[lane] = number.shadow;
  for (unsigned slot = 0; slot < field_->point_->slot_count(); ++slot)
    into.r[slot][lane] = number.r[slot];
  return true;
}

/// A strip as it was made.
StripValue Strips::whole_strip(std::uint32_t id, Type type) {
  StripValue found = value((id - first_strip) / lane_count);
  return plain(found.strip->first, type) ? found : StripValue{};
}

StripValue Strips::gathered(const Ids& ids, Type type) {
  bool one = true, row = made_here(ids[0]) && (ids[0] - first_strip) % lane_count == 0;
  for (unsigned lane = 1; lane < lane_count; ++lane) {
    one &= ids[lane] == ids[0];
    row &= ids[lane] == ids[0] + lane;
  }
  if (one) return uniform(ids[0], type);
  if (row) return whole_strip(ids[0], type);
  std::uint32_t mixed = 0;
  Gathering* known = nullptr;
  if (of_inputs(ids, mixed)) {
    if (gatherings_.empty()) gatherings_.resize(std::size_t{1} << gatherings_bits);
    known = &gatherings_[mixed >> (32 - gatherings_bits)];
    if (known->index != none && known->ids == ids)
      return whole_strip(first_strip + known->index * lane_count, type);
  }
  for (std::uint32_t id : ids)
    if (id == field_->poison_id() || (!made_here(id) && field_->is_word(id))) return {};
  std::uint32_t index = new_strip();
  if (!fill(at(index), ids, type)) {
    free_.push_back(index);
    return {};
  }
  if (known != nullptr) *known = {ids, index};
  return value(index);
}

/// False where the numbers have too little in common.
bool Strips::fill(Strip& strip, const Ids& ids, Type type) const {
  strip.first = field_->number_settled(ids[0]);
  bool one = std::all_of(ids.begin(), ids.end(), [&](std::uint32_t id) { return id == ids[0]; });
  unsigned slots = field_->point_->slot_count();
  if (one && plain(strip.first, type)) {
    strip.shadows.fill(strip.first.shadow);
    for (unsigned slot = 0; slot < slots; ++slot) strip.r[slot].fill(strip.first.r[slot]);
    return true;
  }
  bool good = !strip.first.is(literal_bits);
  for (unsigned lane = 0; lane < lane_count && good;) {
    std::uint32_t id = ids[lane];
    if (made_here(id)) {
      const Strip& from = at((id - first_strip) / lane_count);
      good = alike(from.first, strip.first) && plain(from.first, type);
      unsigned source = (id - first_strip) % lane_count, count = 1;
      while (lane + count < lane_count && source + count < lane_count &&
             ids[lane + count] == id + count)
        ++count;
      std::copy_n(&from.shadows[source], count, &strip.shadows[lane]);
      for (unsigned slot = 0; slot < slots; ++slot)
        std::copy_n(&from.r[slot][source], count, &strip.r[slot][lane]);
      lane += count;
    } else {
      good = take(field_->number_settled(id), lane, strip, type);
      ++lane;
    }
    for (; lane < lane_count && ids[lane] == ids[lane - 1]; ++lane) {
      strip.shadows[lane] = strip.shadows[lane - 1];
      for (unsigned slot = 0; slot < slots; ++slot) strip.r[slot][lane] = strip.r[slot][lane - 1];
    }
  }
  return good;
}

/// A register's numbers as a strip. Where they were not one, they are from now on: by another name,
/// with the same values.
StripValue Strips::load(Field::Lanes& lanes, Spot place, Type type) {
  unsigned width = width_of(type) / 8;
  if (active_ == every_lane) {
    bool known = false;
    StripValue found = load_content(*lanes.registers, place, type, known);
    if (known) return found;
  }
  Registers& plane = lanes.settled(place, lane_count * width);
  Tag* tags = &plane.tags[place];
  std::uint32_t id = tags[0] >> 3;
  bool wide = active_ == every_lane && width == 4;
  if (wide && made_here(id) && (id - first_strip) % lane_count == 0 && look_at_row(tags).names) {
    field_->put_names(plane, place, id, 1, 4, false);
    return whole_strip(id, type);
  }
  Ids ids;
  bool whole = wide && (tags[0] & 7) == 0 && tags[0] != 0 && tags[1] == tags[0] + 1 &&
               tags[2] == tags[0] + 2 && tags[3] == tags[0] + 3;
  if (whole && is_one(tags))
    ids.fill(id);
  else if (!ids_of(plane, place, type, ids))
    return {};
  StripValue made = gathered(ids, type);
  if (made.strip != nullptr && active_ == every_lane && !made.one)
    field_->put_names(plane, place, made.id, 1, width, false);
  return made;
}

/// Of a register of which one thing says what it holds; `known` where nothing else need be looked
/// at.
StripValue Strips::load_content(Registers& registers, Spot place, Type type, bool& known) {
  const Content content = registers.content(place);
  unsigned width = width_of(type) / 8, bytes = lane_count * width;
  if (content.kind == Content::exact && registers.holds(place, bytes, Content::exact)) {
    const std::uint8_t* bits = &registers.bits[place];
    std::uint32_t first = 0;
    std::memcpy(&first, bits, width);
    known = std::memcmp(bits, bits + width, bytes - width) == 0;
    return known ? uniform(field_->literal(first, type), type) : StripValue{};
  }
  known = content.kind == Content::names && content.width == width &&
          registers.holds(place, bytes, Content::names);
  if (!known) return {};
  if (content.step == 0) return uniform(content.id, type);
  Ids ids;
  for (std::uint32_t lane = 0; lane < lane_count; ++lane)
    ids[lane] = content.id + content.step * lane;
  StripValue made = gathered(ids, type);
  if (made.strip != nullptr && made.id != content.id)
    field_->put_names(registers, place, made.id, 1, width, false);
  return made;
}

void Strips::store(Field::Lanes& lanes, Spot place, const StripValue& value, bool fresh) {
  unsigned width = width_of(value.strip->first.type()) / 8;
  if (active_ == every_lane)
    return field_->put_names(*lanes.registers, place, value.id, value.one ? 0 : 1, width,
                             fresh && !value.one);
  Tag* tags = &lanes.settled(place, lane_count * width).tags[place];
  for (unsigned lane = 0; lane < lane_count; ++lane)
    for (unsigned byte = 0; (active_ >> lane & 1) != 0 && byte < width; ++byte)
      tags[width * lane + byte] = (value.id + (value.one ? 0 : lane)) << 3 | byte;
}

}  // namespace lathe::ptx::field
