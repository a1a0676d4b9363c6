#pragma once

// How an error is said: FILE:LINE:COLUMN: error: what, the line with a caret, help: what to do.

#include <string>
#include <vector>

#include "base/result.h"

namespace lathe::cli {

/// The text of one complaint, with the line that it is about where the file can be read again.
std::string complaint(const Error& error);

/// Says it on standard error and gives the exit status.
int complain(const Error& error);

/// At most 20, then a count. The first one's exit status.
int complain(const std::vector<Error>& errors);

}  // namespace lathe::cli
