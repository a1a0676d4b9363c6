// Memory of the field domain: moves of bytes, lazily made inputs, and the arena of numbers.

#include "ptx/field.h"

#include <algorithm>
#include <bit>

#include <cmath>

#include "ptx/field_gathered.h"
#include "ptx/field_strip.h"
#include "ptx/isa.h"

namespace lathe::ptx::field {
namespace {

double half_to_double(std::uint16_t h) {
  int exponent = h >> 10 & 31;
  double fraction = h & 1023;
  double value = exponent == 31  ? (fraction == 0 ? INFINITY : NAN)
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(1024 + fraction, exponent - 25);
  return (h & 0x8000) != 0 ? -value : value;
}

double byte_to_double(unsigned bits, Type type) {
  bool e4m3 = type == Type::e4m3;
  int fraction_bits = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
  unsigned rest = bits & 0x7F, fraction = rest & ((1u << fraction_bits) - 1);
  int exponent = static_cast<int>(rest >> fraction_bits);
  double value = 0;
  if (e4m3 ? rest == 0x7F : exponent == 31) {
    value = !e4m3 && fraction == 0 ? INFINITY : NAN;
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - fraction_bits);
  } else {
    value = std::ldexp((1u << fraction_bits) + fraction, exponent - bias - fraction_bits);
  }
  return (bits & 0x80) != 0 ? -value : value;
}

}  // namespace

double float_value(std::uint64_t bits, Type type) {
  switch (type) {
    case Type::f64:
      return std::bit_cast<double>(bits);
    case Type::f16:
      return half_to_double(static_cast<std::uint16_t>(bits));
    case Type::bf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    case Type::e4m3:
    case Type::e5m2:
      return byte_to_double(static_cast<unsigned>(bits), type);
    default:
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }
}

Field::Field(std::shared_ptr<const Point> point)
    : point_(std::move(point)),
      arithmetic_(*point_),
      strips_(std::make_unique<Strips>(*this)),
      tiles_(std::make_unique<Tiles>(*point_)),
      gathered_(std::make_unique<Gathered>()) {
  numbers_.clear();
  lasting_numbers_.assign(2, arithmetic_.poison());  // The second is the ticket.
  std::uint64_t next = first_input;
  for (std::size_t i = 0; i < point_->recipes().size(); ++i) {
    buffers_.push_back({nullptr, static_cast<std::int64_t>(i), {}, {}});
    const Recipe& recipe = point_->recipes()[i];
    bool fits = (recipe.computed || recipe.symbolic) && recipe.elements != 0 &&
                next + recipe.elements < lasting;
    any_symbolic_ |= recipe.symbolic && fits;
    inputs_.push_back(fits ? static_cast<std::uint32_t>(next) : 0);
    if (fits) next += recipe.elements;
  }
}

Field::~Field() = default;

Type Field::distant_type(std::uint32_t id) const {
  if (id < first_tile) return strips_->number(id).type();
  if (id < first_word)
    return tiles_->at((id - first_tile) / tile_elements).integer ? Type::s32 : Type::f32;
  if (id >= lasting) return lasting_numbers_[id - lasting].type();
  return is_word(id) ? Type::b32 : recipe_of(id).type;
}

Number Field::distant_number(std::uint32_t id) const {
  if (id >= lasting) return lasting_numbers_[id - lasting];
  if (id < first_tile) return strips_->number(id);
  if (id < first_word)
    return tiles_->element((id - first_tile) / tile_elements, (id - first_tile) % tile_elements);
  // Rows of a matrix are often a power of two apart.
  Known& known = known_inputs_[id * 0x9E3779B1u >> (32 - known_inputs_bits)];
  if (known.id == id) return known.number;
  known = {id, input_number(id)};
  return known.number;
}

std::size_t Field::tensor_of(std::uint32_t id) const {
  std::size_t tensor = inputs_.size();
  while (inputs_[tensor - 1] == 0 || inputs_[tensor - 1] > id) --tensor;
  return tensor - 1;
}

std::shared_ptr<Plane> Field::new_plane(std::size_t bytes) {
  auto plane = std::make_shared<Plane>(bytes);
  if (planes_.size() > 64)
    std::erase_if(planes_, [](const std::weak_ptr<Plane>& p) { return p.expired(); });
  planes_.push_back(plane);
  return plane;
}

Field::Lanes Field::make_lanes(std::uint32_t bytes) {
  auto registers = std::make_shared<Registers>(bytes + Registers::part_bytes);
  if (registers_.size() > 64)
    std::erase_if(registers_, [](const std::weak_ptr<Registers>& r) { return r.expired(); });
  registers_.push_back(registers);
  return {registers};
}

std::uint32_t Field::half_literal(std::uint16_t bits, Type type) {
  std::vector<std::uint32_t>& known = half_literals_[type == Type::bf16 ? 1 : 0];
  if (known.empty()) known.resize(std::size_t{1} << 16);
  std::uint32_t& id = known[bits];
  if (id == 0) {
    id = static_cast<std::uint32_t>(lasting + lasting_numbers_.size());
    lasting_numbers_.push_back(point_->literal(float_value(bits, type), type));
  }
  return id;
}

std::uint32_t Field::literal(std::uint64_t bits, Type type) {
  if (type == Type::f16 || type == Type::bf16)
    return half_literal(static_cast<std::uint16_t>(bits), type);
  std::uint64_t key = bits ^ static_cast<std::uint64_t>(type) << 56;
  Recent& recent = recent_literals_[(bits >> 12 ^ bits) % recent_literals_.size()];
  if (recent.key == key && recent.id != 0) return recent.id;
  auto [found, fresh] =
      literals_.try_emplace(key, static_cast<std::uint32_t>(lasting + lasting_numbers_.size()));
  if (fresh)
    lasting_numbers_.push_back(
        point_->literal(float_value(bits, type), type == Type::tf32 ? Type::f32 : type));
  recent = {key, found->second};
  return found->second;
}

std::vector<std::uint32_t> Field::literals() const {
  std::vector<std::uint32_t> out;
  for (const auto& [key, id] : literals_)
    if (key >> 56 == static_cast<std::uint64_t>(Type::f32))
      out.push_back(static_cast<std::uint32_t>(key));
  std::sort(out.begin(), out.end());
  return out;
}

std::uint32_t Field::read_number(const std::uint8_t* bits, const Tag* tags, Type type) {
  unsigned bytes = width_of(type) / 8;
  Tag first = tags[0];
  bool whole = first != 0 && first != poison_tag && (first & 7) == 0;
  bool exact = first == 0;
  for (unsigned i = 1; i < bytes; ++i) {
    whole &= tags[i] == first + i;
    exact &= tags[i] == 0;
  }
  if (exact) {
    std::uint64_t value = 0;
    std::memcpy(&value, bits, bytes);
    return literal(value, type);
  }
  Type wanted = type == Type::tf32 ? Type::f32 : type;
  if (any_symbolic_ || !word_arena_.empty())
    for (unsigned i = 0; i < bytes; ++i)
      if (tags[i] != poison_tag && is_word(tags[i] >> 3)) return read_word(bits, tags, wanted);
  if (whole && type_of(first >> 3) == wanted) return first >> 3;
  if (whole && wanted == Type::f32 && is_whole(first >> 3) && number(first >> 3).is(steps))
    return float_of_steps(number(first >> 3));
  for (unsigned i = 0; i < bytes; ++i)
    if (tags[i] == poison_tag) return poison_id();
  // A bf16 in the upper half of an otherwise zero f32 is that f32.
  bool upper = bytes == 4 && tags[0] == 0 && tags[1] == 0 && bits[0] == 0 && bits[1] == 0 &&
               (tags[2] & 7) == 0 && tags[3] == tags[2] + 1;
  if (wanted == Type::f32 && upper && type_of(tags[2] >> 3) == Type::bf16) {
    Number widened = number(tags[2] >> 3);
    widened.kind = static_cast<std::uint8_t>(Type::f32);
    return keep(widened);
  }
  complain(ComplaintKind::undecided, "bytes that are not one number are read as a float");
  return poison_id();
}

void Field::fetch_input(std::size_t tensor, std::uint64_t offset, std::uint8_t* bits, Tag* tags,
                        unsigned bytes) {
  const Recipe& recipe = point_->recipes()[tensor];
  if ((recipe.output || recipe.changes) && fetch_left(tensor, offset, bits, tags, bytes)) return;
  if (recipe.output) {
    std::fill(tags, tags + bytes, poison_tag);
    return complain(ComplaintKind::unsupported, "an output is read that this block did not write");
  }
  if (recipe.changes) {
    unsigned width = std::max(1u, width_of(recipe.type) / 8);
    for (std::uint64_t at = offset / width; at * width < offset + bytes; ++at)
      initial_reads_.push_back({static_cast<std::uint32_t>(tensor), at});
  }
  if (!recipe.computed && (!recipe.symbolic || inputs_[tensor] == 0)) {
    if (offset + bytes > recipe.bytes.size())
      return complain(ComplaintKind::unsupported, "a buffer without declared contents is read");
    std::memcpy(bits, recipe.bytes.data() + offset, bytes);
    std::fill(tags, tags + bytes, 0);
    return;
  }
  unsigned width = width_of(recipe.type) / 8;
  std::uint64_t element = offset / width;
  unsigned byte = static_cast<unsigned>(offset % width);
  std::uint32_t id = 0;
  std::uint32_t first = inputs_[tensor];
  for (unsigned i = 0; i < bytes; ++i) {
    if (id == 0)
      id = first != 0 ? static_cast<std::uint32_t>(first + element)
                      : keep(point_->input(tensor, element));
    bits[i] = 0;
    tags[i] = id << 3 | byte;
    if (++byte == width) {
      byte = 0;
      ++element;
      id = 0;
    }
  }
}

Plane& Field::page(Region& region, std::uint64_t offset) {
  auto& page = region.pages[offset / page_bytes];
  if (!page) page = new_plane(page_bytes);
  return *page;
}

void Field::fetch(Region& from, std::uint64_t offset, std::uint8_t* bits, Tag* tags,
                  unsigned bytes) {
  if (from.tensor < 0) {
    std::memcpy(bits, &from.plane->bits[offset], bytes);
    std::memcpy(tags, &from.plane->tags[offset], bytes * sizeof(Tag));
    return;
  }
  auto tensor = static_cast<std::size_t>(from.tensor);
  if (from.pages.empty()) return fetch_input(tensor, offset, bits, tags, bytes);
  for (unsigned i = 0; i < bytes; ++i) {
    auto found = from.pages.find((offset + i) / page_bytes);
    std::uint64_t at = (offset + i) % page_bytes;
    bool written = found != from.pages.end() && found->second->tags[at] != poison_tag;
    if (!written) {
      // Whole elements are made at once, so that their bytes stay together.
      unsigned width = width_of(point_->recipes()[tensor].type) / 8;
      unsigned rest = std::min<unsigned>(bytes - i, width - (offset + i) % width);
      fetch_input(tensor, offset + i, bits + i, tags + i, rest);
      i += rest - 1;
      continue;
    }
    bits[i] = found->second->bits[at];
    tags[i] = found->second->tags[at];
  }
}

void Field::deposit(Region& to, std::uint64_t offset, const std::uint8_t* bits, const Tag* tags,
                    unsigned bytes) {
  if (to.tensor < 0) {
    std::memcpy(&to.plane->bits[offset], bits, bytes);
    std::memcpy(&to.plane->tags[offset], tags, bytes * sizeof(Tag));
    stamp(to, offset, bytes);
    return;
  }
  for (unsigned i = 0; i < bytes;) {
    Plane& target = page(to, offset + i);
    std::uint64_t at = (offset + i) % page_bytes;
    unsigned run = static_cast<unsigned>(std::min<std::uint64_t>(bytes - i, page_bytes - at));
    std::memcpy(&target.bits[at], bits + i, run);
    std::memcpy(&target.tags[at], tags + i, run * sizeof(Tag));
    i += run;
  }
  for (unsigned i = 0; i < bytes; ++i)
    if (tags[i] == poison_tag)
      return complain(ComplaintKind::undefined, "an undefined value reaches global memory");
}

void Field::read(Region& from, std::uint64_t offset, Lanes& to, Cell cell, unsigned bytes) {
  collect_if_large();
  lane_ = cell.lane;
  Registers& target = to.settled(cell.at(), bytes);
  fetch(from, offset, &target.bits[cell.at()], &target.tags[cell.at()], bytes);
}

void Field::write(Region& to, std::uint64_t offset, const Lanes& from, Cell cell, unsigned bytes) {
  lane_ = cell.lane;
  const Registers& source = from.settled(cell.at(), bytes);
  deposit(to, offset, &source.bits[cell.at()], &source.tags[cell.at()], bytes);
}

void Field::transfer(Region& to, std::uint64_t to_offset, Region& from, std::uint64_t offset,
                     std::uint64_t bytes) {
  collect_if_large();
  std::array<std::uint8_t, 64> bits;
  std::array<Tag, 64> tags;
  for (std::uint64_t done = 0; done < bytes; done += 64) {
    auto run = static_cast<unsigned>(std::min<std::uint64_t>(64, bytes - done));
    fetch(from, offset + done, bits.data(), tags.data(), run);
    deposit(to, to_offset + done, bits.data(), tags.data(), run);
  }
}

void Field::zero(Region& region, std::uint64_t offset, std::uint64_t bytes) {
  std::array<std::uint8_t, 64> bits{};
  std::array<Tag, 64> tags{};
  for (std::uint64_t done = 0; done < bytes; done += 64)
    deposit(region, offset + done, bits.data(), tags.data(),
            static_cast<unsigned>(std::min<std::uint64_t>(64, bytes - done)));
}

void Field::poison(Region& region, std::uint64_t offset, std::uint64_t bytes) {
  if (region.tensor >= 0 || bytes == 0) return;
  stamp(region, offset, bytes);
  std::fill_n(region.plane->tags.begin() + static_cast<std::ptrdiff_t>(offset), bytes, poison_tag);
}

void Field::poke(Region& region, std::uint64_t offset, unsigned bytes, std::uint64_t bits) {
  std::array<std::uint8_t, 8> raw{};
  std::memcpy(raw.data(), &bits, 8);
  std::array<Tag, 8> tags{};
  deposit(region, offset, raw.data(), tags.data(), std::min(bytes, 8u));
}

void Field::extend(Lanes& lanes, Cell cell, unsigned bytes, bool sign) {
  std::size_t at = cell.place + std::size_t{cell.lane} * cell.width;
  Registers& of = lanes.settled(at, cell.width);
  std::uint8_t fill = 0;
  if (sign) {
    Tag top = of.tags[at + bytes - 1];
    if (top != 0 && top != poison_tag && is_word(top >> 3)) {
      auto word = word_of(&of.bits[at], &of.tags[at], bytes);
      if (word) word = words_.resized(*word, 8u * cell.width, true);
      std::uint32_t id = word ? keep(*word) : poison_id();
      if (!word) complain(ComplaintKind::undecided, "the sign of integer data is extended");
      for (unsigned i = 0; i < cell.width; ++i) of.tags[at + i] = id << 3 | i;
      return;
    }
    if (top != 0 && top != poison_tag)
      complain(ComplaintKind::undecided, "the sign bit of a float's bytes is extended");
    if (top == poison_tag) {
      std::fill_n(of.tags.begin() + static_cast<std::ptrdiff_t>(at + bytes),
                  cell.width - bytes, poison_tag);
      return;
    }
    fill = (of.bits[at + bytes - 1] & 0x80) != 0 ? 0xFF : 0;
  }
  for (unsigned i = bytes; i < cell.width; ++i) {
    of.bits[at + i] = fill;
    of.tags[at + i] = 0;
  }
}

bool Field::moves_bits(std::uint16_t row) {
  static const std::vector<bool> known = [] {
    std::vector<bool> out;
    for (const RowText& text : rows()) {
      std::string_view name = text.signature.opcode;
      out.push_back(name == "bfe" || name == "bfi" || name == "brev" || name == "shf" ||
                    name == "$lop3");
    }
    return out;
  }();
  return row < known.size() && known[row];
}

Word Field::word(std::uint32_t id) {
  if (id < first_input) return word_arena_[id - first_word];
  return {id, words_.identity(width_of(recipe_of(id).type))};
}

std::uint32_t Field::keep(const Word& word) {
  if (word_arena_.size() >= first_input - first_word) {
    complain(ComplaintKind::unsupported, "more words of integer data than a block may have");
    return poison_id();
  }
  word_arena_.push_back(word);
  return static_cast<std::uint32_t>(first_word + word_arena_.size() - 1);
}

std::uint64_t Field::element_bits(std::uint32_t source) const {
  if (source == Word::no_source) return 0;
  std::size_t tensor = tensor_of(source);
  const Recipe& recipe = point_->recipes()[tensor];
  unsigned bytes = width_of(recipe.type) / 8;
  std::uint64_t bits = 0;
  std::memcpy(&bits, recipe.bytes.data() + std::uint64_t{source - inputs_[tensor]} * bytes, bytes);
  return bits;
}

std::optional<Word> Field::word_of(const std::uint8_t* bits, const Tag* tags, unsigned bytes) {
  bool row = bytes <= 8 && tags[0] != poison_tag && (tags[0] & 7) == 0 && tags[0] != 0;
  for (unsigned i = 1; i < bytes && row; ++i) row = tags[i] == tags[0] + i;
  if (row && is_word(tags[0] >> 3)) {
    Word one = word(tags[0] >> 3);
    if (words_.width(one.pattern) == 8 * bytes) return one;
  }
  std::array<Word, 8> parts;
  std::array<std::uint8_t, 8> which{};
  if (bytes > parts.size()) return std::nullopt;
  for (unsigned i = 0; i < bytes; ++i) {
    if (tags[i] == 0) {
      parts[i].pattern = words_.constant(bits[i], 8);
      continue;
    }
    if (tags[i] == poison_tag || !is_word(tags[i] >> 3)) return std::nullopt;
    parts[i] = word(tags[i] >> 3);
    which[i] = static_cast<std::uint8_t>(tags[i] & 7);
  }
  return words_.joined(std::span(parts.data(), bytes), std::span(which.data(), bytes));
}

/// A float made of integer data's bits.
std::uint32_t Field::read_word(const std::uint8_t* bits, const Tag* tags, Type type) {
  std::optional<Word> word = word_of(bits, tags, width_of(type) / 8);
  std::optional<Number> number = word ? number_of(*word, type) : std::nullopt;
  if (number) return keep(*number);
  complain(ComplaintKind::undecided, "integer data is read as a float");
  return poison_id();
}

bool Field::same_word(Tag a, Tag b) {
  if (!is_word(a >> 3) || !is_word(b >> 3)) return false;
  Word left = word(a >> 3), right = word(b >> 3);
  return left.source == right.source && left.pattern == right.pattern;
}

bool Field::same_number(std::uint32_t a, std::uint32_t b) {
  if (a == b) return true;
  Number left = arithmetic_.settled(number(a)), right = arithmetic_.settled(number(b));
  return left.special == right.special && left.valid == right.valid && left.valid != 0 &&
         left.r == right.r && left.kind == right.kind;
}

bool Field::same(Region& region, std::uint64_t offset, const Lanes& lanes, Cell cell,
                 unsigned bytes) {
  std::array<std::uint8_t, 16> bits{};
  std::array<Tag, 16> tags;
  tags.fill(poison_tag);
  if (region.tensor >= 0) {
    auto found = region.pages.find(offset / page_bytes);
    if (found == region.pages.end() || offset % page_bytes + bytes > page_bytes) return false;
    std::memcpy(bits.data(), &found->second->bits[offset % page_bytes], bytes);
    std::memcpy(tags.data(), &found->second->tags[offset % page_bytes], bytes * sizeof(Tag));
  } else {
    fetch(region, offset, bits.data(), tags.data(), bytes);
  }
  const Registers& from = lanes.settled(cell.at(), bytes);
  const std::uint8_t* other_bits = &from.bits[cell.at()];
  const Tag* other = &from.tags[cell.at()];
  for (unsigned i = 0; i < bytes; ++i) {
    if (tags[i] != other[i] && (tags[i] == poison_tag || other[i] == poison_tag)) return false;
    if (tags[i] == poison_tag) continue;  // Undefined before and after.
    if (tags[i] == 0 && other[i] == 0 && bits[i] == other_bits[i]) continue;
    if (tags[i] == 0 || other[i] == 0 || (tags[i] & 7) != (other[i] & 7)) return false;
    bool word = is_word(tags[i] >> 3) || is_word(other[i] >> 3);
    if (word ? !same_word(tags[i], other[i]) : !same_number(tags[i] >> 3, other[i] >> 3))
      return false;
  }
  return true;
}

}  // namespace lathe::ptx::field
