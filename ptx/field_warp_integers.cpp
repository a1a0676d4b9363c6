// Rows of integers whose operands are exact, a warp at once: a row's own meaning in the bits
// domain, on the same registers.

#include "ptx/bits.h"
#include "ptx/field_warp.h"
#include "ptx/isa/integer.h"
#include "ptx/isa/logic.h"
#include "ptx/warp.h"

namespace lathe::ptx::field {
namespace {

/// The bits domain on the registers of the field domain.
struct Exact {
  static constexpr bool complains = false;
  static constexpr bool vectorises = true;
  template <Type T>
  using Value = Bits::Value<T>;
  struct Bytes {
    std::byte* at = nullptr;
    std::byte* data() const { return at; }
  };
  struct Lanes {
    Bytes bytes;
  };
  template <Type T>
  static Value<T> load_from(const std::byte* at) {
    return Bits::load_from<T>(at);
  }
  template <Type T>
  static void store_to(std::byte* at, Value<T> value) {
    Bits::store_to<T>(at, value);
  }
  void settle(Lanes&, Definedness, Spot, unsigned, const Spot*, Mask) {}
};

constexpr bool whole(Type type) {
  return (is_integer(type) || is_untyped(type) || type == Type::pred) && type != Type::b128;
}

/// Rows of which nothing is a float.
template <class R, Type T>
constexpr bool integers_only() {
  bool out =
      R::effect == Effect::none && contains(R::types, T) && whole(R::signature.destination.in(T));
  for (std::size_t i = 0; i < R::signature.source_count; ++i)
    out = out && whole(R::signature.sources[i].in(T));
  return out;
}

template <class R, Type T>
void carry_out(Field& field, Field::Lanes& lanes, const Operation& op, Mask active) {
  bool exact = true;
  for (std::size_t i = 0; exact && i < R::signature.source_count; ++i)
    exact = Field::all_exact(lanes, op.places[i + 1], cell_bytes(R::signature.sources[i].in(T)),
                             active);
  if (!exact)
    return lane_rules().rows[op.form.row][static_cast<std::size_t>(T)](field, lanes, op, active);
  Exact domain;
  Exact::Lanes bits{{reinterpret_cast<std::byte*>(lanes.registers->bits.data())}};
  detail::carry_out<Exact, R, T>(domain, bits, op, active);
  field.mark_exact(lanes, op.places[0], cell_bytes(R::signature.destination.in(T)), active);
}

template <class R, int t>
void take_type(RulesOfRow<Field>& rules) {
  constexpr Type T = static_cast<Type>(t);
  if constexpr (integers_only<R, T>()) rules[t] = &carry_out<R, T>;
}
template <class R, int... t>
void take_row(RulesOfRow<Field>& rules, std::integer_sequence<int, t...>) {
  (take_type<R, t>(rules), ...);
}
template <class Chapter, int... i>
void take_rows(Rules<Field>& rules, std::integer_sequence<int, i...>) {
  std::size_t first = first_row_of<Chapter>();
  constexpr std::make_integer_sequence<int, static_cast<int>(type_count)> types;
  (take_row<typename Chapter::template At<i>>(rules.rows[first + i], types), ...);
}
template <class Chapter>
void take_chapter(Rules<Field>& rules) {
  take_rows<Chapter>(rules, std::make_integer_sequence<int, Chapter::row_count>{});
}

}  // namespace

void take_integer_rows(Rules<Field>& rules) {
  take_chapter<integer::Chapter>(rules);
  take_chapter<logic::Chapter>(rules);
}

}  // namespace lathe::ptx::field
