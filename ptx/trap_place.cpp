#include "ptx/trap_place.h"

#include <algorithm>

namespace lathe::ptx {
namespace {

/// Farther from every buffer nobody meant to be in one.
constexpr std::uint64_t distance_max = std::uint64_t{1} << 34;

bool of_shared_memory(const Trap& trap, const Program& program) {
  return std::any_of(program.operations.begin(), program.operations.end(),
                     [&](const Operation& op) {
                       if (op.line != trap.line || op.column != trap.column) return false;
                       // Descriptors name matrices in shared memory.
                       return op.space == Space::shared || op.space == Space::cluster ||
                              op.effect == Effect::multiply || op.effect == Effect::tensor_multiply;
                     });
}

std::uint64_t distance_of(const Buffer& buffer, std::uint64_t address) {
  if (address < buffer.address) return buffer.address - address;
  std::uint64_t offset = address - buffer.address;
  return offset < buffer.bytes ? 0 : offset - buffer.bytes;
}

}  // namespace

TrapPlace place_of(const Trap& trap, const Program& program, const Shape& shape,
                   std::span<const Buffer> buffers) {
  TrapPlace place;
  bool outside = trap.kind == TrapKind::out_of_bounds;
  if (trap.address == 0 && !outside) return place;
  if (of_shared_memory(trap, program)) {
    place.shared = true;
    if (outside)
      place.text = "a block has " +
                   std::to_string(program.static_shared_bytes + shape.dynamic_shared_bytes) +
                   " bytes of shared memory, of which launch.dynamic_shared_bytes gives " +
                   std::to_string(shape.dynamic_shared_bytes);
    return place;
  }
  for (std::size_t i = 0; i < buffers.size(); ++i)
    if (!place.buffer ||
        distance_of(buffers[i], trap.address) < distance_of(buffers[*place.buffer], trap.address))
      place.buffer = i;
  if (!place.buffer || distance_of(buffers[*place.buffer], trap.address) > distance_max) {
    place.buffer.reset();
    return place;
  }
  const Buffer& near = buffers[*place.buffer];
  place.offset = static_cast<std::int64_t>(trap.address - near.address);
  if (outside)
    place.text = "it is at byte " + std::to_string(place.offset) + " of `" + near.name +
                 "`, which has " + std::to_string(near.bytes);
  return place;
}

std::string sentence(const Trap& trap, const Program& program, const Shape& shape,
                     std::span<const Buffer> buffers) {
  std::string place = place_of(trap, program, shape, buffers).text;
  return place.empty() ? trap.what : trap.what + ": " + place;
}

}  // namespace lathe::ptx
