#pragma once

// Which real number a float literal stands for: one within half an ulp of it, found by a fixed
// list. It is a function of the bits, and literals that differ give reals that differ, so what is
// proved is "equal when every literal is perturbed by at most half an ulp".

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/field_chain.h"

namespace lathe::ptx::field {

/// Reals that are random squares, or roots of small numbers, in the field.
enum class Named : std::uint8_t {
  one,
  log2_e,
  ln_2,
  pi,
  inverse_pi,
  root_pi,
  root_2,
  root_3,
  root_2_over_pi
};
std::string_view name_of(Named named);

/// sign * numerator / denominator * 2^exponent * named
struct Reading {
  bool negative = false;
  std::uint64_t numerator = 0, denominator = 1;
  std::int32_t exponent = 0;
  Named named = Named::one;
  bool exact = true;  // The real is the float itself.

  double value() const;
  /// "log2 e / 8"; "0.1".
  std::string text() const;
};

/// Of a finite float with so many significant bits (24: f32, 53: f64, 11: f16, 8: bf16).
Reading read_literal(double value, unsigned significant_bits);

/// Prime factors beyond 7 of a reading: what should be squares in a chain.
std::vector<std::uint32_t> factors_of(const Reading& reading);

/// What each name is at one prime of a point; drawn so that ln 2 = 1 / log2 e, and so on.
class Names {
 public:
  Names(const Chain& chain, std::uint64_t seed, std::uint64_t point);
  std::uint32_t residue(const Reading& reading, unsigned level) const;

 private:
  Chain chain_;
  std::array<std::array<std::uint32_t, 9>, levels> named_{};
};

}  // namespace lathe::ptx::field
