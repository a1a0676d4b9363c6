#pragma once

// Integers as numbers: those made of floats, sums of matrix products, and sums and products of
// integer data that more than eight bits decide. Sums, differences and products wrap in the
// machine, and equal integers wrap to equal ones, so that these need no range. For all else a
// number must be in the range of its type: proved of matrix products, read off the shadows and
// listed of floats, unknown of sums of data (`fits` is `wraps`). Included by field_value.h.

#include "ptx/field_value.h"

namespace lathe::ptx::field {

template <Type T>
bool in_range(double value) {
  double low = is_unsigned(T) ? 0 : -std::ldexp(1, width_of(T) - 1);
  return value >= low && value < std::ldexp(1, width_of(T) - (is_signed(T) ? 1 : 0));
}

constexpr std::uint8_t wraps = 255;

/// The number whose lowest bytes these are, all that the type has; perhaps wrapped.
template <Type T>
std::optional<Number> wrapped_number(const BitsValue<T>& a) {
  if (a.exact || BitsValue<T>::bytes < 2 || BitsValue<T>::bytes > 4) return std::nullopt;
  Tag first = a.tags[0];
  bool whole = first != 0 && first != poison_tag && (first & 7) == 0;
  for (unsigned i = 0; i < a.tags.size(); ++i) whole &= a.tags[i] == first + i;
  if (!whole || !a.field->is_whole(first >> 3)) return std::nullopt;
  return a.field->arithmetic().settled(a.field->number(first >> 3));
}
template <Type T>
std::optional<Number> whole_number(const BitsValue<T>& a) {
  std::optional<Number> number = wrapped_number(a);
  if (number && (number->fits == wraps || !in_range<T>(number->shadow))) number.reset();
  return number;
}

template <Type T>
BitsValue<T> from_whole(Field* field, Number number) {
  constexpr unsigned bytes = BitsValue<T>::bytes;
  if (number.special == Special::poison) return all_poison<T>(field);
  bool in_its_range = number.fits == wraps || in_range<T>(number.shadow);
  if (bytes < 2 || bytes > 4 || !number.finite() || !in_its_range) {
    field->complain(ComplaintKind::undecided,
                    "a float that depends on inputs becomes an integer that its type may not hold");
    return all_poison<T>(field);
  }
  if (number.fits != wraps) ++field->arithmetic().summary().integers;
  number.kind = static_cast<std::uint8_t>(Type::s32);
  std::uint32_t id = field->keep(number);
  BitsValue<T> out(field, 0);
  out.exact = false;
  for (unsigned i = 0; i < out.tags.size(); ++i) out.tags[i] = id << 3 | i;
  return out;
}

/// An operand of a sum or product: literals with their sign, data without one.
template <Type T>
std::optional<Number> ring_operand(const BitsValue<T>& a) {
  constexpr unsigned bytes = BitsValue<T>::bytes;
  if constexpr (bytes != 2 && bytes != 4) {
    return std::nullopt;
  } else {
    using Signed = std::make_signed_t<typename BitsValue<T>::Unsigned>;
    if (a.exact) return a.field->arithmetic().integer(static_cast<Signed>(a.bits), Type::s32);
    if (!any_word(a.field, a)) return wrapped_number(a);
    std::optional<Word> word = word_of(a.field, a);
    std::optional<Number> number =
        word ? a.field->number_of(*word, bytes == 2 ? Type::u16 : Type::u32) : std::nullopt;
    if (number) number->fits = wraps;
    return number;
  }
}

/// Where an operand at least is a number, or is made one.
template <Type T>
std::optional<BitsValue<T>> whole_result(char operation, const BitsValue<T>& a,
                                         const BitsValue<T>& b) {
  std::optional<Number> x = ring_operand(a), y = ring_operand(b);
  if (!x || !y) return std::nullopt;
  Arithmetic& arithmetic = a.field->arithmetic();
  Number result = operation == '+'   ? arithmetic.add(*x, *y)
                  : operation == '-' ? arithmetic.sub(*x, *y)
                                     : arithmetic.mul(*x, *y);
  bool unknown = x->fits == wraps || y->fits == wraps;
  result.fits = unknown ? wraps : 32;
  result.signs &= integral | steps;
  return from_whole<T>(a.field, result);
}

template <Type T>
std::optional<Number> integer_operand(const BitsValue<T>& a) {
  if constexpr (BitsValue<T>::bytes > 8) {
    return std::nullopt;
  } else {
    if (!a.exact) return whole_number(a);
    return a.field->arithmetic().integer(static_cast<std::int64_t>(a.held()), Type::s32);
  }
}

/// -1, 0 or 1, as the shadows have it.
template <Type T>
std::optional<int> whole_order(const BitsValue<T>& a, const BitsValue<T>& b, Question question) {
  std::optional<Number> x = integer_operand(a), y = integer_operand(b);
  if (!x || !y) return std::nullopt;
  return a.field->arithmetic().order(*x, *y, question);
}

}  // namespace lathe::ptx::field
