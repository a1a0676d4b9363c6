#pragma once

// One lane's values of a type, packed ones as pairs, and the tables through which a machine carries
// out the meanings of rows. The tables are filled by ptx/warp.h, in one file a domain.

#include <array>
#include <vector>

#include "ptx/program.h"

namespace lathe::ptx {

namespace detail {

template <class D, Type T>
struct Seen {
  using type = typename D::template Value<T>;
};
template <class D, Type T>
requires(is_pair(T)) struct Seen<D, T> {
  using type = Pair<typename D::template Value<half_of(T)>>;
};
template <class D, Type T>
using SeenAs = typename Seen<D, T>::type;

/// Half of a byte as a value of a type that is so small.
template <Type T, class Byte>
[[gnu::always_inline]] inline auto nibble(const Byte& byte, bool high) {
  return exactly<T>(
      Form{}, [high](std::uint64_t x) { return (high ? x >> 4 : x) & 15; }, byte);
}
template <class V>
[[gnu::always_inline]] inline auto byte_of(Pair<V> pair) {
  return exactly<Type::u8>(
      Form{}, [](std::uint64_t low, std::uint64_t high) { return low | high << 4; }, pair.low,
      pair.high);
}

template <class D, Type T>
inline SeenAs<D, T> load_value(const D& d, const typename D::Lanes& lanes, Spot place,
                               unsigned lane) {
  Cell cell{place, cell_bytes(T), 0, static_cast<std::uint8_t>(lane)};
  if constexpr (T == Type::e2m1x2) {
    auto byte = d.template load<Type::u8>(lanes, cell);
    return {nibble<half_of(T)>(byte, false), nibble<half_of(T)>(byte, true)};
  } else if constexpr (is_pair(T)) {
    Cell high = cell;
    high.byte = cell_bytes(T) / 2;
    return {d.template load<half_of(T)>(lanes, cell), d.template load<half_of(T)>(lanes, high)};
  } else {
    return d.template load<T>(lanes, cell);
  }
}

template <class D, Type T>
inline void store_value(D& d, typename D::Lanes& lanes, Spot place, unsigned lane,
                        const SeenAs<D, T>& value) {
  Cell cell{place, cell_bytes(T), 0, static_cast<std::uint8_t>(lane)};
  if constexpr (T == Type::e2m1x2) {
    d.template store<Type::u8>(lanes, cell, byte_of(value));
  } else if constexpr (is_pair(T)) {
    Cell high = cell;
    high.byte = cell_bytes(T) / 2;
    d.template store<half_of(T)>(lanes, cell, value.low);
    d.template store<half_of(T)>(lanes, high, value.high);
  } else {
    d.template store<T>(lanes, cell, value);
  }
}

}  // namespace detail

template <class D>
using Rule = void (*)(D&, typename D::Lanes&, const Operation&, Mask);

template <class D>
using RulesOfRow = std::array<Rule<D>, type_count>;

/// A domain's rules: of a row by type, of cvt by the type of the result and of the source.
template <class D>
struct Rules {
  std::vector<RulesOfRow<D>> rows;
  std::vector<RulesOfRow<D>> converts;
};

/// Defined for each domain in its file of ptx/engine, by LATHE_RULES_OF.
template <class D>
const Rules<D>& rules_of();

}  // namespace lathe::ptx
