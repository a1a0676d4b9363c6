#pragma once

// How many points, which kind of primes and how many levels two programs need: read off the
// instructions that they contain.

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/field_point.h"
#include "ptx/module.h"

namespace lathe::verifier_node {

struct Plan {
  bool linked = false;         // A chain of primes; otherwise three independent ones a run.
  unsigned levels = 3;         // Residues carried.
  std::uint64_t runs = 1;      // Executions of both programs.
  std::uint64_t points = 3;    // What they count as.
  bool strict_maximum = true;  // False: the winner by shadow, with many points.
  std::vector<std::uint32_t> squares;
  std::vector<double> boundaries;
  /// Literals that are read as another real than their own, with their lines.
  std::vector<std::pair<std::uint32_t, std::string>> readings;
};

Plan make_plan(const ptx::Module& reference, const ptx::Module& candidate, const std::string& entry,
               std::uint32_t points);

}  // namespace lathe::verifier_node
