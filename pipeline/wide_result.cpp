// Tensors of a contract as tensors of the wide domain.

#include "pipeline/wide_result.h"

#include <cmath>
#include <optional>

namespace lathe {
namespace {

/// Beyond this many elements, or bytes read, nobody waits for a yardstick.
constexpr std::uint64_t elements_max = 1u << 25, input_bytes_max = 1u << 29;

std::optional<ptx::Type> float_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return ptx::Type::f64;
    case Dtype::f32:
      return ptx::Type::f32;
    case Dtype::f16:
      return ptx::Type::f16;
    case Dtype::bf16:
      return ptx::Type::bf16;
    case Dtype::e4m3:
      return ptx::Type::e4m3;
    case Dtype::e5m2:
      return ptx::Type::e5m2;
    default:
      return std::nullopt;
  }
}

/// The type of bits of the same width.
ptx::Type bits_type(Dtype dtype) {
  switch (bits_of(dtype)) {
    case 64:
      return ptx::Type::b64;
    case 32:
      return ptx::Type::b32;
    case 16:
      return ptx::Type::b16;
    default:
      return ptx::Type::b8;
  }
}

}  // namespace

std::optional<std::vector<ptx::WideValue>> wide_values(const WideLaunch& launch) {
  const Contract& contract = *launch.contract;
  std::uint64_t read = 0;
  ptx::WideRequest request;
  request.program = launch.program;
  request.shape = {contract.launch.grid, contract.launch.block,
                   contract.launch.dynamic_shared_bytes, contract.launch.cluster};
  request.parameters = launch.parameters;
  request.blocks = launch.blocks;
  request.steps_max = launch.steps_max;
  for (std::size_t i = 0; i < contract.tensors.size(); ++i) {
    const Tensor& each = contract.tensors[i];
    bool written_only = each.role == Role::output || each.role == Role::scratch;
    ptx::WideTensor& wide = request.tensors.emplace_back();
    wide.buffer = launch.buffers[i];
    wide.type = float_type(each.dtype).value_or(bits_type(each.dtype));
    if (!written_only) wide.bytes = launch.inputs[i];
    wide.changes = each.role == Role::inout;
    read += wide.bytes.size();
  }
  if (read > input_bytes_max) return std::nullopt;
  ptx::WideResult result = ptx::run_wide(request);
  if (result.trap) return std::nullopt;
  return std::move(result.values);
}

std::vector<double> wide_result(const WideLaunch& launch, std::size_t tensor) {
  const Tensor& wanted = launch.contract->tensors[tensor];
  std::uint64_t elements = wanted.span_bytes() * 8 / bits_of(wanted.dtype);
  if (!float_type(wanted.dtype) || elements > elements_max) return {};
  std::optional<std::vector<ptx::WideValue>> found = wide_values(launch);
  if (!found) return {};
  std::vector<double> values(elements, NAN);
  for (const ptx::WideValue& each : *found)
    if (each.tensor == tensor && each.element < elements) values[each.element] = each.value;
  return values;
}

}  // namespace lathe
