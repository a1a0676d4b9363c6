#pragma once

// A point's primes. In a chain p0 = 2 p1 + 1, p1 = 2 p2 + 1 the number 2 has order p(i+1) modulo
// p(i), so exp2 takes the residue of level i+1 to that of level i, and lg2 is its inverse. All are
// -1 modulo 840: -1 is no square, and 2, 3, 5, 7 and what is made of them are.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "ptx/field_prime.h"

namespace lathe::ptx::field {

inline constexpr unsigned levels = 3;

struct Chain {
  std::array<Prime, levels> primes;
  bool linked = true;  // false: independent primes, for programs without
                       // exponential or root.

  /// A chain from a secret seed whose first prime has `bits` bits. `squares` are further small
  /// primes that should be squares; those that no chain offers are left out, and roots of them
  /// become inconclusive.
  static Result<Chain> draw(std::uint64_t seed, std::uint64_t point,
                            const std::vector<std::uint32_t>& squares = {}, unsigned bits = 31);
  /// Three different random primes: three points at once for rational programs.
  static Chain draw_independent(std::uint64_t seed, std::uint64_t point, unsigned bits = 31);
};

/// Powers of 2 modulo a prime by three small tables.
class PowersOfTwo {
 public:
  explicit PowersOfTwo(Prime prime, std::uint32_t factor = 1);
  std::uint32_t operator()(std::uint32_t exponent) const {
    return prime_.mul(prime_.mul(low(exponent), middle(exponent)), high(exponent));
  }
  /// The power is the product of these three, the first of which has `factor` in it.
  std::uint32_t low(std::uint32_t exponent) const { return low_[exponent & 2047]; }
  std::uint32_t middle(std::uint32_t exponent) const { return middle_[exponent >> 11 & 1023]; }
  std::uint32_t high(std::uint32_t exponent) const { return high_[exponent >> 21]; }

 private:
  Prime prime_;
  std::array<std::uint32_t, 2048> low_;
  std::array<std::uint32_t, 1024> middle_, high_;
};

/// Logarithms to base 2 by baby steps and giant steps, for an order below 2^31.
class DiscreteLog {
 public:
  DiscreteLog(Prime prime, std::uint32_t order);
  struct Answer {
    std::uint32_t exponent = 0;
    bool negated = false;  // It is the logarithm of -y: y is no square.
  };
  /// y is not 0.
  Answer operator()(std::uint32_t y) const;

 private:
  static constexpr unsigned baby_bits = 18;
  struct Slot {
    std::uint32_t power = 0, exponent = 0;
  };
  Prime prime_;
  std::uint32_t order_, giant_;
  std::vector<Slot> slots_;
};

}  // namespace lathe::ptx::field
