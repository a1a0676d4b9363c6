#pragma once

// The one document that a subcommand prints for machines.

#include "base/json.h"

namespace lathe::cli {

/// On standard output; a path in it may hold any bytes, JSON only text. Gives the exit status:
/// done, or io where it could not be written.
int print_document(const Json& json);

}  // namespace lathe::cli
