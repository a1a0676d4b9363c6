#pragma once

// What `lathe deploy` puts into the world: a contract's best proved candidate, or a person's own
// file after the same gates, assembled; and the three forms in which it is written.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/gates.h"
#include "store/store.h"

namespace lathe::cli {

struct Deployment {
  Assembled assembled;  // Contract, PTX, cubin, assembler.
  bool proved = false;
  std::optional<Timing> timing;
  std::optional<Proof> proof;

  const Contract& contract() const { return *assembled.contract; }
  /// "softmax_67ef0bdd": a folder of its own for each contract.
  std::string folder() const;
};

/// What was asked for and is not there, for the person who asked.
struct Chosen {
  std::vector<Deployment> deployments;
  std::vector<std::string> without;  // Contracts that have no candidate, in words.
  std::vector<std::shared_ptr<const Contract>> contracts;  // All of the run's.
};

/// The best candidate of each of the run's contracts: of its proved ones, unless `unproved`.
/// Without a number the newest run. `contract` keeps one: its name or first digits.
Result<Chosen> deployments_of_run(const store::Store& store, std::optional<std::uint64_t> run,
                                  const std::string& contract, bool unproved);

/// A person's file through screen, assemble, sanitize, test and verify. Errors: malformed where a
/// gate rejects it, unsupported where one cannot tell.
Result<Chosen> deployment_of_file(const std::string& file, const std::string& contract,
                                  std::uint64_t seed);

// Each writes one folder, complete or absent, and refuses one that is there already.

/// DIR/<folder>/{winner.json, winner.cubin, winner.ptx, reference.ptx, files of values}: what
/// `python -m lathe_triton run --winners DIR` reads.
Result<Done> write_winners(const Chosen& chosen, const std::filesystem::path& folder);

/// DIR/override (Triton's override folder), DIR/cache (a cache of its own) and DIR/run, which runs
/// a program with both. Errors: malformed (refused) where Triton's key would take the winner for
/// launches that nobody proved.
Result<Done> write_override(const Chosen& chosen, const std::filesystem::path& folder);

/// DIR/<folder>/{<entry>.cubin, <entry>.h, <entry>.c}: a launch for programs in C and C++.
Result<Done> write_cubin(const Chosen& chosen, const std::filesystem::path& folder);

/// The header and the loader of one deployment.
std::string header_text(const Deployment& deployment);
std::string loader_text(const Deployment& deployment);

/// Why Triton's override mechanism may not have it; empty where it may. `others` are all contracts
/// of the run: one override file is taken for every kernel of one source.
std::vector<std::string> override_refusals(const Chosen& chosen);

}  // namespace lathe::cli
