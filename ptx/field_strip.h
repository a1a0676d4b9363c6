#pragma once

// Numbers of the 32 lanes of a warp side by side: what one instruction gives, where all lanes have
// everything but residues and shadow in common. Sums and products of them are loops over lanes; an
// element is a number like any other, and what has no form here goes lane by lane.

#include <array>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "ptx/field.h"
#include "ptx/form.h"

namespace lathe::ptx::field {

struct alignas(64) Strip {
  std::array<double, lane_count> shadows{};
  std::array<std::array<std::uint32_t, lane_count>, slots_max> r{};
  /// The first lane's number. A strip of literals has one value in all lanes.
  Number first;
};

/// A factor that only moves the exponent: of formats that have one to spare.
inline bool only_moves(const Number& factor) {
  return factor.type() == Type::f32 && moves_exponent<Type::f32>(factor);
}

/// What 32 numbers of four bytes side by side have in common: all are exact, or names that follow
/// one another.
struct RowLook {
  bool exact = false, names = false;
};
RowLook look_at_row(const Tag* tags);

class Strips;

/// What a row's meaning computes with; without a strip it goes lane by lane.
struct StripValue {
  Strips* strips = nullptr;
  const Strip* strip = nullptr;
  std::uint32_t id = 0;
  /// All lanes have the first one's number. The strip's lanes need not be filled.
  bool one = false;
};

class Strips {
 public:
  explicit Strips(Field& field) : field_(&field) {}

  Number number(std::uint32_t id) const;

  /// An instruction of these lanes; false: too few to be worth it.
  bool begin(Mask active);
  /// A register of f32, f16 or bf16.
  StripValue load(Field::Lanes& lanes, Spot place, Type type);
  /// The same numbers in another of these formats.
  StripValue converted(const StripValue& value, Type to);
  /// `fresh`: it was made by this instruction, for this register.
  void store(Field::Lanes& lanes, Spot place, const StripValue& value, bool fresh);
  /// Before what a register holds is lost.
  void release(const Registers& registers, Spot place, std::size_t bytes) {
    if (!registers.owns(place, bytes)) return;
    free_.push_back((registers.content(place).id - first_strip) / lane_count);
  }

  StripValue add(Form f, const StripValue& a, const StripValue& b) { return sum(f, a, b, false); }
  StripValue sub(Form f, const StripValue& a, const StripValue& b) { return sum(f, a, b, true); }
  StripValue mul(Form f, const StripValue& a, const StripValue& b);
  StripValue fused(Form f, const StripValue& a, const StripValue& b, const StripValue& c);
  StripValue negate(const StripValue& a);

  std::size_t size() const { return used_; }
  /// Keeps those that are marked; the next look is after `at_least` more.
  void keep(const std::vector<bool>& live, std::size_t at_least);
  void clear();

 private:
  StripValue sum(Form f, const StripValue& a, const StripValue& b, bool less);

  static constexpr unsigned chunk_bits = 8;
  static constexpr std::size_t collect_least = 4096;
  static constexpr std::size_t strips_max = (first_tile - first_strip) / lane_count;
  using Ids = std::array<std::uint32_t, lane_count>;

  const Strip& at(std::uint32_t index) const {
    return chunks_[index >> chunk_bits][index & ((1u << chunk_bits) - 1)];
  }
  Strip& at(std::uint32_t index) {
    return chunks_[index >> chunk_bits][index & ((1u << chunk_bits) - 1)];
  }
  bool made_here(std::uint32_t id) const { return id >= first_strip && id < first_tile; }
  std::uint32_t new_strip();
  StripValue value(std::uint32_t index) {
    return {this, &at(index), first_strip + index * lane_count};
  }
  bool ids_of(const Plane& plane, Spot place, Type type, Ids& ids) const;
  bool complete(Ids& ids) const;
  StripValue literal(std::uint32_t id, Type type);
  StripValue uniform(std::uint32_t id, Type type);
  const Strip& filled(const StripValue& value);
  StripValue load_content(Registers& registers, Spot place, Type type, bool& known);
  StripValue whole_strip(std::uint32_t id, Type type);
  StripValue gathered(const Ids& ids, Type type);
  bool fill(Strip& strip, const Ids& ids, Type type) const;
  bool take(const Number& number, unsigned lane, Strip& into, Type type) const;
  StripValue finished(std::uint32_t index, Number first, Type type, bool exact);
  bool ambiguous_square(const StripValue& a, const StripValue& b) const;
  void note_magnitudes(const Strip& strip) const;
  Number number_of(const Strip& strip, unsigned lane) const;
  void note_sum(const std::array<double, lane_count>& a, const std::array<double, lane_count>& b,
                const Strip& sum);
  void note_fused(const StripValue& a, const StripValue& b, const Strip& z, const Strip& sum);

  Field* field_;
  std::vector<std::unique_ptr<Strip[]>> chunks_;
  std::size_t used_ = 0, collect_at_ = collect_least;
  std::vector<std::uint32_t> free_;
  /// What was gathered of elements of inputs, whose names stand for one number always.
  struct Gathering {
    Ids ids{};
    std::uint32_t index = none;
  };
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr unsigned gatherings_bits = 10;
  std::vector<Gathering> gatherings_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Strip>> literals_;  // By their number's name.
  /// Numbers that all lanes of an operand have; an instruction has a few of them.
  static constexpr unsigned singles_count = 8;
  std::array<Strip, singles_count> singles_;
  unsigned next_single_ = 0;
  Mask active_ = every_lane;
};

// The functions that the meanings of f32 rows call. What is not here has no form over a strip.

inline StripValue add(Form f, const StripValue& a, const StripValue& b) {
  return a.strips->add(f, a, b);
}
inline StripValue sub(Form f, const StripValue& a, const StripValue& b) {
  return a.strips->sub(f, a, b);
}
inline StripValue mul(Form f, const StripValue& a, const StripValue& b) {
  return a.strips->mul(f, a, b);
}
inline StripValue fused(Form f, const StripValue& a, const StripValue& b, const StripValue& c) {
  return a.strips->fused(f, a, b, c);
}
/// fma.oob asks which lanes are NaN.
inline StripValue fused_filled(Form, const StripValue&, const StripValue&, const StripValue&) {
  return {};
}
inline StripValue negate(Form, const StripValue& a) { return a.strips->negate(a); }

}  // namespace lathe::ptx::field
