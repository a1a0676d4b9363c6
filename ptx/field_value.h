#pragma once

// What instruction rows compute with in the field domain: bits that are exact (or fragments that
// only move), and numbers.

#include <bit>
#include <cmath>

#include "ptx/field.h"

namespace lathe::ptx::field {

template <unsigned bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, std::uint8_t,
    std::conditional_t<bytes == 2, std::uint16_t,
                       std::conditional_t<bytes == 4, std::uint32_t,
                                          std::conditional_t<bytes == 8, std::uint64_t, Wide>>>>;

/// An integer or untyped value: its bits, or bytes of numbers.
template <Type T>
struct BitsValue {
  static constexpr unsigned bytes = width_of(T) / 8;
  using Unsigned = UnsignedOf<bytes>;
  Field* field = nullptr;
  Unsigned bits = 0;
  bool exact = true;
  std::array<Tag, bytes> tags;  // Where not exact.

  BitsValue() = default;
  BitsValue(Field* domain, Unsigned exact_bits) : field(domain), bits(exact_bits) {
    if constexpr (bytes == 1) tags = {};
  }
  /// Of a comparison's truth, which is only stored.
  explicit BitsValue(std::uint32_t truth) requires(T == Type::pred) : bits(truth) {}

  bool poisoned() const {
    if (exact) return false;
    for (Tag tag : tags)
      if (tag == poison_tag) return true;
    return false;
  }
  Tag tag(unsigned byte) const { return exact ? 0 : tags[byte]; }
  std::uint8_t byte(unsigned i) const { return static_cast<std::uint8_t>(bits >> (8 * i)); }

  const std::uint8_t* bytes_at() const { return reinterpret_cast<const std::uint8_t*>(&bits); }

  auto held() const {
    if constexpr (is_signed(T)) {
      return static_cast<std::make_signed_t<Unsigned>>(bits);
    } else {
      return bits;
    }
  }
};

/// Room for a number that is made when it is needed.
struct NumberPlace {
  union {
    Number number;
  };
  NumberPlace() {}
};

/// A float, as a register holds it.
template <Type T>
struct NumberValue {
  Field* field = nullptr;
  BitsValue<untyped_of(T)> raw;

  /// Where it is, or in `place`.
  const Number& get(NumberPlace& place) const {
    if (!raw.exact)
      if (const Number* held = field->held(raw.tags, T == Type::tf32 ? Type::f32 : T)) return *held;
    return *new (&place.number) Number(get());
  }
  Number get() const {
    if (raw.exact) return field->number(field->literal(static_cast<std::uint64_t>(raw.bits), T));
    if (const Number* held = field->held(raw.tags, T == Type::tf32 ? Type::f32 : T)) return *held;
    std::array<std::uint8_t, sizeof(raw.bits)> bytes;
    std::memcpy(bytes.data(), &raw.bits, sizeof(raw.bits));
    return field->number(field->read_number(bytes.data(), raw.tags.data(), T));
  }
};

template <Type T>
BitsValue<T> all_poison(Field* field) {
  BitsValue<T> out(field, 0);
  out.exact = false;
  out.tags.fill(poison_tag);
  return out;
}

/// Of operands that are not all exact: poison makes poison, whatever is beside it, and else a
/// float's bytes a complaint.
template <Type To, class... A>
BitsValue<To> opaque(Field* field, const A&... operands) {
  bool number = ((!operands.exact && !operands.poisoned()) || ...);
  if (number && !(operands.poisoned() || ...))
    field->complain(ComplaintKind::undecided, "an integer operation on the bits of a float");
  return all_poison<To>(field);
}

}  // namespace lathe::ptx::field

namespace lathe::ptx::field {
enum class Logic : std::uint8_t { both, either, differ };
}  // namespace lathe::ptx::field

#include "ptx/field_bits.h"
#include "ptx/field_symbolic.h"
#include "ptx/field_whole.h"

namespace lathe::ptx::field {

/// What `make` gives.
template <Type T, class Make>
NumberValue<T> made_by(Field* field, bool exact, Make make) {
  NumberValue<T> out;
  out.field = field;
  std::uint32_t id = field->keep_made(T == Type::tf32 ? Type::f32 : T, exact, make);
  out.raw.field = field;
  out.raw.exact = false;
  for (unsigned i = 0; i < out.raw.tags.size(); ++i)
    out.raw.tags[i] = id == field->poison_id() ? poison_tag : id << 3 | i;
  return out;
}
template <Type T>
NumberValue<T> made(Field* field, const Number& number, bool exact = false) {
  return made_by<T>(field, exact, [&] { return number; });
}

// Moves between the two kinds.

template <Type T>
void finish_bits(BitsValue<T>& value) {
  if (value.exact) return;
  bool all = true;
  for (Tag tag : value.tags) all &= tag == 0;
  value.exact = all;
}

template <Type To, Type From>
BitsValue<To> relabelled(const BitsValue<From>& a) {
  BitsValue<To> out(a.field, static_cast<typename BitsValue<To>::Unsigned>(a.bits));
  out.exact = a.exact;
  if constexpr (BitsValue<To>::bytes == 1) out.tags.fill(0);
  if (!a.exact) std::copy_n(a.tags.begin(), out.tags.size(), out.tags.begin());
  return out;
}
template <Type To, Type From>
auto recast(const BitsValue<From>& a) {
  if constexpr (is_number<To>) {
    NumberValue<To> out;
    out.field = a.field;
    out.raw = relabelled<untyped_of(To)>(a);
    return out;
  } else {
    return relabelled<To>(a);
  }
}
template <Type To, Type From>
auto recast(const NumberValue<From>& a) {
  return recast<To>(a.raw);
}

// Integers.

template <Type T>
BitsValue<T> literal(BitsValue<T> like, std::uint64_t bits) {
  return {like.field, static_cast<typename BitsValue<T>::Unsigned>(bits)};
}
template <Type T>
NumberValue<T> literal(NumberValue<T> like, std::uint64_t bits) {
  return recast<T>(BitsValue<untyped_of(T)>(
      like.field, static_cast<typename BitsValue<untyped_of(T)>::Unsigned>(bits)));
}

/// Names of functions that words remember; below 2^32 so that no address is one of them.
constexpr std::uint64_t wrapping_names = 1u << 20;

#define FIELD_WRAPPING(symbol)                                                     \
  template <Type T>                                                                \
  BitsValue<T> operator symbol(const BitsValue<T>& a, const BitsValue<T>& b) {     \
    using U = typename BitsValue<T>::Unsigned;                                     \
    using W = std::conditional_t<(sizeof(U) < 8), std::uint64_t, U>;               \
    if (!a.exact || !b.exact) {                                                    \
      auto function = [](std::uint64_t x, std::uint64_t y) { return x symbol y; }; \
      std::uint64_t name = wrapping_names + #symbol[0];                            \
      if (auto word = applied<T>(a.field, name, function, a, b)) return *word;     \
      if (auto whole = whole_result<T>(#symbol[0], a, b)) return *whole;           \
      if (auto sum = sum_of_float<T>(#symbol[0], a, b)) return *sum;               \
      return symbolic<T>(a.field, name, function, a, b);                           \
    }                                                                              \
    return {a.field, static_cast<U>(W{a.bits} symbol W{b.bits})};                  \
  }
FIELD_WRAPPING(+)
FIELD_WRAPPING(-)
FIELD_WRAPPING(*)
#undef FIELD_WRAPPING

template <Type T>
BitsValue<T> operator-(const BitsValue<T>& a) {
  return literal(a, 0) - a;
}

/// Sign operations on a whole float, or on both halves of a pair: the other operand is exact.
template <Type T>
std::optional<BitsValue<T>> sign_operation(Logic logic, const BitsValue<T>& value,
                                           const BitsValue<T>& mask) {
  if constexpr (BitsValue<T>::bytes < 2 || BitsValue<T>::bytes > 8) {
    return std::nullopt;
  } else {
    BitsValue<T> out = value;
    for (unsigned at = 0; at < BitsValue<T>::bytes;) {
      Tag first = value.tag(at);
      if (first == 0 || first == poison_tag || (first & 7) != 0) return std::nullopt;
      if (value.field->is_word(first >> 3)) return std::nullopt;
      const Number number = value.field->number(first >> 3);
      unsigned width = width_of(number.type()) / 8;
      if (at + width > BitsValue<T>::bytes) return std::nullopt;
      for (unsigned i = 1; i < width; ++i)
        if (value.tag(at + i) != first + i) return std::nullopt;
      std::uint64_t part = 0, sign = std::uint64_t{1} << (8 * width - 1);
      for (unsigned i = 0; i < width; ++i) part |= std::uint64_t{mask.byte(at + i)} << (8 * i);
      Arithmetic& arithmetic = value.field->arithmetic();
      Number result = number;
      if (logic == Logic::both && part == sign - 1) {
        result = arithmetic.absolute(number);
      } else if (logic == Logic::either && part == sign) {
        result = arithmetic.negate(arithmetic.absolute(number));
      } else if (logic == Logic::differ && part == sign) {
        result = arithmetic.negate(number);
      } else {
        return std::nullopt;
      }
      std::uint32_t id = value.field->keep(result);
      for (unsigned i = 0; i < width; ++i) out.tags[at + i] = id << 3 | i;
      at += width;
    }
    return out;
  }
}

template <Type T>
BitsValue<T> other_logic(Logic logic, const BitsValue<T>& a, const BitsValue<T>& b) {
  if (auto result = logic_of_floats(logic, a, b)) return *result;
  return opaque<T>(a.field, a, b);
}

/// Bytes that an exact operand keeps, clears or sets; anything else of a float's bytes is opaque.
template <Type T>
BitsValue<T> bytewise(Logic logic, const BitsValue<T>& a, const BitsValue<T>& b) {
  using U = typename BitsValue<T>::Unsigned;
  BitsValue<T> out(a.field, 0);
  out.exact = false;
  out.tags.fill(0);
  for (unsigned i = 0; i < BitsValue<T>::bytes; ++i) {
    Tag ta = a.tag(i), tb = b.tag(i);
    std::uint8_t x = a.byte(i), y = b.byte(i), result = 0;
    if (ta == 0 && tb == 0) {
      result = logic == Logic::both ? x & y : logic == Logic::either ? x | y : x ^ y;
    } else if (ta != 0 && tb != 0) {
      if (ta != tb || logic == Logic::differ) return other_logic(logic, a, b);
      out.tags[i] = ta;
    } else {
      std::uint8_t known = ta == 0 ? x : y;
      Tag moved = ta == 0 ? tb : ta;
      if (logic == Logic::both && known == 0) continue;
      bool keeps = logic == Logic::both ? known == 0xFF : known == 0;
      if (!keeps) return other_logic(logic, a, b);
      out.tags[i] = moved;
    }
    out.bits = static_cast<U>(out.bits | U{result} << (8 * i));
  }
  finish_bits(out);
  return out;
}

template <Type T>
BitsValue<T> logical(Logic logic, const BitsValue<T>& a, const BitsValue<T>& b) {
  if (a.exact && !b.exact)
    if (auto result = sign_operation(logic, b, a)) return *result;
  if (b.exact && !a.exact)
    if (auto result = sign_operation(logic, a, b)) return *result;
  if (any_word(a.field, a) || any_word(a.field, b)) {
    std::optional<Word> x = word_of(a.field, a), y = word_of(a.field, b);
    auto what = static_cast<Words::Bitwise>(logic);
    std::optional<Word> result = x && y ? a.field->words().bitwise(what, *x, *y) : std::nullopt;
    if (result) return from_word<T>(a.field, *result);
  }
  return bytewise(logic, a, b);
}

#define FIELD_LOGICAL(symbol, logic)                                                      \
  template <Type T>                                                                       \
  BitsValue<T> operator symbol(const BitsValue<T>& a, const BitsValue<T>& b) {            \
    if (!a.exact || !b.exact) return logical(logic, a, b);                                \
    return {a.field, static_cast<typename BitsValue<T>::Unsigned>(a.bits symbol b.bits)}; \
  }
FIELD_LOGICAL(&, Logic::both)
FIELD_LOGICAL(|, Logic::either)
FIELD_LOGICAL(^, Logic::differ)
#undef FIELD_LOGICAL
template <Type T>
BitsValue<T> operator~(const BitsValue<T>& a) {
  auto inverted = static_cast<typename BitsValue<T>::Unsigned>(~a.bits);
  if (!a.exact)
    return a ^ BitsValue<T>(a.field, static_cast<decltype(inverted)>(~decltype(inverted){0}));
  return {a.field, inverted};
}

}  // namespace lathe::ptx::field

#include "ptx/field_compare.h"

namespace lathe::ptx::field {

/// Of a float's bytes: whole bytes move.
template <Type T>
BitsValue<T> moved_bytes(const BitsValue<T>& a, int bytes) {
  using U = typename BitsValue<T>::Unsigned;
  BitsValue<T> out(a.field, 0);
  out.exact = false;
  out.tags.fill(0);
  for (int i = 0; i < static_cast<int>(BitsValue<T>::bytes); ++i) {
    int from = i - bytes;
    if (from < 0 || from >= static_cast<int>(BitsValue<T>::bytes)) continue;
    out.tags[static_cast<std::size_t>(i)] = a.tag(static_cast<unsigned>(from));
    out.bits = static_cast<U>(out.bits | U{a.byte(static_cast<unsigned>(from))} << (8 * i));
  }
  finish_bits(out);
  return out;
}
/// Of integer data: by a known number of bits, or as any function.
template <Type T, class F>
BitsValue<T> shifted_word(const BitsValue<T>& a, const BitsValue<Type::u32>& by, F function,
                          int direction) {
  if constexpr (BitsValue<T>::bytes <= 8) {
    std::optional<Word> word = by.exact ? word_of(a.field, a) : std::nullopt;
    if (word) {
      int bits = static_cast<int>(std::min<std::uint32_t>(by.bits, 64));
      if (auto out =
              a.field->words().shifted(*word, direction * bits, direction < 0 && is_signed(T)))
        return from_word<T>(a.field, *out);
    }
    return symbolic<T>(a.field,
                       wrapping_names + 256 + static_cast<std::uint64_t>(direction + 1) +
                           (is_signed(T) ? 8 : 0) + width_of(T) * 16,
                       function, a, by);
  } else {
    return opaque<T>(a.field, a, by);
  }
}
/// Of a float's bits.
template <Type T>
BitsValue<T> shifted_float(const BitsValue<T>& a, const BitsValue<Type::u32>& by, int direction) {
  if (std::optional<Word> word = by.exact ? word_or_float(a) : std::nullopt) {
    int bits = direction * static_cast<int>(std::min<std::uint32_t>(by.bits, 64));
    if (auto out = a.field->words().shifted(*word, bits, direction < 0 && is_signed(T)))
      return from_word<T>(a.field, *out);
  }
  return opaque<T>(a.field, a, by);
}
template <Type T>
BitsValue<T> shift_left(const BitsValue<T>& a, const BitsValue<Type::u32>& by) {
  using U = typename BitsValue<T>::Unsigned;
  if (any_word(a.field, a) || any_word(a.field, by))
    return shifted_word(
        a, by,
        [](std::uint64_t x, std::uint64_t n) {
          return n >= width_of(T) ? std::uint64_t{0} : x << n;
        },
        1);
  if (by.exact && !a.exact)
    if (auto whole = whole_shifted_left(a, by.bits)) return *whole;
  if (!by.exact || (!a.exact && by.bits % 8 != 0)) return shifted_float(a, by, 1);
  if (by.bits >= width_of(T)) return {a.field, 0};
  if (!a.exact) return moved_bytes(a, static_cast<int>(by.bits / 8));
  return {a.field, static_cast<U>(a.bits << by.bits)};
}
template <Type T>
BitsValue<T> shift_right(const BitsValue<T>& a, const BitsValue<Type::u32>& by) {
  using U = typename BitsValue<T>::Unsigned;
  if (any_word(a.field, a) || any_word(a.field, by))
    return shifted_word(
        a, by,
        [](std::uint64_t x, std::uint64_t n) {
          if (!is_signed(T)) return n >= width_of(T) ? std::uint64_t{0} : x >> n;
          auto held = static_cast<std::int64_t>(x << (64 - width_of(T)));
          return static_cast<std::uint64_t>(held >>
                                            std::min<std::uint64_t>(n + 64 - width_of(T), 63));
        },
        -1);
  if (!by.exact || (!a.exact && (by.bits % 8 != 0 || is_signed(T))))
    return shifted_float(a, by, -1);
  bool beyond = by.bits >= width_of(T);
  if (!a.exact && !beyond) return moved_bytes(a, -static_cast<int>(by.bits / 8));
  if (beyond && !is_signed(T)) return {a.field, 0};
  unsigned amount = beyond ? width_of(T) - 1 : by.bits;
  return {a.field, static_cast<U>(a.held() >> amount)};
}
template <Type T>
auto widen(const BitsValue<T>& a) {
  using To = BitsValue<twice(T)>;
  if (any_word(a.field, a)) {
    std::optional<Word> word = word_of(a.field, a);
    if (word) word = a.field->words().resized(*word, width_of(twice(T)), is_signed(T));
    if (word) return from_word<twice(T)>(a.field, *word);
  }
  if (!a.exact) return opaque<twice(T)>(a.field, a);
  return To{a.field, static_cast<typename To::Unsigned>(a.held())};
}

template <Type V>
std::uint64_t bits_of_value(const BitsValue<V>& a) {
  return static_cast<std::uint64_t>(a.bits);
}
template <Type V>
BitsValue<untyped_of(V)> as_bits(const NumberValue<V>& a) {
  return recast<untyped_of(V)>(a);
}
template <Type V>
const BitsValue<V>& as_bits(const BitsValue<V>& a) {
  return a;
}

template <Type To, class F, class A, class... Rest>
auto exactly([[maybe_unused]] Form f, F function, const A& first, const Rest&... rest) {
  auto apply = [&](const auto&... sources) -> BitsValue<untyped_of(To)> {
    if (!(sources.exact && ...)) {
      static const char place = 0;
      std::uint64_t name = mix(reinterpret_cast<std::uintptr_t>(&place),
                               f.constant ^ std::uint64_t{f.flags} << 32 ^
                                   std::uint64_t{static_cast<std::uint8_t>(f.comparison)} << 56 ^
                                   std::uint64_t{f.row} << 40) |
                           1ull << 63;
      if (Field::moves_bits(f.row))
        if (auto moved = moved_word<untyped_of(To)>(first.field, name, function, sources...))
          return *moved;
      if (Field::bit_by_bit(f.row))
        if (auto word = by_bits<untyped_of(To)>(first.field, name, function, sources...))
          return *word;
      return symbolic<untyped_of(To)>(first.field, name, function, sources...);
    }
    return {first.field, static_cast<typename BitsValue<untyped_of(To)>::Unsigned>(
                             function(bits_of_value(sources)...))};
  };
  return recast<To>(apply(as_bits(first), as_bits(rest)...));
}

// Loads and stores.

}  // namespace lathe::ptx::field

#include "ptx/field_float.h"
