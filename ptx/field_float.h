#pragma once

// Float operations of the field domain, conversions, and how values come from and go to registers.

#include "ptx/field_value.h"

namespace lathe::ptx::field {

/// `.sat` and `.relu` after the operation proper.
template <Type T>
NumberValue<T> clamped(Form f, Field* field, const Number& result, bool exact = false) {
  if (!f.has(Flag::sat) && !f.has(Flag::relu)) return made<T>(field, result, exact);
  Number number = result;
  Arithmetic& arithmetic = field->arithmetic();
  if (f.has(Flag::sat)) {
    if (number.special == Special::nan) number = arithmetic.literal(0, T);
    number = arithmetic.maximum(number, arithmetic.literal(0, T), false);
    number = arithmetic.minimum(number, arithmetic.literal(1, T), false);
  }
  if (f.has(Flag::relu)) number = arithmetic.maximum(number, arithmetic.literal(0, T), true);
  return made<T>(field, number, exact);
}

/// The same of what `make` gives.
template <Type T, class Make>
NumberValue<T> clamped_by(Form f, Field* field, bool exact, Make make) {
  if (!f.has(Flag::sat) && !f.has(Flag::relu)) return made_by<T>(field, exact, make);
  return clamped<T>(f, field, make(), exact);
}

/// A factor or divisor that only moves the exponent, by little enough to stay in range.
template <Type T>
bool moves_exponent(const Number& number) {
  if (!(T == Type::f32 || T == Type::f64)) return false;
  int exponent = 0;
  return number.is(literal_bits) && number.finite() &&
         std::fabs(std::frexp(number.shadow, &exponent)) == 0.5 && std::abs(exponent) <= 16;
}

/// What `make` gives, or what the polynomial that ends here stands for; its argument is one of the
/// operands.
template <Type T, class Make, class... Operands>
NumberValue<T> evaluated(Form f, Field* field, bool exact, Make make, const Operands&... operands) {
  if constexpr (T == Type::f32)
    if (const Lemma* lemma = field->lemma()) {
      std::array<const Number*, sizeof...(Operands)> all{&operands...};
      if (lemma->operand < all.size())
        return clamped_by<T>(f, field, exact, [&] {
          return field->arithmetic().by_lemma(*lemma, *all[lemma->operand], make());
        });
    }
  return clamped_by<T>(f, field, exact, make);
}

/// An f32 from 2^23 on is whole, so that a sum with a literal of that size rounds to an integer.
template <Type T>
bool makes_whole(const Number& literal) {
  return T == Type::f32 && literal.is(literal_bits) && std::fabs(literal.shadow) >= 0x1p22 &&
         std::fabs(literal.shadow) < 0x1p24;
}
template <Type T>
Number sum_of(Form f, Field* field, const Number& x, const Number& y) {
  Arithmetic& arithmetic = field->arithmetic();
  if (makes_whole<T>(x) || makes_whole<T>(y)) return arithmetic.whole_sum(x, y, f.rounding);
  Number sum = arithmetic.add(x, y);
  arithmetic.note_sum(x, y, sum);
  return sum;
}

template <Type T>
NumberValue<T> add(Form f, const NumberValue<T>& a, const NumberValue<T>& b) {
  NumberPlace left, right;
  const Number &x = a.get(left), &y = b.get(right);
  return evaluated<T>(
      f, a.field, x.zero() || y.zero(), [&] { return sum_of<T>(f, a.field, x, y); }, x, y);
}
template <Type T>
NumberValue<T> sub(Form f, const NumberValue<T>& a, const NumberValue<T>& b) {
  NumberPlace left, right;
  const Number &x = a.get(left), &y = b.get(right);
  return evaluated<T>(
      f, a.field, x.zero() || y.zero(),
      [&] { return sum_of<T>(f, a.field, x, a.field->arithmetic().negate(y)); }, x, y);
}
template <Type T>
NumberValue<T> mul(Form f, const NumberValue<T>& a, const NumberValue<T>& b) {
  NumberPlace left, right;
  const Number &x = a.get(left), &y = b.get(right);
  return evaluated<T>(
      f, a.field, moves_exponent<T>(x) || moves_exponent<T>(y),
      [&] { return a.field->arithmetic().mul(x, y); }, x, y);
}
template <Type T>
NumberValue<T> fused(Form f, const NumberValue<T>& a, const NumberValue<T>& b,
                     const NumberValue<T>& c) {
  NumberPlace left, right, last;
  const Number &x = a.get(left), &y = b.get(right), &z = c.get(last);
  return evaluated<T>(
      f, a.field, false,
      [&] {
        Arithmetic& arithmetic = a.field->arithmetic();
        Number product = arithmetic.mul(x, y), sum = sum_of<T>(f, a.field, product, z);
        if (!moves_exponent<T>(x) && !moves_exponent<T>(y)) arithmetic.note_fused(z, sum);
        return sum;
      },
      x, y, z);
}
template <Type T>
NumberValue<T> fused_filled(Form, const NumberValue<T>& a, const NumberValue<T>&,
                            const NumberValue<T>&) {
  a.field->complain(ComplaintKind::unsupported, "fma.oob tests for one NaN among others");
  return made<T>(a.field, a.field->arithmetic().poison());
}
template <Type T>
NumberValue<T> divide(Form f, const NumberValue<T>& a, const NumberValue<T>& b) {
  Number x = a.get(), y = b.get();
  return clamped<T>(f, a.field, a.field->arithmetic().divide(x, y), moves_exponent<T>(y));
}
template <Type T>
NumberValue<T> reciprocal(Form f, const NumberValue<T>& a) {
  Arithmetic& arithmetic = a.field->arithmetic();
  return clamped<T>(f, a.field, arithmetic.divide(arithmetic.literal(1, T), a.get()));
}
template <Type T>
NumberValue<T> square_root(Form f, const NumberValue<T>& a) {
  return clamped<T>(f, a.field, a.field->arithmetic().square_root(a.get()));
}
template <Type T>
NumberValue<T> reciprocal_root(Form f, const NumberValue<T>& a) {
  Arithmetic& arithmetic = a.field->arithmetic();
  Number root = arithmetic.square_root(a.get());
  return clamped<T>(f, a.field, arithmetic.divide(arithmetic.literal(1, T), root));
}
template <Type T>
NumberValue<T> exponential2(Form f, const NumberValue<T>& a) {
  NumberPlace place;
  const Number& x = a.get(place);
  return clamped_by<T>(f, a.field, false, [&] { return a.field->arithmetic().exp2(x); });
}
template <Type T>
NumberValue<T> logarithm2(Form f, const NumberValue<T>& a) {
  return clamped<T>(f, a.field, a.field->arithmetic().log2(a.get()));
}
template <Type T>
NumberValue<T> hyperbolic_tangent(Form f, const NumberValue<T>& a) {
  return clamped<T>(f, a.field, a.field->arithmetic().tanh(a.get()));
}
template <Type T>
NumberValue<T> unmodelled(const NumberValue<T>& a, std::string_view what) {
  a.field->complain(ComplaintKind::unsupported, what);
  return made<T>(a.field, a.field->arithmetic().poison());
}
template <Type T>
NumberValue<T> sine(Form, const NumberValue<T>& a) {
  return unmodelled(a, "the field domain has no sine yet");
}
template <Type T>
NumberValue<T> cosine(Form, const NumberValue<T>& a) {
  return unmodelled(a, "the field domain has no cosine yet");
}
template <Type T>
NumberValue<T> negate(Form, const NumberValue<T>& a) {
  return made<T>(a.field, a.field->arithmetic().negate(a.get()), true);
}
template <Type T>
NumberValue<T> absolute(Form, const NumberValue<T>& a) {
  return made<T>(a.field, a.field->arithmetic().absolute(a.get()), true);
}
template <Type T>
NumberValue<T> copysign_of(const NumberValue<T>& a, const NumberValue<T>& b) {
  return made<T>(a.field, a.field->arithmetic().copysign(a.get(), b.get()), true);
}

template <Type T>
NumberValue<T> extreme(Form f, const NumberValue<T>& a, const NumberValue<T>& b, bool larger) {
  Arithmetic& arithmetic = a.field->arithmetic();
  Number x = a.get(), y = b.get();
  bool flips = false;
  Number sign = x;
  if (f.has(Flag::xorsign_abs)) {
    flips = std::signbit(x.shadow) != std::signbit(y.shadow);
    sign.signs &= y.signs;  // Known where it is known of both.
  }
  if (f.has(Flag::xorsign_abs) || f.has(Flag::abs)) {
    x = arithmetic.absolute(x);
    y = arithmetic.absolute(y);
  }
  Number out = larger ? arithmetic.maximum(x, y, f.has(Flag::nan))
                      : arithmetic.minimum(x, y, f.has(Flag::nan));
  if (f.has(Flag::xorsign_abs)) out = arithmetic.signed_as(out, sign, flips);
  return made<T>(a.field, out, true);
}
template <Type T>
NumberValue<T> maximum(Form f, const NumberValue<T>& a, const NumberValue<T>& b) {
  return extreme(f, a, b, true);
}
template <Type T>
NumberValue<T> minimum(Form f, const NumberValue<T>& a, const NumberValue<T>& b) {
  return extreme(f, a, b, false);
}

template <Type T>
bool compare(Form f, const NumberValue<T>& a, const NumberValue<T>& b) {
  Number x = a.get(), y = b.get();
  if (x.special == Special::poison || y.special == Special::poison) {
    a.field->complain(ComplaintKind::undefined, "an undefined value is compared");
    return false;
  }
  Question question = Question::below;  // Or not below.
  if (f.comparison == Comparison::eq || f.comparison == Comparison::ne ||
      f.comparison == Comparison::equ || f.comparison == Comparison::neu)
    question = Question::equal;
  if (f.comparison == Comparison::gt || f.comparison == Comparison::le ||
      f.comparison == Comparison::gtu || f.comparison == Comparison::leu)
    question = Question::above;
  Arithmetic& arithmetic = a.field->arithmetic();
  if (f.comparison == Comparison::num || f.comparison == Comparison::nan)
    for (const Number& each : {x, y}) arithmetic.note_limit(each, limits::number);
  std::optional<int> order = arithmetic.order(x, y, question);
  if (f.comparison == Comparison::num) return order.has_value();
  if (f.comparison == Comparison::nan) return !order.has_value();
  bool unordered = f.comparison >= Comparison::equ && f.comparison <= Comparison::geu;
  if (!order) return unordered;
  switch (f.comparison) {
    case Comparison::eq:
    case Comparison::equ:
      return *order == 0;
    case Comparison::ne:
    case Comparison::neu:
      return *order != 0;
    case Comparison::lt:
    case Comparison::ltu:
    case Comparison::lo:
      return *order < 0;
    case Comparison::le:
    case Comparison::leu:
    case Comparison::ls:
      return *order <= 0;
    case Comparison::gt:
    case Comparison::gtu:
    case Comparison::hi:
      return *order > 0;
    default:
      return *order >= 0;
  }
}

template <Type T>
bool is_special(Form f, const NumberValue<T>& a) {
  Number x = a.get();
  bool of_numbers = f.constant == 2 || f.constant == 3;
  a.field->arithmetic().note_limit(x, of_numbers ? limits::number : limits::finite);
  switch (f.constant) {
    case 0:
      return x.finite();
    case 1:
      return x.infinite();
    case 2:
      return x.special != Special::nan;
    case 3:
      return x.special == Special::nan;
    case 4:
      return x.finite() && x.shadow != 0;
    default:
      return false;
  }
}

// Conversions.

template <Type To, Type From>
BitsValue<To> number_to_bits(Form f, const NumberValue<From>& a) {
  Number whole = a.field->arithmetic().integral_of(a.get(), f.rounding);
  if (whole.special == Special::poison) return all_poison<To>(a.field);
  if (!whole.finite() || !whole.is(literal_bits)) return from_whole<To>(a.field, whole);
  double low = is_signed(To) ? -std::ldexp(1, width_of(To) - 1) : 0;
  double high = std::ldexp(1, width_of(To) - (is_signed(To) ? 1 : 0));
  double value = whole.shadow;
  std::uint64_t bits = 0;
  if (value >= high) {
    bits = (std::uint64_t{1} << (width_of(To) - 1)) - 1;
    if (!is_signed(To)) bits = ~std::uint64_t{0};
  } else if (value <= low) {
    bits = is_signed(To) ? std::uint64_t{1} << (width_of(To) - 1) : 0;
  } else {
    bits = value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                     : static_cast<std::uint64_t>(value);
  }
  return {a.field, static_cast<typename BitsValue<To>::Unsigned>(bits)};
}

template <Type To, Type From>
auto convert(Form f, const NumberValue<From>& a) {
  if constexpr (is_number<To>) {
    NumberPlace place;
    if (!f.has(Flag::to_integer) && To != Type::tf32 && width_of(To) != 8)
      return clamped<To>(f, a.field, a.get(place), true);
    Number number = a.get();
    if (f.has(Flag::to_integer)) number = a.field->arithmetic().integral_of(number, f.rounding);
    if constexpr (To == Type::tf32) {
      if (number.fits > 11) number.rounds = rounded(number.rounds, 11);
      number.fits = std::min<std::uint8_t>(number.fits, 11);
    }
    if constexpr (width_of(To) == 8) {
      double most = To == Type::e4m3 ? 448 : 57344;
      if (number.finite() && std::fabs(number.shadow) > most)
        ++a.field->arithmetic().summary().saturations;
    }
    return clamped<To>(f, a.field, number, true);
  } else if constexpr (is_integer(To)) {
    return number_to_bits<To>(f, a);
  } else {
    a.field->complain(ComplaintKind::unsupported, "the field domain has no such conversion yet");
    return all_poison<To>(a.field);
  }
}
/// Integer data as a real number: a word, or the sum of an integer matrix product.
template <Type From>
std::optional<Number> integer_number(const BitsValue<From>& a) {
  if (any_word(a.field, a)) {
    std::optional<Word> word = word_of(a.field, a);
    return word ? a.field->number_of(*word, From) : std::nullopt;
  }
  return whole_number(a);
}

template <Type To, Type From>
auto convert(Form f, const BitsValue<From>& a) {
  if constexpr (is_number<To>) {
    if (!is_integer(From)) {
      a.field->complain(ComplaintKind::unsupported, "the field domain has no such format yet");
      return made<To>(a.field, a.field->arithmetic().poison());
    }
    if (!a.exact) {
      if (auto number = integer_number(a)) return clamped<To>(f, a.field, *number, true);
      opaque<untyped_of(To)>(a.field, a);
      return made<To>(a.field, a.field->arithmetic().poison());
    }
    return clamped<To>(
        f, a.field, a.field->arithmetic().integer(static_cast<std::int64_t>(a.held()), To), true);
  } else {
    if (a.exact) {
      auto value = static_cast<std::int64_t>(a.held());
      if (f.has(Flag::sat)) {
        bool sign = is_signed(To);
        double low = sign ? -std::ldexp(1, width_of(To) - 1) : 0;
        double high = std::ldexp(1, width_of(To) - (sign ? 1 : 0)) - 1;
        double held = static_cast<double>(a.held());
        if (held < low) value = static_cast<std::int64_t>(low);
        if (held > high)
          value = sign ? static_cast<std::int64_t>(high)
                       : static_cast<std::int64_t>(static_cast<std::uint64_t>(high));
      }
      return BitsValue<To>(a.field, static_cast<typename BitsValue<To>::Unsigned>(value));
    }
    if (any_word(a.field, a) && is_integer(From) && !f.has(Flag::sat)) {
      std::optional<Word> word = word_of(a.field, a);
      if (word) word = a.field->words().resized(*word, width_of(To), is_signed(From));
      if (word) return from_word<To>(a.field, *word);
    }
    bool extends = width_of(To) > width_of(From);
    if (extends)
      if (std::optional<Number> whole = whole_number(a)) return from_whole<To>(a.field, *whole);
    if (f.has(Flag::sat) || (extends && is_signed(From)) || !is_integer(From))
      return opaque<To>(a.field, a);
    BitsValue<To> out(a.field, static_cast<typename BitsValue<To>::Unsigned>(a.bits));
    out.exact = false;
    out.tags.fill(0);
    for (unsigned i = 0; i < std::min(BitsValue<To>::bytes, BitsValue<From>::bytes); ++i)
      out.tags[i] = a.tags[i];
    finish_bits(out);
    return out;
  }
}

template <Type To>
auto convert_drawn(Form, const NumberValue<Type::f32>& a, const BitsValue<Type::b32>&, unsigned,
                   unsigned) {
  a.field->complain(ComplaintKind::unsupported, "a conversion that rounds by random bits");
  if constexpr (is_number<To>)
    return made<To>(a.field, a.field->arithmetic().poison());
  else
    return all_poison<To>(a.field);
}
template <Type To, class A>
auto convert_scaled(Form, const A& a, const BitsValue<Type::ue8m0>&) {
  a.field->complain(ComplaintKind::unsupported, "a conversion with a scale factor");
  if constexpr (is_number<To>)
    return made<To>(a.field, a.field->arithmetic().poison());
  else
    return all_poison<To>(a.field);
}

// Registers.

template <Type T>
inline Field::Value<T> Field::load(const Lanes& lanes, Cell cell) const {
  Field* self = const_cast<Field*>(this);  // Values find their domain, which machines hold const.
  self->lane_ = cell.lane;
  if constexpr (is_number<T>) {
    NumberValue<T> out;
    out.field = self;
    out.raw = load<untyped_of(T)>(lanes, cell);
    return out;
  } else {
    constexpr unsigned bytes = BitsValue<T>::bytes;
    std::size_t at = cell.at();
    BitsValue<T> out(self, 0);
    const Registers& from = lanes.settled(at, bytes);
    std::memcpy(&out.bits, &from.bits[at], bytes);
    std::memcpy(out.tags.data(), &from.tags[at], sizeof(out.tags));
    Tag any = 0;
    for (unsigned i = 0; i < bytes; ++i) any |= out.tags[i];
    out.exact = any == 0;
    return out;
  }
}

template <Type T>
void Field::store(Lanes& lanes, Cell cell, const Value<T>& value) {
  if constexpr (is_number<T> && width_of(T) == 8) {
    // Half of a pair: the byte beside it is another's.
    auto bits = recast<Type::b8>(value);
    Registers& to = lanes.settled(cell.at(), 1);
    to.bits[cell.at()] = bits.bits;
    to.tags[cell.at()] = bits.tag(0);
  } else if constexpr (is_number<T>) {
    store<untyped_of(T)>(lanes, cell, value.raw);
  } else {
    std::size_t at = cell.at();
    constexpr unsigned bytes = BitsValue<T>::bytes;
    Registers& to = lanes.settled(at, bytes);
    std::memcpy(&to.bits[at], &value.bits, bytes);
    Tag* tags = &to.tags[at];
    if (value.exact) {
      std::memset(tags, 0, bytes * sizeof(Tag));
    } else {
      std::memcpy(tags, value.tags.data(), bytes * sizeof(Tag));
    }
    // No register is narrower than two bytes: 8 bits are extended.
    if (bytes == 1 && !value.exact && is_signed(T) && field::any_word(this, value)) {
      auto word = field::word_of(this, value);
      if (word) word = words_.resized(*word, 16, true);
      std::uint32_t id = word ? keep(*word) : poison_id();
      for (unsigned i = 0; i < 2; ++i) tags[i] = word ? id << 3 | i : poison_tag;
      return;
    }
    if constexpr (bytes == 1) {
      to.bits[at + 1] = is_signed(T) && (value.bits & 0x80) != 0 ? 0xFF : 0;
      tags[1] = value.exact ? 0 : tags[0] == poison_tag ? poison_tag : 0;
    }
  }
}

}  // namespace lathe::ptx::field
