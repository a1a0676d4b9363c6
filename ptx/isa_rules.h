#pragma once

// What the rows' notation cannot say: modifiers that need or exclude one another.

#include <optional>
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

/// As the manual would write it, where the assembler takes a word too many or misses none of the
/// manual's.
std::optional<Instruction> manual_spelling(const Instruction& instruction);

/// Whether it has words that its row does not, or lacks one that the row needs: nobody says what it
/// does.
bool is_beyond_manual(const Instruction& instruction, const RowText& row);

/// The same as `broken_rule` of operands that must be a predicate beside the result, a number, or
/// an address.
std::string broken_operands(const Instruction& instruction, const RowText& row);

}  // namespace lathe::ptx
