#pragma once

// Arithmetic on numbers at one point, with what a run leaves behind for the proof: which
// exponentials had no guard, which divisors no sign, how much was decided by shadows.

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ptx/field_cancellation.h"
#include "ptx/field_lemma.h"
#include "ptx/field_maximum.h"
#include "ptx/form.h"

namespace lathe::ptx::field {

/// Of two numbers: whether the first is below the second, or above it, or equal. Not below is the
/// same question as below.
enum class Question : std::uint8_t { below, above, equal };

/// What Arithmetic::note_limit tells apart: the infinity of its sign, any, or what is no number;
/// and the key of all questions about two numbers that are one real.
namespace limits {
inline constexpr std::uint64_t infinity = 3, finite = 4, number = 5, equals = 6;
}

/// Facts of all blocks that one program ran at one point.
struct Summary {
  std::uint64_t exponentials = 0, unguarded = 0;
  std::uint64_t divisors = 0, unsigned_divisors = 0;
  std::uint64_t comparisons = 0, near_ties = 0, winners = 0, sentinels = 0;
  std::uint64_t integers = 0;     // Made of floats, in their type's range as far as shadows go.
  std::uint64_t saturations = 0;  // Conversions to eight bits beyond the format's largest.
  std::uint64_t maxima = 0, logarithms = 0, roots = 0, floors = 0;
  std::uint64_t starts = 0;    // Maxima of one datum and a literal that only starts them.
  std::uint64_t products = 0;  // Multiply-adds of tensor cores.
  std::int64_t unguarded_instruction = -1, divisor_instruction = -1;
  /// Arguments without guard and divisors without sign, by their residues; cut at keys_max.
  std::unordered_set<std::uint64_t> unguarded_keys, divisor_keys;
  /// Divisors that are not 0 by structure: what equals one of these is not 0 either.
  std::unordered_set<std::uint64_t> signed_divisor_keys;
  /// What is great in a window of the inputs alone, which may be as narrow as one likes:
  /// exponentials of data, those of which their sign is the bound, by their arguments, and
  /// reciprocals that a square keeps finite.
  std::int64_t exponential_instruction = -1, falling_instruction = -1, square_instruction = -1;
  std::unordered_set<std::uint64_t> falling_keys;
  /// Of the maxima that exponentials stay below: what each element would be as an exponential's
  /// argument.
  std::int64_t bounded_instruction = -1;
  std::unordered_set<std::uint64_t> bounding_keys;
  Cancellation cancellation;
  static constexpr std::size_t keys_max = 1u << 21;
  bool keys_cut = false, bounds_cut = false;
  /// What data was compared with what, as the residues of the difference up to its sign; questions
  /// of equality apart. A maximum of two is a comparison, and an absolute value is one with 0.
  std::unordered_set<std::uint64_t> comparison_keys;
  /// Comparisons with a literal, by their key: what is compared less the literal, and the literal.
  struct Threshold {
    Residues r{};
    Slots valid = 0;
    double shadow = 0, literal = 0;
  };
  std::unordered_map<std::uint64_t, Threshold> thresholds;
  static constexpr std::size_t thresholds_max = 1u << 16;
  /// Questions of order by the residues of what is asked to be negative, while the two were never
  /// equal: by whom, which comparison it is, whether it is negative, and whether it is as an input
  /// is but for a shift and a factor. Cut at sides_max.
  struct Side {
    std::uint64_t comparison = 0;
    std::uint32_t instruction = 0;
    bool negative = false, linear = false;
  };
  std::unordered_map<std::uint64_t, Side> sides;
  static constexpr std::size_t sides_max = 1u << 18;
  /// Comparisons by a maximum, which is the same on both sides of a tie.
  std::unordered_set<std::uint64_t> winner_keys;
  /// Operations whose polynomial was read as a function.
  std::unordered_set<std::uint32_t> lemmas;
  /// Instructions that compared equals.
  std::unordered_set<std::uint32_t> tied;
  /// Magnitudes that results of instructions took, zero aside: over the reals (x * c) / c is x, as
  /// floats it may be infinite or 0.
  double largest = 0, smallest = 1.7976931348623157e308;
  void note_magnitude(double shadow) {
    if (shadow < -0x1p96) return;  // Stands for minus infinity: what a mask leaves.
    double magnitude = shadow < 0 ? -shadow : shadow;
    if (!(magnitude <= 1.7976931348623157e308)) return;
    if (magnitude > largest) largest = magnitude;
    if (magnitude < smallest && magnitude > 0) smallest = magnitude;
  }
  /// Of further blocks.
  void add(const Summary& more);
};

class Arithmetic {
 public:
  explicit Arithmetic(const Point& point)
      : point_(&point), moduli_(&point.moduli()), maxima_(point) {
    clear();
  }
  /// Between blocks: forgets terms and sets.
  void clear();

  const Point& point() const { return *point_; }
  Summary& summary() { return summary_; }
  void set_instruction(std::int64_t instruction) { instruction_ = instruction; }
  std::int64_t instruction() const { return instruction_; }

  /// With residues, where they were still to be computed.
  Number settled(Number a) {
    if (a.pending) settle(a);
    return a;
  }
  /// A name of the residues in the slots that are valid.
  std::uint64_t key_of(const Number& a) const {
    return field::name_of(a.r, a.valid, point_->key(0, 4));
  }

  Number negate(Number a) const;
  Number absolute(const Number& a);
  Number copysign(const Number& sign, const Number& magnitude);
  Number signed_as(Number number, const Number& sign, bool turns) const;
  Number add(const Number& a, const Number& b);
  Number sub(const Number& a, const Number& b) { return add(a, negate(b)); }
  Number mul(const Number& a, const Number& b);
  Number divide(const Number& a, const Number& b);
  Number square_root(const Number& a);
  Number exp2(const Number& a);
  Number log2(const Number& a);
  Number tanh(const Number& a);
  Number maximum(const Number& a, const Number& b, bool nan_wins);
  Number minimum(const Number& a, const Number& b, bool nan_wins) {
    return negate(maximum(negate(a), negate(b), nan_wins));
  }
  Number floor(const Number& a) { return floor_near(a, a); }
  /// The nearest integer.
  Number nearest(const Number& a) { return floor_near(add(a, literal(0.5, a.type())), a); }
  /// a + b as an f32 beside a large literal has it: whole.
  Number whole_sum(const Number& a, const Number& b, Rounding rounding);
  Number integral_of(const Number& a, Rounding rounding);
  /// A polynomial's value, or the function that it stands for.
  Number by_lemma(const Lemma& lemma, const Number& argument, const Number& value);
  /// 2 to this power, which a polynomial or the bits of an exponent give: nothing overflows.
  Number power_of_two(const Number& exponent);
  /// An integer, shifted up in 32 bits.
  Number shifted_left(const Number& whole, unsigned by);
  /// Whoever asks this of data decides by its shadow. `question` tells apart what is asked.
  void note_decision(const Number& number, std::uint64_t question) {
    ++summary_.comparisons;
    summary_.comparison_keys.insert(mix(key_of(number), question));
  }
  /// A number scaled by its own exponent: within a factor of two of 1 whatever it was.
  void note_mantissa(const Number& number) { mantissas_.insert(key_of(number)); }
  void note_sign(const Number& number) {
    std::uint64_t key = note_comparison(number, false);
    summary_.winner_keys.insert(key);
    note_threshold(key, number, 0);
  }
  /// Whether a number is so great, or one at all: the reals answer alike for all, and floats that
  /// overflow do not. `limit` tells apart what is asked.
  void note_limit(const Number& a, std::uint64_t limit);
  void note_divisor(const Number& a);
  void note_guard(const Number& a);
  /// What a float's sum lost of numbers that had been rounded.
  void note_sum(const Number& a, const Number& b, const Number& sum) {
    if (a.rounds.count[0] + b.rounds.count[0] == 0 || !sum.finite()) return;
    if (a.shadow == 0 || b.shadow == 0 || sum.shadow == 0) return;
    note_lost(std::max(Cancellation::exponent_of(a.shadow), Cancellation::exponent_of(b.shadow)) -
                  Cancellation::exponent_of(sum.shadow),
              sum);
  }
  /// Of a product and what it becomes when it is rounded an fma leaves the rounding.
  void note_fused(const Number& addend, const Number& sum) {
    if (addend.rounds.count[0] != 0 && addend.shadow != 0 && sum.shadow == 0 && sum.finite() &&
        sum.valid != 0 && equal(sum.r, Residues{}))
      summary_.cancellation.note_leftover(instruction_);
  }
  /// A sum that is so many bits smaller than what it was made of.
  void note_lost(int bits, const Number& sum);
  void note_falling(const Number& a);
  Number integer(std::int64_t value, Type type) const;
  Number literal(double value, Type type) const { return point_->literal(value, type); }
  Number poison() const;

  /// -1, 0, 1, or nothing for NaN and poison.
  std::optional<int> order(const Number& a, const Number& b, Question question);

  /// The result of one more operation in this format: rounded where it can be narrower than what
  /// came in.
  static void put_in_format(Number& a, Type type, bool exact);
  static Number in_format(Number a, Type type, bool exact) {
    put_in_format(a, type, exact);
    return a;
  }

 private:
  struct Term {
    std::uint32_t maximum = 0;
    Residues r{};
    double shadow = 0;
  };
  struct Remembered {
    std::uint32_t from = 0, with = 0, to = 0;
  };

  Number sum_of(const Number& a, const Number& b);
  Number product_of(const Number& a, const Number& b);
  void settle(Number& a);
  std::uint32_t new_term(const Term& term);
  std::uint32_t scaled_term(std::uint32_t term, const Number& factor);
  std::uint32_t sum_term(std::uint32_t a, std::uint32_t b);
  std::uint32_t negated_term(std::uint32_t term) const;
  bool guarded(const Number& a) const {
    return a.is(literal_bits) || a.is(not_positive) || (a.shadow == 0 && is_constant(a)) ||
           below_maximum(a);
  }
  bool below_maximum(const Number& a) const;
  void note_bound(const Number& a);
  void note_elements(std::uint32_t set, const Residues& factor, const Residues& shift, Slots valid);
  /// An integer at this piece, whatever the inputs.
  bool is_constant(const Number& a) const {
    if (!(std::fabs(a.shadow) < 0x1p31) || std::floor(a.shadow) != a.shadow) return false;
    Slots same = moduli_->same(a.r, moduli_->integer(static_cast<std::int64_t>(a.shadow)));
    return a.valid != 0 && (same & a.valid) == a.valid;
  }
  Number floor_near(const Number& a, const Number& origin);
  Number exponential(const Number& a);
  Number logarithm(const Number& a);
  std::optional<Number> floored_from(const Number& whole);
  /// The key of the comparison.
  std::uint64_t note_comparison(const Number& difference, bool equality);
  void note_threshold(std::uint64_t comparison, const Number& difference, double literal);
  void note_side(const Number& difference, Question question, std::uint64_t comparison);
  void note_winner(const Maximum& pair);
  const Residues& inverse(const Residues& a) const;
  std::uint32_t leaf_of(const Number& a);

  const Point* point_;
  const Moduli* moduli_;
  Maxima maxima_;
  mutable std::vector<Term> terms_;
  mutable std::array<Remembered, 64> scaled_{}, negated_{};
  struct Inverse {
    Residues of{}, is{};
  };
  mutable std::vector<Inverse> inverses_ = std::vector<Inverse>(256);
  /// What became an integer n, less n, by the key of that integer less n.
  std::unordered_map<std::uint64_t, Number> floored_;
  std::unordered_set<std::uint64_t> mantissas_;  // A number over the power of two in it.
  /// Of a roll's elements under one coefficient: how many have been noted as bounds.
  std::unordered_map<std::uint64_t, std::uint32_t> bounds_;
  std::uint32_t last_bound_ = 0;                 // The term of the last that was.
  std::unordered_set<std::uint64_t> fractions_;  // A number less its integer, and the negative.
  Summary summary_;
  Residues last_divisor_{};
  std::int64_t instruction_ = -1;
};

inline void Arithmetic::put_in_format(Number& a, Type type, bool exact) {
  a.kind = static_cast<std::uint8_t>(type);
  unsigned bits = significant_bits(type);
  if (!exact) {
    a.rounds = rounded(a.rounds, bits);
    a.fits = static_cast<std::uint8_t>(bits);
  } else if (a.fits > bits) {
    if (!(a.is(literal_bits) && a.is(integral) && std::fabs(a.shadow) <= std::ldexp(1, bits)))
      a.rounds = rounded(a.rounds, bits);
    a.fits = static_cast<std::uint8_t>(bits);
  }
}

}  // namespace lathe::ptx::field
