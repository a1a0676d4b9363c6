#pragma once

// The points of one execution: primes, names, and the inputs' residues and shadows, all from a
// secret seed. Up to eight residues are carried at once, in slots: level * points + point of
// chains, or one a prime where the primes are independent. All points of an execution share the
// shadows, which decide what is compared. Both programs run at the same points; nothing here
// changes while they do, except that tables are made when first asked for.

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "ptx/field_literal.h"
#include "ptx/field_number.h"

namespace lathe::ptx::field {

/// What the elements of one tensor are at a point.
struct Recipe {
  std::string name;
  Type type = Type::f16;
  bool output = false;    // Nothing to read before it is written.
  bool computed = false;  // Residues by counter, and shadows too where no bytes give them.
  std::string bytes;      // From the first element on; empty: nothing exact may be read.
  double low = -1e4,
         high = 1e4;  // What the contract admits: shadows stay inside.
  double scale = 1, offset = 0;
  Signs signs = 0;
  std::uint64_t elements = 0;  // How many there are; 0: unknown.
  bool changes = false;        // It is read and written: who reads what is noted.
  bool symbolic = false;       // The exact bytes are one of many: elements are words.
};

struct PointOptions {
  std::uint64_t seed = 0, index = 0;  // Of the execution.
  bool linked = true;                 // Chains; false: three independent primes.
  unsigned levels = 2;                // How many primes of a chain are carried.
  unsigned points = 1;                // Chains at once; levels * points is at most slots_max.
  unsigned prime_bits = 31;           // 24 where matrix products are to be quick.
  bool strict_maximum = true;
  bool sentinels_vanish = true;        // Exponentials below 2^-10000 are 0.
  std::vector<std::uint32_t> squares;  // Further primes that should be squares.
  std::vector<double> boundaries;      // Literals that shadows should fall beside.
  bool ties = false;                   // Some inputs are exactly a boundary, 0 or one another.
};

class Point {
 public:
  static Result<std::shared_ptr<const Point>> make(PointOptions options,
                                                   std::vector<Recipe> recipes);

  bool linked() const { return options_.linked; }
  /// What lies between a slot of one level and the same point's slot of the next.
  unsigned stride() const { return options_.points; }
  const Moduli& moduli() const { return moduli_; }
  unsigned slot_count() const { return moduli_.count(); }
  Slots every_slot() const { return static_cast<Slots>((1u << moduli_.count()) - 1); }
  bool small_primes() const { return options_.prime_bits <= 24; }
  bool strict_maximum() const { return options_.strict_maximum; }
  bool sentinels_vanish() const { return options_.sentinels_vanish; }
  const std::vector<Recipe>& recipes() const { return recipes_; }

  /// Element of a computed tensor.
  Number input(std::size_t tensor, std::uint64_t element) const;
  /// A float literal of this format with this value (finite, infinite or NaN).
  Number literal(double value, Type type) const;

  /// 2 to these residues, one level up: slots that no level below feeds become 0.
  Residues exp2(const Residues& exponents) const;
  /// The logarithm of plain y in `slot`, as a plain residue for the slot `stride` above.
  DiscreteLog::Answer log2(unsigned slot, std::uint32_t y) const;
  /// Keys of hashes, one a slot and use.
  std::uint64_t key(unsigned slot, unsigned use) const {
    return mix(options_.seed ^ (options_.index * 64 + use * 8 + slot), 0xF1E1D);
  }

 private:
  Point(PointOptions options, std::vector<Chain> chains, std::vector<Recipe> recipes);
  const Number* tie_of(std::uint64_t element, std::uint64_t random) const;
  double shadow_of(const Recipe& recipe, std::uint64_t random, std::uint64_t more) const;
  const Prime& prime_of(unsigned slot) const { return moduli_.prime(slot); }

  PointOptions options_;
  std::vector<Chain> chains_;
  std::vector<Names> names_;
  Moduli moduli_;
  std::vector<Recipe> recipes_;
  std::uint64_t input_key_;
  std::vector<Number> ties_;  // The first is 0.
  std::array<std::unique_ptr<PowersOfTwo>, slots_max> powers_;
  mutable std::array<std::unique_ptr<DiscreteLog>, slots_max> logs_;
  mutable std::mutex logs_lock_;
};

}  // namespace lathe::ptx::field
