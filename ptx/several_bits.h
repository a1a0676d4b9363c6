#pragma once

// Several runs in the bits domain at once: of one program, on the same blocks, over different
// memory. What control asks for must be the same in all of them; where it is not, the runs part,
// which ends them all, and they are to be carried out one by one.
//
// Most registers that hold addresses, indices and counters are the same in all runs: they are
// computed once and kept in the first run's registers, until something needs them elsewhere.

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include "ptx/bits.h"
#include "ptx/isa.h"
#include "ptx/several.h"

namespace lathe::ptx {

class SeveralBits {
 public:
  /// The domain whose rules are carried out, run by run.
  using Ruled = Bits;
  static constexpr bool complains = true;
  static constexpr bool vectorises = true;
  static constexpr bool tells_one = true;

  struct Lanes {
    std::vector<Bits::Lanes> of;  // Of each run.
    /// By register number: `apart`, `everywhere`, or the register's width where the first run alone
    /// has what it holds in all.
    std::vector<std::uint8_t> held;
  };
  static constexpr std::uint8_t apart = 0, everywhere = 1;

  struct Region {
    std::vector<Bits::Region> of;  // Of each run, or one for all.
    bool alike = false;            // One for all: nothing that differs was written there.
    bool fresh = false;            // Nothing was.
    Bits::Region& run(std::size_t i) { return of[alike ? 0 : i]; }
    const Bits::Region& run(std::size_t i) const { return of[alike ? 0 : i]; }
  };

  SeveralBits(const Program& program, std::size_t runs);

  /// A global buffer of the launch, as each run has it.
  void add_buffer(const std::vector<std::byte*>& of_runs, std::uint64_t size);
  const Complaint* complaint() const { return bits_.complaint(); }
  void complain(ComplaintKind kind, std::string_view what, unsigned lane) {
    bits_.complain(kind, what, lane);
  }

  Lanes make_lanes(std::uint32_t bytes) {
    Lanes lanes;
    for (std::size_t i = 0; i < runs_; ++i) lanes.of.push_back(bits_.make_lanes(bytes));
    lanes.held.assign(bytes / 64 + 1, everywhere);
    return lanes;
  }
  Region make_region(std::uint64_t bytes) { return {{bits_.make_region(bytes)}, true, true}; }
  Region& buffer(std::size_t number) { return buffers_[number]; }

  /// A row of the table.
  void carry_out(Rule<Bits> rule, Lanes& lanes, const Operation& op, Mask active) {
    unsigned width = result_bytes_[static_cast<std::size_t>(&op - operations_)];
    std::array<Spot, 4> from{op.places[1], op.places[2], op.places[3], op.places[4]};
    over(
        lanes, {op.places[0], width, active == every_lane},
        from, [&](Bits::Lanes & one) __attribute__((always_inline)) {
          rule(bits_, one, op, active);
        });
  }
  /// What is computed outside of rows: `use(domain, registers)` for each run.
  template <class Touched, class Use>
  void each_run(Lanes& lanes, const Touched& touched, Use use) {
    for (const auto& place : touched) spread(lanes, spot_of(place), apart);
    for (Bits::Lanes& one : lanes.of) use(bits_, one);
  }

  // Moves, as in Bits.

  void read(Region& region, std::uint64_t offset, Lanes& lanes, Cell cell, unsigned bytes);
  void write(Region& region, std::uint64_t offset, const Lanes& lanes, Cell cell, unsigned bytes);
  void copy(Lanes& lanes, Cell to, const Lanes& from_lanes, Cell from, unsigned bytes);
  void transfer(Region& to, std::uint64_t to_offset, Region& from, std::uint64_t offset,
                std::uint64_t bytes);
  void zero(Region& region, std::uint64_t offset, std::uint64_t bytes) {
    over(region, [&](Bits::Region& one) { bits_.zero(one, offset, bytes); });
  }
  void poison(Region& region, std::uint64_t offset, std::uint64_t bytes) {
    over(region, [&](Bits::Region& one) { bits_.poison(one, offset, bytes); });
  }
  void scramble(Region& region, std::uint64_t offset, std::uint64_t bytes) {
    over(region, [&](Bits::Region& one) { bits_.scramble(one, offset, bytes); });
  }
  void poke(Region& region, std::uint64_t offset, unsigned bytes, std::uint64_t bits) {
    over(region, [&](Bits::Region& one) { bits_.poke(one, offset, bytes, bits); });
  }
  void put(Lanes& lanes, Cell cell, unsigned bytes, std::uint64_t bits) {
    over(lanes, {cell.place, cell.width, false}, none,
         [&](Bits::Lanes& one) { bits_.put(one, cell, bytes, bits); });
  }
  void put_all(Lanes& lanes, Spot place, unsigned width, std::uint64_t bits, Mask mask) {
    over(lanes, {place, width, mask == every_lane}, none,
         [&](Bits::Lanes& one) { bits_.put_all(one, place, width, bits, mask); });
  }
  void extend(Lanes& lanes, Cell cell, unsigned bytes, bool sign) {
    over(lanes, {cell.place, cell.width, false}, none,
         [&](Bits::Lanes& one) { bits_.extend(one, cell, bytes, sign); });
  }
  void copy_all(Lanes& lanes, Spot to, Spot from, unsigned width, Mask mask) {
    over(lanes, {to, width, mask == every_lane}, std::array{from},
         [&](Bits::Lanes& one) { bits_.copy_all(one, to, from, width, mask); });
  }
  bool copy_lanes(Lanes& lanes, Spot to, Spot from,
                  const std::array<std::uint8_t, lane_count>& lane, Mask mask) {
    return over(lanes, {to, 4, mask == every_lane}, std::array{from},
                [&](Bits::Lanes& one) { return bits_.copy_lanes(one, to, from, lane, mask); });
  }
  bool copy_part(Lanes& lanes, Cell to, Cell from, unsigned bytes, Mask mask) {
    return over(lanes, {to.place, to.width, bytes == to.width && mask == every_lane},
                std::array{from.place},
                [&](Bits::Lanes& one) { return bits_.copy_part(one, to, from, bytes, mask); });
  }
  /// Of two registers of 32 bits a third: `use(a, b, lane)`; false, and nothing is done, where one
  /// of them is undefined.
  template <class Use>
  bool put_from_two(Lanes& lanes, Spot to, Spot a, Spot b, Mask mask, Use use) {
    return over(lanes, {to, 4, mask == every_lane}, std::array{a, b}, [&](Bits::Lanes& one) {
      Words x{}, y{};
      if (!bits_.exact_all(one, a, 4, mask, x) || !bits_.exact_all(one, b, 4, mask, y))
        return false;
      for (unsigned lane = 0; lane < lane_count; ++lane) x[lane] = use(x[lane], y[lane], lane);
      bits_.put_lanes(one, to, x, mask);
      return true;
    });
  }
  template <class Slots, class Places>
  bool read_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each, bool sign,
                Mask mask);
  template <bool compare, class Slots, class Places>
  bool write_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each, Mask mask,
                 Mask& unchanged);
  template <class Places>
  bool read_matrix(Lanes& lanes, Spot to, const Places* rows, bool transposed) {
    spread(lanes, to, apart);
    return agreed([&](std::size_t i) {
      std::array<Place, 8> places;
      for (unsigned r = 0; r < 8; ++r) places[r] = {&rows[r].region->run(i), rows[r].offset};
      return bits_.read_matrix(lanes.of[i], to, places.data(), transposed);
    });
  }

  // Control: the same in all runs.

  std::optional<std::uint64_t> exact(const Lanes& lanes, Cell cell, unsigned bytes) {
    std::optional<std::uint64_t> bits = bits_.exact(lanes.of[0], cell, bytes);
    if (lanes.held[cell.number()] != apart) return bits;
    for (std::size_t i = 1; i < runs_; ++i)
      if (bits_.exact(lanes.of[i], cell, bytes) != bits) return part(), std::nullopt;
    return bits;
  }
  bool exact_all(const Lanes& lanes, Spot place, unsigned width, Mask mask,
                 std::array<std::uint64_t, lane_count>& bits) {
    bool known = bits_.exact_all(lanes.of[0], place, width, mask, bits);
    if (lanes.held[place / 64] != apart) return known;
    for (std::size_t i = 1; i < runs_; ++i) {
      Words others{};
      bool same = bits_.exact_all(lanes.of[i], place, width, mask, others) == known;
      for (unsigned lane = 0; lane < lane_count && known; ++lane)
        same = same && ((mask >> lane & 1) == 0 || others[lane] == bits[lane]);
      if (!same) return part(), false;
    }
    return known;
  }
  std::optional<Mask> truths(const Lanes& lanes, Spot place, Mask mask) {
    std::optional<Mask> set = bits_.truths(lanes.of[0], place, mask);
    if (lanes.held[place / 64] != apart) return set;
    for (std::size_t i = 1; i < runs_; ++i)
      if (bits_.truths(lanes.of[i], place, mask) != set) return part(), std::nullopt;
    return set;
  }
  bool same(const Region& region, std::uint64_t offset, const Lanes& lanes, Cell cell,
            unsigned bytes) {
    return agreed([&](std::size_t i) {
      return bits_.same(region.run(i), offset, source(lanes, i, cell.place), cell, bytes);
    });
  }

  // Values of one lane, outside of rows: only of what is the same in all runs.

  template <Type T>
  Bits::Value<T> load(const Lanes& lanes, Cell cell) {
    constexpr std::size_t bytes = sizeof(typename Bits::Value<T>::Bits);
    for (std::size_t i = 1; i < runs_ && lanes.held[cell.number()] == apart; ++i)
      if (std::memcmp(lanes.of[i].at(cell), lanes.of[0].at(cell), bytes) != 0) part();
    return bits_.load<T>(lanes.of[0], cell);
  }
  template <Type T>
  void store(Lanes& lanes, Cell cell, Bits::Value<T> value) {
    spread(lanes, cell.place, apart);
    for (Bits::Lanes& one : lanes.of) bits_.store<T>(one, cell, value);
  }

  void multiply(Lanes& lanes, const Mma& mma);
  bool multiply_wide(Lanes& lanes, const Region& memory, const WideMma& wide);
  bool multiply_tile(Lanes& lanes, const TileMma& tile);

 private:
  using Words = std::array<std::uint64_t, lane_count>;
  struct Place {
    Bits::Region* region = nullptr;
    std::uint64_t offset = 0;
  };
  /// A register that is set, with all that it held or only in part.
  struct Target {
    Spot place = 0;
    unsigned width = 4;
    bool whole = false;
  };
  static constexpr std::array<Spot, 0> none{};

  void part() { complain(ComplaintKind::undecided, "several runs part", 0); }
  /// What all runs answer.
  template <class Ask>
  bool agreed(Ask ask) {
    bool first = ask(std::size_t{0});
    for (std::size_t i = 1; i < runs_; ++i)
      if (ask(i) != first) part();
    return first;
  }
  static bool in_first(const Lanes& lanes, Spot place) {
    return lanes.held[place / 64] > everywhere;
  }
  static const Bits::Lanes& source(const Lanes& lanes, std::size_t i, Spot place) {
    return lanes.of[in_first(lanes, place) ? 0 : i];
  }
  /// Gives all runs what a register holds.
  void spread(Lanes& lanes, Spot place) const {
    if (in_first(lanes, place)) spread_from_first(lanes, place);
  }
  void spread(Lanes& lanes, Spot place, std::uint8_t held) const {
    spread(lanes, place);
    lanes.held[place / 64] = held;
  }
  void spread_from_first(Lanes& lanes, Spot place) const;
  /// Sets a register from others: once where they are the same in all runs, and it becomes so.
  template <class From, class Use>
  [[gnu::always_inline]] std::invoke_result_t<Use, Bits::Lanes&> over(Lanes& lanes, Target to,
                                                                      const From& from, Use use) {
    bool alike = to.whole || lanes.held[to.place / 64] != apart;
    for (Spot place : from) alike = alike && lanes.held[place / 64] != apart;
    if constexpr (std::is_same_v<std::invoke_result_t<Use, Bits::Lanes&>, bool>) {
      if (alike) {
        if (!use(lanes.of[0])) return false;
        lanes.held[to.place / 64] = static_cast<std::uint8_t>(to.width);
        return true;
      }
      for (Spot place : from) spread(lanes, place);
      spread(lanes, to.place, apart);
      return agreed([&](std::size_t i) { return use(lanes.of[i]); });
    } else {
      if (alike) {
        use(lanes.of[0]);
        lanes.held[to.place / 64] = static_cast<std::uint8_t>(to.width);
        return;
      }
      for (Spot place : from) spread(lanes, place);
      if (to.whole)
        lanes.held[to.place / 64] = apart;
      else
        spread(lanes, to.place, apart);
      for (Bits::Lanes& one : lanes.of) use(one);
    }
  }
  template <class Use>
  void over(Region& region, Use use) {
    region.fresh = false;
    for (Bits::Region& one : region.of) use(one);
  }
  /// Before something is written that may differ.
  void separate(Region& region) {
    if (region.alike) make_separate(region);
  }
  void make_separate(Region& region);
  template <class Places>
  static auto places_of(const Places& at, std::size_t i) {
    if constexpr (InCommon<Places>) {
      return CommonPlace<Bits::Region>{&at.region->run(i), at.begin, at.where, at.space,
                                       at.buffer,          at.rank,  at.reach};
    } else {
      std::array<Place, lane_count> out;
      for (unsigned lane = 0; lane < lane_count; ++lane)
        if (at[lane].region != nullptr) out[lane] = {&at[lane].region->run(i), at[lane].offset};
      return out;
    }
  }

  Bits bits_;
  std::size_t runs_;
  const Operation* operations_;
  std::vector<std::uint8_t> result_bytes_;  // Of the register that a row sets, by operation.
  std::vector<Region> buffers_;
};

template <class Slots, class Places>
bool SeveralBits::read_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each,
                           bool sign, Mask mask) {
  if constexpr (InCommon<Places>) {
    bool alike = at.region->alike;
    for (const auto& slot : slots)
      alike = alike && (mask == every_lane || lanes.held[slot.place / 64] != apart);
    if (alike) {
      if (!bits_.read_all(lanes.of[0], slots, places_of(at, 0), each, sign, mask)) return false;
      for (const auto& slot : slots) lanes.held[slot.place / 64] = slot.width;
      return true;
    }
  }
  for (const auto& slot : slots) spread(lanes, slot.place, apart);
  return agreed([&](std::size_t i) {
    return bits_.read_all(lanes.of[i], slots, places_of(at, i), each, sign, mask);
  });
}

template <bool compare, class Slots, class Places>
bool SeveralBits::write_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each,
                            Mask mask, Mask& unchanged) {
  bool first_only = true;
  for (const auto& slot : slots) first_only = first_only && in_first(lanes, slot.place);
  for (const auto& slot : slots)
    if (!first_only) spread(lanes, slot.place);
  if constexpr (InCommon<Places>)
    separate(*at.region);
  else
    for (unsigned lane = 0; lane < lane_count; ++lane)
      if ((mask >> lane & 1) != 0) separate(*at[lane].region);
  Mask as_it_was = mask;
  bool done = agreed([&](std::size_t i) {
    Mask same = 0;
    const Bits::Lanes& from = lanes.of[first_only ? 0 : i];
    bool written = bits_.write_all<compare>(from, slots, places_of(at, i), each, mask, same);
    as_it_was &= same;
    return written;
  });
  unchanged |= as_it_was;
  return done;
}

}  // namespace lathe::ptx
