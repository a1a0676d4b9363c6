#pragma once

// One tensor a file in the safetensors format: eight bytes of length, a JSON header, the elements.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "contract/contract.h"

namespace lathe::cli {

/// Errors: unsupported where the format has no such element type.
Result<std::string> write_safetensors(const std::string& key, Dtype dtype,
                                      const std::vector<std::uint64_t>& shape,
                                      std::string_view elements);

/// The elements of one tensor. Errors: malformed where the file is not of the format, lacks the
/// key, or says more bytes than it has.
Result<std::string> read_safetensors(std::string_view file, const std::string& key);

}  // namespace lathe::cli
