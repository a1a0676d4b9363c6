#pragma once

// Operations on integer data that is not exact: words go through the functions of ptx/field_word.h,
// everything else is opaque. Included by field_value.h.

#include "ptx/field_value.h"

namespace lathe::ptx::field {

/// What of a value is a word of integer data; exact bits are one.
template <Type T>
std::optional<Word> word_of(Field* field, const BitsValue<T>& a) {
  if constexpr (BitsValue<T>::bytes > 8) return std::nullopt;
  if (a.exact)
    return Word{Word::no_source,
                field->words().constant(static_cast<std::uint64_t>(a.bits), width_of(T))};
  return field->word_of(a.bytes_at(), a.tags.data(), BitsValue<T>::bytes);
}

template <Type T>
BitsValue<T> from_word(Field* field, const Word& word) {
  using U = typename BitsValue<T>::Unsigned;
  if (auto bits = field->words().known_bits(word.pattern))
    return BitsValue<T>(field, static_cast<U>(*bits));
  BitsValue<T> out(field, 0);
  out.exact = false;
  std::uint32_t id = field->float_itself(word);
  if (id == 0) id = field->keep(word);
  for (unsigned i = 0; i < BitsValue<T>::bytes; ++i)
    out.tags[i] = id == field->poison_id() ? poison_tag : id << 3 | i;
  return out;
}

template <class A>
bool any_word(Field* field, const A& a) {
  if (a.exact) return false;
  for (Tag tag : a.tags)
    if (tag != 0 && tag != poison_tag && field->is_word(tag >> 3)) return true;
  return false;
}

/// What `apply` makes of the words and of the function of their bits; nothing where an operand is
/// no word.
template <Type To, class F, class Apply, std::size_t count>
std::optional<BitsValue<To>> of_words(Field* field, F function, Apply apply,
                                      const std::array<std::optional<Word>, count>& found) {
  std::array<Word, count> words;
  for (std::size_t i = 0; i < count; ++i) {
    if (!found[i]) return std::nullopt;
    words[i] = *found[i];
  }
  std::optional<Word> result = apply(words, [&](std::span<const std::uint64_t> bits) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return static_cast<std::uint64_t>(function(bits[i]...));
    }
    (std::make_index_sequence<count>{});
  });
  if (!result) return std::nullopt;
  return from_word<To>(field, *result);
}

/// A pure function of words, entry by entry, where few enough bits decide.
template <Type To, class F, class... A>
std::optional<BitsValue<To>> applied(Field* field, std::uint64_t name, F function,
                                     const A&... operands) {
  if (!(any_word(field, operands) || ...) || (operands.poisoned() || ...)) return std::nullopt;
  auto apply = [&](const auto& words, auto of_bits) {
    return field->words().apply(name, words, width_of(To), of_bits);
  };
  return of_words<To>(field, function, apply, std::array{word_of(field, operands)...});
}

/// A pure function of operands that are not all exact.
template <Type To, class F, class... A>
BitsValue<To> symbolic(Field* field, std::uint64_t name, F function, const A&... operands) {
  if ((any_word(field, operands) || ...) && !(operands.poisoned() || ...)) {
    if (auto result = applied<To>(field, name, function, operands...)) return *result;
    field->complain(ComplaintKind::undecided,
                    "an operation on integer data that more than eight bits decide");
    return all_poison<To>(field);
  }
  return opaque<To>(field, operands...);
}

/// A function that only moves bits, of one word and otherwise exact operands.
template <Type To, class F, class... A>
std::optional<BitsValue<To>> moved_word(Field* field, std::uint64_t name, F function,
                                        const A&... operands) {
  if ((static_cast<int>(!operands.exact) + ...) != 1 || (operands.poisoned() || ...))
    return std::nullopt;
  std::array<std::uint64_t, sizeof...(A)> bits{static_cast<std::uint64_t>(operands.bits)...};
  std::array<bool, sizeof...(A)> exact{operands.exact...};
  std::array<std::optional<Word>, sizeof...(A)> words{
      (operands.exact ? std::optional<Word>() : word_or_float(operands))...};
  std::size_t which = 0;
  while (exact[which]) ++which;
  if (!words[which]) return std::nullopt;
  for (std::size_t i = 0; i < bits.size(); ++i)
    if (i != which) name = mix(name, bits[i] + i);
  auto result = field->words().moved(name, *words[which], width_of(To), [&](std::uint64_t x) {
    auto all = bits;
    all[which] = x;
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return static_cast<std::uint64_t>(function(all[i]...));
    }
    (std::index_sequence_for<A...>{});
  });
  if (!result) return std::nullopt;
  return from_word<To>(field, *result);
}

}  // namespace lathe::ptx::field
