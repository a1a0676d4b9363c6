#pragma once

// Comparisons of integers, and what is chosen by them: exact bits, integers made of floats,
// tickets, and the bits of floats. Included by field_value.h.

#include "ptx/field_value.h"

namespace lathe::ptx::field {

template <Type T>
bool both_exact(const BitsValue<T>& a, const BitsValue<T>& b) {
  if (a.exact && b.exact) return true;
  if (a.poisoned() || b.poisoned())
    a.field->complain(ComplaintKind::undefined, "an undefined value is compared");
  else
    a.field->complain(ComplaintKind::undecided, "an integer comparison of bits that are not exact");
  return false;
}
/// A float's bits beside exact ones: as the shadow has them.
template <Type T>
std::optional<BitsValue<T>> float_beside(const BitsValue<T>& a, const BitsValue<T>& known,
                                         std::uint64_t asked) {
  if (a.exact || !known.exact) return std::nullopt;
  auto bits =
      decided_bits(a, asked + (is_signed(T) ? 4 : 0), static_cast<std::uint64_t>(known.bits));
  return bits ? std::optional(literal<T>(a, *bits)) : std::nullopt;
}
/// What `b` is compared with, where `a` is a ticket.
template <Type T>
std::optional<std::uint32_t> beside_ticket(const BitsValue<T>& a, const BitsValue<T>& b) {
  if (BitsValue<T>::bytes != 4 || a.exact || !b.exact || !Field::is_ticket(a.tags[0]))
    return std::nullopt;
  return static_cast<std::uint32_t>(b.bits);
}
template <Type T>
bool operator<(const BitsValue<T>& a, const BitsValue<T>& b) {
  if (!a.exact || !b.exact) {
    if (auto value = beside_ticket(a, b)) return !a.field->ticket_is(*value);
    if (auto value = beside_ticket(b, a)) return a.field->ticket_is(*value + 1);
    if (auto order = whole_order(a, b, Question::below)) return *order < 0;
    if (auto bits = float_beside(a, b, 16)) return bits->held() < b.held();
    if (auto bits = float_beside(b, a, 17)) return a.held() < bits->held();
  }
  return both_exact(a, b) && a.held() < b.held();
}
template <Type T>
bool operator==(const BitsValue<T>& a, const BitsValue<T>& b) {
  if (!a.exact || !b.exact) {
    if (auto value = beside_ticket(a, b)) return a.field->ticket_is(*value);
    if (auto value = beside_ticket(b, a)) return a.field->ticket_is(*value);
    if (auto order = whole_order(a, b, Question::equal)) return *order == 0;
    if (auto bits = float_beside(a, b, 18)) return bits->bits == b.bits;
    if (auto bits = float_beside(b, a, 18)) return bits->bits == a.bits;
  }
  return both_exact(a, b) && a.bits == b.bits;
}
template <Type T>
BitsValue<T> select(bool which, const BitsValue<T>& yes, const BitsValue<T>& no) {
  return which ? yes : no;
}
/// As the rows ask it; keys made of floats have an order of their own.
template <Type T>
BitsValue<T> smaller(const BitsValue<T>& a, const BitsValue<T>& b) {
  if (!a.exact || !b.exact)
    if (auto result = extreme_of_floats(a, b, false)) return *result;
  return select(a < b, a, b);
}
template <Type T>
BitsValue<T> larger(const BitsValue<T>& a, const BitsValue<T>& b) {
  if (!a.exact || !b.exact)
    if (auto result = extreme_of_floats(a, b, true)) return *result;
  return select(a < b, b, a);
}

template <Type T>
NumberValue<T> select(bool which, const NumberValue<T>& yes, const NumberValue<T>& no) {
  return which ? yes : no;
}

template <Type T>
BitsValue<T> select(const BitsValue<Type::pred>& which, const BitsValue<T>& yes,
                    const BitsValue<T>& no) {
  return !which.exact ? opaque<T>(which.field, which) : (which.bits & 1) != 0 ? yes : no;
}

}  // namespace lathe::ptx::field
