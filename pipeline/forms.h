#pragma once

// Every instruction of a module against the table of instructions.

#include <string>
#include <vector>

#include "ptx/module.h"

namespace lathe {

/// In the order of the file: malformed where the table has the opcode but not this form, version or
/// target; unsupported where it does not know the opcode.
std::vector<Error> unmatched_forms(const ptx::Module& module, const std::string& target);

}  // namespace lathe
