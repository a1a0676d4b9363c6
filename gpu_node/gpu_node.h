#pragma once

// The gates of a GPU node. Each is a function of its arguments; none knows an actor.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "pipeline/gates.h"

namespace lathe::gpu_node {

/// An assembler that was found: a toolkit's, or one of the Python registry under .tools/.
struct Assembler {
  std::filesystem::path program;  // ptxas
  std::string version;            // "13.0.88"
  std::string ptx_isa_max;        // "9.0"
};
/// Newest first. `LATHE_PTXAS` names one more.
std::vector<Assembler> find_assemblers();
/// The newest that reads this `.version`; unavailable (service) says which would be needed and how
/// to get it.
Result<Assembler> choose_assembler(const std::string& ptx_isa);

struct Limits {
  std::uint64_t assemble_seconds = 60;
  std::uint64_t steps_max = 4'000'000'000;  // Warp instructions of one emulated block.
  std::uint64_t steps_factor = 50;  // A candidate may take so many times what the reference takes.
  std::uint64_t blocks_max =
      64;  // Of a large grid, as many are sampled: first, last, edge, some drawn.
  std::uint64_t grid_steps_max = 200'000'000;  // Warp instructions of a grid that is run whole.
  std::uint64_t seed = 0;
};
std::string print(const Limits& limits);

/// ptxas in a killable child; a complaint comes back with line, text and what the table would
/// accept there.
Step<Assembled> assemble(Screened candidate, const Assembler& assembler, const Limits& limits);

/// Emulated: bounds, races on shared memory, uninitialised reads, deadlock, inputs unchanged.
Step<Sanitized> sanitize(Assembled candidate, const Limits& limits);

/// Differential test against the reference on the emulated device: the declared inputs and the
/// stress classes.
Step<Tested> test(Sanitized candidate, const Limits& limits);

/// Modelled time of candidate, incumbent and baseline (both as PTX) under one model of the
/// contract's target.
Step<Timed> benchmark(Tested candidate, const std::string& incumbent_ptx,
                      const Assembler& assembler, const Limits& limits);

/// The five fake kernels (null, constant, copy, right in block 0 only, transposed): PTX of each for
/// this contract. Every one must fail the differential test before a search starts.
struct Fake {
  std::string name, ptx;
};
Result<std::vector<Fake>> make_fakes(const Contract& contract);

/// Runs the reference on the first and last blocks and a few between, of the contract and its
/// cases. Errors: malformed, with the line, where it leaves its tensors or breaks another rule;
/// unsupported or exhausted where the emulated device cannot tell.
Result<Done> try_reference(const std::shared_ptr<const Contract>& contract, const Limits& limits);

/// Runs the fakes and the reference through the test gate: malformed where a fake passes or the
/// reference does not, with its name; unsupported where the emulated device cannot run them.
Result<Done> check_fakes(const std::shared_ptr<const Contract>& contract, const Limits& limits);

}  // namespace lathe::gpu_node
