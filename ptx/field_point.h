#pragma once

// One point: primes, names, and the inputs' residues and shadows, all from a secret seed. Both
// programs run at the same point; nothing here changes while they do, except that tables are made
// when first asked for.

#include <memory>
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
  bool output = false;            // Nothing to read before it is written.
  bool computed = false;          // Residues and shadows by counter; otherwise exact `bytes`.
  std::string bytes;              // From the first element on; empty: nothing may be read.
  double low = -1e4, high = 1e4;  // What the contract admits: shadows stay inside.
  double scale = 1, offset = 0;
  Signs signs = 0;
};

struct PointOptions {
  std::uint64_t seed = 0, index = 0;
  bool linked = true;   // A chain; false: three independent primes.
  unsigned levels = 2;  // How many residues are carried.
  bool strict_maximum = true;
  std::vector<std::uint32_t> squares;  // Further primes that should be squares.
  std::vector<double> boundaries;      // Literals that shadows should fall beside.
};

class Point {
 public:
  static Result<std::shared_ptr<const Point>> make(PointOptions options,
                                                   std::vector<Recipe> recipes);

  const Chain& chain() const { return chain_; }
  const Prime& prime(unsigned level) const { return chain_.primes[level]; }
  unsigned level_count() const { return options_.levels; }
  std::uint8_t every_level() const {
    return static_cast<std::uint8_t>((1u << options_.levels) - 1);
  }
  bool strict_maximum() const { return options_.strict_maximum; }
  const std::vector<Recipe>& recipes() const { return recipes_; }

  /// Element of a computed tensor.
  Number input(std::size_t tensor, std::uint64_t element) const;
  /// A float literal of this format with this value (finite, infinite or NaN).
  Number literal(double value, Type type) const;

  /// Modulo prime `level`, of an exponent modulo the next prime.
  std::uint32_t exp2(unsigned level, std::uint32_t exponent) const {
    return (*powers_[level])(exponent);
  }
  DiscreteLog::Answer log2(unsigned level, std::uint32_t y) const;
  /// Keys of hashes, one a level and use.
  std::uint64_t key(unsigned level, unsigned use) const {
    return mix(options_.seed ^ (options_.index * 64 + use * 4 + level), 0xF1E1D);
  }

 private:
  Point(PointOptions options, Chain chain, std::vector<Recipe> recipes);
  double shadow_of(const Recipe& recipe, std::uint64_t random, std::uint64_t more) const;

  PointOptions options_;
  Chain chain_;
  Names names_;
  std::vector<Recipe> recipes_;
  std::array<std::unique_ptr<PowersOfTwo>, levels> powers_;
  mutable std::array<std::unique_ptr<DiscreteLog>, levels> logs_;
};

}  // namespace lathe::ptx::field
