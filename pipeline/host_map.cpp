#include "pipeline/host_map.h"

#include <optional>

namespace lathe {
namespace {

std::optional<ptx::MapType> map_type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return ptx::MapType::f16;
    case Dtype::bf16:
      return ptx::MapType::bf16;
    case Dtype::f32:
      return ptx::MapType::f32;
    case Dtype::f64:
      return ptx::MapType::f64;
    case Dtype::s32:
      return ptx::MapType::s32;
    case Dtype::s64:
      return ptx::MapType::s64;
    case Dtype::u64:
      return ptx::MapType::u64;
    case Dtype::u32:
    case Dtype::b32:
      return ptx::MapType::u32;
    case Dtype::u16:
    case Dtype::s16:
    case Dtype::b16:
      return ptx::MapType::u16;
    case Dtype::e2m1:
    case Dtype::u4:
    case Dtype::s4:
      return ptx::MapType::b4x16;
    default:
      break;
  }
  return bits_of(dtype) == 8 ? std::optional(ptx::MapType::u8) : std::nullopt;
}

ptx::MapSwizzle swizzle_of(const std::string& name) {
  if (name == "32B") return ptx::MapSwizzle::bytes32;
  if (name == "64B") return ptx::MapSwizzle::bytes64;
  return name == "128B" ? ptx::MapSwizzle::bytes128 : ptx::MapSwizzle::none;
}

}  // namespace

Result<ptx::TensorMapBytes> make_tensor_map(const Contract& contract, std::size_t parameter,
                                            std::uint64_t address) {
  const Parameter& promised = contract.parameters[parameter];
  const Tensor& tensor = contract.tensors[*promised.tensor];
  const HostMap& given = *promised.map;
  auto fails = [](const char* what) { return Error{Fault::malformed, what, "", {}}; };
  std::size_t rank = tensor.shape.size();
  std::optional<ptx::MapType> type = map_type_of(tensor.dtype);
  if (!type) return fails("no tensor map has elements of this type");
  if (rank == 0 || rank > 5 || given.box.size() != rank)
    return fails("a tensor map has 1 to 5 dimensions, and its box as many");
  if (tensor.strides.back() != 1)
    return fails("the last dimension of a mapped tensor is contiguous");
  ptx::TensorMap map;
  map.address = address;
  map.rank = static_cast<unsigned>(rank);
  map.type = *type;
  map.swizzle = swizzle_of(given.swizzle);
  map.nan_fill = given.nan_fill;
  for (std::size_t i = 0; i < rank; ++i) {  // The driver counts from the innermost dimension.
    std::size_t from = rank - 1 - i;
    map.dims[i] = static_cast<std::uint32_t>(tensor.shape[from]);
    map.box[i] = static_cast<std::uint32_t>(given.box[from]);
    if (!given.element_strides.empty())
      map.element_strides[i] = static_cast<std::uint32_t>(given.element_strides[from]);
    if (i != 0)
      map.strides[i - 1] =
          static_cast<std::uint64_t>(tensor.strides[from]) * bits_of(tensor.dtype) / 8;
  }
  return ptx::encode_tensor_map(map);
}

}  // namespace lathe
