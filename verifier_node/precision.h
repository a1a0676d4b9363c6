#pragma once

// What of a program's precision its instructions say, whatever its inputs: matrix units and
// functions that are known to few bits.

#include <cstdint>
#include <optional>
#include <string>

#include "contract/contract.h"
#include "ptx/module.h"

namespace lathe::verifier_node {

struct Coarse {
  std::uint32_t line = 0;
  std::string what;
};

/// A function that is known to eleven bits only, which the reference does without.
std::optional<Coarse> coarse_function(const ptx::Module& reference, const ptx::Module& candidate,
                                      const std::string& entry);

/// A matrix product of the candidate below what the contract's [precision] admits.
std::optional<Coarse> below_contract(const ptx::Module& candidate, const std::string& entry,
                                     const Precision& precision);

}  // namespace lathe::verifier_node
