#pragma once

// Forms that are PTX but have no row: they are told from mistakes by their words alone, and
// carrying one out is a trap. The assembler has the last word on them.

#include <span>

#include "ptx/module.h"
#include "ptx/row.h"

namespace lathe::ptx {

struct RareForm {
  std::string_view opcode;
  std::string_view markers;  // Words of which one must be there; empty: any form of the opcode.
  std::string_view others;   // What else may stand beside them.
  Gate gate;
};

std::span<const RareForm> rare_forms();

/// The entry that an instruction belongs to, or null.
const RareForm* find_rare(const Instruction& instruction);

}  // namespace lathe::ptx
