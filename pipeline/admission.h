#pragma once

// What needs both languages: a contract against its reference at the door, and a candidate against
// its contract.

#include <memory>
#include <string>
#include <vector>

#include "pipeline/gates.h"

namespace lathe {

/// Reads a directory and checks contract and reference against each other: entry, parameter list
/// (order and size), .reqntid, shared memory, target, overlapping tensors. All complaints, at
/// most 20.
struct Opened {
  std::shared_ptr<const Contract> contract;
  std::vector<Error> errors;
};
Opened open_contract(const std::filesystem::path& directory);

/// The screen gate: parses, keeps ABI and launch, uses nothing forbidden (see admission.cpp's
/// table), fits the target.
Step<Screened> screen(Proposed candidate);

}  // namespace lathe
