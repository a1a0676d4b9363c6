#pragma once

// Inputs for the fused dot-add of the tensor cores: of ordinary size, and of every other kind.

#include <array>
#include <random>

#include "ptx/fused_sum.h"

namespace lathe::ptx::dot {

enum class Inputs { ordinary, raw, subnormal, cancelling, zeros, huge_c, tiny_c, spread, great };
inline constexpr std::array all_inputs{Inputs::ordinary,   Inputs::raw,    Inputs::subnormal,
                                       Inputs::cancelling, Inputs::zeros,  Inputs::huge_c,
                                       Inputs::tiny_c,     Inputs::spread, Inputs::great};

/// A float of about this size in the bits of a type.
template <Type T>
std::uint32_t element(double x) {
  auto bits = static_cast<std::uint32_t>(rounded<T>(x, 0, Rounding::rn).bits());
  if (format_of<T>().has_infinity) return bits;
  std::uint32_t sign = 1u << (format_of<T>().width - 1);
  return (bits & ~sign) > format_of<T>().max_bits ? (bits & sign) : bits;
}

struct Case {
  Product how;
  Factors factors{};
  Rows rows{};
};

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  Case make(const Product& how, Inputs inputs) {
    Case made{how, {}, {}};
    for (unsigned i = 0; i < how.m * how.k; ++i) made.factors.a[i] = factor(how.a_type, inputs, i);
    for (unsigned i = 0; i < how.k * columns; ++i)
      made.factors.b[i] = factor(how.b_type, inputs, i / columns);
    for (Row& row : made.rows)
      for (float& c : row.c) c = accumulator(how.half, inputs);
    if (inputs == Inputs::cancelling)
      for (unsigned i = 0; i < how.m; ++i)
        for (unsigned q = 1; q < how.k; q += 2)  // Each odd column takes an even one away.
          made.factors.a[i * how.k + q] =
              made.factors.a[i * how.k + q - 1] ^ (random_() % 8 != 0 ? sign(how.a_type) : 0);
    return made;
  }

 private:
  static std::uint32_t sign(Type type) {
    return with_factor_type(type, []<Type T>() {
      return T == Type::tf32 ? 0x80000000u : 1u << (format_of<T>().width - 1);
    });
  }
  std::uint32_t factor(Type type, Inputs inputs, unsigned k) {
    return with_factor_type(type, [&]<Type T>() -> std::uint32_t {
      constexpr FloatFormat format = format_of<T>();
      constexpr unsigned shift = T == Type::tf32 ? 13 : 0;
      auto bits = static_cast<std::uint32_t>(random_()) & ((1u << format.width) - 1);
      std::uint32_t negative = bits & (1u << (format.width - 1));
      if (inputs == Inputs::raw) return bits << shift;
      if (inputs == Inputs::zeros) return negative << shift;
      if (inputs == Inputs::great)  // All of one sign, so that sums are as large as they can be.
        return element<T>(1.98 + static_cast<double>(random_() % 100) / 5001);
      if (inputs == Inputs::subnormal && k % 4 != 0)
        return (bits & (negative | ((1u << (format.precision - 1)) - 1))) << shift;
      if (inputs == Inputs::spread)  // Products of some are below the normal numbers.
        return element<T>(normal_(random_) * std::ldexp(1.0, -static_cast<int>(random_() % 130)));
      return element<T>(normal_(random_) * std::ldexp(1.0, static_cast<int>(random_() % 5)));
    });
  }
  float accumulator(bool half, Inputs inputs) {
    if (inputs == Inputs::great) return 1.5F;
    double c = normal_(random_) * 4;
    if (inputs == Inputs::raw && random_() % 4 == 0)
      return std::bit_cast<float>(static_cast<std::uint32_t>(random_()));
    if (random_() % 5 == 0) c = random_() % 2 == 0 ? 0.0 : -0.0;
    if (half) return static_cast<float>(to_double(rounded<Type::f16>(c, 0, Rounding::rn)));
    if (inputs == Inputs::huge_c) c = std::ldexp(c, static_cast<int>(random_() % 130));
    if (inputs == Inputs::tiny_c || inputs == Inputs::zeros || inputs == Inputs::spread)
      c = std::ldexp(c, -static_cast<int>(random_() % 150));
    return static_cast<float>(c);
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

}  // namespace lathe::ptx::dot
