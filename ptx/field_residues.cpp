// Constants of eight moduli, and powers.

#include "ptx/field_residues.h"

#include <algorithm>

namespace lathe::ptx::field {

Moduli::Moduli(std::span<const std::uint32_t> primes)
    : count_(static_cast<unsigned>(primes.size())) {
  p_.fill(3);
  std::copy(primes.begin(), primes.end(), p_.begin());
  for (unsigned i = 0; i < slots_max; ++i) {
    std::uint32_t p = p_[i], inverse = p;
    for (unsigned step = 0; step < 5; ++step) inverse *= 2 - p * inverse;
    primes_[i] = Prime(p);
    low_inverse_[i] = inverse;
    one_[i] = primes_[i].reduce(std::uint64_t{1} << 32);
    square_[i] = primes_[i].mul(one_[i], one_[i]);
    back_[i] = primes_[i].inverse(one_[i]);
    inverse_exponents_[i] = p - 2;
    root_exponents_[i] = static_cast<std::uint32_t>((std::uint64_t{p} + 1) / 4);
    if (i >= count_) one_[i] = square_[i] = 0;
  }
}

Residues Moduli::integer(std::int64_t value) const {
  Residues out{};
  for (unsigned i = 0; i < count_; ++i) out[i] = primes_[i].reduce_signed(value);
  return enter(out);
}

Residues Moduli::power(const Residues& base, const Residues& exponents) const {
  Residues result = one_, square = base;
  std::uint32_t most = *std::max_element(exponents.begin(), exponents.end());
  for (unsigned bit = 0; bit < 32 && most >> bit != 0; ++bit) {
    Residues product = mul(result, square);
    for (unsigned i = 0; i < slots_max; ++i)
      if ((exponents[i] >> bit & 1) != 0) result[i] = product[i];
    square = mul(square, square);
  }
  return result;
}

}  // namespace lathe::ptx::field
