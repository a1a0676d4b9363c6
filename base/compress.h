#pragma once

// zstd over whole byte strings. The same bytes always give the same compressed bytes.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe {

std::string compress(std::string_view bytes);
/// Errors: malformed where they are not compressed bytes, are cut short, or claim more than
/// `bytes_max`.
Result<std::string> decompress(std::string_view bytes, std::uint64_t bytes_max);

}  // namespace lathe
