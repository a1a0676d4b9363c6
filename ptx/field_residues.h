#pragma once

// Eight residues side by side, each modulo a prime of its own and in Montgomery
// form (x stands for x / 2^32): one operation serves all points and levels of
// an execution.

#include <emmintrin.h>

#include <array>
#include <cstdint>
#include <span>

#include "ptx/field_prime.h"

namespace lathe::ptx::field {

inline constexpr unsigned slots_max = 8;
using Residues = std::array<std::uint32_t, slots_max>;
inline bool equal(const Residues& a, const Residues& b) {
  auto half = [](const Residues& r, unsigned i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(r.data() + i));
  };
  __m128i both = _mm_and_si128(_mm_cmpeq_epi32(half(a, 0), half(b, 0)),
                               _mm_cmpeq_epi32(half(a, 4), half(b, 4)));
  return _mm_movemask_epi8(both) == 0xFFFF;
}
/// One bit a slot.
using Slots = std::uint8_t;

class Moduli {
 public:
  Moduli() : Moduli(std::span<const std::uint32_t>()) {}
  /// Slots beyond the primes given hold 0 and stay 0.
  explicit Moduli(std::span<const std::uint32_t> primes);

  unsigned count() const { return count_; }
  std::uint32_t p(unsigned slot) const { return p_[slot]; }
  const Prime& prime(unsigned slot) const { return primes_[slot]; }
  /// 1 / p modulo 2^32.
  std::uint32_t low_inverse(unsigned slot) const { return low_inverse_[slot]; }
  const Residues& one() const { return one_; }

  Residues add(const Residues& a, const Residues& b) const {
    return each([&](unsigned i, __m128i p) {
      return wrapped(_mm_sub_epi32(load(a, i), _mm_sub_epi32(p, load(b, i))), p);
    });
  }
  Residues sub(const Residues& a, const Residues& b) const {
    return each(
        [&](unsigned i, __m128i p) { return wrapped(_mm_sub_epi32(load(a, i), load(b, i)), p); });
  }
  Residues negate(const Residues& a) const {
    return each([&](unsigned i, __m128i p) {
      return wrapped(_mm_sub_epi32(_mm_setzero_si128(), load(a, i)), p);
    });
  }
  Residues mul(const Residues& a, const Residues& b) const {
    return each([&](unsigned i, __m128i p) { return times(load(a, i), load(b, i), p, i); });
  }
  /// Numbers below 2^32, scaled into [0, p).
  Residues scaled(const Residues& random) const {
    return each([&](unsigned i, __m128i p) {
      __m128i x = load(random, i);
      __m128i even = _mm_srli_epi64(_mm_mul_epu32(x, p), 32);
      __m128i odd = _mm_mul_epu32(_mm_srli_epi64(x, 32), _mm_srli_epi64(p, 32));
      return _mm_or_si128(even, _mm_and_si128(odd, high_half()));
    });
  }
  Residues enter(const Residues& plain) const { return mul(plain, square_); }
  Residues plain(const Residues& a) const { return mul(a, {1, 1, 1, 1, 1, 1, 1, 1}); }
  std::uint32_t enter(unsigned slot, std::uint32_t plain) const {
    return primes_[slot].mul(plain, one_[slot]);
  }
  std::uint32_t plain(unsigned slot, std::uint32_t a) const {
    return primes_[slot].mul(a, back_[slot]);
  }
  Residues integer(std::int64_t value) const;
  Residues power(const Residues& base, const Residues& exponents) const;
  /// 0 gives 0: the caller asks first.
  Residues inverse(const Residues& a) const { return power(a, inverse_exponents_); }
  /// Of a or -a, whichever is a square, where p = 3 mod 4; and which slots hold
  /// the root of a.
  Residues root(const Residues& a) const { return power(a, root_exponents_); }
  Slots zeros(const Residues& a) const { return same(a, Residues{}); }
  Slots same(const Residues& a, const Residues& b) const {
    int bits = _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(load(a, 0), load(b, 0))));
    bits |= _mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(load(a, 4), load(b, 4)))) << 4;
    return static_cast<Slots>(bits);
  }

 private:
  static __m128i load(const Residues& r, unsigned i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(r.data() + i));
  }
  static __m128i high_half() { return _mm_set_epi32(-1, 0, -1, 0); }
  static __m128i wrapped(__m128i d, __m128i p) {
    return _mm_add_epi32(d, _mm_and_si128(_mm_srai_epi32(d, 31), p));
  }
  __m128i times(__m128i a, __m128i b, __m128i p, unsigned i) const {
    __m128i n = load(low_inverse_, i);
    __m128i even = _mm_mul_epu32(a, b);
    __m128i odd = _mm_mul_epu32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32));
    __m128i even_m = _mm_mul_epu32(_mm_mul_epu32(even, n), p);
    __m128i odd_m = _mm_mul_epu32(_mm_mul_epu32(odd, _mm_srli_epi64(n, 32)), _mm_srli_epi64(p, 32));
    __m128i high = _mm_or_si128(_mm_srli_epi64(even, 32), _mm_and_si128(odd, high_half()));
    __m128i high_m = _mm_or_si128(_mm_srli_epi64(even_m, 32), _mm_and_si128(odd_m, high_half()));
    return wrapped(_mm_sub_epi32(high, high_m), p);
  }
  template <class Half>
  Residues each(Half half) const {
    Residues out;
    auto* to = reinterpret_cast<__m128i*>(out.data());
    _mm_storeu_si128(to, half(0, load(p_, 0)));
    _mm_storeu_si128(to + 1, count_ > 4 ? half(4, load(p_, 4)) : _mm_setzero_si128());
    return out;
  }

  Residues p_{}, low_inverse_{}, square_{}, one_{}, back_{};
  Residues inverse_exponents_{}, root_exponents_{};
  std::array<Prime, slots_max> primes_;
  unsigned count_ = 0;
};

/// A 64-bit name of the residues in these slots under a key.
inline std::uint64_t name_of(const Residues& r, Slots slots, std::uint64_t key) {
  std::uint64_t sum = slots;
  for (unsigned i = 0; i < slots_max; i += 2) {
    std::uint64_t low = (slots >> i & 1) != 0 ? r[i] : 0,
                  high = (slots >> i & 2) != 0 ? r[i + 1] : 0;
    std::uint64_t k = key * (2 * i + 1) + 0x9E3779B97F4A7C15ull * (i + 1);
    sum += (low + (k & 0xFFFFFFFFu)) * (high + (k >> 32));
    sum = sum << 23 | sum >> 41;
  }
  return mix(sum ^ key);
}

}  // namespace lathe::ptx::field
