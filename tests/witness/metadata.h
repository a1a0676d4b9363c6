#pragma once

// Metadata of sparse products: words of eight codes of four bits, each two places of two bits.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace lathe::ptx::witness {

/// Which codes a product takes. What is none of them has no meaning on a device.
enum class Codes : std::uint8_t {
  ascending,   // Two of four, the lower place first.
  any_order,   // Two of four.
  one_of_two,  // Of elements of 32 bits: both halves of one of two.
};

/// The codes of a kind.
std::span<const std::uint8_t> codes_of(Codes kind);

/// A word for each of `count` threads, every code in every place.
std::vector<std::uint64_t> metadata_words(Codes kind, std::size_t count, std::uint64_t seed);

/// Threads of each four whose metadata a product reads, K columns of A being `chunk` and `chunk`;
/// the selector names the first of so many.
constexpr unsigned metadata_threads(unsigned k, unsigned chunk) { return k / (4 * chunk); }

/// Columns of A of which half is stored together, by the type's name.
constexpr unsigned chunk_of(std::string_view type) {
  return type == "tf32" ? 2 : type == "s4" || type == "u4" ? 8 : 4;
}

}  // namespace lathe::ptx::witness
