#pragma once

// Arithmetic modulo a prime below 2^31. Numbers are reduced: 0 <= x < p. Division is by a
// precomputed reciprocal, so a product costs a few cycles.

#include <cstdint>

namespace lathe::ptx::field {

__extension__ typedef unsigned __int128 Wide;

struct Prime {
  std::uint32_t p = 3;
  std::uint64_t reciprocal = 0;  // floor(2^64 / p)

  Prime() : Prime(3) {}
  explicit Prime(std::uint32_t prime) : p(prime), reciprocal(~std::uint64_t{0} / prime) {}

  /// Any 64-bit number.
  std::uint32_t reduce(std::uint64_t x) const {
    auto q = static_cast<std::uint64_t>((static_cast<Wide>(x) * reciprocal) >> 64);
    std::uint64_t rest = x - q * p;
    rest = rest >= p ? rest - p : rest;
    return static_cast<std::uint32_t>(rest >= p ? rest - p : rest);
  }
  std::uint32_t reduce_signed(std::int64_t x) const {
    std::uint32_t r = reduce(x < 0 ? 0 - static_cast<std::uint64_t>(x) : std::uint64_t(x));
    return x < 0 ? negate(r) : r;
  }
  std::uint32_t add(std::uint32_t a, std::uint32_t b) const {
    std::uint32_t sum = a + b;
    return sum >= p ? sum - p : sum;
  }
  std::uint32_t sub(std::uint32_t a, std::uint32_t b) const { return a >= b ? a - b : a + p - b; }
  std::uint32_t negate(std::uint32_t a) const { return a == 0 ? 0 : p - a; }
  std::uint32_t mul(std::uint32_t a, std::uint32_t b) const { return reduce(std::uint64_t{a} * b); }
  std::uint32_t pow(std::uint32_t base, std::uint64_t exponent) const;
  /// 0 gives 0: the caller asks first.
  std::uint32_t inverse(std::uint32_t a) const;
  bool is_square(std::uint32_t a) const { return a == 0 || pow(a, (p - 1) / 2) == 1; }
  /// Of a or of -a, whichever is a square (p = 3 mod 4): multiplicative, and itself a square.
  std::uint32_t root(std::uint32_t a) const { return pow(a, (std::uint64_t{p} + 1) / 4); }
};

/// Exact for 32 bits.
bool is_prime(std::uint32_t n);

/// Mixes well; not cryptographic. Keys are secret, outputs are never shown.
constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93ull;
  return x ^ x >> 32;
}
constexpr std::uint64_t mix(std::uint64_t key, std::uint64_t x) {
  return mix(mix(x + 0x9E3779B97F4A7C15ull) ^ key);
}

}  // namespace lathe::ptx::field
