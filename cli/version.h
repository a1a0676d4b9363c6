#pragma once

// What this program is: its version, how it was built, and which engine it runs here.

#include <string>

namespace lathe::cli {

std::string version_text();

/// The variant of the engine that this processor gets: "avx2" or "plain".
std::string processor_variant();

}  // namespace lathe::cli
