#pragma once

// The bytes of registers or of memory, and what each of them is.

#include <cstdint>
#include <vector>

namespace lathe::ptx::field {

/// Of one byte: 0 is exact; otherwise number << 3 | which byte of it.
using Tag = std::uint32_t;
inline constexpr Tag poison_tag = 0xFFFFFFFFu;

struct Plane {
  std::vector<std::uint8_t> bits;
  std::vector<Tag> tags;
  explicit Plane(std::size_t bytes) : bits(bytes), tags(bytes, poison_tag) {}
};

}  // namespace lathe::ptx::field
