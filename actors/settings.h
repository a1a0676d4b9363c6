#pragma once

// What decides a run's results, as JSON in the store: equal settings give equal bytes.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "pipeline/gates.h"
#include "store/store.h"

namespace lathe::actors {

struct RunSettings {
  std::uint32_t rounds = 4, branches = 4;
  Policy policy = Policy::gate;
  std::uint64_t seed = 0;
  std::string model = "none";  // Without paths: a transcript by its digest.
  std::uint64_t budget_micro = 0;
  std::string assembler, engine;
};
/// "recorded:FILE" becomes "recorded:" and the digest of what FILE holds; other paths are left out.
Result<std::string> model_without_paths(const std::string& model);
std::string print(const RunSettings& settings);
Result<RunSettings> read_settings(const std::string& json);

/// What a run needs again and nobody else may see: the model as it was named.
std::string print_local(const std::string& model);
std::string read_local_model(const std::string& json);

/// This program's version: part of the key of whatever it found out.
std::string engine_version();

/// As its owner; `program` is said to whoever is refused meanwhile.
Result<std::unique_ptr<store::Store>> open_store(const std::filesystem::path& place,
                                                 const std::string& program);

struct FoundRun {
  std::uint64_t number = 0;
  store::RunRecord record;
};
/// The newest without a number. Errors: malformed where the store has no such run.
Result<FoundRun> find_run(const store::Store& store, std::optional<std::uint64_t> number);

}  // namespace lathe::actors
