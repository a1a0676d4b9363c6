// Exponentials, logarithms, roots, maxima, floors and comparisons.

#include <cmath>

#include "ptx/field_arithmetic.h"

namespace lathe::ptx::field {
namespace {

/// f32 has no smaller exponential than 2^-149; masks of -1e6 and of minus infinity meet here.
constexpr double sentinel_below = -1e4;

Number base_of(const Number& a) {
  Number out;
  out.kind = a.kind;
  out.rounds = a.rounds;
  return out;
}

Number of_special(const Number& a, Special special) {
  Number out = base_of(a);
  out.special = special;
  out.shadow = special == Special::plus_infinity    ? INFINITY
               : special == Special::minus_infinity ? -INFINITY
                                                    : NAN;
  return out;
}

}  // namespace

Number Arithmetic::exp2(const Number& argument) {
  if (argument.special == Special::poison || argument.special == Special::nan) return argument;
  if (argument.special == Special::plus_infinity) return argument;
  Number a = settled(argument);
  if (a.finite()) note_guard(a);
  return exponential(a);
}

/// The integer that a number became has its guard.
void Arithmetic::note_guard(const Number& a) {
  ++summary_.exponentials;
  if (!a.is(literal_bits) && summary_.exponential_instruction < 0)
    summary_.exponential_instruction = instruction_;
  if (!a.is(literal_bits) && a.is(not_positive)) note_falling(a);
  if (guarded(a)) return note_bound(a);
  std::uint64_t key = key_of(a);
  if (fractions_.contains(key)) return;
  if (a.is(integral))
    if (std::optional<Number> origin = floored_from(a)) {
      if (origin->is(not_positive)) note_falling(*origin);
      if (guarded(*origin)) return note_bound(*origin);
      key = key_of(*origin);
    }
  if (summary_.unguarded++ == 0 || instruction_ < summary_.unguarded_instruction)
    summary_.unguarded_instruction = instruction_;
  if (summary_.unguarded_keys.size() < Summary::keys_max) {
    summary_.unguarded_keys.insert(key);
  } else {
    summary_.keys_cut = true;
  }
}

void Arithmetic::note_falling(const Number& a) {
  if (below_maximum(a)) return;
  if (summary_.falling_instruction < 0) summary_.falling_instruction = instruction_;
  if (summary_.falling_keys.size() < Summary::keys_max) summary_.falling_keys.insert(key_of(a));
}

/// What became this integer, perhaps with another one added.
std::optional<Number> Arithmetic::floored_from(const Number& whole) {
  Number n = integer(static_cast<std::int64_t>(whole.shadow), whole.type());
  auto found = floored_.find(key_of(sub(whole, n)));
  if (found == floored_.end()) return std::nullopt;
  return add(found->second, n);
}

Number Arithmetic::exponential(const Number& a) {
  bool sentinel = a.finite() && a.shadow < sentinel_below && point_->sentinels_vanish();
  if (sentinel) ++summary_.sentinels;
  if (a.special == Special::minus_infinity || sentinel) {
    Number zero = literal(0, a.type());
    zero.rounds = a.rounds;
    return zero;
  }
  Number out = base_of(a);
  out.shadow = std::exp2(a.shadow);
  out.signs = positive | not_negative | clear_sign;
  if (a.is(literal_bits)) out.signs |= literal_bits;
  if (!point_->linked()) return out;
  out.valid = static_cast<Slots>(a.valid >> point_->stride());
  out.taint = static_cast<Slots>((a.taint | a.dormant) >> point_->stride());
  out.r = point_->exp2(a.r);
  for (unsigned slot = 0; slot < slots_max; ++slot)
    if ((out.valid >> slot & 1) == 0) out.r[slot] = 0;
  return out;
}

Number Arithmetic::log2(const Number& argument) {
  if (argument.special == Special::poison || argument.special == Special::nan) return argument;
  Number a = settled(argument);
  if (a.special == Special::minus_infinity || (a.is(literal_bits) && a.shadow < 0))
    return of_special(a, Special::nan);
  if (a.special == Special::plus_infinity) return argument;
  if (a.zero()) return of_special(a, Special::minus_infinity);
  note_divisor(a);
  return logarithm(a);
}

Number Arithmetic::logarithm(const Number& argument) {
  Number a = settled(argument);
  ++summary_.logarithms;
  Number out = base_of(a);
  if (!(a.shadow > 0)) return of_special(a, Special::nan);
  out.shadow = std::log2(a.shadow);
  if (a.is(literal_bits)) out.signs |= literal_bits;
  unsigned stride = point_->stride();
  for (unsigned slot = 0; slot + stride < point_->slot_count(); ++slot) {
    if ((a.valid >> slot & 1) == 0 || a.r[slot] == 0 || !point_->linked()) continue;
    DiscreteLog::Answer answer = point_->log2(slot, moduli_->plain(slot, a.r[slot]));
    auto bit = static_cast<Slots>(1u << (slot + stride));
    out.valid |= bit;
    out.r[slot + stride] = moduli_->enter(slot + stride, answer.exponent);
    if (answer.negated) out.dormant |= bit;
    if ((a.taint >> slot & 1) != 0) out.dormant |= bit;
  }
  return out;
}

Number Arithmetic::square_root(const Number& argument) {
  if (argument.special == Special::poison || argument.special == Special::nan) return argument;
  if (argument.special == Special::plus_infinity) return argument;
  Number a = settled(argument);
  if (a.special == Special::minus_infinity || a.shadow < 0) return of_special(a, Special::nan);
  if (a.zero()) return a;
  note_divisor(a);
  ++summary_.roots;
  Number out = base_of(a);
  out.shadow = std::sqrt(a.shadow);
  out.valid = a.valid;
  out.taint = a.taint;
  out.dormant = a.dormant;
  out.numerator = a.numerator;
  out.denominator = a.denominator;
  out.signs = not_negative | (a.signs & (positive | literal_bits));
  // Independent primes need not be 3 modulo 4: no root is known there.
  if (!point_->linked()) {
    out.valid = 0;
    return out;
  }
  out.r = moduli_->root(a.r);
  Slots found = moduli_->same(moduli_->mul(out.r, out.r), a.r);
  out.taint |= static_cast<Slots>(a.valid & ~found);
  return out;
}

Number Arithmetic::tanh(const Number& a) {
  if (a.special == Special::poison || a.special == Special::nan) return a;
  if (a.infinite()) return literal(a.special == Special::plus_infinity ? 1 : -1, a.type());
  Number one = literal(1, a.type());
  Number scale = literal(2 * 1.4426950408889634, Type::f64);
  // Of the bounded form -|2x|: no guard is asked of it, tanh itself cannot overflow.
  std::uint64_t unguarded = summary_.unguarded, keys = summary_.unguarded_keys.size();
  Number power = exp2(mul(a, scale));
  summary_.unguarded = unguarded;
  if (summary_.unguarded_keys.size() != keys) summary_.unguarded_keys.erase(key_of(mul(a, scale)));
  Number out = divide(sub(power, one), add(power, one));
  out.shadow = std::tanh(a.shadow);
  out.kind = a.kind;
  return out;
}

std::uint32_t Arithmetic::leaf_of(const Number& a) {
  if (a.set != 0 && !a.reversed) return a.set;
  return maxima_.leaf(settled(a));
}

Number Arithmetic::maximum(const Number& a, const Number& b, bool nan_wins) {
  if (a.special == Special::poison || b.special == Special::poison) return poison();
  if (a.special == Special::nan || b.special == Special::nan) {
    bool take_a = nan_wins == (a.special == Special::nan);
    return take_a ? a : b;
  }
  if (a.special == Special::plus_infinity || b.special == Special::minus_infinity) return a;
  if (b.special == Special::plus_infinity || a.special == Special::minus_infinity) return b;
  if (a.is(not_negative) && b.is(not_positive)) return a;
  if (b.is(not_negative) && a.is(not_positive)) return b;
  std::uint32_t left = leaf_of(a), right = leaf_of(b);
  if (maxima_.same(left, right)) return a;
  const Number& winner = a.shadow >= b.shadow ? a : b;
  Signs signs = maximum_signs(a.signs, b.signs);
  if (a.is(literal_bits) && b.is(literal_bits)) return winner;
  Number out = winner;
  std::uint32_t set = maxima_.join(left, right);
  out.term = 0;
  out.set = set;
  out.reversed = false;
  out.pending = true;
  out.signs = signs;
  out.square = a.square || b.square;
  out.numerator = std::max(a.numerator, b.numerator);
  out.denominator = std::max(a.denominator, b.denominator);
  out.fits = std::max(a.fits, b.fits);
  out.rounds = longest(a.rounds, b.rounds);
  return out;
}

Number Arithmetic::floor_near(const Number& argument, const Number& origin) {
  if (!argument.finite()) return argument;
  Number a = settled(argument);
  if (a.is(integral)) return a;
  ++summary_.floors;
  double n = std::floor(a.shadow);
  Number out = a;
  out.term = out.set = 0;
  out.reversed = false;
  out.shadow = n;
  out.signs = integral | (a.signs & (not_negative | literal_bits));
  Residues whole = moduli_->integer(static_cast<std::int64_t>(n));
  if (!a.is(literal_bits)) {
    // A keyed function of the fraction, antisymmetric under z -> 1 - z.
    Residues z = moduli_->sub(a.r, whole), other = moduli_->sub(moduli_->one(), z);
    for (unsigned slot = 0; slot < point_->slot_count(); ++slot) {
      if ((a.valid >> slot & 1) == 0) continue;
      const Prime& p = moduli_->prime(slot);
      std::uint64_t key = point_->key(slot, 7);
      std::uint32_t o = p.sub(p.reduce(mix(key, z[slot])), p.reduce(mix(key, other[slot])));
      whole[slot] = p.add(whole[slot], o);
    }
  }
  out.r = whole;
  for (unsigned slot = 0; slot < slots_max; ++slot)
    if ((out.valid >> slot & 1) == 0) out.r[slot] = 0;
  Number n_alone = integer(static_cast<std::int64_t>(n), a.type());
  Number rest = sub(settled(origin), out);
  floored_.try_emplace(key_of(sub(out, n_alone)), sub(settled(origin), n_alone));
  for (const Number& fraction : {rest, negate(rest)}) fractions_.insert(key_of(fraction));
  return out;
}

Number Arithmetic::integral_of(const Number& a, Rounding rounding) {
  switch (rounding) {
    case Rounding::rm:
      return floor(a);
    case Rounding::rp:
      return negate(floor(negate(a)));
    case Rounding::rz:
      if (a.finite() && !a.is(integral)) note_sign(settled(a));
      return std::signbit(a.shadow) ? negate(floor(negate(a))) : floor(a);
    default:
      return nearest(a);
  }
}

Number Arithmetic::whole_sum(const Number& a, const Number& b, Rounding rounding) {
  Number sum = add(a, b);
  const Number& large = a.is(literal_bits) ? a : b;
  const Number& other = a.is(literal_bits) ? b : a;
  double magnitude = std::fabs(sum.shadow);
  if (!sum.finite() || sum.is(literal_bits) || sum.is(integral) || !large.is(integral) ||
      magnitude < 0x1p23 || magnitude >= 0x1p24)
    return sum;
  ++summary_.integers;
  // Towards 0 is down or up by the sign of the whole.
  if (rounding == Rounding::rz) rounding = sum.shadow > 0 ? Rounding::rm : Rounding::rp;
  return add(integral_of(other, rounding), large);
}

void Arithmetic::note_limit(const Number& a, std::uint64_t limit) {
  if (!a.finite() || a.is(literal_bits)) return;
  if (summary_.comparison_keys.size() < Summary::keys_max)
    summary_.comparison_keys.insert(mix(key_of(settled(a)), limit));
  else
    summary_.keys_cut = true;
}

std::optional<int> Arithmetic::order(const Number& left, const Number& right, Question question) {
  if (left.special == Special::nan || right.special == Special::nan) return std::nullopt;
  if (left.special == Special::poison || right.special == Special::poison) return std::nullopt;
  // Below minus infinity is above infinity, of the negative.
  if (left.infinite() != right.infinite()) {
    const Number &data = left.infinite() ? right : left, &infinity = left.infinite() ? left : right;
    note_limit(infinity.shadow > 0 ? data : negate(data), limits::infinity);
  }
  bool known = left.is(literal_bits) && right.is(literal_bits);
  bool asked = !known && left.finite() && right.finite();
  bool equality = question == Question::equal;
  Number difference;
  std::uint64_t comparison = 0;
  if (asked) {
    difference = settled(sub(left, right));
    comparison = note_comparison(difference, equality);
    // Two ways to one real: their roundings answer.
    bool rounded = left.rounds != Rounds{} || right.rounds != Rounds{};
    if (rounded && difference.r == Residues{}) summary_.comparison_keys.insert(limits::equals);
    if (!equality && right.is(literal_bits)) note_threshold(comparison, difference, right.shadow);
    if (!equality && left.is(literal_bits))
      note_threshold(comparison, negate(difference), left.shadow);
  }
  double gap = left.shadow - right.shadow;
  if (left.infinite() || right.infinite())
    return left.shadow < right.shadow ? -1 : left.shadow > right.shadow ? 1 : 0;
  if (std::fabs(gap) <= 1e-10 * (std::fabs(left.shadow) + std::fabs(right.shadow))) {
    Number a = settled(left), b = settled(right);
    auto both = static_cast<Slots>(a.valid & b.valid);
    if (both != 0 && (moduli_->same(a.r, b.r) & both) == both) {
      if (asked) summary_.tied.insert(static_cast<std::uint32_t>(instruction_));
      return 0;
    }
    ++summary_.near_ties;
  }
  if (asked && !equality) note_side(difference, question, comparison);
  return gap < 0 ? -1 : gap > 0 ? 1 : 0;
}

}  // namespace lathe::ptx::field
