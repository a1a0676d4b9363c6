#pragma once

// Meanings carried out over the lanes of a warp, in any domain: one function a row and type, and
// tables of them. Instantiate `rules` in one file a domain (ptx/engine): it is most of the
// compiling.

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ptx/chapters.h"
#include "ptx/rules.h"

namespace lathe::ptx {

namespace detail {

template <class D>
constexpr bool vectorises = requires {
  requires D::vectorises;
};

/// Reads one register, lane by lane. A vectorising domain's lanes lie in plain memory: the address
/// of the register is taken once, so that the loop over lanes is one over an array.
template <class D, Type T>
struct Reader {
  const D& d;
  const typename D::Lanes& lanes;
  Spot place;
  SeenAs<D, T> operator()(unsigned i) const { return load_value<D, T>(d, lanes, place, i); }
};
template <class D, Type T>
requires(vectorises<D>) struct Reader<D, T> {
  const std::byte* row;
  Reader(const D&, const typename D::Lanes& lanes, Spot place) : row(lanes.bytes.data() + place) {}
  SeenAs<D, T> operator()(unsigned i) const {
    const std::byte* at = row + std::size_t{i} * cell_bytes(T);
    if constexpr (T == Type::e2m1x2)
      return {nibble<half_of(T)>(D::template load_from<Type::u8>(at), false),
              nibble<half_of(T)>(D::template load_from<Type::u8>(at), true)};
    else if constexpr (is_pair(T))
      return {D::template load_from<half_of(T)>(at),
              D::template load_from<half_of(T)>(at + cell_bytes(T) / 2)};
    else
      return D::template load_from<T>(at);
  }
};

template <class D, Type T>
[[gnu::always_inline]] inline void store_at(std::byte* at, const SeenAs<D, T>& value) {
  if constexpr (T == Type::e2m1x2) {
    D::template store_to<Type::u8>(at, byte_of(value));
  } else if constexpr (is_pair(T)) {
    D::template store_to<half_of(T)>(at, value.low);
    D::template store_to<half_of(T)>(at + cell_bytes(T) / 2, value.high);
  } else {
    D::template store_to<T>(at, value);
  }
}

/// The bytes of a lane's cell that store_at writes.
template <class D, Type T>
constexpr std::size_t stored_bytes() {
  if constexpr (T == Type::e2m1x2)
    return sizeof(typename D::template Value<Type::u8>{}.in_cell());
  else if constexpr (is_pair(T))
    return cell_bytes(T) / 2 + sizeof(typename D::template Value<half_of(T)>{}.in_cell());
  else
    return sizeof(typename D::template Value<T>{}.in_cell());
}

/// Runs `per_lane` (lane number to value) for the active lanes and stores what it gives. Where the
/// domain vectorises all lanes are computed. A destination may be a source, of the same width then:
/// a lane's result stands where its source stood, so no later lane is harmed.
template <class D, Type Td, class PerLane>
[[gnu::always_inline]] inline void over_lanes(D& d, typename D::Lanes& lanes, Spot to, Mask active,
                                              PerLane per_lane) {
  if constexpr (vectorises<D>) {
    alignas(32) std::array<std::byte, lane_count * std::size_t{cell_bytes(Td)}> apart;
    std::byte* row = lanes.bytes.data() + to;
    std::byte* out = active == every_lane ? row : apart.data();
#pragma GCC ivdep
    for (unsigned i = 0; i < lane_count; ++i)
      store_at<D, Td>(out + std::size_t{i} * cell_bytes(Td), per_lane(i));
    if (active == every_lane) return;
    for (Mask left = active; left != 0; left &= left - 1) {
      std::size_t at = static_cast<std::size_t>(std::countr_zero(left)) * cell_bytes(Td);
      std::memcpy(row + at, out + at, stored_bytes<D, Td>());
    }
  } else {
    for (Mask left = active; left != 0; left &= left - 1) {
      auto i = static_cast<unsigned>(std::countr_zero(left));
      store_value<D, Td>(d, lanes, to, i, per_lane(i));
    }
  }
}

/// A comparison's bool as the predicate that holds it.
template <class D, class V>
[[gnu::always_inline]] inline decltype(auto) as_value([[maybe_unused]] const V& result) {
  if constexpr (std::is_same_v<V, bool>) {
    using Truth = typename D::template Value<Type::pred>;
    return Truth{static_cast<std::uint32_t>(result)};
  } else {
    return V(result);
  }
}

template <class R>
constexpr Type source_type(std::size_t i, Type t) {
  return R::signature.sources[i < R::signature.source_count ? i : 0].in(t);
}

/// A row for one type, in one form. Where `alone`, no loop is made for a single lane.
template <class D, class R, Type T, bool alone>
[[gnu::always_inline]] inline void over_row(D& d, typename D::Lanes& lanes, const Operation& op,
                                            Form f, Mask active) {
  constexpr Type td = R::signature.destination.in(T);
  const Reader<D, source_type<R>(0, T)> a{d, lanes, op.places[1]};
  const Reader<D, source_type<R>(1, T)> b{d, lanes, op.places[2]};
  const Reader<D, source_type<R>(2, T)> c{d, lanes, op.places[3]};
  const Reader<D, source_type<R>(3, T)> e{d, lanes, op.places[4]};
  auto per_lane = [=](unsigned i) __attribute__((always_inline)) {
    return as_value<D>(R::template meaning<T>(f, a(i), b(i), c(i), e(i)));
  };
  if constexpr (alone)
    if (std::has_single_bit(active)) {
      auto i = static_cast<unsigned>(std::countr_zero(active));
      std::byte* row = lanes.bytes.data() + op.places[0];
      return store_at<D, td>(row + std::size_t{i} * cell_bytes(td), per_lane(i));
    }
  over_lanes<D, td>(d, lanes, op.places[0], active, per_lane);
}

/// In a function of its own, so that the usual forms prepare nothing for it. So is a kernel of one
/// thread.
template <class D, class R, Type T>
[[gnu::noinline]] void over_row_in_any_form(D& d, typename D::Lanes& lanes, const Operation& op,
                                            Mask active) {
  over_row<D, R, T, vectorises<D>>(d, lanes, op, op.form, active);
}

/// The usual forms of a float's row get loops of their own, in which the compiler knows that the
/// rest is absent; without .ftz nothing is to be looked at before and after.
template <class D, class R, Type T>
[[gnu::always_inline]] inline void over_usual_row(D& d, typename D::Lanes& lanes,
                                                  const Operation& op, Mask active) {
  constexpr std::uint32_t ftz = 1u << static_cast<unsigned>(Flag::ftz);
  constexpr std::uint32_t rare =
      1u << static_cast<unsigned>(Flag::sat) | 1u << static_cast<unsigned>(Flag::relu) |
      1u << static_cast<unsigned>(Flag::nan) | 1u << static_cast<unsigned>(Flag::abs) |
      1u << static_cast<unsigned>(Flag::xorsign_abs);
  if (op.form.rounding != Rounding::rn || (op.form.flags & rare) != 0 ||
      std::has_single_bit(active))
    return over_row_in_any_form<D, R, T>(d, lanes, op, active);
  Form usual = op.form;
  usual.rounding = Rounding::rn;
  usual.flags &= ~rare;
  if constexpr (T == Type::f32) {
    if ((usual.flags & ftz) == 0) {
      usual.flags &= ~ftz;
      return over_row<D, R, T, false>(d, lanes, op, usual, active);
    }
    usual.flags |= ftz;
  }
  over_row<D, R, T, false>(d, lanes, op, usual, active);
}

/// A row for one type.
template <class D, class R, Type T>
void carry_out(D& d, typename D::Lanes& lanes, const Operation& op, Mask active) {
  constexpr Type td = R::signature.destination.in(T);
  constexpr bool packed = is_pair(td) && cell_bytes(td) > 1 && source_type<R>(0, T) == td &&
                          source_type<R>(1, T) == td && source_type<R>(2, T) == td;
  if constexpr (vectorises<D> && is_float(T))
    over_usual_row<D, R, T>(d, lanes, op, active);
  else
    over_row<D, R, T, false>(d, lanes, op, op.form, active);
  d.settle(lanes, packed ? Definedness::halves : op.definedness, op.places[0], cell_bytes(td),
           &op.places[1], active);
}

template <class D, class R>
constexpr RulesOfRow<D> rules_of_row() {
  RulesOfRow<D> rules{};
  if constexpr (R::effect == Effect::none) {
    [&]<int... t>(std::integer_sequence<int, t...>) {
      (
          [&] {
            if constexpr (contains(R::types, static_cast<Type>(t)))
              rules[static_cast<std::size_t>(t)] = &carry_out<D, R, static_cast<Type>(t)>;
          }(),
          ...);
    }
    (std::make_integer_sequence<int, static_cast<int>(type_count)>{});
  }
  return rules;
}

/// A table in memory, not code that fills one: a function of so many steps takes long to compile.
template <class D, class Chapter, int... i>
void add_chapter(std::vector<RulesOfRow<D>>& rules, std::integer_sequence<int, i...>) {
  static constexpr std::array<RulesOfRow<D>, sizeof...(i)> chapter{
      rules_of_row<D, typename Chapter::template At<i>>()...};
  for (const RulesOfRow<D>& row : chapter) rules.push_back(row);
}

template <class D>
std::vector<RulesOfRow<D>> list_rules() {
  std::vector<RulesOfRow<D>> rules;
  for_each_chapter([&]<class Chapter>() {
    add_chapter<D, Chapter>(rules, std::make_integer_sequence<int, Chapter::row_count>{});
  });
  return rules;
}

/// Which random bits round an element of a pair: from `shift` on, `count` of them.
struct Draw {
  unsigned shift, count;
};
/// Of four packed, the manual's lower pair (e, f) and upper pair (a, b) have bits of their own.
constexpr Draw draw_of(Type to, bool upper_pair, bool high) {
  if (to == Type::f16x2) return {high ? 16u : 0u, 13};
  if (to == Type::bf16x2) return {high ? 16u : 0u, 16};
  if (to == Type::e2m1x2) return {(high ? 16u : 0u) + (upper_pair ? 8u : 0u), 8};
  return {upper_pair ? 16u : 0u, 16};
}
constexpr bool draws(Type to, Type from) {
  return is_pair(to) && from == Type::f32 && to != Type::ue8m0x2 && to != Type::s2f6x2;
}
constexpr bool scales(Type to, Type from) {
  return to == Type::s2f6x2 ||
         (to == Type::bf16x2 && is_small_float(half_of(from)) && from != Type::ue8m0x2);
}

/// cvt for one pair of types; two sources make a pair, the first in the upper half.
template <class D, Type To, Type From>
[[gnu::always_inline]] inline SeenAs<D, To> converted(Form f, auto a, auto b) {
  if constexpr (is_pair(To) && is_pair(From))
    return {convert<half_of(To)>(f, a.low), convert<half_of(To)>(f, a.high)};
  else if constexpr (is_pair(To))
    return {convert<half_of(To)>(f, b), convert<half_of(To)>(f, a)};
  else
    return convert<To>(f, a);
}
template <class D, Type To, Type From>
inline SeenAs<D, To> converted_scaled(Form f, auto a, auto b, auto factors) {
  if constexpr (is_pair(From))
    return {convert_scaled<half_of(To)>(f, a.low, factors.low),
            convert_scaled<half_of(To)>(f, a.high, factors.high)};
  else
    return {convert_scaled<half_of(To)>(f, b, factors.low),
            convert_scaled<half_of(To)>(f, a, factors.high)};
}

/// In one form.
template <class D, Type To, Type From>
[[gnu::always_inline]] inline void over_convert(D& d, typename D::Lanes& lanes, const Operation& op,
                                                Form f, Mask active) {
  const Reader<D, From> a{d, lanes, op.places[1]};
  const Reader<D, From> b{d, lanes, op.places[2]};
  over_lanes<D, To>(
      d, lanes, op.places[0], active, [=](unsigned i) __attribute__((always_inline)) {
        return converted<D, To, From>(f, a(i), b(i));
      });
}
template <class D, Type To, Type From>
[[gnu::noinline]] void over_convert_in_any_form(D& d, typename D::Lanes& lanes, const Operation& op,
                                                Mask active) {
  over_convert<D, To, From>(d, lanes, op, op.form, active);
}

/// Those that take a third source: random bits, or factors. False where it is none of them.
template <class D, Type To, Type From>
bool over_convert_with_third(D& d, typename D::Lanes& lanes, const Operation& op, Mask active) {
  const Reader<D, From> a{d, lanes, op.places[1]};
  const Reader<D, From> b{d, lanes, op.places[2]};
  if constexpr (draws(To, From))
    if (op.form.rounding == Rounding::rs) {
      const Reader<D, Type::b32> random{d, lanes, op.places[3]};
      bool upper = op.form.constant != 0;
      over_lanes<D, To>(d, lanes, op.places[0], active, [=, f = op.form](unsigned i) {
        Draw low = draw_of(To, upper, false), high = draw_of(To, upper, true);
        return SeenAs<D, To>{
            convert_drawn<half_of(To)>(f, b(i), random(i), low.shift, low.count),
            convert_drawn<half_of(To)>(f, a(i), random(i), high.shift, high.count)};
      });
      return true;
    }
  if constexpr (scales(To, From))
    if (op.form.has(Flag::scaled)) {
      const Reader<D, Type::ue8m0x2> factors{d, lanes, op.places[3]};
      over_lanes<D, To>(d, lanes, op.places[0], active, [=, f = op.form](unsigned i) {
        return converted_scaled<D, To, From>(f, a(i), b(i), factors(i));
      });
      return true;
    }
  return false;
}

template <class D, Type To, Type From>
void carry_out_convert(D& d, typename D::Lanes& lanes, const Operation& op, Mask active) {
  d.settle(lanes, Definedness::all, op.places[0], cell_bytes(To), &op.places[1], active);
  if constexpr (draws(To, From) || scales(To, From))
    if (over_convert_with_third<D, To, From>(d, lanes, op, active)) return;
  constexpr bool small = is_small_float(half_of(To)) || is_small_float(half_of(From));
  if constexpr (vectorises<D> && !small)
    if (op.form.rounding == Rounding::rn && op.form.flags == 0) {
      Form usual = op.form;
      usual.rounding = Rounding::rn;
      usual.flags = 0;
      return over_convert<D, To, From>(d, lanes, op, usual, active);
    }
  over_convert_in_any_form<D, To, From>(d, lanes, op, active);
}

constexpr bool convertible(Type to, Type from) {
  constexpr Types integers_and_floats =
      any_of(Type::u8, Type::u16, Type::u32, Type::u64, Type::s8, Type::s16, Type::s32, Type::s64,
             Type::f16, Type::bf16, Type::f32, Type::f64);
  constexpr Types small_pairs =
      any_of(Type::e4m3x2, Type::e5m2x2, Type::e2m1x2, Type::e2m3x2, Type::e3m2x2);
  if (contains(integers_and_floats, to)) return contains(integers_and_floats, from);
  if (to == Type::tf32) return from == Type::f32;
  if (to == Type::f16x2) return from == Type::f32 || contains(small_pairs, from);
  if (to == Type::bf16x2)
    return from == Type::f32 || contains(small_pairs | any_of(Type::ue8m0x2, Type::s2f6x2), from);
  if (to == Type::ue8m0x2 || to == Type::s2f6x2) return from == Type::f32 || from == Type::bf16x2;
  if (contains(small_pairs, to))
    return from == Type::f32 || from == Type::f16x2 || from == Type::bf16x2;
  return false;
}

template <class D, Type To>
constexpr RulesOfRow<D> converts_to() {
  RulesOfRow<D> rules{};
  [&]<int... t>(std::integer_sequence<int, t...>) {
    (
        [&] {
          if constexpr (convertible(To, static_cast<Type>(t)))
            rules[static_cast<std::size_t>(t)] = &carry_out_convert<D, To, static_cast<Type>(t)>;
        }(),
        ...);
  }
  (std::make_integer_sequence<int, static_cast<int>(type_count)>{});
  return rules;
}

template <class D, int... t>
std::vector<RulesOfRow<D>> list_converts(std::integer_sequence<int, t...>) {
  static constexpr std::array<RulesOfRow<D>, sizeof...(t)> table{
      converts_to<D, static_cast<Type>(t)>()...};
  return {table.begin(), table.end()};
}
template <class D>
std::vector<RulesOfRow<D>> list_converts() {
  return list_converts<D>(std::make_integer_sequence<int, static_cast<int>(type_count)>{});
}

}  // namespace detail

#define LATHE_RULES_OF(D)                                                             \
  template <>                                                                         \
  const Rules<D>& rules_of<D>() {                                                     \
    static const Rules<D> rules{detail::list_rules<D>(), detail::list_converts<D>()}; \
    return rules;                                                                     \
  }

}  // namespace lathe::ptx
