#pragma once

// A contract's tensor map as the host makes it: the driver's parameters from the tensor's shape,
// strides and type.

#include <cstddef>

#include "contract/contract.h"
#include "ptx/tensor_map.h"

namespace lathe {

/// The 128 bytes of parameter number `parameter`, which has a map, with its tensor at `address`.
Result<ptx::TensorMapBytes> make_tensor_map(const Contract& contract, std::size_t parameter,
                                            std::uint64_t address);

}  // namespace lathe
