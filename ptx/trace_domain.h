#pragma once

// The bits domain without data: what is read of data, and what is computed with it, is undefined.
// Everything else is exact, and is noted where it decides something or meets data, so that the name
// of a block says what it computes. Results of float operations count as data, whatever they are
// made of: what is defined here is exact bits in every domain.
//
// A place in a buffer is noted by how far it is from the first one that the block touched there,
// and all operands that control asks for otherwise as they are.

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "ptx/bits.h"
#include "ptx/rules.h"
#include "ptx/trace.h"
#include "ptx/trace_name.h"

namespace lathe::ptx {

class TraceDomain : public Bits {
 public:
  /// The domain whose rules are carried out where nothing but bits is met.
  using Ruled = Bits;
  static constexpr bool tells_one = false;
  using Words = TraceName::Words;

  explicit TraceDomain(const TraceRequest& request);

  /// Before another block.
  void begin();
  TraceName::Value name() const { return name_.value(); }
  const std::vector<std::uint64_t>& bases() const { return bases_; }
  /// Relative to the bases; sorted and merged.
  std::vector<TraceRange> written() const { return relative(written_); }
  std::vector<TraceRange> read() const { return relative(read_); }

  // What the machine tells.

  void note_issue(std::uint32_t warp, std::uint32_t operation, Mask active) {
    now_ = operation;
    name_.take(std::uint64_t{warp} << 32 | operation, active);
  }
  void note_control(unsigned lane, std::uint64_t bits) {
    name_.take(tag(Note::control, lane), bits);
  }
  void note_controls(Mask mask, const Words& bits) { name_.take(tag(Note::controls), mask, bits); }
  void note_addresses(Mask mask, const Words& addresses);
  /// Of a bulk copy: where in global memory, 0 for outside, and in shared memory.
  void note_piece(std::uint64_t address, std::uint64_t shared, std::uint32_t bytes);
  /// What is known of an operand.
  void note_operand(const Lanes& lanes, Spot place, unsigned width, Mask mask, unsigned which);
  /// What is known of a predicate that data decide somewhere.
  void note_guard(const Lanes& lanes, Spot guard, Mask mask) {
    note_operand(lanes, guard, predicate_bytes, mask, guard_operand);
  }
  /// What is known of the register that an operation sets, before and after it.
  void note_result(const Lanes& lanes, const Operation& op, Mask mask) {
    auto [place, width] = result_of(op);
    note_operand(lanes, place, width, mask, result_operand);
  }
  /// Data say whether it was set: it is data.
  void lose_result(Lanes& lanes, const Operation& op, Mask mask) {
    auto [place, width] = result_of(op);
    lose(lanes, place, width, mask);
  }
  /// A row of the table.
  void carry_out(Rule<Bits> rule, Lanes& lanes, const Operation& op, Mask active);

  // Moves, as in Bits.

  Region& buffer(std::size_t number) { return memory_[number].region; }
  void read(Region& region, std::uint64_t offset, Lanes& lanes, Cell cell, unsigned bytes);
  void write(Region& region, std::uint64_t offset, const Lanes& lanes, Cell cell, unsigned bytes);
  void transfer(Region& to, std::uint64_t to_offset, Region& from, std::uint64_t offset,
                std::uint64_t bytes);
  void zero(Region& region, std::uint64_t offset, std::uint64_t bytes) {
    if (!keeps(region)) return Bits::zero(region, offset, bytes);
    refuse("memory of the launch is zeroed");
  }
  void poke(Region& region, std::uint64_t offset, unsigned bytes, std::uint64_t bits) {
    if (!keeps(region)) return Bits::poke(region, offset, bytes, bits);
    refuse("memory of the launch is set");
  }
  void copy(Lanes& lanes, Cell to, const Lanes& from_lanes, Cell from, unsigned bytes) {
    // Undefined before and after: nothing moves.
    if (from_lanes.known.empty() && lanes.known.empty() && !whole(from_lanes, from) &&
        !whole(lanes, to))
      return;
    Bits::copy(lanes, to, from_lanes, from, bytes);
  }
  /// A whole register of another file; false, and nothing is done, where bytes of it are known one
  /// by one and here they are not kept so.
  static bool copy_across(Lanes& lanes, Spot to, const Lanes& from_lanes, Spot from,
                          unsigned width) {
    Mask known = from_lanes.defined[from / 64];
    if (known != every_lane && lanes.known.empty() && !from_lanes.known.empty()) return false;
    std::size_t bytes = std::size_t{lane_count} * width;
    std::memcpy(lanes.bytes.data() + to, from_lanes.bytes.data() + from, bytes);
    lanes.defined[to / 64] = known;
    if (known == every_lane || lanes.known.empty()) return true;
    if (from_lanes.known.empty())
      std::memset(lanes.known.data() + to, 0, bytes);
    else
      std::memcpy(lanes.known.data() + to, from_lanes.known.data() + from, bytes);
    return true;
  }
  template <class Slots, class Places>
  bool read_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each, bool sign,
                Mask mask);
  template <bool compare, class Slots, class Places>
  bool write_all(const Lanes& lanes, const Slots& slots, const Places& at, unsigned each, Mask mask,
                 Mask& unchanged);
  template <class Places>
  bool read_matrix(Lanes& lanes, Spot to, const Places* rows, bool transposed);
  bool copy_lanes(Lanes& lanes, Spot to, Spot from,
                  const std::array<std::uint8_t, lane_count>& lane, Mask mask);
  bool copy_part(Lanes& lanes, Cell to, Cell from, unsigned bytes, Mask mask);

  /// Whether these units of 16 bytes, ascending, have no byte that is defined.
  static bool blank(const Region& memory, std::span<const std::uint64_t> units);
  /// Makes a register of these lanes undefined.
  static void lose(Lanes& lanes, Spot place, unsigned width, Mask mask);

  // Products are not computed.

  void multiply(Lanes& lanes, const Mma& mma);
  bool multiply_wide(Lanes& lanes, const Region& memory, const WideMma& wide);
  bool multiply_tile(Lanes& lanes, const TileMma& tile);

 private:
  enum class Note : std::uint8_t {
    control,
    controls,
    address,
    base,
    operand,
    bytes,
    memory,
    piece
  };
  std::uint64_t tag(Note note, unsigned which = 0) const {
    return std::uint64_t{now_} << 24 | std::uint64_t{which} << 8 | static_cast<std::uint64_t>(note);
  }
  struct Memory {
    Region region;  // Without bytes where it is data.
    std::uint64_t address = 0, bytes = 0, element_bytes = 1;
    bool changes = false;
    std::uint64_t written_begin = 0, written_end = 0;  // By the block, with what is between.
  };
  struct Range {
    std::uint32_t buffer = 0;
    std::uint64_t begin = 0, end = 0;
  };
  /// What a row computes with.
  struct Operands {
    bool floats = false;
    std::uint8_t count = 0, result = 0;   // Sources; bytes of the result.
    std::array<std::uint8_t, 4> width{};  // Of each source.
  };

  /// Numbers of operands that no row has.
  static constexpr unsigned guard_operand = 0xF0, result_operand = 0xF1;
  static constexpr unsigned predicate_bytes = 4;

  static Operands operands_of(const Operation& op);
  /// The one register that a row, or a move of one, sets: place and bytes.
  std::pair<Spot, unsigned> result_of(const Operation& op) const {
    if (op.effect == Effect::move) return {op.fixed[0].place, op.fixed[0].width};
    return {op.places[0], operands_[static_cast<std::size_t>(&op - operations_)].result};
  }
  void refuse(std::string_view why) { complain(ComplaintKind::unsupported, why, 0); }
  /// Whether it is a buffer of the launch.
  bool keeps(const Region& region) const { return region.global; }
  std::size_t number_of(const Region& region) const {
    std::size_t i = 0;
    while (&memory_[i].region != &region) ++i;
    return i;
  }
  void note_read(const Region& region, std::uint64_t offset, std::uint64_t bytes);
  void note_written(const Region& region, std::uint64_t offset, std::uint64_t bytes);
  static void append(std::vector<Range>& ranges, Range range);
  std::vector<TraceRange> relative(const std::vector<Range>& ranges) const;
  std::size_t buffer_of(std::uint64_t address);
  std::uint64_t base_of(std::size_t buffer, std::uint64_t address);
  void note_bytes(const Lanes& lanes, Cell cell, unsigned bytes, unsigned which);
  void note_memory(const Region& memory, std::uint64_t offset, unsigned bytes);
  /// Whether lanes that are not defined as a whole have no byte that is.
  static bool blank(const Lanes& lanes, Spot place, unsigned width, Mask mask);
  static bool whole(const Lanes& lanes, Cell cell) {
    return (lanes.defined[cell.number()] >> cell.lane & 1) != 0;
  }
  enum class Defined : std::uint8_t { none, some, all };
  static Defined defined_of(const Region& region, std::uint64_t offset, unsigned bytes);

  const Operation* operations_ = nullptr;
  std::vector<Operands> operands_;  // By operation.
  std::vector<Memory> memory_;
  std::vector<std::uint64_t> bases_;
  std::size_t last_ = 0;                      // Where an address was found.
  std::uint64_t lowest_ = ~std::uint64_t{0};  // Address of a buffer.
  std::vector<Range> written_, read_;
  std::uint32_t now_ = 0;
  TraceName name_;
};

template <class Slots, class Places>
bool TraceDomain::read_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each,
                           bool sign, Mask mask) {
  auto total = static_cast<unsigned>(each * slots.size());
  Mask known = 0;
  for (Mask left = mask; left != 0; left &= left - 1) {
    auto i = static_cast<unsigned>(std::countr_zero(left));
    const Region& region = *at[i].region;
    Defined defined = defined_of(region, at[i].offset, total);
    if (defined == Defined::some) return false;
    if (defined == Defined::all) known |= Mask{1} << i;
  }
  if (known != 0 && !Bits::read_all(lanes, slots, at, each, sign, known)) return false;
  Mask lost = mask & ~known;
  if (lost == 0) return true;
  for (const auto& slot : slots) lose(lanes, slot.place, slot.width, lost);
  for (; lost != 0; lost &= lost - 1) {
    auto i = static_cast<unsigned>(std::countr_zero(lost));
    if (keeps(*at[i].region)) note_read(*at[i].region, at[i].offset, total);
  }
  return true;
}

template <bool compare, class Slots, class Places>
bool TraceDomain::write_all(const Lanes& lanes, const Slots& slots, const Places& at, unsigned each,
                            Mask mask, Mask& unchanged) {
  Mask whole = mask, global = 0;
  for (const auto& slot : slots) whole &= lanes.defined[slot.place / 64];
  for (Mask left = mask; left != 0; left &= left - 1) {
    auto i = static_cast<unsigned>(std::countr_zero(left));
    if (keeps(*at[i].region)) global |= Mask{1} << i;
  }
  if (global == 0 && whole == mask)
    return Bits::write_all<compare>(lanes, slots, at, each, mask, unchanged);
  unsigned which = 0;
  if (global != 0)
    for (const auto& slot : slots) note_operand(lanes, slot.place, slot.width, global, which++);
  for (Mask left = mask; left != 0; left &= left - 1) {
    auto i = static_cast<unsigned>(std::countr_zero(left));
    Region& region = *at[i].region;
    if ((global >> i & 1) != 0) {
      note_written(region, at[i].offset, each * slots.size());
      continue;
    }
    for (std::size_t k = 0; k < slots.size(); ++k)
      Bits::write(region, at[i].offset + k * each, lanes, slots[k].cell(i), each);
  }
  return true;
}

template <class Places>
bool TraceDomain::read_matrix(Lanes& lanes, Spot to, const Places* rows, bool transposed) {
  unsigned known = 0;
  for (unsigned r = 0; r < 8; ++r) {
    Defined defined = defined_of(*rows[r].region, rows[r].offset, 16);
    if (defined == Defined::some || keeps(*rows[r].region)) return false;
    known += defined == Defined::all ? 1 : 0;
  }
  if (known == 8) return Bits::read_matrix(lanes, to, rows, transposed);
  if (known != 0) return false;
  lose(lanes, to, 4, every_lane);
  return true;
}

}  // namespace lathe::ptx
