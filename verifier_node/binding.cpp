// Contract to buffers, parameters and recipes.

#include "verifier_node/binding.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "contract/inputs.h"
#include "pipeline/host_map.h"

namespace lathe::verifier_node {

using ptx::Type;
using ptx::field::Recipe;

namespace {

constexpr std::uint64_t recipe_stream = 0x5EC1, input_stream = 0x14B7;

bool proved_as_number(Dtype dtype) {
  return dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::f32 ||
         dtype == Dtype::f64 || dtype == Dtype::e4m3 || dtype == Dtype::e5m2;
}

ptx::field::Signs signs_of_range(double low, double high) {
  using namespace ptx::field;
  Signs signs = 0;
  if (low > 0) signs |= positive;
  if (low >= 0) signs |= not_negative;
  if (high < 0) signs |= negative;
  if (high <= 0) signs |= not_positive;
  return signs;
}

double unit(std::uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

/// Whether residues and shadows stand for the elements; fills in their range.
bool as_numbers(const Tensor& tensor, std::uint64_t seed, std::uint64_t stream, Recipe& recipe) {
  if (!carried_as_numbers(tensor)) return false;
  bool normal = std::holds_alternative<Values::Normal>(tensor.values.kind) ||
                std::holds_alternative<Values::AnyBits>(tensor.values.kind);
  double spread = std::exp2(3 * unit(philox64(seed, stream, 0)) - 1);
  double offset = 2 * unit(philox64(seed, stream, 1)) - 1;
  if (normal) {
    recipe.low = -64;
    recipe.high = 64;
    recipe.scale = spread;
    recipe.offset = offset;
    return true;
  }
  if (const auto* uniform = std::get_if<Values::Uniform>(&tensor.values.kind)) {
    recipe.low = uniform->low;
    recipe.high = uniform->high;
    recipe.scale = (uniform->high - uniform->low) / 4;
    recipe.offset = (uniform->high + uniform->low) / 2 + offset * recipe.scale / 2;
    recipe.signs = signs_of_range(uniform->low, uniform->high);
    return true;
  }
  return false;
}

}  // namespace

Type type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return Type::f64;
    case Dtype::f32:
      return Type::f32;
    case Dtype::f16:
      return Type::f16;
    case Dtype::bf16:
      return Type::bf16;
    case Dtype::e4m3:
      return Type::e4m3;
    case Dtype::e5m2:
      return Type::e5m2;
    default:
      break;
  }
  switch (bits_of(dtype)) {
    case 64:
      return Type::b64;
    case 32:
      return Type::b32;
    case 16:
      return Type::b16;
    default:
      return Type::b8;
  }
}

std::uint64_t address_of(const Contract& contract, std::size_t tensor) {
  return (static_cast<std::uint64_t>(tensor) + 1) * (std::uint64_t{1} << 36) +
         std::max<std::uint64_t>(contract.tensors[tensor].align, 1);
}

std::vector<ptx::Buffer> buffers_of(const Contract& contract) {
  std::vector<ptx::Buffer> buffers;
  for (std::size_t i = 0; i < contract.tensors.size(); ++i) {
    const Tensor& tensor = contract.tensors[i];
    buffers.push_back(
        {tensor.name, address_of(contract, i), tensor.span_bytes(), tensor.role != Role::input});
  }
  return buffers;
}

namespace {

/// A map that cannot be made is left zero, which no copy takes for one.
void append_map(const Contract& contract, const Parameter& parameter, std::string& bytes) {
  while (bytes.size() % HostMap::align != 0) bytes.push_back('\0');
  auto number = static_cast<std::size_t>(&parameter - contract.parameters.data());
  auto map = make_tensor_map(contract, number, address_of(contract, *parameter.tensor));
  if (map)
    bytes.append(reinterpret_cast<const char*>(map->data()), map->size());
  else
    bytes.append(HostMap::bytes, '\0');
}

}  // namespace

std::string parameter_bytes(const Contract& contract) {
  std::string bytes;
  for (const Parameter& parameter : contract.parameters) {
    if (parameter.map) {
      append_map(contract, parameter, bytes);
      continue;
    }
    unsigned size = parameter.tensor ? 8 : bytes_of(parameter.type);
    while (bytes.size() % size != 0) bytes.push_back('\0');
    std::uint64_t bits =
        parameter.tensor ? address_of(contract, *parameter.tensor) : parameter.bits;
    for (unsigned i = 0; i < size; ++i) bytes.push_back(static_cast<char>(bits >> (8 * i)));
  }
  return bytes;
}

Result<std::vector<Recipe>> recipes_of(const Contract& contract, std::uint64_t seed,
                                       std::uint64_t point, std::vector<std::string>& sampled,
                                       bool symbolic) {
  std::vector<Recipe> recipes;
  for (std::size_t i = 0; i < contract.tensors.size(); ++i) {
    const Tensor& tensor = contract.tensors[i];
    Recipe recipe;
    recipe.name = tensor.name;
    recipe.type = type_of(tensor.dtype);
    recipe.changes = tensor.role == Role::inout;
    recipe.output = tensor.role == Role::output || tensor.role == Role::scratch;
    if (!recipe.output) {
      recipe.elements = tensor.span_bytes() / std::max(1u, ptx::width_of(recipe.type) / 8);
      recipe.computed = as_numbers(tensor, seed, recipe_stream + point * 64 + i, recipe);
      if (!recipe.computed) {
        std::uint64_t drawn = philox64(seed, input_stream, point);
        Result<std::string> bytes = make_input(contract, i, InputClass::declared, drawn);
        if (!bytes) return bytes.error();
        recipe.bytes = *std::move(bytes);
        recipe.symbolic = symbolic && may_be_words(tensor);
        if (!std::holds_alternative<Values::Zero>(tensor.values.kind) && !recipe.symbolic)
          sampled.push_back("elements of tensor " + tensor.name);
      }
    }
    recipes.push_back(std::move(recipe));
  }
  return recipes;
}

bool carried_as_numbers(const Tensor& tensor) {
  const auto& kind = tensor.values.kind;
  return proved_as_number(tensor.dtype) && (std::holds_alternative<Values::Normal>(kind) ||
                                            std::holds_alternative<Values::AnyBits>(kind) ||
                                            std::holds_alternative<Values::Uniform>(kind));
}

bool may_be_words(const Tensor& tensor) {
  const auto& kind = tensor.values.kind;
  bool data = std::holds_alternative<Values::Integers>(kind) ||
              std::holds_alternative<Values::AnyBits>(kind) ||
              std::holds_alternative<Values::Normal>(kind);
  return data && (tensor.role == Role::input || tensor.role == Role::inout) &&
         !ptx::field::holds_number(type_of(tensor.dtype)) && bits_of(tensor.dtype) <= 32 &&
         bits_of(tensor.dtype) >= 8;
}

double possibilities(const Tensor& tensor) {
  const auto& kind = tensor.values.kind;
  if (const auto* range = std::get_if<Values::Integers>(&kind))
    return static_cast<double>(range->high) - static_cast<double>(range->low) + 1 +
           static_cast<double>(range->extra.size());
  if (const auto* list = std::get_if<Values::List>(&kind))
    return static_cast<double>(list->values.size());
  if (std::holds_alternative<Values::AnyBits>(kind) ||
      std::holds_alternative<Values::Normal>(kind) || std::holds_alternative<Values::Uniform>(kind))
    return std::ldexp(1, static_cast<int>(bits_of(tensor.dtype)));
  return 2;
}

std::vector<std::uint64_t> index_of(const Tensor& tensor, std::uint64_t element) {
  std::vector<std::size_t> order(tensor.strides.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return tensor.strides[a] > tensor.strides[b]; });
  std::vector<std::uint64_t> index(tensor.strides.size());
  for (std::size_t i : order) {
    if (tensor.strides[i] == 0) continue;
    index[i] = std::min(element / tensor.strides[i], tensor.shape[i] - 1);
    element -= index[i] * tensor.strides[i];
  }
  return index;
}

}  // namespace lathe::verifier_node
