#pragma once

// Integer operations on the bits of floats that inputs decide. Those that keep, invert, move or
// clear bits make words (ptx/field_word.h) of the float; such a word whose order is that of floats
// has a larger and a smaller. Some move the exponent or the sign, and make a float again. What
// else is asked of the bits, or of an integer that was made of a float, is decided by the shadow
// and counts as a comparison. Included by field_value.h.

#include "ptx/field_value.h"

namespace lathe::ptx::field {

/// A word, or the bits of a whole f32 as one.
template <Type T>
std::optional<Word> word_or_float(const BitsValue<T>& a) {
  if constexpr (BitsValue<T>::bytes > 8) {
    return std::nullopt;
  } else {
    if (a.exact || any_word(a.field, a)) return word_of(a.field, a);
    return a.field->float_word(a.tags.data(), BitsValue<T>::bytes);
  }
}

template <Type T>
BitsValue<T> from_id(Field* field, std::uint32_t id) {
  BitsValue<T> out(field, 0);
  out.exact = false;
  for (unsigned i = 0; i < BitsValue<T>::bytes; ++i)
    out.tags[i] = id == field->poison_id() ? poison_tag : id << 3 | i;
  return out;
}

/// What a float's bits, or an integer made of a float, are at this piece, where they are `asked`
/// something together with `known`.
template <Type T>
std::optional<std::uint32_t> decided_bits(const BitsValue<T>& a, std::uint64_t asked,
                                          std::uint64_t known) {
  if constexpr (BitsValue<T>::bytes != 4) {
    return std::nullopt;
  } else {
    if (a.exact || a.poisoned()) return std::nullopt;
    if (std::optional<Number> whole = whole_number(a)) {
      if (std::floor(whole->shadow) != whole->shadow) return std::nullopt;
      a.field->arithmetic().note_decision(*whole, mix(asked, known));
      return static_cast<std::uint32_t>(static_cast<std::int64_t>(whole->shadow));
    }
    if (any_word(a.field, a)) {
      std::optional<Word> word = word_of(a.field, a);
      return word ? a.field->word_decided(*word, asked, known) : std::nullopt;
    }
    return a.field->float_decided(a.tags.data(), asked, known);
  }
}

template <Type T>
std::optional<BitsValue<T>> logic_of_floats(Logic logic, const BitsValue<T>& a,
                                            const BitsValue<T>& b) {
  if (a.poisoned() || b.poisoned()) return std::nullopt;
  Field* field = a.field;
  std::optional<Word> x = word_or_float(a), y = word_or_float(b);
  auto what = static_cast<Words::Bitwise>(logic);
  if (x && y) {
    if (auto word = field->words().bitwise(what, *x, *y)) return from_word<T>(field, *word);
    if (logic != Logic::both && BitsValue<T>::bytes == 4)
      if (std::uint32_t id = field->with_sign_of(what, *x, *y)) return from_id<T>(field, id);
  }
  const BitsValue<T>&known = a.exact ? a : b, &other = a.exact ? b : a;
  if (logic != Logic::both || !known.exact || BitsValue<T>::bytes != 4) return std::nullopt;
  auto mask = static_cast<std::uint32_t>(known.bits);
  if (auto exponent = field->exponent_of(a.exact ? y : x, mask))
    return from_whole<T>(field, *exponent);
  if (!whole_number(other)) return std::nullopt;
  std::optional<std::uint32_t> bits = decided_bits(other, 1, mask);
  if (!bits) return std::nullopt;
  return literal<T>(other, *bits & mask);
}

/// Sums and differences of a float's bits: a constant, or steps of the exponent.
template <Type T>
std::optional<BitsValue<T>> sum_of_float(char operation, const BitsValue<T>& a,
                                         const BitsValue<T>& b) {
  if constexpr (BitsValue<T>::bytes != 4) {
    return std::nullopt;
  } else {
    if (operation == '*' || a.poisoned() || b.poisoned()) return std::nullopt;
    Field* field = a.field;
    bool minus = operation == '-';
    auto negative = [](std::uint32_t bits) { return std::uint32_t{0} - bits; };
    if (a.exact && minus) return std::nullopt;
    const BitsValue<T>&known = a.exact ? a : b, &bits = a.exact ? b : a;
    if (known.exact) {
      auto addend = static_cast<std::uint32_t>(known.bits);
      if (minus) addend = negative(addend);
      if (std::optional<Number> whole = field->whole_float(bits.tags.data(), addend))
        return from_whole<T>(field, *whole);
      std::optional<Word> word = word_or_float(bits);
      std::optional<Word> sum = word ? field->float_plus(*word, addend) : std::nullopt;
      return sum ? std::optional(from_word<T>(field, *sum)) : std::nullopt;
    }
    std::optional<Number> right = whole_number(b), left = whole_number(a);
    std::uint32_t id = 0;
    if (right && right->is(steps)) id = field->float_times(a.tags.data(), *right, minus);
    if (left && left->is(steps) && !minus) id = field->float_times(b.tags.data(), *left, false);
    if (id == 0) return std::nullopt;
    return from_id<T>(field, id);
  }
}

/// An integer made of a float, or a float that is one by its size, shifted up.
template <Type T>
std::optional<BitsValue<T>> whole_shifted_left(const BitsValue<T>& a, std::uint32_t by) {
  if constexpr (BitsValue<T>::bytes != 4) {
    return std::nullopt;
  } else {
    if (by >= 32) return std::nullopt;
    std::optional<Number> whole = whole_number(a);
    if (!whole) whole = a.field->whole_float(a.tags.data(), 0);
    if (!whole) return std::nullopt;
    return from_whole<T>(a.field, a.field->arithmetic().shifted_left(*whole, by));
  }
}

/// Of each bit by itself: lop3.
template <Type To, class F, class... A>
std::optional<BitsValue<To>> by_bits(Field* field, std::uint64_t name, F function,
                                     const A&... operands) {
  if ((operands.poisoned() || ...)) return std::nullopt;
  auto apply = [&](const auto& words, auto of_bits) {
    return field->words().by_bits(name, words, width_of(To), of_bits);
  };
  return of_words<To>(field, function, apply, std::array{word_or_float(operands)...});
}

template <Type T>
std::optional<BitsValue<T>> extreme_of_floats(const BitsValue<T>& a, const BitsValue<T>& b,
                                              bool larger) {
  if constexpr (BitsValue<T>::bytes != 4) {
    return std::nullopt;
  } else {
    if (a.poisoned() || b.poisoned()) return std::nullopt;
    std::optional<Word> x = word_or_float(a), y = word_or_float(b);
    if (!x || !y) return std::nullopt;
    std::optional<Word> word = a.field->extreme_float(*x, *y, larger, is_signed(T));
    if (!word) return std::nullopt;
    return from_word<T>(a.field, *word);
  }
}

}  // namespace lathe::ptx::field
