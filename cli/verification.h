#pragma once

// What `lathe verify` and `lathe prove` ask of the verifier, and how they say its answer.

#include <cstdint>
#include <string>

#include "cli/app.h"

namespace lathe::cli {

struct Verification {
  std::string reference, candidate, contract, reference_launch, candidate_launch, kept;
  std::string candidate_name;  // What the answer calls it; empty: the file.
  std::uint32_t points = 0, threads = 1;
  std::uint64_t seed = 0, steps = 0, stress_blocks = 8, block_begin = 0, block_end = 0;
  bool json = false, quiet = false;
};

/// Options of both.
void add_verification_options(App& app, Verification& options);

/// Asks, says the answer, and gives the exit status.
int verify_files(const Verification& options);

}  // namespace lathe::cli
