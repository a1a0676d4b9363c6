// Rows of f32 over strips: a row's own meaning, of another kind of value.

#include "ptx/field_strip.h"
#include "ptx/field_warp.h"
#include "ptx/isa/floating.h"

namespace lathe::ptx::field {
namespace {

/// Which functions a strip has.
template <class R, Type T>
constexpr bool over_strips() {
  constexpr std::string_view opcode = R::signature.opcode;
  return R::effect == Effect::none && contains(R::types, T) &&
         (opcode == "add" || opcode == "sub" || opcode == "mul" || opcode == "fma" ||
          opcode == "mad" || opcode == "neg");
}

template <class R, Type T>
void carry_out(Field& field, Field::Lanes& lanes, const Operation& op, Mask active) {
  Strips& strips = field.strips();
  bool good = strips.begin(active);
  std::array<StripValue, 4> sources;
  for (unsigned i = 0; good && i < R::signature.source_count; ++i) {
    sources[i] = strips.load(lanes, op.places[i + 1], T);
    good = sources[i].strip != nullptr;
  }
  if (good) {
    StripValue result =
        R::template meaning<T>(op.form, sources[0], sources[1], sources[2], sources[3]);
    if (result.strip != nullptr) return strips.store(lanes, op.places[0], result, true);
  }
  lane_rules().rows[op.form.row][static_cast<std::size_t>(T)](field, lanes, op, active);
}

/// cvt between formats, of what is a number in the other as it stands.
template <Type To, Type From>
void convert(Field& field, Field::Lanes& lanes, const Operation& op, Mask active) {
  Strips& strips = field.strips();
  bool same = !op.form.has(Flag::sat) && !op.form.has(Flag::relu) && !op.form.has(Flag::to_integer);
  if (same && strips.begin(active)) {
    StripValue result = strips.converted(strips.load(lanes, op.places[1], From), To);
    if (result.strip != nullptr) return strips.store(lanes, op.places[0], result, true);
  }
  lane_rules().converts[static_cast<std::size_t>(To)][static_cast<std::size_t>(From)](field, lanes,
                                                                                      op, active);
}

template <Type To, Type From>
void take_convert(Rules<Field>& rules) {
  rules.converts[static_cast<std::size_t>(To)][static_cast<std::size_t>(From)] = &convert<To, From>;
}

template <class R, Type T>
void take_row(RulesOfRow<Field>& rules) {
  if constexpr (over_strips<R, T>()) rules[static_cast<std::size_t>(T)] = &carry_out<R, T>;
}

}  // namespace

void take_float_rows(Rules<Field>& rules) {
  take_convert<Type::f32, Type::f16>(rules);
  take_convert<Type::f32, Type::bf16>(rules);
  take_convert<Type::f16, Type::f32>(rules);
  take_convert<Type::bf16, Type::f32>(rules);
  std::size_t first = first_row_of<floating::Chapter>();
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (
        [&] {
          using R = floating::Chapter::At<i>;
          take_row<R, Type::f32>(rules.rows[first + i]);
          take_row<R, Type::f16>(rules.rows[first + i]);
          take_row<R, Type::bf16>(rules.rows[first + i]);
        }(),
        ...);
  }
  (std::make_integer_sequence<int, floating::Chapter::row_count>{});
}

}  // namespace lathe::ptx::field
