// Arithmetic over strips.

#include "ptx/field_strip.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/wide_loops.h"

namespace lathe::ptx::field {
namespace {

using Lane32 = std::array<std::uint32_t, lane_count>;
using Shadows = std::array<double, lane_count>;

/// Bytes of 32 registers of four bytes, and which number each is of, from the first's on.
constexpr unsigned strip_bytes = 4 * lane_count;
constexpr std::array<Tag, strip_bytes> byte_steps = [] {
  std::array<Tag, strip_bytes> out{};
  for (unsigned i = 0; i < strip_bytes; ++i) out[i] = i / 4 << 3 | i % 4;
  return out;
}();

LATHE_WIDE_LOOPS bool is_row(const Tag* tags, Tag first) {
  Tag differ = 0;
  for (unsigned i = 0; i < strip_bytes; ++i) differ |= tags[i] ^ (first + byte_steps[i]);
  return differ == 0;
}

/// Whether all lanes hold what the first does.
LATHE_WIDE_LOOPS bool is_one(const Tag* tags) {
  Tag differ = 0;
  for (unsigned i = 0; i < strip_bytes; ++i) differ |= tags[i] ^ tags[i % 4];
  return differ == 0;
}

inline std::uint32_t wrapped(std::uint32_t x, std::uint32_t p) {
  return x + (static_cast<std::uint32_t>(static_cast<std::int32_t>(x) >> 31) & p);
}

/// In Montgomery form, as Moduli has it.
inline std::uint32_t product(std::uint32_t a, std::uint32_t b, std::uint32_t p, std::uint32_t n) {
  std::uint64_t wide = std::uint64_t{a} * b;
  std::uint64_t whole = std::uint64_t{static_cast<std::uint32_t>(wide) * n} * p;
  return wrapped(static_cast<std::uint32_t>(wide >> 32) - static_cast<std::uint32_t>(whole >> 32),
                 p);
}

/// How the slots of a strip are computed with.
struct Modulus {
  std::uint32_t p, n;
};
using Modules = std::array<Modulus, slots_max>;

LATHE_WIDE_LOOPS void multiply(const Strip& a, const Strip& b, Strip& out, const Modules& m,
                               unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot)
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = product(a.r[slot][i], b.r[slot][i], m[slot].p, m[slot].n);
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = a.shadows[i] * b.shadows[i];
}
LATHE_WIDE_LOOPS void multiply_by(const Number& a, const Strip& b, Strip& out, const Modules& m,
                                  unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot)
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = product(a.r[slot], b.r[slot][i], m[slot].p, m[slot].n);
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = a.shadow * b.shadows[i];
}
LATHE_WIDE_LOOPS void fuse(const Strip& a, const Strip& b, const Strip& c, Strip& out,
                           const Modules& m, unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot) {
    const std::uint32_t p = m[slot].p, n = m[slot].n;
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = wrapped(product(a.r[slot][i], b.r[slot][i], p, n) - (p - c.r[slot][i]), p);
  }
  for (unsigned i = 0; i < lane_count; ++i)
    out.shadows[i] = a.shadows[i] * b.shadows[i] + c.shadows[i];
}
LATHE_WIDE_LOOPS void fuse_by(const Number& a, const Strip& b, const Strip& c, Strip& out,
                              const Modules& m, unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot) {
    const std::uint32_t p = m[slot].p, n = m[slot].n, factor = a.r[slot];
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = wrapped(product(factor, b.r[slot][i], p, n) - (p - c.r[slot][i]), p);
  }
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = a.shadow * b.shadows[i] + c.shadows[i];
}
LATHE_WIDE_LOOPS void add_lanes(const Strip& a, const Strip& b, Strip& out, const Modules& m,
                                unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot)
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = wrapped(a.r[slot][i] - (m[slot].p - b.r[slot][i]), m[slot].p);
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = a.shadows[i] + b.shadows[i];
}
LATHE_WIDE_LOOPS void subtract_lanes(const Strip& a, const Strip& b, Strip& out, const Modules& m,
                                     unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot)
    for (unsigned i = 0; i < lane_count; ++i)
      out.r[slot][i] = wrapped(a.r[slot][i] - b.r[slot][i], m[slot].p);
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = a.shadows[i] - b.shadows[i];
}
LATHE_WIDE_LOOPS void negate_lanes(const Strip& a, Strip& out, const Modules& m, unsigned slots) {
  for (unsigned slot = 0; slot < slots; ++slot)
    for (unsigned i = 0; i < lane_count; ++i) out.r[slot][i] = wrapped(0 - a.r[slot][i], m[slot].p);
  for (unsigned i = 0; i < lane_count; ++i) out.shadows[i] = -a.shadows[i];
}

Modules modules_of(const Moduli& moduli) {
  Modules out{};
  for (unsigned slot = 0; slot < moduli.count(); ++slot)
    out[slot] = {moduli.p(slot), moduli.low_inverse(slot)};
  return out;
}

/// What all lanes of a strip must have in common.
bool alike(const Number& a, const Number& b) {
  return a.numerator == b.numerator && a.denominator == b.denominator && a.valid == b.valid &&
         a.taint == b.taint && a.dormant == b.dormant && a.signs == b.signs && a.kind == b.kind &&
         a.fits == b.fits && a.square == b.square &&
         std::bit_cast<std::uint32_t>(a.rounds) == std::bit_cast<std::uint32_t>(b.rounds);
}

bool plain(const Number& a, Type type = Type::f32) {
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

/// `.sat` and `.relu` compare.
bool compares(Form f) { return f.has(Flag::sat) || f.has(Flag::relu); }

/// A sum with a literal of such a size rounds to an integer, which is more than a sum.
bool rounds(const Strip& strip) {
  double magnitude = std::fabs(strip.first.shadow);
  return strip.first.is(literal_bits) && magnitude >= 0x1p22 && magnitude < 0x1p24;
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
bool Strips::ids_of(const Plane& plane, Spot place, Ids& ids) const {
  for (Mask left = active_; left != 0; left &= left - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(left));
    const Tag* t = &plane.tags[place + 4 * lane];
    if (t[0] != 0) {
      bool whole = (t[0] & 7) == 0 && t[1] == t[0] + 1 && t[2] == t[0] + 2 && t[3] == t[0] + 3;
      if (!whole || t[0] == poison_tag) return false;
      ids[lane] = t[0] >> 3;
    } else {
      if ((t[1] | t[2] | t[3]) != 0) return false;
      std::uint32_t bits = 0;
      std::memcpy(&bits, &plane.bits[place + 4 * lane], 4);
      ids[lane] = field_->literal(bits, Type::f32);
    }
  }
  return complete(ids);
}

/// The same of a register of two bytes a lane.
bool Strips::short_ids_of(const Plane& plane, Spot place, Type type, Ids& ids) const {
  for (Mask left = active_; left != 0; left &= left - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(left));
    const Tag* t = &plane.tags[place + 2 * lane];
    if (t[0] != 0) {
      if ((t[0] & 7) != 0 || t[1] != t[0] + 1 || t[0] == poison_tag) return false;
      ids[lane] = t[0] >> 3;
    } else {
      if (t[1] != 0) return false;
      std::uint16_t bits = 0;
      std::memcpy(&bits, &plane.bits[place + 2 * lane], 2);
      ids[lane] = field_->literal(bits, type);
    }
  }
  return complete(ids);
}

StripValue Strips::literal(std::uint32_t id) {
  std::unique_ptr<Strip>& known = literals_[id];
  if (!known) {
    auto strip = std::make_unique<Strip>();
    Number number = field_->number(id);
    if (!plain(number)) return {};
    strip->first = number;
    for (unsigned lane = 0; lane < lane_count; ++lane) take(number, lane, *strip, Type::f32);
    known = std::move(strip);
  }
  return {this, known.get(), id, true};
}

/// The same number in all lanes.
StripValue Strips::uniform(std::uint32_t id) {
  if (id >= lasting) return id == field_->poison_id() ? StripValue{} : literal(id);
  if (!made_here(id) && field_->is_word(id)) return {};
  Strip& single = singles_[next_single_++ % singles_count];
  single.first = field_->number_settled(id);
  return plain(single.first) ? StripValue{this, &single, id, true} : StripValue{};
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

StripValue Strips::gathered(const Ids& ids, Type type) {
  bool one = std::all_of(ids.begin(), ids.end(), [&](std::uint32_t id) { return id == ids[0]; });
  if (one && type == Type::f32) return uniform(ids[0]);
  std::uint32_t mixed = 0;
  Gathering* known = nullptr;
  if (of_inputs(ids, mixed)) {
    if (gatherings_.empty()) gatherings_.resize(std::size_t{1} << gatherings_bits);
    known = &gatherings_[mixed >> (32 - gatherings_bits)];
    if (known->index != none && known->ids == ids) return value(known->index);
  }
  for (std::uint32_t id : ids)
    if (id == field_->poison_id() || (!made_here(id) && field_->is_word(id))) return {};
  std::uint32_t index = new_strip();
  Strip& strip = at(index);
  if (!fill(strip, ids, type)) {
    free_.push_back(index);
    return {};
  }
  if (known != nullptr) *known = {ids, index};
  return type == Type::f32 ? value(index) : finished(index, strip.first, true);
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

StripValue Strips::widened(const Field::Lanes& lanes, Spot place, Type from) {
  Ids ids;
  return short_ids_of(lanes.settled(place, strip_bytes / 2), place, from, ids)
             ? gathered(ids, from)
             : StripValue{};
}

/// A register's numbers as a strip. Where they were not one, they are from now on: by another name,
/// with the same values.
StripValue Strips::load(Field::Lanes& lanes, Spot place) {
  bool known = false;
  if (active_ == every_lane) {
    StripValue found = load_content(*lanes.registers, place, known);
    if (known) return found;
  }
  Registers& plane = lanes.settled(place, strip_bytes);
  Tag* tags = &plane.tags[place];
  std::uint32_t id = tags[0] >> 3;
  if (active_ == every_lane && made_here(id) && (id - first_strip) % lane_count == 0 &&
      is_row(tags, tags[0])) {
    StripValue found = value((id - first_strip) / lane_count);
    field_->put_names(plane, place, id, 1, 4, false);
    return plain(found.strip->first) ? found : StripValue{};
  }
  Ids ids;
  bool whole = (tags[0] & 7) == 0 && tags[0] != 0 && tags[1] == tags[0] + 1 &&
               tags[2] == tags[0] + 2 && tags[3] == tags[0] + 3;
  if (active_ == every_lane && whole && is_one(tags))
    ids.fill(id);
  else if (!ids_of(plane, place, ids))
    return {};
  StripValue made = gathered(ids);
  if (made.strip != nullptr && active_ == every_lane && !made.one && made_here(made.id))
    field_->put_names(plane, place, made.id, 1, 4, false);
  return made;
}

/// Of a register that has a form; `known` where nothing else need be looked at.
StripValue Strips::load_content(Registers& registers, Spot place, bool& known) {
  const Content content = registers.content(place);
  if (content.kind == Content::exact && registers.holds(place, strip_bytes, Content::exact)) {
    const std::uint8_t* bits = &registers.bits[place];
    std::uint32_t first = 0;
    std::memcpy(&first, bits, sizeof first);
    known = std::memcmp(bits, bits + sizeof first, strip_bytes - sizeof first) == 0;
    return known ? uniform(field_->literal(first, Type::f32)) : StripValue{};
  }
  known = content.kind == Content::names && content.width == 4 &&
          registers.holds(place, strip_bytes, Content::names);
  if (!known) return {};
  if (content.step == 0) return uniform(content.id);
  if (content.step == 1 && made_here(content.id) && (content.id - first_strip) % lane_count == 0) {
    StripValue found = value((content.id - first_strip) / lane_count);
    return plain(found.strip->first) ? found : StripValue{};
  }
  Ids ids;
  for (std::uint32_t lane = 0; lane < lane_count; ++lane) ids[lane] = content.id + content.step * lane;
  StripValue made = gathered(ids);
  if (made.strip != nullptr && !made.one && made_here(made.id))
    field_->put_names(registers, place, made.id, 1, 4, false);
  return made;
}

void Strips::store(Field::Lanes& lanes, Spot place, const StripValue& value, bool fresh) {
  if (active_ == every_lane)
    return field_->put_names(*lanes.registers, place, value.id, value.one ? 0 : 1, 4,
                             fresh && !value.one);
  Tag* tags = &lanes.settled(place, strip_bytes).tags[place];
  for (unsigned i = 0; i < strip_bytes; ++i)
    if ((active_ >> i / 4 & 1) != 0) tags[i] = (value.id << 3) + byte_steps[i];
}

/// Of a square it is known that it is not negative: which lanes are squares must be the same.
bool Strips::ambiguous_square(const StripValue& a, const StripValue& b) const {
  const Strip &x = *a.strip, &y = *b.strip;
  if (&x == &y || x.first.shadow != y.first.shadow || !equal(x.first.r, y.first.r)) return false;
  return a.one != b.one || (!a.one && (x.shadows != y.shadows || x.r != y.r));
}

/// Residues and shadows are there; `first` says all else, as for the first lane alone.
StripValue Strips::finished(std::uint32_t index, Number first, bool exact) {
  Strip& strip = at(index);
  Arithmetic::put_in_format(first, Type::f32, exact);
  strip.first = first;
  strip.first.shadow = strip.shadows[0];
  for (unsigned slot = 0; slot < field_->point_->slot_count(); ++slot) {
    if ((first.valid >> slot & 1) == 0) strip.r[slot].fill(0);
    strip.first.r[slot] = strip.r[slot][0];
  }
  note_magnitudes(strip);
  return value(index);
}

StripValue Strips::sum(Form f, const StripValue& a, const StripValue& b, bool less) {
  if (a.strip == nullptr || b.strip == nullptr || compares(f)) return {};
  if (rounds(*a.strip) || rounds(*b.strip)) return {};
  const Strip &x = filled(a), &y = filled(b);
  std::uint32_t index = new_strip();
  Strip& out = at(index);
  const Moduli& m = field_->point_->moduli();
  (less ? subtract_lanes : add_lanes)(x, y, out, modules_of(m), m.count());
  Arithmetic& arithmetic = field_->arithmetic_;
  bool exact = x.first.zero() || y.first.zero();
  StripValue result = finished(
      index, less ? arithmetic.sub(x.first, y.first) : arithmetic.add(x.first, y.first), exact);
  if (!exact && x.first.rounds.count[0] + y.first.rounds.count[0] != 0)
    note_sum(x.shadows, y.shadows, out);
  return result;
}

StripValue Strips::mul(Form f, const StripValue& a, const StripValue& b) {
  if (a.strip == nullptr || b.strip == nullptr || compares(f) || ambiguous_square(a, b)) return {};
  const Strip &x = *a.strip, &y = *b.strip;
  std::uint32_t index = new_strip();
  Strip& out = at(index);
  const Moduli& m = field_->point_->moduli();
  if (a.one)
    multiply_by(x.first, filled(b), out, modules_of(m), m.count());
  else if (b.one)
    multiply_by(y.first, x, out, modules_of(m), m.count());
  else
    multiply(x, y, out, modules_of(m), m.count());
  return finished(index, field_->arithmetic_.mul(x.first, y.first),
                  moves_exponent<Type::f32>(x.first) || moves_exponent<Type::f32>(y.first));
}

StripValue Strips::fused(Form f, const StripValue& a, const StripValue& b, const StripValue& c) {
  if (a.strip == nullptr || b.strip == nullptr || c.strip == nullptr || compares(f) ||
      ambiguous_square(a, b))
    return {};
  if (rounds(*c.strip)) return {};
  const Strip &x = *a.strip, &y = *b.strip, &z = filled(c);
  std::uint32_t index = new_strip();
  Strip& out = at(index);
  const Moduli& m = field_->point_->moduli();
  if (a.one)
    fuse_by(x.first, filled(b), z, out, modules_of(m), m.count());
  else if (b.one)
    fuse_by(y.first, x, z, out, modules_of(m), m.count());
  else
    fuse(x, y, z, out, modules_of(m), m.count());
  Arithmetic& arithmetic = field_->arithmetic_;
  StripValue result =
      finished(index, arithmetic.add(arithmetic.mul(x.first, y.first), z.first), false);
  if (x.first.rounds.count[0] + y.first.rounds.count[0] + z.first.rounds.count[0] != 0 &&
      !z.first.zero())
    note_fused(a, b, z, out);
  return result;
}

StripValue Strips::negate(const StripValue& a) {
  if (a.strip == nullptr) return {};
  std::uint32_t index = new_strip();
  Strip& out = at(index);
  const Moduli& m = field_->point_->moduli();
  negate_lanes(filled(a), out, modules_of(m), m.count());
  return finished(index, field_->arithmetic_.negate(a.strip->first), true);
}

}  // namespace lathe::ptx::field
