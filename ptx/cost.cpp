// The cost class of an instruction, from its opcode, types and space.

#include <algorithm>

#include "ptx/decoder.h"

namespace lathe::ptx {
namespace {

constexpr std::array cost_names{
    "none"sv,        "move"sv,         "integer"sv,     "multiply"sv,     "single"sv,
    "half"sv,        "double"sv,       "special"sv,     "divide"sv,       "convert"sv,
    "global_load"sv, "global_store"sv, "shared_load"sv, "shared_store"sv, "other_load"sv,
    "other_store"sv, "atomic"sv,       "async_copy"sv,  "matrix"sv,       "shuffle"sv,
    "vote"sv,        "reduce"sv,       "barrier"sv,     "fence"sv,        "branch"sv,
    "other"sv};
static_assert(cost_names.size() == static_cast<std::size_t>(CostClass::count));

CostClass cost_of_float(std::string_view opcode, const Form& form) {
  Type type = is_pair(form.type) ? half_of(form.type) : form.type;
  if (opcode == "div") return CostClass::divide;
  static constexpr std::array special{"ex2"sv,  "lg2"sv, "rcp"sv, "rsqrt"sv,
                                      "sqrt"sv, "sin"sv, "cos"sv, "tanh"sv};
  if (std::find(special.begin(), special.end(), opcode) != special.end())
    return form.has(Flag::approx) ? CostClass::special : CostClass::divide;
  if (type == Type::f64) return CostClass::double_;
  return type == Type::f32 ? CostClass::single : CostClass::half;
}

CostClass cost_of_memory(Effect effect, Space space) {
  bool load =
      effect == Effect::load || effect == Effect::load_matrix || effect == Effect::load_fragment;
  if (effect == Effect::load_matrix || effect == Effect::store_matrix) space = Space::shared;
  if (space == Space::shared) return load ? CostClass::shared_load : CostClass::shared_store;
  if (space == Space::global || space == Space::generic)
    return load ? CostClass::global_load : CostClass::global_store;
  return load ? CostClass::other_load : CostClass::other_store;
}

}  // namespace

std::string_view name_of(CostClass cost) { return cost_names[static_cast<std::size_t>(cost)]; }

CostClass Decoder::cost_of(const FormMatch& match) const {
  switch (match.effect) {
    case Effect::convert:
      return CostClass::convert;
    case Effect::move:
    case Effect::policy:
      return CostClass::move;
    case Effect::load:
    case Effect::load_matrix:
    case Effect::load_fragment:
    case Effect::store:
    case Effect::store_matrix:
    case Effect::store_fragment:
      return cost_of_memory(match.effect, space_of(*now_));
    case Effect::atomic:
      return CostClass::atomic;
    case Effect::copy_async:
    case Effect::bulk_copy:
    case Effect::store_async:
      return CostClass::async_copy;
    case Effect::multiply:
    case Effect::tensor_multiply:
      return CostClass::matrix;
    case Effect::shuffle:
    case Effect::transpose_matrix:
      return CostClass::shuffle;
    case Effect::vote:
    case Effect::match:
    case Effect::active_mask:
    case Effect::elect:
      return CostClass::vote;
    case Effect::reduce:
      return CostClass::reduce;
    case Effect::barrier:
    case Effect::warp_barrier:
    case Effect::cluster_barrier:
    case Effect::mbarrier:
      return CostClass::barrier;
    case Effect::fence:
      return CostClass::fence;
    case Effect::branch:
    case Effect::exit:
      return CostClass::branch;
    case Effect::none:
    case Effect::expand:
    case Effect::permute:
    case Effect::unmodelled:
      break;
    default:
      return CostClass::other;
  }
  return cost_of_meaning(match);
}

CostClass Decoder::cost_of_meaning(const FormMatch& match) const {
  if (now_->opcode == "wgmma") return has("mma_async") ? CostClass::matrix : CostClass::other;
  Type type = is_pair(match.form.type) ? half_of(match.form.type) : match.form.type;
  std::string_view opcode = now_->opcode;
  if (is_float(type) && opcode != "set" && opcode != "setp" && opcode != "selp" &&
      opcode != "slct" && opcode != "testp")
    return cost_of_float(opcode, match.form);
  static constexpr std::array products{"mul"sv, "mad"sv, "madc"sv, "mul24"sv, "mad24"sv,
                                       "div"sv, "rem"sv, "dp4a"sv, "dp2a"sv};
  if (std::find(products.begin(), products.end(), opcode) != products.end())
    return CostClass::multiply;
  return CostClass::integer;
}

}  // namespace lathe::ptx
