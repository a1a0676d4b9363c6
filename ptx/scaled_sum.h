#pragma once

// The fused dot-add of the tensor cores with block scales (kinds mxf8f6f4, mxf4 and mxf4nvf4 of
// tcgen05), bit for bit as MMA-Sim has it; no device of ours has witnessed it.
//
// Of bytes it is that of fused_sum.h, where the scales' exponents are added to a product's. Of four
// bits sixteen products are summed exactly, times the significands of the two scales; such a group
// has the exponents of its scales, whatever its sum is. C and the groups are then cut to 35 bits.

#include <algorithm>
#include <optional>
#include <span>

#include "ptx/fused_sum.h"

namespace lathe::ptx::dot {

inline constexpr unsigned scaled_k_max = 64, blocks_max = 4, group = 16;

/// A row of A, a column of B and what scales them; elements lie in the low bits of their words.
struct ScaledFactors {
  Type a_type{}, b_type{}, scale_type{};
  unsigned k = 0, blocks = 0;
  std::array<std::uint32_t, scaled_k_max> a, b;
  std::array<std::uint8_t, blocks_max> a_scale, b_scale;
};

/// significand * 2^(exponent - fraction_bits)
struct Term {
  std::int64_t significand = 0;
  std::int32_t exponent = 0, fraction_bits = 0;
};

/// A scale has no sign. NaN has no term.
inline std::optional<Term> scale_term(Type type, std::uint8_t bits) {
  if (type == Type::ue8m0) {
    if (bits == 0xFF) return std::nullopt;
    return Term{1, bits - 127, 0};
  }
  if ((bits & 0x7F) == 0x7F) return std::nullopt;
  std::int32_t biased = bits >> 3 & 15, fraction = bits & 7;
  if (biased == 0) return Term{fraction, fraction == 0 ? -126 : -6, 3};
  return Term{fraction | 8, biased - 7, 3};
}

inline Numbers numbers_of(Type type, std::span<const std::uint32_t> bits) {
  Numbers numbers;
  with_factor_type(type, [&]<Type T>() {
    for (unsigned i = 0; i < bits.size(); ++i) split<T>(numbers, i, bits[i]);
  });
  return numbers;
}

/// The terms cut to `fraction_bits` below the largest exponent and summed.
inline float sum_of_terms(std::span<const Term> terms, int fraction_bits) {
  std::int32_t top = absent;
  for (const Term& term : terms) top = std::max(top, term.exponent);
  std::int64_t sum = 0;
  for (const Term& term : terms) {
    std::int64_t magnitude = term.significand < 0 ? -term.significand : term.significand;
    int left = fraction_bits - term.fraction_bits - (top - term.exponent);
    magnitude = left >= 0 ? magnitude << left : left < -63 ? 0 : magnitude >> -left;
    sum += term.significand < 0 ? -magnitude : magnitude;
  }
  return truncated(sum, top, fraction_bits, 23);
}

/// C, or nothing where it is not added.
inline std::optional<Term> accumulator_term(float c, bool without) {
  if (without) return std::nullopt;
  auto bits = std::bit_cast<std::uint32_t>(c);
  auto biased = static_cast<std::int32_t>(bits >> 23 & 0xFF);
  auto m = static_cast<std::int64_t>(bits & 0x7FFFFF);
  if (biased != 0) m |= 1 << 23;
  return Term{(bits >> 31) != 0 ? -m : m, biased == 0 ? -126 : biased - 127, 23};
}

/// One element of D.
inline float scaled_sum(const ScaledFactors& in, float c, bool without_c) {
  const float nan = std::bit_cast<float>(0x7FFFFFFFu);
  std::array<std::optional<Term>, blocks_max> scales;
  for (unsigned i = 0; i < in.blocks; ++i) {
    auto a = scale_term(in.scale_type, in.a_scale[i]), b = scale_term(in.scale_type, in.b_scale[i]);
    if (!a || !b) return nan;
    scales[i] = Term{a->significand * b->significand, a->exponent + b->exponent,
                     a->fraction_bits + b->fraction_bits};
  }
  Numbers a = numbers_of(in.a_type, std::span(in.a).first(in.k));
  Numbers b = numbers_of(in.b_type, std::span(in.b).first(in.k));
  double whole = without_c ? 0 : static_cast<double>(c);
  std::array<Term, scaled_k_max + 1> terms;
  unsigned count = 0;
  if (auto term = accumulator_term(c, without_c)) terms[count++] = *term;
  bool by_groups = in.k == scaled_k_max;
  for (unsigned i = 0; i < in.k; ++i) {
    const Term& scale = *scales[i / (in.k / in.blocks)];
    if (by_groups) {  // In quarters.
      if (i % group == 0) terms[count++] = {0, scale.exponent, scale.fraction_bits + 2};
      std::int64_t product = std::int64_t{a.significand[i]} * b.significand[i];
      if (product != 0)
        terms[count - 1].significand +=
            (product << (a.exponent[i] + b.exponent[i])) * scale.significand;
      continue;
    }
    whole += a.value[i] * b.value[i] * power_of_two(scale.exponent);
    if (a.significand[i] != 0 && b.significand[i] != 0)
      terms[count++] = {std::int64_t{a.significand[i]} * b.significand[i],
                        a.exponent[i] + b.exponent[i] + scale.exponent,
                        a.fraction_bits + b.fraction_bits};
  }
  if (whole != whole) return nan;
  if (whole - whole != 0) return static_cast<float>(whole);
  return sum_of_terms(std::span(terms).first(count), by_groups ? 35 : 25);
}

}  // namespace lathe::ptx::dot
