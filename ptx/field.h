#pragma once

// The field domain of the machine: a byte of a register or of memory is exact, or byte k of a
// number, or poison. Moves move bytes; float rows compute with numbers; integer rows need exact
// bits, but for the few that only move bytes or signs.

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/domain.h"
#include "ptx/field_arithmetic.h"

namespace lathe::ptx::field {

/// Of one byte: 0 is exact; otherwise number << 3 | which byte of it.
using Tag = std::uint32_t;
inline constexpr Tag poison_tag = 0xFFFFFFFFu;
/// Numbers from here on live as long as the domain: literals.
inline constexpr std::uint32_t lasting = 1u << 28;

struct Plane {
  std::vector<std::uint8_t> bits;
  std::vector<Tag> tags;
  explicit Plane(std::size_t bytes) : bits(bytes), tags(bytes, poison_tag) {}
};

template <Type T>
constexpr bool is_number = is_float(T) || T == Type::tf32;

template <Type T>
struct BitsValue;
template <Type T>
struct NumberValue;

/// An element that a block wrote to global memory.
struct Written {
  std::uint32_t tensor = 0;
  std::uint64_t element = 0;
  Number number;           // Of a float tensor.
  std::uint64_t bits = 0;  // Of any other: exact.
};

/// The elements of one matrix product, gathered.
struct MmaOperands;

class Field {
 public:
  static constexpr bool complains = true;
  /// Meanings have effects here: lanes are computed one after another, and only active ones.
  static constexpr bool vectorises = false;
  template <Type T>
  using Value = std::conditional_t<is_number<T>, NumberValue<T>, BitsValue<T>>;

  struct Lanes {
    std::shared_ptr<Plane> plane;
  };
  struct Region {
    std::shared_ptr<Plane> plane;  // Of shared, local and parameter memory.
    std::int64_t tensor = -1;      // Of a global buffer.
    std::unordered_map<std::uint64_t, std::shared_ptr<Plane>> pages;  // What a block wrote.
  };

  explicit Field(std::shared_ptr<const Point> point);

  const Complaint* complaint() const { return complaint_ ? &*complaint_ : nullptr; }
  void complain(ComplaintKind kind, std::string_view what, unsigned lane) {
    if (!complaint_) complaint_ = Complaint{kind, std::string(what), lane};
  }
  void complain(ComplaintKind kind, std::string_view what) { complain(kind, what, lane_); }

  Lanes make_lanes(std::uint32_t bytes) { return {new_plane(bytes + 64)}; }
  Region make_region(std::uint64_t bytes) { return {new_plane(bytes + 16), -1, {}}; }
  Region& buffer(std::size_t i) { return buffers_[i]; }

  void read(Region& from, std::uint64_t offset, Lanes& to, Cell cell, unsigned bytes);
  void write(Region& to, std::uint64_t offset, const Lanes& from, Cell cell, unsigned bytes);
  void copy(Lanes& to, Cell to_cell, const Lanes& from, Cell cell, unsigned bytes) {
    std::memmove(&to.plane->bits[to_cell.at()], &from.plane->bits[cell.at()], bytes);
    std::memmove(&to.plane->tags[to_cell.at()], &from.plane->tags[cell.at()], bytes * sizeof(Tag));
  }
  void transfer(Region& to, std::uint64_t to_offset, Region& from, std::uint64_t offset,
                std::uint64_t bytes);
  void zero(Region& region, std::uint64_t offset, std::uint64_t bytes);
  void poison(Region& region, std::uint64_t offset, std::uint64_t bytes);
  void poke(Region& region, std::uint64_t offset, unsigned bytes, std::uint64_t bits);
  void put(Lanes& lanes, Cell cell, unsigned bytes, std::uint64_t bits) {
    std::memset(&lanes.plane->bits[cell.at()], 0, bytes);
    std::memcpy(&lanes.plane->bits[cell.at()], &bits, std::min(bytes, 8u));
    std::memset(&lanes.plane->tags[cell.at()], 0, bytes * sizeof(Tag));
  }
  /// A whole register for the lanes of a mask.
  void copy_all(Lanes& lanes, Spot to, Spot from, unsigned width, Mask mask) {
    for (std::uint8_t lane = 0; lane < lane_count; ++lane)
      if ((mask >> lane & 1) != 0)
        copy(lanes, {to, static_cast<std::uint8_t>(width), 0, lane}, lanes,
             {from, static_cast<std::uint8_t>(width), 0, lane}, width);
  }
  /// Before another block.
  void forget() { complaint_.reset(); }
  void extend(Lanes& lanes, Cell cell, unsigned bytes, bool sign);
  bool same(Region& region, std::uint64_t offset, const Lanes& lanes, Cell cell, unsigned bytes);

  std::optional<std::uint64_t> exact(const Lanes& lanes, Cell cell, unsigned bytes) const {
    const Tag* tags = &lanes.plane->tags[cell.at()];
    for (unsigned i = 0; i < bytes; ++i)
      if (tags[i] != 0) return std::nullopt;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &lanes.plane->bits[cell.at()], bytes);
    return bits;
  }
  std::optional<Mask> truths(const Lanes& lanes, Spot place, Mask mask) const;

  /// Inlined, so that the loads of sources that a row does not have vanish.
  template <Type T>
  [[gnu::always_inline]] Value<T> load(const Lanes& lanes, Cell cell) const;
  template <Type T>
  void store(Lanes& lanes, Cell cell, const Value<T>& value);
  template <Type T>
  void store(Lanes& lanes, Cell cell, bool truth) requires(T == Type::pred) {
    put(lanes, cell, 4, truth ? 1 : 0);
  }
  void settle(Lanes&, Definedness, Spot, unsigned, const Spot*, Mask) {}
  void multiply(Lanes& lanes, const Mma& mma);

  // What values and the verifier ask.

  Arithmetic& arithmetic() { return arithmetic_; }
  const Number& number(std::uint32_t id) const {
    return id >= lasting ? lasting_numbers_[id - lasting] : numbers_[id];
  }
  std::uint32_t keep(const Number& number);
  /// The number of a literal's bits; lasting.
  std::uint32_t literal(std::uint64_t bits, Type type);
  /// The number whose bytes these are, or 0 after a complaint.
  std::uint32_t read_number(const std::uint8_t* bits, const Tag* tags, Type type);
  std::uint32_t poison_id() const { return lasting; }

  /// Hands over what the block wrote, in order of tensor and element, and forgets the block.
  std::vector<Written> finish_block();

  /// Bits of the f32 literals that were read, sorted.
  std::vector<std::uint32_t> literals() const;

  static constexpr std::uint64_t page_bytes = 1024;
  std::uint64_t peak_numbers() const { return peak_; }

 private:
  std::shared_ptr<Plane> new_plane(std::size_t bytes);
  Plane& page(Region& region, std::uint64_t offset);
  void fetch(Region& from, std::uint64_t offset, std::uint8_t* bits, Tag* tags, unsigned bytes);
  void fetch_input(std::size_t tensor, std::uint64_t offset, std::uint8_t* bits, Tag* tags,
                   unsigned bytes);
  void deposit(Region& to, std::uint64_t offset, const std::uint8_t* bits, const Tag* tags,
               unsigned bytes);
  bool same_number(std::uint32_t a, std::uint32_t b);
  void collect_if_large() {
    if (numbers_.size() - free_.size() >= collect_at_ && free_.empty()) collect();
  }
  void collect();
  Number number_settled(std::uint32_t id) { return arithmetic_.settled(number(id)); }
  bool gather(const Lanes& lanes, const Mma& mma, MmaOperands& operands);
  void multiply_each(Lanes& lanes, const Mma& mma);
  void put_number(Lanes& lanes, Cell cell, const Number& number, Type type);

  std::shared_ptr<const Point> point_;
  Arithmetic arithmetic_;
  std::vector<Number> numbers_, lasting_numbers_;
  std::vector<Number> scratch_;  // Of one matrix product: A, B, C.
  std::shared_ptr<MmaOperands> operands_;
  std::vector<std::uint32_t> free_;
  std::vector<std::weak_ptr<Plane>> planes_;
  std::vector<Region> buffers_;
  std::unordered_map<std::uint64_t, std::uint32_t> literals_;
  std::optional<Complaint> complaint_;
  unsigned lane_ = 0;
  std::size_t collect_at_ = std::size_t{1} << 21;
  std::uint64_t peak_ = 0;
};

}  // namespace lathe::ptx::field

#include "ptx/field_value.h"
