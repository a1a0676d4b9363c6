#pragma once

// What the rows' notation cannot say: modifiers that need or exclude one another.

#include <string>

#include "ptx/isa.h"

namespace lathe::ptx {

/// Empty, or why an instruction whose words fit a row is none all the same: "`.xorsign` needs
/// `.abs`".
std::string broken_rule(const Instruction& instruction, const FormMatch& found,
                        const Target& target);

/// Of words that begin to exist later than the rows they stand in.
std::string broken_gate(const Instruction& instruction, unsigned isa_version, const Target& target);

/// Empty where the version and target have it. Families (`f`) hold for the same ten.
std::string gate_complaint(const Gate& gate, unsigned isa_version, const Target& target);

/// Whether the assembler does not look at the operand that is wrong here: what is no address where
/// a bulk copy has its place in shared memory, what is no register where a product of matrices has
/// its metadata or scales.
bool unchecked_operands(const Instruction& instruction);

/// The same of operands that must be a predicate beside the result, a number, or an address.
std::string broken_operands(const Instruction& instruction, const RowText& row);

}  // namespace lathe::ptx
