#pragma once

// The bits domain: a value is its exact bits, IEEE rounding included. The emulated device runs on
// it. Values and their operations are in bits_value.h; here is what moves: registers and memory.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
    std::shared_ptr<std::vector<std::byte>> owned;
    std::shared_ptr<std::vector<std::uint8_t>> owned_defined;
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
    region.owned = std::make_shared<std::vector<std::byte>>(bytes + 16);
    region.owned_defined = std::make_shared<std::vector<std::uint8_t>>(bytes + 16, 0);
    region.bytes = region.owned->data();
    region.defined = region.owned_defined->data();
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
    if (mask == every_lane) {
      std::memmove(lanes.bytes.data() + to, lanes.bytes.data() + from, lane_count * width);
    } else {
      for (unsigned i = 0; i < lane_count; ++i)
        if ((mask >> i & 1) != 0)
          std::memmove(lanes.bytes.data() + to + i * width, lanes.bytes.data() + from + i * width,
                       width);
    }
    Mask known = lanes.defined[from / 64] & mask;
    lanes.defined[to / 64] = (lanes.defined[to / 64] & ~mask) | known;
    if (lanes.known.empty() || known == mask) return;
    for (unsigned i = 0; i < lane_count; ++i)
      if ((mask & ~known & Mask{1} << i) != 0)
        std::memmove(lanes.known.data() + to + i * width, lanes.known.data() + from + i * width,
                     width);
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
    return std::memcmp(region.bytes + offset, lanes.at(cell), bytes) == 0 &&
           (region.defined == nullptr || std::memchr(region.defined + offset, 0, bytes) == nullptr);
  }

  std::optional<std::uint64_t> exact(const Lanes& lanes, Cell cell, unsigned bytes) const {
    if (!defined(lanes, cell, bytes)) return std::nullopt;
    std::uint64_t bits = 0;
    copy_bytes(&bits, lanes.at(cell), bytes);
    return bits;
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

  void settle(Lanes& lanes, Definedness how, Spot d, unsigned width, const Spot* sources,
              Mask mask) {
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

 private:
  static bool whole(const Lanes& lanes, Cell cell) {
    return (lanes.defined[cell.number()] >> cell.lane & 1) != 0;
  }
  static bool defined(const Lanes& lanes, Cell cell, unsigned bytes) {
    if (whole(lanes, cell)) return true;
    return bytes < cell.width && !lanes.known.empty() &&
           std::memchr(lanes.known.data() + cell.at(), 0, bytes) == nullptr;
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
