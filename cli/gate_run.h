#pragma once

// One gate from the command line: `sanitize`, `test` and `bench`. The types let no gate run on what
// the gates before it have not passed, so those run too, and each says its answer.

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/subcommand.h"
#include "pipeline/gates.h"

namespace lathe::cli {

struct GateOptions {
  std::string file, contract, incumbent;
  std::uint64_t seed = 0, blocks = 64;
  bool json = false, quiet = false;
};

/// Declares file, contract, seed, blocks and the output's form.
void add_gate_options(App& app, GateOptions& options);

/// Runs the gates up to `last` and says what they answered; the JSON is of schema lathe/NAME/1.
int run_gates(const GateOptions& options, Gate last, std::string_view name);

}  // namespace lathe::cli
