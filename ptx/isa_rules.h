#pragma once

// What the rows' notation cannot say: modifiers that need or exclude one another.

#include <string>

#include "ptx/isa.h"

namespace lathe::ptx {

/// Empty, or why an instruction whose words fit a row is none all the same: "`.xorsign` needs
/// `.abs`".
std::string broken_rule(const Instruction& instruction, const FormMatch& found,
                        const Target& target);

/// The same of operands that must be a predicate beside the result, a number, or an address.
std::string broken_operands(const Instruction& instruction, const RowText& row);

}  // namespace lathe::ptx
