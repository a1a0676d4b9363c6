#pragma once

// Copies of boxes of a tensor, by its map: coordinates to pieces, with what lies outside of the
// tensor; and tensor maps that the kernel edits. Included by machine.h.

#include <algorithm>
#include <cstring>

#include "ptx/machine.h"

namespace lathe::ptx {

/// How the elements of a row lie: singly, or sixteen of a packed type together.
struct BoxRow {
  unsigned unit = 1;          // Elements that are moved as one.
  unsigned global_bytes = 1;  // Of a unit there,
  unsigned shared_bytes = 1;  // and here, padding included.
  explicit BoxRow(const TensorMap& map) {
    global_bytes = shared_bytes = map.element_bytes();
    if (map.type < MapType::b4x16) return;
    unit = 16;
    global_bytes = map.type == MapType::b6x16_p32 ? 12 : 8;
    shared_bytes = map.type == MapType::b4x16 ? 8 : 16;
  }
};

/// What a reduction into a tensor computes with.
constexpr std::optional<Type> reduced_type(MapType type) {
  switch (type) {
    case MapType::u32:
      return Type::u32;
    case MapType::s32:
      return Type::s32;
    case MapType::u64:
      return Type::u64;
    case MapType::s64:
      return Type::s64;
    case MapType::f16:
      return Type::f16;
    case MapType::bf16:
      return Type::bf16;
    case MapType::f32:
      return Type::f32;
    case MapType::f64:
      return Type::f64;
    default:
      return std::nullopt;
  }
}

/// Where the pieces of a swizzled row end: nothing is longer than what is swizzled as a whole.
constexpr unsigned swizzle_step(const TensorMap& map) {
  if (map.swizzle == MapSwizzle::none) return 1u << 20;
  if (map.swizzle != MapSwizzle::bytes128 || map.atom == MapAtom::bytes16) return 16;
  return map.atom == MapAtom::bytes32 ? 32 : map.atom == MapAtom::bytes32_flip8 ? 8 : 64;
}

/// The bytes of the map at a generic address, which may be a parameter or global memory.
template <class D, class O>
bool Machine<D, O>::read_map(const Operation& op, unsigned lane, std::uint64_t address,
                             TensorMap& map) {
  Location at;
  // Compilers also give the address of a parameter as it is in its own space.
  if (address < program_.parameter_bytes) address += parameter_window;
  if (address % 64 != 0) {
    trap(TrapKind::misaligned, "a tensor map is not aligned to 64 bytes", op, lane, address);
    return false;
  }
  if (!locate(Space::generic, address, tensor_map_bytes, false, op, lane, at)) return false;
  Warp& warp = warps_[now_warp_];
  TensorMapBytes bytes;
  for (unsigned i = 0; i < tensor_map_bytes; i += 8) {
    d_.read(*at.region, at.offset + i, warp.lanes, op.fixed[3].cell(lane), 8);
    auto bits = control(warp.lanes, op.fixed[3], lane, op, "a tensor map");
    if (!bits) return false;
    std::memcpy(bytes.data() + i, &*bits, 8);
  }
  if constexpr (O::active) {
    if (at.space == Space::global) {
      Locations all{};
      Addresses where{};
      all[lane] = at;
      where[lane] = address;
      tell(op, Mask{1} << lane, tensor_map_bytes, all, where, AccessKind::read, 0, false);
    }
  }
  Result<TensorMap> decoded = decode_tensor_map(bytes);
  if (!decoded) {
    trap(TrapKind::bad_operand, decoded.error().what, op, lane, address);
    return false;
  }
  map = *decoded;
  return true;
}

/// Turns rows of a box into pieces, in the order in which they lie in shared memory.
template <class Pieces>
class BoxWriter {
 public:
  BoxWriter(const TensorMap& map, std::uint64_t shared, std::uint64_t base, Pieces& pieces)
      : map_(map), row_(map), shared_(shared), base_(base), pieces_(pieces) {}

  /// `count` elements from coordinate `x` of dimension 0, in a row that begins at `global`.
  void add(std::int64_t x, unsigned count, std::uint64_t global, bool inside) {
    std::int64_t size = map_.dims[0];
    for (unsigned i = 0; i < count;) {
      bool in = inside && x + i >= 0 && x + i < size;
      unsigned run = row_.unit;
      while (i + run < count && row_.unit == 1 &&
             (inside && x + i + run >= 0 && x + i + run < size) == in)
        ++run;
      while (i + run < count && row_.unit == 16 && row_.shared_bytes == row_.global_bytes &&
             (inside && x + i + run >= 0 && x + i + run < size) == in)
        run += row_.unit;
      std::uint64_t from =
          global + static_cast<std::uint64_t>((x + i) / row_.unit) * row_.global_bytes;
      split(from, run / row_.unit * row_.shared_bytes, in);
      i += run;
    }
  }
  std::uint64_t written() const { return linear_; }

 private:
  void split(std::uint64_t from, unsigned bytes, bool inside) {
    unsigned step = swizzle_step(map_), taken = 0;
    bool padded = row_.shared_bytes != row_.global_bytes;
    while (taken < bytes) {
      std::uint64_t at = shared_ + linear_;
      auto room = static_cast<unsigned>(std::min<std::uint64_t>(step - at % step, bytes - taken));
      if (padded) room = std::min(room, row_.global_bytes);
      if (!padded || taken < row_.global_bytes)
        pieces_.push_back({swizzled(map_, at) - base_, from + taken, room, inside});
      if (padded) room = row_.shared_bytes;
      taken += room;
      linear_ += room;
    }
  }

  const TensorMap& map_;
  BoxRow row_;
  std::uint64_t shared_, base_, linear_ = 0;
  Pieces& pieces_;
};

/// Calls `each(coordinates)` for the rows of a tiled box.
template <class Each>
void each_tiled_row(const TensorMap& map, const std::array<std::int64_t, 5>& first, Each&& each) {
  std::array<unsigned, 5> count{1, 1, 1, 1, 1}, at{};
  for (unsigned i = 1; i < map.rank; ++i)
    count[i] = (map.box[i] + map.element_strides[i] - 1) / map.element_strides[i];
  for (;;) {
    std::array<std::int64_t, 5> now = first;
    for (unsigned i = 1; i < map.rank; ++i) now[i] += std::int64_t{at[i]} * map.element_strides[i];
    each(now);
    unsigned i = 1;
    while (i < map.rank && ++at[i] == count[i]) at[i++] = 0;
    if (i >= map.rank) return;
  }
}

/// Calls `each(coordinates)` for the pixels of an im2col copy: along the first spatial dimension
/// within the bounds of the map, then the next, then the images.
template <class Each>
void each_pixel(const TensorMap& map, std::array<std::int64_t, 5> now,
                const std::array<std::int64_t, 3>& offsets, Each&& each) {
  unsigned spatial = map.rank - 2;
  for (unsigned i = 0; i < map.pixels; ++i) {
    std::array<std::int64_t, 5> at = now;
    for (unsigned s = 0; s < spatial; ++s) at[1 + s] += offsets[s];
    each(at);
    unsigned s = 0;
    for (; s < spatial; ++s) {
      now[1 + s] += map.element_strides[1 + s];
      if (now[1 + s] <= std::int64_t{map.dims[1 + s]} - 1 + map.upper[s]) break;
      now[1 + s] = map.lower[s];
    }
    if (s == spatial) ++now[map.rank - 1];
  }
}

template <class D, class O>
bool Machine<D, O>::resolve_tensor(Warp& warp, const Operation& op, unsigned lane, BulkCopy& copy,
                                   std::uint64_t shared, std::uint64_t map_address) {
  using Tile = AsyncForm::Tile;
  const AsyncForm& form = *copy.form;
  auto fails = [&](TrapKind kind, std::string what) {
    trap(kind, std::move(what), op, lane, map_address);
    return false;
  };
  TensorMap map;
  if (!read_map(op, lane, map_address, map)) return false;
  bool four = form.tile == Tile::gather || form.tile == Tile::scatter;
  bool columns = form.tile == Tile::im2col;
  if (map.rank != (four ? 2u : form.dimensions))
    return fails(TrapKind::bad_operand, "the tensor map has another rank than the copy");
  if (form.tile == Tile::im2col_wide || map.interleave != MapInterleave::none ||
      map.mode == MapMode::im2col_wide)
    return fails(TrapKind::unsupported, "a copy of a wide im2col or an interleaved tensor");
  if (columns != (map.mode == MapMode::im2col))
    return fails(TrapKind::bad_operand, "the tensor map is of the other mode");
  BoxRow row(map);
  unsigned row_elements = columns ? map.channels : map.box[0];
  unsigned row_bytes = row_elements / row.unit * row.shared_bytes;
  if (map.swizzle != MapSwizzle::none && row_bytes != 16u << static_cast<unsigned>(map.swizzle) &&
      (columns || map.rank > 1))
    return fails(TrapKind::unsupported, "a row of the box that is shorter than its swizzle");
  if (shared % 128 != 0)
    return fails(TrapKind::misaligned, "the box in shared memory is not aligned to 128 bytes");
  std::array<std::int64_t, 5> first{};
  std::array<std::int64_t, 3> offsets{};
  auto signed_word = [&](Slot slot, std::int64_t& out) {
    // Where the pieces lie says all that a coordinate decides.
    auto bits = bits_of(warp.lanes, slot, lane, op, "a coordinate");
    if (bits) out = static_cast<std::int32_t>(*bits);
    return bits.has_value();
  };
  for (std::size_t i = 0; i < form.coordinates.size() && i < 5; ++i)
    if (!signed_word(form.coordinates[i], first[i])) return false;
  for (std::size_t i = 0; i < form.offsets.size() && i < 3; ++i)
    if (!signed_word(form.offsets[i], offsets[i])) return false;
  // The manual is silent; an H200 ends with "illegal instruction" for loads, stores and reductions,
  // inside and outside of the tensor (triton-lang/triton issue 7385 saw it too).
  if (first[0] % row.unit != 0 || first[0] / row.unit * row.global_bytes % 16 != 0)
    return fails(TrapKind::misaligned,
                 "the box's first coordinate is not a multiple of 16 bytes of a row");
  Location at, tensor;
  bool stores = form.move == AsyncForm::Move::to_global;
  Space space = shared >= shared_window ? Space::generic : stores ? Space::shared : op.space;
  unsigned rows = 1;
  if (columns) rows = map.pixels;
  for (unsigned i = 1; !columns && i < map.rank; ++i)
    rows *= (map.box[i] + map.element_strides[i] - 1) / map.element_strides[i];
  if (four) rows = 4;
  copy.bytes = std::uint64_t{rows} * row_bytes;
  if (!locate(space, shared, static_cast<unsigned>(copy.bytes), !stores, op, lane, at))
    return false;
  // The buffer is the one that the map's base lies in.
  if (!locate(Space::global, map.address, 1, stores, op, lane, tensor)) return false;
  if (tensor.space != Space::global)
    return fails(TrapKind::unsupported, "a tensor copy of a module variable");
  copy.shared_rank = at.rank;
  copy.buffer = tensor.buffer;
  copy.nan_fill = map.nan_fill;
  copy.element_bytes = map.element_bytes();
  copy.rounds = !stores && (map.type == MapType::tf32 || map.type == MapType::tf32_ftz);
  if (form.reduces) {
    std::optional<Type> type = reduced_type(map.type);
    if (!type) return fails(TrapKind::unsupported, "a reduction of this type of tensor");
    bool bitwise = op.mode == Mode::bit_and || op.mode == Mode::bit_or || op.mode == Mode::bit_xor;
    if (bitwise && *type == Type::s64)  // An H200 ends with "illegal instruction".
      return fails(TrapKind::bad_operand, "a reduction of the bits of s64; u64 has it");
    copy.type = *type;
  }
  std::uint64_t base = run_.shared_base;
  BoxWriter<std::vector<Piece>> writer(map, at.offset + base, base, copy.pieces);
  auto add = [&](const std::array<std::int64_t, 5>& now) {
    bool inside = true;
    std::uint64_t offset = tensor.offset;
    for (unsigned i = 1; i < map.rank; ++i) {
      inside = inside && now[i] >= 0 && now[i] < std::int64_t{map.dims[i]};
      offset += static_cast<std::uint64_t>(now[i]) * map.strides[i - 1];
    }
    writer.add(now[0], row_elements, offset, inside);
  };
  if (four) {
    for (unsigned i = 0; i < 4; ++i) add({first[0], first[1 + i], 0, 0, 0});
  } else if (columns) {
    each_pixel(map, first, offsets, add);
  } else {
    each_tiled_row(map, first, add);
  }
  // As the programming guide has it of a box's first corner; an H200 ends so for stores and
  // reductions, and where the bounds of a walk over pixels leave the image.
  bool leaves =
      std::any_of(first.begin(), first.end(), [](std::int64_t place) { return place < 0; });
  for (unsigned i = 0; columns && i + 2 < map.rank; ++i)
    leaves = leaves || map.lower[i] < 0 || map.upper[i] > 0;
  if (stores && leaves)
    return fails(TrapKind::bad_operand,
                 columns ? "a copy of pixels to a tensor leaves the image"
                         : "a copy to a tensor begins before the tensor: what lies outside is left "
                           "out at the far borders alone");
  for (const Piece& piece : copy.pieces)
    if (piece.inside && (piece.global >= run_.buffers[copy.buffer].bytes ||
                         run_.buffers[copy.buffer].bytes - piece.global < piece.bytes))
      return fails(TrapKind::out_of_bounds,
                   "a tensor copy reaches beyond `" + run_.buffers[copy.buffer].name + "`");
  return true;
}

/// tensormap.replace edits a field; cp_fenceproxy copies a whole map to global memory.
template <class D, class O>
void Machine<D, O>::tensor_map(Warp& warp, const Operation& op, Mask active) {
  const AsyncForm& form = program_.async_forms[op.matrix];
  Addresses to{}, from{};
  if (!addresses_of(warp, op, op.address, active, to)) return;
  bool copies = op.mode == Mode::sync;
  if (copies) {
    if (!whole(warp, op, active, "tensormap.cp_fenceproxy")) return;
    if (!addresses_of(warp, op, op.source, active, from)) return;
  }
  for (unsigned lane = 0; lane < lane_count && !trap_; ++lane) {
    if ((active >> lane & 1) == 0) continue;
    Locations at{}, source{};
    if (to[lane] % 64 != 0)
      return trap(TrapKind::misaligned, "a tensor map is not aligned to 64 bytes", op, lane,
                  to[lane]);
    if (!locate(op.space, to[lane], tensor_map_bytes, true, op, lane, at[lane])) return;
    if (copies) {
      if (!locate(Space::shared, from[lane], tensor_map_bytes, false, op, lane, source[lane]))
        return;
      d_.transfer(*at[lane].region, at[lane].offset, *source[lane].region, source[lane].offset,
                  tensor_map_bytes);
      tell(op, Mask{1} << lane, tensor_map_bytes, source, from, AccessKind::read, 0, false);
      tell(op, Mask{1} << lane, tensor_map_bytes, at, to, AccessKind::write, 0, false);
      return;  // The warp copies once.
    }
    auto value = control(warp.lanes, form.value, lane, op, "a field of a tensor map");
    std::uint64_t ordinal = 0;
    if (form.size.present()) {
      auto bits = control(warp.lanes, form.size, lane, op, "a dimension of a tensor map");
      if (!bits) return;
      ordinal = *bits;
    }
    if (!value) return;
    auto field = map_field(form.shape, static_cast<unsigned>(ordinal));
    if (!field) return trap(TrapKind::bad_operand, "a tensor map has no such dimension", op, lane);
    d_.poke(*at[lane].region, at[lane].offset + field->offset, field->bytes, *value);
    Locations part{};
    Addresses where{};
    part[lane] = at[lane];
    part[lane].offset += field->offset;
    where[lane] = to[lane] + field->offset;
    tell(op, Mask{1} << lane, field->bytes, part, where, AccessKind::write, 0, false);
  }
}

}  // namespace lathe::ptx
