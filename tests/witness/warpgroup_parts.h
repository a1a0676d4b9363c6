#pragma once

// Of what the kernels of wgmma are made: tiles in shared memory, their descriptors, registers of A
// and D. Used by warpgroup_kernels.cpp and sparse_kernels.cpp.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {

inline constexpr std::uint32_t warpgroup_threads = 128;
inline constexpr unsigned tile_bytes = 8192;

/// The shape and the types of a product; none where the instance has others than three types.
struct WarpgroupProduct {
  unsigned n = 0, k = 0;
  std::string_view d, a, b;

  static std::optional<WarpgroupProduct> of(const Instance& instance);

  unsigned element_bytes() const { return a == "tf32" ? 4 : a == "f16" || a == "bf16" ? 2 : 1; }
  bool integer() const { return d == "s32"; }
  bool half() const { return element_bytes() == 2; }
  unsigned registers() const { return d == "f16" ? n / 4 : n / 2; }
};

/// The type of which a tile's elements are drawn: bits lie in bytes.
Type drawn_type(std::string_view type_name);

/// A tile of A of which each row has 32 bytes; its manner changes from eight rows to the next.
std::string tile(std::string_view type_name, bool is_b);

/// Copies the first `bytes` of a tile, over and over, to shared memory from `base` on.
void fill(Writer& w, const std::string& base, unsigned bytes, const std::string& contents);

/// A matrix descriptor without its start.
constexpr std::uint64_t descriptor_bits(std::uint64_t leading, std::uint64_t stride,
                                        std::uint64_t mode) {
  return leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
}

/// A register with the descriptor of a tile that begins `offset` bytes behind the address in
/// `base`.
std::string descriptor(Writer& w, const std::string& base, unsigned offset, std::uint64_t bits);

/// Four columns of values of D, from which all of its registers are filled.
std::vector<std::string> accumulator_seeds(Writer& w, std::string_view type_name);

/// `count` registers of D, declared and filled.
std::vector<std::string> accumulators(Writer& w, const std::vector<std::string>& seeds,
                                      unsigned count);

/// A in four registers, as an operand.
std::string factor_in_registers(Writer& w, std::string_view type_name);

}  // namespace lathe::ptx::witness
