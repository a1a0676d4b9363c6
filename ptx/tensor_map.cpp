#include "ptx/tensor_map.h"

#include <cstring>
#include <string>

namespace lathe::ptx {
namespace {

// The format: offsets of the fields.
constexpr unsigned at_address = 0, at_dims = 8, at_strides = 32, at_box = 64, at_steps = 84,
                   at_type = 104, at_rank = 105, at_interleave = 106, at_swizzle = 107,
                   at_atom = 108, at_fill = 109, at_mode = 110, at_channels = 112, at_pixels = 114,
                   at_lower = 116, at_upper = 122;

template <class T>
void put(TensorMapBytes& bytes, unsigned offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}
template <class T>
T get(std::span<const std::byte> bytes, unsigned offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Error complaint(std::string what, std::string remedy = "") {
  return Error{Fault::malformed, "a tensor map: " + std::move(what), std::move(remedy), {}};
}

constexpr std::array<unsigned, static_cast<std::size_t>(MapType::count)> element_sizes{
    1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4, 8, 16, 16};

unsigned swizzle_bytes(MapSwizzle swizzle) { return 16u << static_cast<unsigned>(swizzle); }

bool is_packed(MapType type) { return type >= MapType::b4x16; }

/// Of the parameters of both modes.
std::optional<Error> check(const TensorMap& map) {
  auto axis = [](unsigned i) { return " of dimension " + std::to_string(i); };
  if (map.rank < 1 || map.rank > 5) return complaint("the rank is 1 to 5");
  bool wide = map.interleave == MapInterleave::bytes32 || map.type == MapType::b4x16_p64 ||
              map.type == MapType::b6x16_p32;
  std::uint64_t align = wide ? 32 : 16;
  if (map.address == 0 || map.address % align != 0)
    return complaint("the global address is not a multiple of " + std::to_string(align));
  if (map.interleave != MapInterleave::none && map.rank < 3)
    return complaint("an interleaved layout needs rank 3");
  if (map.interleave == MapInterleave::bytes32 && map.swizzle != MapSwizzle::bytes32)
    return complaint("interleave 32B needs swizzle 32B");
  if (map.atom != MapAtom::bytes16 && map.swizzle != MapSwizzle::bytes128)
    return complaint("an atom other than 16 bytes needs swizzle 128B");
  std::uint64_t contiguous = std::uint64_t{map.dims[0]} * map.element_bytes();
  if (is_packed(map.type)) contiguous /= 16;
  for (unsigned i = 0; i < map.rank; ++i) {
    if (map.dims[i] == 0) return complaint("the size" + axis(i) + " is 0");
    if (map.element_strides[i] < 1 || map.element_strides[i] > 8)
      return complaint("the element stride" + axis(i) + " is not 1 to 8");
    if (i == 0) continue;
    std::uint64_t stride = map.strides[i - 1];
    if (stride % align != 0 || stride >= std::uint64_t{1} << 40)
      return complaint("the stride" + axis(i) + " is not a multiple of " + std::to_string(align) +
                       " below 2^40");
    if (i == 1 && map.interleave == MapInterleave::none && map.dims[1] > 1 && stride < contiguous)
      return complaint("the stride" + axis(i) + " is less than a row");
  }
  if (is_packed(map.type) && map.dims[0] % 128 != 0 && map.type != MapType::b4x16)
    return complaint("rows of a packed type are multiples of 128 elements");
  return std::nullopt;
}

std::optional<Error> check_box(const TensorMap& map) {
  for (unsigned i = 0; i < map.rank; ++i)
    if (map.box[i] < 1 || map.box[i] > 256)
      return complaint("the box of dimension " + std::to_string(i) + " is not 1 to 256");
  std::uint64_t row = std::uint64_t{map.box[0]} * map.element_bytes();
  if (is_packed(map.type)) row /= 16;
  if (map.interleave != MapInterleave::none) return std::nullopt;
  if (row % 16 != 0) return complaint("a row of the box is not a multiple of 16 bytes");
  if (map.swizzle != MapSwizzle::none && row > swizzle_bytes(map.swizzle))
    return complaint("a row of the box is longer than the swizzle");
  return std::nullopt;
}

std::optional<Error> check_im2col(const TensorMap& map) {
  if (map.rank < 3) return complaint("im2col needs rank 3 to 5");
  if (map.channels < 1 || map.channels > 256) return complaint("channels a pixel are 1 to 256");
  if (map.pixels < 1 || map.pixels > 1024) return complaint("pixels a column are 1 to 1024");
  std::uint64_t row = std::uint64_t{map.channels} * map.element_bytes();
  if (map.swizzle != MapSwizzle::none && row > swizzle_bytes(map.swizzle))
    return complaint("a pixel's channels are longer than the swizzle");
  return std::nullopt;
}

}  // namespace

unsigned TensorMap::element_bytes() const { return element_sizes[static_cast<std::size_t>(type)]; }

bool TensorMap::is_float() const { return (type >= MapType::f16 && type <= MapType::tf32_ftz); }

Result<TensorMapBytes> encode_tensor_map(const TensorMap& map) {
  if (auto error = check(map)) return *error;
  if (map.mode == MapMode::tiled)
    if (auto error = check_box(map)) return *error;
  if (map.mode == MapMode::im2col)
    if (auto error = check_im2col(map)) return *error;
  if (map.nan_fill && !map.is_float()) return complaint("only floats are filled with NaN");
  TensorMapBytes bytes{};
  put(bytes, at_address, map.address);
  for (unsigned i = 0; i < 5; ++i) {
    put(bytes, at_dims + 4 * i, map.dims[i]);
    put(bytes, at_box + 4 * i, map.box[i]);
    put(bytes, at_steps + 4 * i, map.element_strides[i]);
  }
  for (unsigned i = 0; i < 4; ++i) put(bytes, at_strides + 8 * i, map.strides[i]);
  auto byte = [&](unsigned offset, auto value) {
    put(bytes, offset, static_cast<std::uint8_t>(value));
  };
  byte(at_type, map.type), byte(at_rank, map.rank - 1), byte(at_interleave, map.interleave);
  byte(at_swizzle, map.swizzle), byte(at_atom, map.atom), byte(at_fill, map.nan_fill);
  byte(at_mode, map.mode);
  put(bytes, at_channels, static_cast<std::uint16_t>(map.channels));
  put(bytes, at_pixels, static_cast<std::uint16_t>(map.pixels));
  for (unsigned i = 0; i < 3; ++i) {
    put(bytes, at_lower + 2 * i, map.lower[i]);
    put(bytes, at_upper + 2 * i, map.upper[i]);
  }
  return bytes;
}

Result<TensorMap> decode_tensor_map(std::span<const std::byte> bytes) {
  TensorMap map;
  map.address = get<std::uint64_t>(bytes, at_address);
  for (unsigned i = 0; i < 5; ++i) {
    map.dims[i] = get<std::uint32_t>(bytes, at_dims + 4 * i);
    map.box[i] = get<std::uint32_t>(bytes, at_box + 4 * i);
    map.element_strides[i] = get<std::uint32_t>(bytes, at_steps + 4 * i);
  }
  for (unsigned i = 0; i < 4; ++i) map.strides[i] = get<std::uint64_t>(bytes, at_strides + 8 * i);
  auto byte = [&](unsigned offset) { return get<std::uint8_t>(bytes, offset); };
  if (byte(at_type) >= static_cast<std::uint8_t>(MapType::count) || byte(at_interleave) > 2 ||
      byte(at_swizzle) > 3 || byte(at_atom) > 3 || byte(at_mode) > 2 || byte(at_rank) > 4)
    return complaint("a field that no tensor map has", "these bytes are no tensor map");
  map.type = static_cast<MapType>(byte(at_type));
  map.rank = byte(at_rank) + 1u;
  map.interleave = static_cast<MapInterleave>(byte(at_interleave));
  map.swizzle = static_cast<MapSwizzle>(byte(at_swizzle));
  map.atom = static_cast<MapAtom>(byte(at_atom));
  map.nan_fill = byte(at_fill) != 0;
  map.mode = static_cast<MapMode>(byte(at_mode));
  map.channels = get<std::uint16_t>(bytes, at_channels);
  map.pixels = get<std::uint16_t>(bytes, at_pixels);
  for (unsigned i = 0; i < 3; ++i) {
    map.lower[i] = get<std::int16_t>(bytes, at_lower + 2 * i);
    map.upper[i] = get<std::int16_t>(bytes, at_upper + 2 * i);
  }
  if (auto error = check(map)) return *error;
  if (map.mode == MapMode::tiled)
    if (auto error = check_box(map)) return *error;
  return map;
}

std::optional<MapField> map_field(std::string_view name, unsigned ordinal) {
  struct Known {
    std::string_view name;
    unsigned offset, bytes, step, count;
  };
  static constexpr std::array known{
      Known{"global_address", at_address, 8, 0, 1},
      Known{"rank", at_rank, 1, 0, 1},
      Known{"box_dim", at_box, 4, 4, 5},
      Known{"global_dim", at_dims, 4, 4, 5},
      Known{"global_stride", at_strides, 8, 8, 4},
      Known{"element_stride", at_steps, 4, 4, 5},
      Known{"elemtype", at_type, 1, 0, 1},
      Known{"interleave_layout", at_interleave, 1, 0, 1},
      Known{"swizzle_mode", at_swizzle, 1, 0, 1},
      Known{"swizzle_atomicity", at_atom, 1, 0, 1},
      Known{"fill_mode", at_fill, 1, 0, 1},
  };
  for (const Known& field : known)
    if (field.name == name && ordinal < field.count)
      return MapField{field.offset + field.step * ordinal, field.bytes};
  return std::nullopt;
}

std::uint64_t swizzled(const TensorMap& map, std::uint64_t address) {
  if (map.swizzle == MapSwizzle::none) return address;
  if (map.swizzle != MapSwizzle::bytes128)
    return address ^ ((address >> 3) & (swizzle_bytes(map.swizzle) - 16));
  switch (map.atom) {
    case MapAtom::bytes16:
      return address ^ ((address >> 3) & 0x70);
    case MapAtom::bytes32:
      return address ^ ((address >> 7 & 3) << 5);
    case MapAtom::bytes32_flip8:
      return address ^ ((address >> 7 & 3) << 5) ^ ((address >> 7 & 1) << 3);
    default:
      return address ^ ((address >> 7 & 1) << 6);
  }
}

}  // namespace lathe::ptx
