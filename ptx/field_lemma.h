#pragma once

// Polynomials that stand for functions. A run of f32 sums and products in one register, all other
// operands literals, is a polynomial in it. Where a polynomial of degree four or more stays within
// a few units in the last place of 2^t, e^t, ln(1 + t) or log2(1 + t), on an interval on which that
// was bounded, its value is that function wherever the argument's shadow lies there. Outside it is
// the polynomial itself. It is decided by the coefficients alone, never by shape or name.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace lathe::ptx {
struct Program;
}

namespace lathe::ptx::field {

struct Lemma {
  enum class Function : std::uint8_t {
    exp2,
    exp,
    ln_1p,
    log2_1p,
    /// The second part of a literal that no float holds: log2 e = 0f3FB8AA3B + 0f32A57060, where
    /// both multiply one register. The first is read as the whole, so this one adds nothing.
    rest_of_literal,
  };
  Function function = Function::exp2;
  std::uint8_t operand = 0;  // Which operand is the argument; of a rest: what it is added to.
  double low = 0, high = 0;  // The interval.
  double error = 0;          // At most, of the larger of |value| and 1/8.
  std::string text() const;
};

/// By operation: the last of each such polynomial.
using Lemmas = std::unordered_map<std::uint32_t, Lemma>;
Lemmas find_lemmas(const Program& program);

/// A polynomial by its coefficients, the constant one first: the function that it is, if any, and
/// where.
struct Match {
  Lemma::Function function;
  double low, high, error;
};
std::vector<Match> functions_of(const std::vector<double>& coefficients);

}  // namespace lathe::ptx::field
