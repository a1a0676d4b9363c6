#pragma once

// SHA-256 names for contracts, candidates, cubins and blobs.

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe {

struct Digest {
  std::array<std::uint8_t, 32> bytes{};
  auto operator<=>(const Digest&) const = default;
};

Digest sha256(std::string_view bytes);
/// All 64 hexadecimal digits.
std::string hex(const Digest& digest);
/// The first 16, as people read them.
std::string short_hex(const Digest& digest);
Result<Digest> parse_digest(std::string_view hex);

}  // namespace lathe
