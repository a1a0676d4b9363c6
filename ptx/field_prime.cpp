// Powers, inverses and the primality test.

#include "ptx/field_prime.h"

#include <initializer_list>

namespace lathe::ptx::field {

std::uint32_t Prime::pow(std::uint32_t base, std::uint64_t exponent) const {
  std::uint32_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = mul(result, base);
    base = mul(base, base);
  }
  return result;
}

std::uint32_t Prime::inverse(std::uint32_t a) const {
  std::int64_t old_rest = p, rest = a, old_factor = 0, factor = 1;
  while (rest != 0) {
    std::int64_t quotient = old_rest / rest;
    std::int64_t next = old_rest - quotient * rest;
    old_rest = rest;
    rest = next;
    next = old_factor - quotient * factor;
    old_factor = factor;
    factor = next;
  }
  if (a == 0) return 0;
  return static_cast<std::uint32_t>(old_factor < 0 ? old_factor + p : old_factor);
}

bool is_prime(std::uint32_t n) {
  if (n < 2) return false;
  for (std::uint32_t small : {2u, 3u, 5u, 7u, 11u, 13u, 17u, 19u, 23u, 29u, 31u, 37u})
    if (n % small == 0) return n == small;
  std::uint32_t odd = n - 1;
  int twos = 0;
  for (; odd % 2 == 0; odd /= 2) ++twos;
  Prime prime(n);
  for (std::uint32_t base : {2u, 7u, 61u}) {
    std::uint32_t x = prime.pow(prime.reduce(base), odd);
    if (x == 1 || x == n - 1 || x == 0) continue;
    bool composite = true;
    for (int i = 1; i < twos && composite; ++i) {
      x = prime.mul(x, x);
      composite = x != n - 1;
    }
    if (composite) return false;
  }
  return true;
}

}  // namespace lathe::ptx::field
