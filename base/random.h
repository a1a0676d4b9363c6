#pragma once

// Random numbers by counter (Philox 4x32-10, Salmon et al., SC 2011): the same (seed, stream,
// index) gives the same numbers on every machine and in any order, so inputs are never shipped.

#include <array>
#include <cstdint>

namespace lathe {

constexpr std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream,
                                              std::uint64_t index) {
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
  std::array<std::uint32_t, 4> c{
      static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
      static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)};
  for (int round = 0; round < 10; ++round) {
    std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0], p1 = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

/// A 64-bit number of a counter.
constexpr std::uint64_t philox64(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  auto c = philox(seed, stream, index);
  return std::uint64_t{c[1]} << 32 | c[0];
}

}  // namespace lathe
