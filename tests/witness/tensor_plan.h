#pragma once

// Which box of which tensor a tensor copy's kernel moves: small tensors with padded rows, and boxes
// that lie within, across each border and beyond them.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ptx/tensor_map.h"
#include "tests/witness/instance.h"

namespace lathe::ptx::witness {

struct TensorPlan {
  std::string variant;
  TensorMap map;  // Its address is 0: where the tensor begins.
  std::array<int, 5> first{};
  std::vector<unsigned> offsets{};  // Of im2col.
  unsigned place = 0;               // Of the box in shared memory.
  bool edges = false;               // The elements are the type's edges, not any bytes.
  bool to_neighbour = false;        // Into another block's shared memory.

  unsigned rank() const { return map.rank; }
  /// Of the whole tensor, and of the box in shared memory.
  std::size_t tensor_bytes() const;
  unsigned box_bytes() const;
};

/// Our type of a map's element; packed types have none.
Type element_type(MapType type);
/// ".Nd" of an instance.
unsigned dimensions_of(const Instance& instance);
/// A tensor of that many dimensions whose box is in the middle.
TensorPlan tiled_plan(unsigned rank, MapType type, MapSwizzle swizzle = MapSwizzle::none);
TensorPlan im2col_plan(unsigned rank, MapType type, MapSwizzle swizzle = MapSwizzle::none);

/// The plans of a load and of a store: few where a modifier changes no more than the issue.
std::vector<TensorPlan> load_plans(unsigned rank, bool im2col, bool all);
std::vector<TensorPlan> store_plans(unsigned rank, bool im2col, bool all);
/// Of a reduction, one for each type that the operation has.
std::vector<TensorPlan> reduction_plans(unsigned rank, bool im2col, bool all,
                                        std::string_view operation);

}  // namespace lathe::ptx::witness
