#pragma once

// Tensor maps: what a kernel's tensor copies know of a tensor in global memory. The host makes one
// of the driver's parameters; the 128 bytes are of our own format, since the driver's is not
// published, and `tensormap.replace` edits them by field.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ptx/type.h"

namespace lathe::ptx {

inline constexpr std::size_t tensor_map_bytes = 128;
using TensorMapBytes = std::array<std::byte, tensor_map_bytes>;

/// The numbering of tensormap.replace (`.elemtype`).
enum class MapType : std::uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f32_ftz,
  f64,
  bf16,
  tf32,
  tf32_ftz,
  b4x16,
  b4x16_p64,
  b6x16_p32,
  count
};
enum class MapInterleave : std::uint8_t { none, bytes16, bytes32 };
enum class MapSwizzle : std::uint8_t { none, bytes32, bytes64, bytes128 };
/// What is swizzled as a whole.
enum class MapAtom : std::uint8_t { bytes16, bytes32, bytes32_flip8, bytes64 };
enum class MapMode : std::uint8_t { tiled, im2col, im2col_wide };

struct TensorMap {
  std::uint64_t address = 0;
  unsigned rank = 1;
  std::array<std::uint32_t, 5> dims{};     // Elements; dimension 0 is contiguous.
  std::array<std::uint64_t, 4> strides{};  // Bytes, of dimensions 1 and on.
  std::array<std::uint32_t, 5> box{};
  std::array<std::uint32_t, 5> element_strides{1, 1, 1, 1, 1};
  MapType type = MapType::u8;
  MapInterleave interleave = MapInterleave::none;
  MapSwizzle swizzle = MapSwizzle::none;
  MapAtom atom = MapAtom::bytes16;
  bool nan_fill = false;
  // im2col: the pixels' box relative to the tensor's spatial bounds, and what one copy brings.
  MapMode mode = MapMode::tiled;
  std::array<std::int16_t, 3> lower{}, upper{};
  std::uint32_t channels = 0, pixels = 0;

  /// Bytes of an element; of the packed types, of sixteen elements in shared memory.
  unsigned element_bytes() const;
  bool is_float() const;
};

/// Checked as cuTensorMapEncodeTiled and ..Im2col check their parameters; the error names one.
Result<TensorMapBytes> encode_tensor_map(const TensorMap& map);
/// What a copy reads; the error says which field cannot be used.
Result<TensorMap> decode_tensor_map(std::span<const std::byte> bytes);

/// Where tensormap.replace puts a field: its first byte and its bytes. Ordinals count from 0.
struct MapField {
  unsigned offset = 0, bytes = 0;
};
std::optional<MapField> map_field(std::string_view name, unsigned ordinal);

/// The address after swizzling: the exclusive or is over absolute address bits.
std::uint64_t swizzled(const TensorMap& map, std::uint64_t address);

}  // namespace lathe::ptx
