// Sums by atomics on global memory: each block leaves what it adds, and whoever compares the
// outputs adds up what all blocks left, in whatever order.

#include "ptx/field.h"
#include "ptx/field_gathered.h"
#include "ptx/field_strip.h"
#include "ptx/program.h"

namespace lathe::ptx::field {

bool Field::reduce(Region& region, std::uint64_t offset, Lanes& lanes, const Operation& op,
                   unsigned lane) {
  if (takes_ticket(region, offset, lanes, op, lane)) return true;
  Type type = op.form.type, half = half_of(type);
  if (region.tensor < 0 || op.mode != Mode::add || !holds_number(half)) return false;
  auto tensor = static_cast<std::size_t>(region.tensor);
  unsigned width = width_of(half) / 8, count = width_of(type) / width_of(half);
  if (point_->recipes()[tensor].type != half || offset % width != 0) return false;
  lane_ = lane;
  auto at = [&](std::size_t place, unsigned byte) {
    return Cell{op.places[place], static_cast<std::uint8_t>(cell_bytes(type)),
                static_cast<std::uint8_t>(byte), static_cast<std::uint8_t>(lane)}
        .at();
  };
  for (unsigned i = 0; i < count; ++i) {
    std::size_t source = at(3, i * width);
    const Registers& from = lanes.settled(source, width);
    Number number = number_settled(read_number(&from.bits[source], &from.tags[source], half));
    if (number.special == Special::poison)
      complain(ComplaintKind::undefined, "an undefined value reaches global memory");
    std::uint64_t element = offset / width + i;
    auto [sum, fresh] = sums_.try_emplace({tensor, element}, number);
    if (!fresh)
      sum->second = Arithmetic::in_format(arithmetic_.add(sum->second, number), half, false);
  }
  // What was there before is other blocks' to know.
  for (unsigned i = 0; i < width_of(type) / 8; ++i)
    lanes.settled(at(1, i), 1).tags[at(1, i)] = poison_tag;
  return true;
}

/// The sums that the block leaves; nothing of it may be written otherwise.
void Field::finish_sums(std::vector<Written>& out) {
  for (auto& [place, sum] : sums_) {
    Written written{static_cast<std::uint32_t>(place.first), place.second, {}, 0, true};
    written.number = arithmetic_.settled(sum);
    written.number.term = written.number.set = 0;
    unsigned width = width_of(point_->recipes()[place.first].type) / 8;
    std::uint64_t offset = place.second * width;
    auto page = buffers_[place.first].pages.find(offset / page_bytes);
    if (page != buffers_[place.first].pages.end() &&
        page->second->tags[offset % page_bytes] != poison_tag)
      complain(ComplaintKind::undecided, "a place is both stored to and added to by atomics");
    out.push_back(written);
  }
  sums_.clear();
}

std::vector<std::pair<std::uint32_t, std::uint64_t>> Field::initial_reads() {
  std::sort(initial_reads_.begin(), initial_reads_.end());
  initial_reads_.erase(std::unique(initial_reads_.begin(), initial_reads_.end()),
                       initial_reads_.end());
  return std::move(initial_reads_);
}

/// An element of an integer tensor that is not exact: a word, or the lowest bytes of a whole
/// number. Of equal numbers they are equal.
bool Field::written_integer(const Plane& plane, std::uint64_t at, Type type, Written& written) {
  const Tag* tags = &plane.tags[at];
  unsigned bytes = width_of(type) / 8;
  std::optional<Word> word = word_of(&plane.bits[at], tags, bytes);
  std::optional<Number> number = word ? number_of(*word, type) : std::nullopt;
  bool whole = tags[0] != poison_tag && (tags[0] & 7) == 0 && !is_word(tags[0] >> 3);
  for (unsigned i = 0; i < bytes; ++i) whole &= tags[i] == tags[0] + i;
  if (!number && whole && is_whole(tags[0] >> 3))
    number = arithmetic_.settled(this->number(tags[0] >> 3));
  if (!number) return false;
  written.number = *number;
  return true;
}

std::vector<Written> Field::finish_block() {
  std::vector<Written> out;
  for (std::size_t tensor = 0; tensor < buffers_.size(); ++tensor) {
    Type type = point_->recipes()[tensor].type;
    unsigned width = std::max(1u, width_of(type) / 8);
    std::vector<std::uint64_t> order;
    for (const auto& [index, page] : buffers_[tensor].pages) order.push_back(index);
    std::sort(order.begin(), order.end());
    for (std::uint64_t index : order) {
      const Plane& plane = *buffers_[tensor].pages[index];
      for (std::uint64_t at = 0; at + width <= page_bytes; at += width) {
        const Tag* tags = &plane.tags[at];
        if (std::all_of(tags, tags + width, [](Tag t) { return t == poison_tag; })) continue;
        Written written{
            static_cast<std::uint32_t>(tensor), (index * page_bytes + at) / width, {}, 0, false};
        if (holds_number(type)) {
          written.number = arithmetic_.settled(number(read_number(&plane.bits[at], tags, type)));
        } else if (std::all_of(tags, tags + width, [](Tag t) { return t == 0; })) {
          std::memcpy(&written.bits, &plane.bits[at], width);
        } else if (!written_integer(plane, at, type, written)) {
          complain(ComplaintKind::undecided, "bytes of a float are written to an integer tensor");
        }
        out.push_back(written);
      }
    }
  }
  finish_sums(out);
  for (Region& buffer : buffers_) buffer.pages.clear();
  numbers_.clear();
  word_arena_.clear();
  float_sources_.assign(1, 0);
  float_names_.clear();
  exponents_.clear();
  free_.clear();
  strips_->clear();
  tiles_->clear();
  gathered_->forget();
  arithmetic_.clear();
  return out;
}

}  // namespace lathe::ptx::field
