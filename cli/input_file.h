#pragma once

// A file that a person names: PTX or TOML; `-` is standard input.

#include <string>

#include "base/result.h"

namespace lathe::cli {

/// Errors as of read_text: unavailable (file) where it cannot be read, malformed where it is empty,
/// binary or larger than 64 MiB.
Result<std::string> read_input(const std::string& name);

}  // namespace lathe::cli
