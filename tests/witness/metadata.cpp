#include "tests/witness/metadata.h"

#include <array>

#include "base/random.h"

namespace lathe::ptx::witness {

std::span<const std::uint8_t> codes_of(Codes kind) {
  static constexpr std::array<std::uint8_t, 12> two_of_four{0b0100, 0b1000, 0b1100, 0b1001,
                                                            0b1101, 0b1110, 0b0001, 0b0010,
                                                            0b0011, 0b0110, 0b0111, 0b1011};
  static constexpr std::array<std::uint8_t, 2> one_of_two{0b0100, 0b1110};
  if (kind == Codes::one_of_two) return one_of_two;
  return std::span(two_of_four).first(kind == Codes::ascending ? 6 : 12);
}

std::vector<std::uint64_t> metadata_words(Codes kind, std::size_t count, std::uint64_t seed) {
  std::span<const std::uint8_t> codes = codes_of(kind);
  std::vector<std::uint64_t> words(count);
  for (std::size_t i = 0; i < count; ++i)
    for (unsigned place = 0; place < 8; ++place)
      words[i] |= std::uint64_t{codes[philox64(seed, place, i) % codes.size()]} << (4 * place);
  return words;
}

}  // namespace lathe::ptx::witness
