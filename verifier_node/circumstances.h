#pragma once

// What differs from launch to launch of one contract: where its tensors lie, and what the manual
// leaves open of the hardware. A program whose results may depend on that is never proved by runs
// in which all of it stood still.

#include <cstdint>
#include <optional>
#include <string>

#include "contract/contract.h"
#include "ptx/program.h"

namespace lathe::verifier_node {

struct Circumstance {
  std::uint32_t line = 0;
  std::string what;
};

/// Where what a circumstance is may decide what `candidate` does. An address may be moved, be added
/// to and be accessed; everything else that reads it counts, whatever it is used for afterwards.
/// %warpid and its like are excused where the reference reads them too.
std::optional<Circumstance> deciding_circumstance(const ptx::Program& reference,
                                                  const ptx::Program& candidate,
                                                  const Contract& contract);

}  // namespace lathe::verifier_node
