#pragma once

// A record of the archive, run in the bits domain and compared with what the device gave.

#include <string>

#include "tests/witness/archive.h"

namespace lathe::ptx::witness {

enum class Agreement : std::uint8_t {
  same,  // Bit for bit.
  near,  // An approximate function, within the manual's bound.
  different,
  unmodelled,  // The table has no meaning for it (yet).
  failed,      // It does not decode, or traps.
};

struct Replayed {
  Agreement agreement = Agreement::same;
  std::string detail;  // Of what is not the same: the first element, or the trap.
};

Replayed replay(const Archive& archive, const Record& record);

/// What the record's kernel stores here.
std::string replayed_output(const Archive& archive, const Record& record);

/// Whether the manual calls the instruction an approximation.
bool is_approximate(std::string_view mnemonic);

}  // namespace lathe::ptx::witness
