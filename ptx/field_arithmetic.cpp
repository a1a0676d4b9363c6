// Sums, products, quotients and what carries along a maximum: terms and guards.

#include "ptx/field_arithmetic.h"

#include <cmath>

namespace lathe::ptx::field {
namespace {

Number special_number(Number like, Special special) {
  like.special = special;
  like.term = like.set = 0;
  like.pending = like.reversed = false;
  like.signs = 0;
  like.shadow = special == Special::plus_infinity    ? INFINITY
                : special == Special::minus_infinity ? -INFINITY
                                                     : NAN;
  return like;
}

/// What two operands share into a result before its own value is known.
Number combined(const Number& a, const Number& b) {
  Number out;
  out.valid = a.valid & b.valid;
  out.taint = a.taint | b.taint;
  out.dormant = a.dormant | b.dormant;
  out.kind = a.kind;
  out.rounds = longest(a.rounds, b.rounds);
  out.square = a.square || b.square;
  return out;
}

void keep_only(Residues& r, Slots slots) {
  for (unsigned i = 0; i < slots_max; ++i)
    if ((slots >> i & 1) == 0) r[i] = 0;
}

bool signs_clash(const Number& a, const Number& b) {
  return a.infinite() && b.infinite() && a.special != b.special;
}

}  // namespace

void Summary::add(const Summary& more) {
  auto count = [&](auto member) { this->*member += more.*member; };
  for (auto member : {&Summary::exponentials, &Summary::unguarded, &Summary::divisors,
                      &Summary::unsigned_divisors, &Summary::comparisons, &Summary::near_ties,
                      &Summary::winners, &Summary::sentinels, &Summary::saturations,
                      &Summary::integers, &Summary::maxima, &Summary::starts, &Summary::logarithms,
                      &Summary::roots, &Summary::floors, &Summary::products})
    count(member);
  auto first = [](std::int64_t& mine, std::int64_t other) {
    if (other >= 0 && (mine < 0 || other < mine)) mine = other;
  };
  first(unguarded_instruction, more.unguarded_instruction);
  first(divisor_instruction, more.divisor_instruction);
  first(exponential_instruction, more.exponential_instruction);
  first(falling_instruction, more.falling_instruction);
  first(square_instruction, more.square_instruction);
  first(bounded_instruction, more.bounded_instruction);
  cancellation.add(more.cancellation);
  // Cut where one block's would be.
  auto take = [](auto& mine, const auto& others, std::size_t most) {
    for (const auto& other : others) {
      if (mine.size() >= most) return true;
      mine.insert(other);
    }
    return false;
  };
  keys_cut |= take(unguarded_keys, more.unguarded_keys, keys_max);
  keys_cut |= take(divisor_keys, more.divisor_keys, keys_max);
  keys_cut |= take(comparison_keys, more.comparison_keys, keys_max);
  keys_cut |= take(sides, more.sides, sides_max);
  take(signed_divisor_keys, more.signed_divisor_keys, keys_max);
  take(falling_keys, more.falling_keys, keys_max);
  take(thresholds, more.thresholds, thresholds_max);
  bounds_cut |= take(bounding_keys, more.bounding_keys, keys_max);
  winner_keys.insert(more.winner_keys.begin(), more.winner_keys.end());
  tied.insert(more.tied.begin(), more.tied.end());
  lemmas.insert(more.lemmas.begin(), more.lemmas.end());
  keys_cut |= more.keys_cut;
  bounds_cut |= more.bounds_cut;
  largest = std::max(largest, more.largest);
  smallest = std::min(smallest, more.smallest);
}

void Arithmetic::clear() {
  terms_.assign(1, {});
  scaled_ = {};
  negated_ = {};
  floored_.clear();
  fractions_.clear();
  bounds_.clear();
  last_bound_ = 0;
  mantissas_.clear();
  maxima_.clear();
}

Number Arithmetic::poison() const {
  Number number;
  number.special = Special::poison;
  return number;
}

void Arithmetic::settle(Number& a) {
  a.pending = false;
  std::uint32_t index = maxima_.compute(a.set);
  const Maximum& maximum = maxima_.at(index);
  if (maximum.elements > 2 || maximum.keyed) ++summary_.maxima;
  for (std::uint64_t literal : maximum.literals) summary_.comparison_keys.insert(literal);
  if (maximum.elements == 2 && !maximum.keyed) note_winner(maximum);
  if (maximum.elements > 2 && !point_->strict_maximum()) ++summary_.winners;
  Term term;
  term.maximum = index;
  a.r = a.reversed ? moduli_->negate(maximum.r) : maximum.r;
  term.r = a.reversed ? moduli_->negate(moduli_->one()) : moduli_->one();
  term.shadow = a.reversed ? -1 : 1;
  a.valid = maximum.valid;
  a.taint = maximum.taint;
  a.dormant = maximum.dormant;
  a.term = new_term(term);
}

std::uint32_t Arithmetic::new_term(const Term& term) {
  const Term& last = terms_.back();
  if (last.maximum == term.maximum && equal(last.r, term.r))
    return static_cast<std::uint32_t>(terms_.size() - 1);
  terms_.push_back(term);
  return static_cast<std::uint32_t>(terms_.size() - 1);
}

std::uint32_t Arithmetic::negated_term(std::uint32_t term) const {
  if (term == 0) return 0;
  Remembered& known = negated_[term % negated_.size()];
  if (known.from == term) return known.to;
  Term other = terms_[term];
  other.r = moduli_->negate(other.r);
  other.shadow = -other.shadow;
  terms_.push_back(other);
  known = {term, 0, static_cast<std::uint32_t>(terms_.size() - 1)};
  return known.to;
}

std::uint32_t Arithmetic::scaled_term(std::uint32_t term, const Number& factor) {
  if (term == 0) return 0;
  Remembered& known = scaled_[(term ^ factor.r[0]) % scaled_.size()];
  if (known.from == term && known.with == factor.r[0]) return known.to;
  Term other = terms_[term];
  other.r = moduli_->mul(other.r, factor.r);
  other.shadow *= factor.shadow;
  terms_.push_back(other);
  known = {term, factor.r[0], static_cast<std::uint32_t>(terms_.size() - 1)};
  return known.to;
}

std::uint32_t Arithmetic::sum_term(std::uint32_t a, std::uint32_t b) {
  if (a == 0 || b == 0) return a | b;
  if (terms_[a].maximum != terms_[b].maximum) {
    // Of two the one that bounds from above: M(T) - M(S) is a multiple of M(S), and a rest.
    bool bounds_a = terms_[a].shadow < 0, bounds_b = terms_[b].shadow < 0;
    return bounds_a == bounds_b ? 0 : bounds_a ? a : b;
  }
  Term sum = terms_[a];
  sum.r = moduli_->add(sum.r, terms_[b].r);
  sum.shadow += terms_[b].shadow;
  return sum.r == Residues{} ? 0 : new_term(sum);
}

Number Arithmetic::negate(Number a) const {
  if (a.special == Special::poison) return a;
  a.shadow = -a.shadow;
  a.signs = negated(a.signs);
  if (a.special == Special::plus_infinity) {
    a.special = Special::minus_infinity;
  } else if (a.special == Special::minus_infinity) {
    a.special = Special::plus_infinity;
  }
  a.reversed = a.set != 0 && !a.reversed;
  if (a.pending) return a;
  a.r = moduli_->negate(a.r);
  a.term = negated_term(a.term);
  return a;
}

Number Arithmetic::absolute(const Number& number) {
  if (!number.finite()) return number.special == Special::minus_infinity ? negate(number) : number;
  Number a = settled(number);
  if (!a.is(not_negative)) {
    if (!a.is(not_positive)) note_sign(a);
    if (a.shadow < 0) a = negate(a);
    a.set = 0;
    a.reversed = false;
  }
  a.signs |= not_negative | clear_sign;
  return a;
}

Number Arithmetic::copysign(const Number& sign, const Number& magnitude) {
  Number out = absolute(magnitude);
  if (!sign.is(not_negative) && !sign.is(not_positive)) ++summary_.comparisons;
  return signed_as(std::move(out), sign, std::signbit(sign.shadow));
}

/// Turned or not as `sign` has it, whose own sign is known of this piece only.
Number Arithmetic::signed_as(Number number, const Number& sign, bool turns) const {
  if (!sign.is(not_negative) && !sign.is(not_positive))
    number.signs &= static_cast<Signs>(~sign_part);
  return turns ? negate(number) : number;
}

Number Arithmetic::add(const Number& left, const Number& right) {
  if (left.special == Special::poison || right.special == Special::poison) return poison();
  if (left.pending || right.pending) return add(settled(left), settled(right));
  const Number &a = left, &b = right;
  if (!a.finite() || !b.finite()) {
    bool nan = a.special == Special::nan || b.special == Special::nan || signs_clash(a, b);
    Special special = nan ? Special::nan : a.finite() ? b.special : a.special;
    return special_number(combined(a, b), special);
  }
  if (a.zero() || b.zero()) {
    Number out = a.zero() ? b : a;
    out.rounds = longest(a.rounds, b.rounds);
    return out;
  }
  return sum_of(a, b);
}

/// Of finite numbers; made where the caller wants it.
Number Arithmetic::sum_of(const Number& a, const Number& b) {
  Number out = combined(a, b);
  out.shadow = a.shadow + b.shadow;
  out.r = moduli_->add(a.r, b.r);
  if (a.valid != b.valid) keep_only(out.r, out.valid);
  out.numerator =
      std::max(add_degrees(a.numerator, b.denominator), add_degrees(b.numerator, a.denominator));
  out.denominator = add_degrees(a.denominator, b.denominator);
  out.signs = sum_signs(a.signs, b.signs);
  if ((a.term | b.term) != 0) out.term = sum_term(a.term, b.term);
  return out;
}

Number Arithmetic::mul(const Number& left, const Number& right) {
  if (left.special == Special::poison || right.special == Special::poison) return poison();
  if (left.pending || right.pending) return mul(settled(left), settled(right));
  const Number &a = left, &b = right;
  if (!a.finite() || !b.finite()) {
    bool nan = a.special == Special::nan || b.special == Special::nan || a.zero() || b.zero();
    bool minus = std::signbit(a.shadow) != std::signbit(b.shadow);
    if (!nan) summary_.comparisons += (a.finite() && (a.signs & (positive | negative)) == 0);
    return special_number(combined(a, b), nan     ? Special::nan
                                          : minus ? Special::minus_infinity
                                                  : Special::plus_infinity);
  }
  return product_of(a, b);
}

Number Arithmetic::product_of(const Number& a, const Number& b) {
  Number out = combined(a, b);
  out.shadow = a.shadow * b.shadow;
  bool square = a.shadow == b.shadow && equal(a.r, b.r);
  bool opposite = a.shadow == -b.shadow && equal(a.r, moduli_->negate(b.r));
  out.r = moduli_->mul(a.r, b.r);
  out.numerator = add_degrees(a.numerator, b.numerator);
  out.denominator = add_degrees(a.denominator, b.denominator);
  out.signs = product_signs(a.signs, b.signs);
  if ((square || opposite) && (out.signs & (not_negative | not_positive)) == 0) {
    out.signs |= square ? not_negative : not_positive;
    out.square = true;
  }
  if (a.term != 0 && b.term == 0) out.term = scaled_term(a.term, b);
  if (b.term != 0 && a.term == 0) out.term = scaled_term(b.term, a);
  return out;
}

const Residues& Arithmetic::inverse(const Residues& a) const {
  Inverse& known = inverses_[(a[0] ^ a[1] >> 7) % inverses_.size()];
  if (!equal(known.of, a)) known = {a, moduli_->inverse(a)};
  return known.is;
}

void Arithmetic::note_divisor(const Number& a) {
  ++summary_.divisors;
  if (a.is(positive) || a.is(negative)) {
    // Rows divide by one sum many times.
    if (equal(last_divisor_, a.r)) return;
    last_divisor_ = a.r;
    if (a.square && summary_.square_instruction < 0) summary_.square_instruction = instruction_;
    if (summary_.signed_divisor_keys.size() < Summary::keys_max)
      summary_.signed_divisor_keys.insert(std::min(key_of(a), key_of(negate(a))));
    return;
  }
  if (summary_.unsigned_divisors++ == 0 || instruction_ < summary_.divisor_instruction)
    summary_.divisor_instruction = instruction_;
  // A sign does not change whether it vanishes.
  std::uint64_t key = std::min(key_of(a), key_of(negate(a)));
  if (summary_.divisor_keys.size() < Summary::keys_max) {
    summary_.divisor_keys.insert(key);
  } else {
    summary_.keys_cut = true;
  }
}

std::uint64_t Arithmetic::note_comparison(const Number& difference, bool equality) {
  ++summary_.comparisons;
  std::uint64_t key = std::min(key_of(difference), key_of(negate(difference)));
  if (equality) key = mix(key, 1);
  // Equals are a piece that was entered.
  if (equal(difference.r, Residues{})) return key;
  if (summary_.comparison_keys.size() < Summary::keys_max)
    summary_.comparison_keys.insert(key);
  else
    summary_.keys_cut = true;
  return key;
}

/// Of something less a literal.
void Arithmetic::note_threshold(std::uint64_t comparison, const Number& difference,
                                double literal) {
  if (summary_.thresholds.size() < Summary::thresholds_max)
    summary_.thresholds.try_emplace(
        comparison, Summary::Threshold{difference.r, difference.valid, difference.shadow, literal});
}

void Arithmetic::note_side(const Number& difference, Question question, std::uint64_t comparison) {
  const Number asked = question == Question::below ? difference : negate(difference);
  if (summary_.sides.size() < Summary::sides_max)
    summary_.sides.try_emplace(
        key_of(asked),
        Summary::Side{comparison, static_cast<std::uint32_t>(instruction_), asked.shadow < 0,
                      asked.numerator <= 1 && asked.denominator == 0});
  else
    summary_.keys_cut = true;
}

/// The larger of two: a comparison, of one with 0 where the other is its negative.
void Arithmetic::note_winner(const Maximum& pair) {
  const MaximumElement &a = maxima_.element(pair, 0), &b = maxima_.element(pair, 1);
  if (a.starts() != b.starts()) {
    ++summary_.starts;
    return;
  }
  Number difference;
  difference.valid = a.valid & b.valid;
  bool opposite = !a.literal && !b.literal && moduli_->add(a.r, b.r) == Residues{};
  difference.r = opposite ? a.r : moduli_->sub(a.r, b.r);
  difference.shadow = opposite ? a.shadow : a.shadow - b.shadow;
  std::uint64_t key = note_comparison(difference, false);
  if (difference.r == Residues{}) summary_.comparison_keys.insert(limits::equals);
  summary_.winner_keys.insert(key);
  if (opposite) note_threshold(key, difference, 0);
  if (!opposite && b.literal) note_threshold(key, difference, b.shadow);
  if (!opposite && a.literal) note_threshold(key, negate(difference), a.shadow);
}

Number Arithmetic::divide(const Number& left, const Number& right) {
  if (left.special == Special::poison || right.special == Special::poison) return poison();
  if (left.pending || right.pending) return divide(settled(left), settled(right));
  const Number &a = left, &b = right;
  Number out = combined(a, b);
  if (a.special == Special::nan || b.special == Special::nan || (a.infinite() && b.infinite()) ||
      (a.zero() && b.zero()))
    return special_number(out, Special::nan);
  bool minus = std::signbit(a.shadow) != std::signbit(b.shadow);
  if (a.infinite() || b.zero())
    return special_number(out, minus ? Special::minus_infinity : Special::plus_infinity);
  if (b.infinite()) {
    Number zero = literal(0, a.type());
    zero.rounds = out.rounds;
    return zero;
  }
  note_divisor(b);
  out.shadow = a.shadow / b.shadow;
  const Residues inverted = inverse(b.r);
  out.valid &= static_cast<Slots>(~moduli_->zeros(b.r));
  out.r = moduli_->mul(a.r, inverted);
  out.numerator = add_degrees(a.numerator, b.denominator);
  out.denominator = add_degrees(a.denominator, b.numerator);
  out.signs = product_signs(a.signs, b.signs) & static_cast<Signs>(~(integral | steps));
  if (a.term != 0 && b.term == 0) {
    Number factor = b;
    factor.r = inverted;
    factor.shadow = 1 / b.shadow;
    out.term = scaled_term(a.term, factor);
  }
  return out;
}

bool Arithmetic::below_maximum(const Number& a) const {
  if (a.term == 0) return false;
  // a = c M(S) + t with c < 0: bounded by 0 where -t/c is in S, or the maximum of a part of S.
  const Term& term = terms_[a.term];
  if (term.shadow >= 0) return false;
  const Maximum& maximum = maxima_.at(term.maximum);
  auto known = static_cast<Slots>(a.valid & maximum.valid & ~a.taint & ~moduli_->zeros(term.r));
  if (known == 0) return false;
  Residues rest = moduli_->sub(a.r, moduli_->mul(term.r, maximum.r));
  Residues element = moduli_->mul(rest, inverse(moduli_->negate(term.r)));
  return maxima_.member(term.maximum, element, known) ||
         maxima_.of_part(term.maximum, element, known);
}

/// Of c (s - M(S)): each element of S as c s is. A maximum of what is no term of the sum that it
/// scales may be so great that all terms vanish.
void Arithmetic::note_bound(const Number& a) {
  if (a.is(literal_bits) || a.term == 0 || a.term == last_bound_) return;
  const Term& term = terms_[last_bound_ = a.term];
  if (term.shadow >= 0) return;
  std::uint64_t before = summary_.bounding_keys.size();
  note_elements(term.maximum, moduli_->negate(term.r), Residues{}, a.valid);
  if (summary_.bounding_keys.size() != before && summary_.bounded_instruction < 0)
    summary_.bounded_instruction = instruction_;
}

/// Of a set's elements `factor` times each, and `shift` more: of those that are maxima themselves,
/// their elements.
void Arithmetic::note_elements(std::uint32_t index, const Residues& factor, const Residues& shift,
                               Slots valid) {
  const Maximum& set = maxima_.at(index);
  // What a literal bounds is a comparison with it, and so is a magnitude.
  if (maxima_.plain_pair(set)) return;
  std::uint32_t& noted = bounds_[mix(set.roll, mix(factor[0], shift[0]))];
  for (; noted < set.elements; ++noted) {
    const MaximumElement& element = maxima_.element(set, noted);
    if (element.literal) continue;
    Number argument;
    argument.r = moduli_->add(moduli_->mul(element.r, factor), shift);
    argument.valid = element.valid & valid;
    if (element.term != 0) {
      const Term term = terms_[element.term];
      Residues more = moduli_->mul(term.r, factor);
      Residues rest = moduli_->sub(argument.r, moduli_->mul(more, maxima_.at(term.maximum).r));
      note_elements(term.maximum, more, rest, argument.valid);
      continue;
    }
    keep_only(argument.r, argument.valid);
    if (summary_.bounding_keys.size() < Summary::keys_max)
      summary_.bounding_keys.insert(key_of(argument));
    else
      summary_.bounds_cut = true;
  }
}

void Arithmetic::note_lost(int bits, const Number& sum) {
  if (bits >= Cancellation::much) {
    // Of a number less its integer everything is kept.
    if (!fractions_.empty() && fractions_.contains(key_of(sum))) return;
    if (sum.valid != 0 && equal(sum.r, Residues{}))
      summary_.cancellation.note_leftover(instruction_);
  }
  summary_.cancellation.note(instruction_, bits, 1);
}

Number Arithmetic::integer(std::int64_t value, Type type) const {
  Number number;
  number.kind = static_cast<std::uint8_t>(type);
  number.shadow = static_cast<double>(value);
  number.valid = point_->every_slot();
  number.numerator = 0;
  number.signs = literal_bits | integral | signs_of(number.shadow);
  if (value % step_of_exponent == 0) number.signs |= steps;
  number.fits = 64;
  number.r = moduli_->integer(value);
  return in_format(number, type, true);
}

}  // namespace lathe::ptx::field
