#pragma once

// The bits domain: a value is its exact bits, IEEE rounding included. The emulated device runs on
// it. Values and their operations are in bits_value.h; here is what moves: registers and memory.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#include "ptx/bits_value.h"
#include "ptx/domain.h"

namespace lathe::ptx {

/// A few bytes, without a call where they are as many as registers have.
[[gnu::always_inline]] inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  switch (bytes) {
    case 1:
      std::memcpy(to, from, 1);
      return;
    case 2:
      std::memcpy(to, from, 2);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    case 8:
      std::memcpy(to, from, 8);
      return;
    default:
      std::memmove(to, from, bytes);
  }
}

class Bits : public BitsValues {
 public:
  static constexpr bool complains = true;
  /// Meanings cannot fail and have no effect: all lanes are computed, which vectorises.
  static constexpr bool vectorises = true;
  static constexpr bool tells_one = true;

  struct Lanes {
    std::vector<std::byte> bytes;
    std::vector<Mask> defined;  // By register number; lanes of which every byte was set.
    /// One a byte, of lanes that are not: which bytes were set. Empty until it matters.
    std::vector<std::uint8_t> known;
    std::byte* at(Cell cell) { return bytes.data() + cell.at(); }
    const std::byte* at(Cell cell) const { return bytes.data() + cell.at(); }
  };

  struct Region {
    std::byte* bytes = nullptr;
    std::uint8_t* defined = nullptr;  // One a byte; null where all is defined.
    std::uint64_t size = 0;
    bool global = false;  // What is stored there must be defined.
    std::shared_ptr<std::byte> owned;
    std::shared_ptr<std::uint8_t> owned_defined;
  };

  /// Global buffer i of the launch lies in host memory.
  void add_buffer(std::byte* bytes, std::uint64_t size) {
    buffers_.push_back(Region{bytes, nullptr, size, true, nullptr, nullptr});
  }

  const Complaint* complaint() const { return complaint_ ? &*complaint_ : nullptr; }
  void complain(ComplaintKind kind, std::string_view what, unsigned lane) {
    if (!complaint_) complaint_ = Complaint{kind, std::string(what), lane};
  }
  /// Before another block.
  void forget() { complaint_.reset(); }

  Lanes make_lanes(std::uint32_t bytes) {
    return {std::vector<std::byte>(bytes + 64), std::vector<Mask>(bytes / 64 + 1, 0), {}};
  }
  Region make_region(std::uint64_t bytes) {
    Region region;
    region.owned = zeros<std::byte>(bytes + 16);
    region.owned_defined = zeros<std::uint8_t>(bytes + 16);
    region.bytes = region.owned.get();
    region.defined = region.owned_defined.get();
    region.size = bytes;
    return region;
  }
  Region& buffer(std::size_t number) { return buffers_[number]; }

  void read(Region& region, std::uint64_t offset, Lanes& lanes, Cell cell, unsigned bytes) {
    copy_bytes(lanes.at(cell), region.bytes + offset, bytes);
    if (region.defined == nullptr || std::memchr(region.defined + offset, 0, bytes) == nullptr)
      mark(lanes, cell, bytes, true);
    else
      mark_each(lanes, cell, bytes, region.defined + offset);
  }
  void write(Region& region, std::uint64_t offset, const Lanes& lanes, Cell cell, unsigned bytes) {
    copy_bytes(region.bytes + offset, lanes.at(cell), bytes);
    bool all = defined(lanes, cell, bytes);
    if (region.defined != nullptr) {
      if (all || lanes.known.empty() || bytes > cell.width)
        std::memset(region.defined + offset, all ? 1 : 0, bytes);
      else
        std::memcpy(region.defined + offset, lanes.known.data() + cell.at(), bytes);
    }
    if (region.global && !all)
      complain(ComplaintKind::undefined, "an undefined value is stored to global memory",
               cell.lane);
  }
  void copy(Lanes& lanes, Cell to, const Lanes& from_lanes, Cell from, unsigned bytes) {
    copy_bytes(lanes.at(to), from_lanes.at(from), bytes);
    if (whole(from_lanes, from) || from_lanes.known.empty())
      mark(lanes, to, bytes, whole(from_lanes, from));
    else
      mark_each(lanes, to, bytes, from_lanes.known.data() + from.at());
  }
  /// A whole register for the lanes of a mask.
  void copy_all(Lanes& lanes, Spot to, Spot from, unsigned width, Mask mask) {
    with_bytes(width, [&](auto word) {
      std::array<decltype(word), lane_count> words;
      std::memcpy(words.data(), lanes.bytes.data() + from, sizeof words);
      put_words(lanes, to, words, mask);
    });
    Mask known = lanes.defined[from / 64] & mask;
    lanes.defined[to / 64] = (lanes.defined[to / 64] & ~mask) | known;
    if (lanes.known.empty() || known == mask) return;
    for (unsigned i = 0; i < lane_count; ++i)
      if ((mask & ~known & Mask{1} << i) != 0)
        std::memmove(lanes.known.data() + to + i * width, lanes.known.data() + from + i * width,
                     width);
  }
  /// Register to register, lane by lane from the lanes given; false, and nothing is done, where a
  /// byte of a source is undefined.
  bool copy_lanes(Lanes& lanes, Spot to, Spot from,
                  const std::array<std::uint8_t, lane_count>& lane, Mask mask) {
    if (lanes.defined[from / 64] != every_lane) return false;
    std::array<std::uint32_t, lane_count> given, taken;
    std::memcpy(given.data(), lanes.bytes.data() + from, sizeof given);
    for (unsigned i = 0; i < lane_count; ++i) taken[i] = given[lane[i]];
    store_lanes(lanes, to, taken, mask);
    return true;
  }
  /// A part of each lane's register to a part of another's; false as above, or where the other
  /// would stay undefined in part.
  bool copy_part(Lanes& lanes, Cell to, Cell from, unsigned bytes, Mask mask) {
    if ((mask & ~lanes.defined[from.place / 64]) != 0) return false;
    if (bytes < to.width && (mask & ~lanes.defined[to.place / 64]) != 0) return false;
    with_bytes(bytes, [&](auto word) {
      for (unsigned i = 0; i < lane_count; ++i)
        if ((mask >> i & 1) != 0) {
          std::memcpy(&word, lanes.bytes.data() + from.place + i * from.width + from.byte,
                      sizeof word);
          std::memcpy(lanes.bytes.data() + to.place + i * to.width + to.byte, &word, sizeof word);
        }
    });
    lanes.defined[to.place / 64] |= mask;
    return true;
  }
  /// The same bits in each lane of a register of at most 64 bits.
  void put_all(Lanes& lanes, Spot place, unsigned width, std::uint64_t bits, Mask mask) {
    with_bytes(width, [&](auto word) {
      std::array<decltype(word), lane_count> words;
      words.fill(static_cast<decltype(word)>(bits));
      put_words(lanes, place, words, mask);
    });
    lanes.defined[place / 64] |= mask;
  }
  /// Bits of each lane to a register of 32 bits.
  void put_lanes(Lanes& lanes, Spot place, const std::array<std::uint64_t, lane_count>& bits,
                 Mask mask) {
    std::array<std::uint32_t, lane_count> words;
    for (unsigned i = 0; i < lane_count; ++i) words[i] = static_cast<std::uint32_t>(bits[i]);
    store_lanes(lanes, place, words, mask);
  }
  // Loads and stores of a whole warp (ptx/bits_moves.h).

  /// Memory to whole registers, at each lane's place; false, and nothing is done, where a byte is
  /// undefined. A register wider than `each` is filled with zeros or with the sign.
  template <class Places>
  static bool all_set(const Places& at, unsigned total, Mask mask);
  template <class Slots, class Places>
  bool read_all(Lanes& lanes, const Slots& slots, const Places& at, unsigned each, bool sign,
                Mask mask);
  /// Whole registers to memory, one lane after the other; false, and nothing is done, where a lane
  /// is undefined. With `compare`, `unchanged` gets the lanes that wrote what was there.
  template <bool compare, class Slots, class Places>
  bool write_all(const Lanes& lanes, const Slots& slots, const Places& at, unsigned each, Mask mask,
                 Mask& unchanged);
  /// Eight rows of 16 bytes as ldmatrix lays them in a register, or their transpose; false as
  /// above.
  template <class Places>
  bool read_matrix(Lanes& lanes, Spot to, const Places* rows, bool transposed) {
    for (unsigned r = 0; r < 8; ++r)
      if (!is_set(*rows[r].region, rows[r].offset, 16)) return false;
    std::byte* all = lanes.bytes.data() + to;
    for (unsigned r = 0; r < 8; ++r) {
      const std::byte* row = rows[r].region->bytes + rows[r].offset;
      if (!transposed) std::memcpy(all + 16 * r, row, 16);
      for (unsigned c = 0; transposed && c < 8; ++c)
        std::memcpy(all + 16 * c + 2 * r, row + 2 * c, 2);
    }
    lanes.defined[to / 64] = every_lane;
    return true;
  }
  void transfer(Region& to, std::uint64_t to_offset, Region& from, std::uint64_t from_offset,
                std::uint64_t bytes) {
    std::memmove(to.bytes + to_offset, from.bytes + from_offset, bytes);
    if (to.defined == nullptr) return;
    if (from.defined == nullptr)
      std::memset(to.defined + to_offset, 1, bytes);
    else
      std::memmove(to.defined + to_offset, from.defined + from_offset, bytes);
  }
  void zero(Region& region, std::uint64_t offset, std::uint64_t bytes) {
    std::memset(region.bytes + offset, 0, bytes);
    if (region.defined != nullptr) std::memset(region.defined + offset, 1, bytes);
  }
  void poison(Region& region, std::uint64_t offset, std::uint64_t bytes) {
    if (region.defined != nullptr) std::memset(region.defined + offset, 0, bytes);
  }
  /// What nobody may rely on, also where memory does not tell what is undefined.
  void scramble(Region& region, std::uint64_t offset, std::uint64_t bytes) {
    std::memset(region.bytes + offset, 0x5A, bytes);
    poison(region, offset, bytes);
  }
  void poke(Region& region, std::uint64_t offset, unsigned bytes, std::uint64_t bits) {
    std::memcpy(region.bytes + offset, &bits, bytes);
    if (region.defined != nullptr) std::memset(region.defined + offset, 1, bytes);
  }
  void put(Lanes& lanes, Cell cell, unsigned bytes, std::uint64_t bits) {
    std::memset(lanes.at(cell), 0, bytes);
    std::memcpy(lanes.at(cell), &bits, std::min(bytes, 8u));
    mark(lanes, cell, bytes, true);
  }
  /// Makes bytes of a register undefined.
  void unset(Lanes& lanes, Cell cell, unsigned bytes) { mark(lanes, cell, bytes, false); }
  void extend(Lanes& lanes, Cell cell, unsigned bytes, bool sign) {
    std::byte* at = lanes.at(cell);
    bool ones = sign && (std::to_integer<unsigned>(at[bytes - 1]) & 0x80) != 0;
    std::memset(at + bytes, ones ? 0xFF : 0, cell.width - bytes);
    Cell last = cell, rest = cell;
    last.byte = static_cast<std::uint8_t>(cell.byte + bytes - 1);
    rest.byte = static_cast<std::uint8_t>(cell.byte + bytes);
    mark(lanes, rest, cell.width - bytes, !sign || defined(lanes, last, 1));
  }
  bool same(const Region& region, std::uint64_t offset, const Lanes& lanes, Cell cell,
            unsigned bytes) const {
    const std::byte *there = region.bytes + offset, *here = lanes.at(cell);
    if (defined(lanes, cell, bytes))
      return std::memcmp(there, here, bytes) == 0 && is_set(region, offset, bytes);
    // What is undefined there and here stays so.
    bool partly = !lanes.known.empty() && bytes <= cell.width;
    for (unsigned i = 0; i < bytes; ++i) {
      bool set = partly && lanes.known[cell.at() + i] != 0;
      if (set != is_set(region, offset + i, 1) || (set && there[i] != here[i])) return false;
    }
    return true;
  }

  std::optional<std::uint64_t> exact(const Lanes& lanes, Cell cell, unsigned bytes) const {
    if (!defined(lanes, cell, bytes)) return std::nullopt;
    std::uint64_t bits = 0;
    copy_bytes(&bits, lanes.at(cell), bytes);
    return bits;
  }
  /// The bits of a register of 4 or 8 bytes in the lanes of `mask`; false where one has none.
  bool exact_all(const Lanes& lanes, Spot place, unsigned width, Mask mask,
                 std::array<std::uint64_t, lane_count>& bits) const {
    if ((mask & ~lanes.defined[place / 64]) != 0 || width < 4 || width > 8) return false;
    const std::byte* at = lanes.bytes.data() + place;
    if (width == 8) {
      for (unsigned i = 0; i < lane_count; ++i) std::memcpy(&bits[i], at + std::size_t{i} * 8, 8);
    } else {
      for (unsigned i = 0; i < lane_count; ++i) {
        std::uint32_t word;
        std::memcpy(&word, at + std::size_t{i} * 4, 4);
        bits[i] = word;
      }
    }
    return true;
  }
  std::optional<Mask> truths(const Lanes& lanes, Spot place, Mask mask) const {
    if ((mask & ~lanes.defined[place / 64]) != 0) return std::nullopt;
    const std::byte* at = lanes.bytes.data() + place;
    Mask set = 0;
#ifdef __AVX2__
    for (unsigned i = 0; i < lane_count; i += 8) {
      __m256i eight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 4 * i));
      eight = _mm256_slli_epi32(eight, 31);  // The lowest bits become signs.
      set |= static_cast<Mask>(_mm256_movemask_ps(_mm256_castsi256_ps(eight))) << i;
    }
#else
    for (unsigned i = 0; i < lane_count; ++i) {
      std::uint32_t truth;
      std::memcpy(&truth, at + 4 * i, 4);
      set |= Mask{truth & 1} << i;
    }
#endif
    return set & mask;
  }

  template <Type T>
  static Value<T> load_from(const std::byte* at) {
    typename Value<T>::Bits bits;
    std::memcpy(&bits, at, sizeof bits);
    return Value<T>::from(bits);
  }
  template <Type T>
  static void store_to(std::byte* at, Value<T> value) {
    auto bits = value.in_cell();
    std::memcpy(at, &bits, sizeof bits);
  }
  template <Type T>
  Value<T> load(const Lanes& lanes, Cell cell) const {
    return load_from<T>(lanes.at(cell));
  }
  template <Type T>
  void store(Lanes& lanes, Cell cell, Value<T> value) {
    store_to<T>(lanes.at(cell), value);
  }

  [[gnu::always_inline]] void settle(Lanes& lanes, Definedness how, Spot d, unsigned width,
                                     const Spot* sources, Mask mask) {
    Mask* known = lanes.defined.data();
    Mask all = known[sources[0] / 64] & known[sources[1] / 64] & known[sources[2] / 64] &
               known[sources[3] / 64];
    if ((mask & ~all) == 0)
      known[d / 64] |= mask;
    else
      settle_partly(lanes, how, d, width, sources, mask);
  }
  [[gnu::noinline]] void settle_partly(Lanes& lanes, Definedness how, Spot d, unsigned width,
                                       const Spot* sources, Mask mask) {
    std::vector<Mask>& known = lanes.defined;
    Mask result = every_lane;
    Spot a = sources[0], b = sources[1], c = sources[2];
    if (how == Definedness::halves) return settle_halves(lanes, d, width, sources, mask);
    if (how == Definedness::all) {
      result = known[a / 64] & known[b / 64] & known[c / 64] & known[sources[3] / 64];
    } else if (how == Definedness::chosen) {
      Mask chosen = truths(lanes, c, known[c / 64]).value_or(0);
      result = known[c / 64] & ((chosen & known[a / 64]) | (~chosen & known[b / 64]));
    }
    known[d / 64] = (known[d / 64] & ~mask) | (result & mask);
    Mask lost = mask & ~result;
    if (lost == 0 || lanes.known.empty()) return;
    for (unsigned i = 0; i < lane_count; ++i)
      if ((lost >> i & 1) != 0) std::memset(lanes.known.data() + d + i * width, 0, width);
  }

  void multiply(Lanes& lanes, const Mma& mma);
  bool multiply_wide(Lanes& lanes, const Region& memory, const WideMma& wide);
  bool multiply_tile(Lanes& lanes, const TileMma& tile);

 private:
  static bool whole(const Lanes& lanes, Cell cell) {
    return (lanes.defined[cell.number()] >> cell.lane & 1) != 0;
  }
  static bool defined(const Lanes& lanes, Cell cell, unsigned bytes) {
    if (whole(lanes, cell)) return true;
    return bytes < cell.width && !lanes.known.empty() &&
           std::memchr(lanes.known.data() + cell.at(), 0, bytes) == nullptr;
  }
  /// Zeroed bytes; of large ones the system gives a page when it is first touched.
  template <class Byte>
  static std::shared_ptr<Byte> zeros(std::uint64_t bytes) {
    void* memory = std::calloc(bytes, sizeof(Byte));
    if (memory == nullptr) throw std::bad_alloc();
    return {static_cast<Byte*>(memory), std::free};
  }
  /// Calls `use` with an unsigned integer of so many bytes.
  template <class Use>
  [[gnu::always_inline]] static void with_bytes(unsigned bytes, Use use) {
    __extension__ using Sixteen = unsigned __int128;
    if (bytes == 4) return use(std::uint32_t{});
    if (bytes == 2) return use(std::uint16_t{});
    if (bytes == 8) return use(std::uint64_t{});
    if (bytes == 1) return use(std::uint8_t{});
    use(Sixteen{});
  }
  template <class Word>
  [[gnu::always_inline]] static void put_words(Lanes& lanes, Spot to,
                                               const std::array<Word, lane_count>& words,
                                               Mask mask) {
    std::byte* at = lanes.bytes.data() + to;
    if (mask == every_lane) {
      std::memcpy(at, words.data(), sizeof words);
      return;
    }
    for (; mask != 0; mask &= mask - 1) {
      auto i = static_cast<std::size_t>(std::countr_zero(mask));
      std::memcpy(at + i * sizeof(Word), &words[i], sizeof(Word));
    }
  }
  static void store_lanes(Lanes& lanes, Spot to, const std::array<std::uint32_t, lane_count>& words,
                          Mask mask) {
    lanes.defined[to / 64] |= mask;
    put_words(lanes, to, words, mask);
  }
  static void fill_above(std::byte* at, std::size_t bytes, std::size_t width, bool sign) {
    bool ones = sign && (std::to_integer<unsigned>(at[bytes - 1]) & 0x80) != 0;
    std::memset(at + bytes, ones ? 0xFF : 0, width - bytes);
  }
  /// Whether all of some bytes of memory are defined.
  static bool is_set(const Region& region, std::uint64_t offset, unsigned bytes) {
    if (region.defined == nullptr) return true;
    const std::uint8_t* at = region.defined + offset;
    if (bytes == 4) {
      std::uint32_t four;
      std::memcpy(&four, at, 4);
      return four == 0x01010101u;
    }
    std::uint64_t all = 0x0101010101010101u, eight;
    for (; bytes >= 8; bytes -= 8, at += 8) {
      std::memcpy(&eight, at, 8);
      all &= eight;
    }
    for (; bytes != 0; --bytes) all &= *at++ != 0 ? all : 0;
    return all == 0x0101010101010101u;
  }
  static void settle_halves(Lanes& lanes, Spot d, unsigned width, const Spot* sources, Mask mask) {
    Mask result = every_lane;
    for (unsigned s = 0; s < 4; ++s) result &= lanes.defined[sources[s] / 64];
    // The destination may be a source: what its lanes were is read before it is marked.
    for (std::uint8_t lane = 0; (mask & ~result) != 0 && lane < lane_count; ++lane) {
      if ((mask & ~result & Mask{1} << lane) == 0) continue;
      std::array<bool, 2> set{true, true};
      for (unsigned s = 0; s < 4; ++s)
        for (unsigned half = 0; half < 2; ++half)
          set[half] &= defined(lanes, half_of_cell(sources[s], width, lane, half), width / 2);
      for (unsigned half = 0; half < 2; ++half)
        mark(lanes, half_of_cell(d, width, lane, half), width / 2, set[half]);
    }
    lanes.defined[d / 64] |= result & mask;
  }
  static Cell half_of_cell(Spot place, unsigned width, std::uint8_t lane, unsigned half) {
    auto bytes = static_cast<std::uint8_t>(width);
    return {place, bytes, static_cast<std::uint8_t>(half * (width / 2)), lane};
  }
  /// Where a lane's known bytes begin, made if there are none yet.
  static std::uint8_t* known_of(Lanes& lanes, Cell cell) {
    if (lanes.known.empty()) lanes.known.resize(lanes.bytes.size());
    return lanes.known.data() + cell.place + std::size_t{cell.lane} * cell.width;
  }
  static void mark(Lanes& lanes, Cell cell, unsigned bytes, bool set) {
    Mask& all = lanes.defined[cell.number()];
    Mask bit = Mask{1} << cell.lane;
    if (bytes >= cell.width) {
      all = set ? all | bit : all & ~bit;
      if (!set && !lanes.known.empty()) std::memset(known_of(lanes, cell), 0, cell.width);
    } else if (set != ((all & bit) != 0)) {
      std::uint8_t* known = known_of(lanes, cell);
      if (!set) std::memset(known, 1, cell.width);
      std::memset(known + cell.byte, set ? 1 : 0, bytes);
      all &= ~bit;
      if (set && std::memchr(known, 0, cell.width) == nullptr) all |= bit;
    } else if (!set && !lanes.known.empty()) {
      std::memset(known_of(lanes, cell) + cell.byte, 0, bytes);
    }
  }
  /// Bytes of which some are set and some are not.
  static void mark_each(Lanes& lanes, Cell cell, unsigned bytes, const std::uint8_t* set) {
    for (unsigned i = 0; i < bytes; ++i) {
      Cell one = cell;
      one.byte = static_cast<std::uint8_t>(cell.byte + i);
      mark(lanes, one, 1, set[i] != 0);
    }
  }

  std::vector<Region> buffers_;
  std::optional<Complaint> complaint_;
};

}  // namespace lathe::ptx

#include "ptx/bits_moves.h"
