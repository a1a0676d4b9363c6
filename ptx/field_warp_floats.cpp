// Rows of f32 over strips: a row's own meaning, of another kind of value.

#include "ptx/field_strip.h"
#include "ptx/field_warp.h"
#include "ptx/isa/floating.h"

namespace lathe::ptx::field {
namespace {

/// Which functions a strip has.
template <class R>
constexpr bool over_strips() {
  constexpr std::string_view opcode = R::signature.opcode;
  return R::effect == Effect::none && contains(R::types, Type::f32) &&
         (opcode == "add" || opcode == "sub" || opcode == "mul" || opcode == "fma" ||
          opcode == "mad" || opcode == "neg");
}

template <class R>
void carry_out(Field& field, Field::Lanes& lanes, const Operation& op, Mask active) {
  Strips& strips = field.strips();
  bool good = strips.begin(active);
  std::array<StripValue, 4> sources;
  for (unsigned i = 0; good && i < R::signature.source_count; ++i) {
    sources[i] = strips.load(lanes, op.places[i + 1]);
    good = sources[i].strip != nullptr;
  }
  if (good) {
    StripValue result =
        R::template meaning<Type::f32>(op.form, sources[0], sources[1], sources[2], sources[3]);
    if (result.strip != nullptr) return strips.store(lanes, op.places[0], result, true);
  }
  lane_rules().rows[op.form.row][static_cast<std::size_t>(Type::f32)](field, lanes, op, active);
}

/// cvt to f32 of what is an f32 as it stands.
template <Type From>
void widen(Field& field, Field::Lanes& lanes, const Operation& op, Mask active) {
  Strips& strips = field.strips();
  bool same = !op.form.has(Flag::sat) && !op.form.has(Flag::relu) && !op.form.has(Flag::to_integer);
  if (same && strips.begin(active)) {
    StripValue result = strips.widened(lanes, op.places[1], From);
    if (result.strip != nullptr) return strips.store(lanes, op.places[0], result, false);
  }
  lane_rules().converts[static_cast<std::size_t>(Type::f32)][static_cast<std::size_t>(From)](
      field, lanes, op, active);
}

}  // namespace

void take_float_rows(Rules<Field>& rules) {
  auto& to_single = rules.converts[static_cast<std::size_t>(Type::f32)];
  to_single[static_cast<std::size_t>(Type::f16)] = &widen<Type::f16>;
  to_single[static_cast<std::size_t>(Type::bf16)] = &widen<Type::bf16>;
  std::size_t first = first_row_of<floating::Chapter>();
  [&]<int... i>(std::integer_sequence<int, i...>) {
    (
        [&] {
          using R = floating::Chapter::At<i>;
          if constexpr (over_strips<R>())
            rules.rows[first + i][static_cast<std::size_t>(Type::f32)] = &carry_out<R>;
        }(),
        ...);
  }
  (std::make_integer_sequence<int, floating::Chapter::row_count>{});
}

}  // namespace lathe::ptx::field
