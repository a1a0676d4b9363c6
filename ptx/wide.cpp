// Runs the field domain for its shadows.

#include "ptx/wide.h"

#include <cmath>

#include "ptx/field_run.h"

namespace lathe::ptx {
namespace {

double value_of(const field::Number& number) {
  switch (number.special) {
    case field::Special::finite:
      return number.shadow;
    case field::Special::plus_infinity:
      return HUGE_VAL;
    case field::Special::minus_infinity:
      return -HUGE_VAL;
    default:
      return NAN;
  }
}

field::Recipe recipe_of(const WideTensor& tensor) {
  field::Recipe recipe;
  recipe.name = tensor.buffer.name;
  recipe.type = tensor.type;
  recipe.output = tensor.bytes.empty();
  recipe.changes = tensor.changes;
  recipe.computed = field::holds_number(tensor.type) && !recipe.output;
  recipe.bytes.assign(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  if (recipe.computed) recipe.elements = tensor.bytes.size() / (width_of(tensor.type) / 8);
  return recipe;
}

Trap undecided(std::string what) {
  Trap trap;
  trap.kind = TrapKind::undecided;
  trap.what = std::move(what);
  return trap;
}

}  // namespace

WideResult run_wide(const WideRequest& request) {
  WideResult result;
  std::vector<field::Recipe> recipes;
  field::FieldLaunch launch;
  launch.program = request.program;
  launch.shape = request.shape;
  launch.parameters = request.parameters;
  launch.steps_max = request.steps_max;
  for (const WideTensor& tensor : request.tensors) {
    recipes.push_back(recipe_of(tensor));
    launch.buffers.push_back(tensor.buffer);
  }
  field::PointOptions options;
  options.strict_maximum = false;
  auto point = field::Point::make(options, std::move(recipes));
  if (!point) {
    result.trap = undecided(point.error().what);
    return result;
  }
  std::vector<std::uint64_t> blocks = request.blocks;
  if (blocks.empty())
    for (std::uint64_t i = 0; i < request.shape.blocks(); ++i) blocks.push_back(i);
  field::FieldRunner runner(*point, std::move(launch));
  for (std::uint64_t block : blocks) {
    field::FieldRunner::Outcome outcome = runner.run(block);
    if (outcome.trap) {
      result.trap = std::move(outcome.trap);
      return result;
    }
    for (const field::Written& written : outcome.written)
      if (field::holds_number(request.tensors[written.tensor].type) && !written.added)
        result.values.push_back({written.tensor, written.element, value_of(written.number)});
  }
  return result;
}

}  // namespace lathe::ptx
