#pragma once

// Integers that are made of floats, and sums of integer products: numbers, as long as they stay in
// the range of their type. That they do is read off the shadows, and listed. Included by
// field_value.h.

#include "ptx/field_value.h"

namespace lathe::ptx::field {

template <Type T>
bool in_range(double value) {
  double low = is_unsigned(T) ? 0 : -std::ldexp(1, width_of(T) - 1);
  return value >= low && value < std::ldexp(1, width_of(T) - (is_signed(T) ? 1 : 0));
}

/// The number whose lowest bytes these are, all that the type has.
template <Type T>
std::optional<Number> whole_number(const BitsValue<T>& a) {
  if (a.exact || BitsValue<T>::bytes < 2 || BitsValue<T>::bytes > 4) return std::nullopt;
  Tag first = a.tags[0];
  bool whole = first != 0 && first != poison_tag && (first & 7) == 0;
  for (unsigned i = 0; i < a.tags.size(); ++i) whole &= a.tags[i] == first + i;
  if (!whole || !a.field->is_whole(first >> 3)) return std::nullopt;
  Number number = a.field->arithmetic().settled(a.field->number(first >> 3));
  if (!in_range<T>(number.shadow)) return std::nullopt;
  return number;
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

template <Type T>
BitsValue<T> from_whole(Field* field, Number number) {
  constexpr unsigned bytes = BitsValue<T>::bytes;
  if (number.special == Special::poison) return all_poison<T>(field);
  if (bytes < 2 || bytes > 4 || !number.finite() || !in_range<T>(number.shadow)) {
    field->complain(ComplaintKind::undecided,
                    "a float that depends on inputs becomes an integer that its type may not hold");
    return all_poison<T>(field);
  }
  ++field->arithmetic().summary().integers;
  number.kind = static_cast<std::uint8_t>(Type::s32);
  std::uint32_t id = field->keep(number);
  BitsValue<T> out(field, 0);
  out.exact = false;
  for (unsigned i = 0; i < out.tags.size(); ++i) out.tags[i] = id << 3 | i;
  return out;
}

/// A sum, difference or product where one at least is such a number.
template <Type T>
std::optional<BitsValue<T>> whole_result(char operation, const BitsValue<T>& a,
                                         const BitsValue<T>& b) {
  std::optional<Number> x = integer_operand(a), y = integer_operand(b);
  if (!x || !y) return std::nullopt;
  Arithmetic& arithmetic = a.field->arithmetic();
  return from_whole<T>(a.field, operation == '+'   ? arithmetic.add(*x, *y)
                                : operation == '-' ? arithmetic.sub(*x, *y)
                                                   : arithmetic.mul(*x, *y));
}

/// -1, 0 or 1, as the shadows have it.
template <Type T>
std::optional<int> whole_order(const BitsValue<T>& a, const BitsValue<T>& b,
                               Question question) {
  std::optional<Number> x = integer_operand(a), y = integer_operand(b);
  if (!x || !y) return std::nullopt;
  return a.field->arithmetic().order(*x, *y, question);
}

}  // namespace lathe::ptx::field
