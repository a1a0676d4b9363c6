#pragma once

// JSON as the whole project uses it. Include it in .cpp files only: it is a heavy header.

#include <nlohmann/json.hpp>

namespace lathe {

/// Keeps the order in which members were written, so that equal knowledge prints equal bytes.
using Json = nlohmann::ordered_json;

}  // namespace lathe
