// uses: verifier_node
// Proves shipped kernels against their other configurations, whole grid, and prints how long each
// proof took: `verify_bench` for the small contracts, `verify_bench NAME..` for contracts of
// suite/contracts by name, `verify_bench --configs DIR [NAME..]` for what `lathe_triton export
// --configs 2 --out ..` wrote to DIR = ../suite/contracts.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "verifier_node/verify.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The [launch] table of a configuration: three keys, one a line.
Launch launch_of(Launch launch, const std::string& toml) {
  auto triple = [&](const char* key, std::array<std::uint32_t, 3>& out) {
    std::size_t at = toml.find(std::string(key) + " = [");
    if (at != std::string::npos)
      std::sscanf(toml.c_str() + toml.find('[', at), "[%u, %u, %u]", &out[0], &out[1], &out[2]);
  };
  triple("grid", launch.grid);
  triple("block", launch.block);
  std::size_t at = toml.find("dynamic_shared_bytes = ");
  if (at != std::string::npos)
    std::sscanf(toml.c_str() + at, "dynamic_shared_bytes = %u", &launch.dynamic_shared_bytes);
  return launch;
}

/// How many other configurations were proved, of how many.
struct Tally {
  unsigned proved = 0, tried = 0;
};

/// Proves a contract's kernel against every other configuration in a folder, whole grid, and prints
/// a line each. Files that are the reference itself show nothing and are left out.
Tally prove_all(const fs::path& contract_folder, const fs::path& configurations) {
  Tally tally;
  std::string name = contract_folder.filename().string();
  Result<Contract> contract = read_contract(contract_folder);
  if (!contract) {
    std::printf("%s: %s\n", name.c_str(), contract.error().what.c_str());
    return tally;
  }
  std::vector<fs::path> files;
  std::error_code code;
  for (const fs::directory_entry& entry : fs::directory_iterator(configurations, code))
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::string text = text_of(file);
    if (text == contract->reference) continue;
    fs::path toml = file;
    toml.replace_extension(".toml");
    ptx::Parsed reference = ptx::parse(contract->reference, "reference.ptx");
    ptx::Parsed candidate = ptx::parse(std::move(text), file.string());
    verifier_node::Options options;
    options.seed = 1;
    options.candidate_launch = launch_of(contract->launch, text_of(toml));
    std::clock_t begin = std::clock();
    Result<verifier_node::Report> report =
        verifier_node::verify(reference.module, candidate.module, *contract, options);
    double spent = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::string answer = report
                             ? report->verdict + " (" + report->reason_code + "): " + report->reason
                             : report.error().what;
    std::printf("%-30s %-24s %8.2f s CPU  %s", name.c_str(), file.stem().c_str(), spent,
                answer.c_str());
    if (report && report->verdict == "proved")
      std::printf("; bound %.1e", report->proof.failure_probability);
    std::printf("\n");
    std::fflush(stdout);
    ++tally.tried;
    tally.proved += report && report->verdict == "proved" ? 1 : 0;
  }
  return tally;
}

/// Every contract below `folder` that `lathe_triton export --configs` wrote, or those named.
int prove_suite(const fs::path& folder, const std::vector<std::string>& names) {
  unsigned contracts = 0, twice = 0;
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (names.empty() ||
        std::find(names.begin(), names.end(), entry.path().filename()) != names.end())
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  for (const fs::path& contract : found) {
    Tally tally = prove_all(contract, contract / "configs");
    ++contracts;
    twice += tally.proved >= 2 || (tally.tried != 0 && tally.proved == tally.tried) ? 1 : 0;
  }
  std::printf("%u of %u contracts proved equal to two other configurations, or to all there are\n",
              twice, contracts);
  return twice == contracts ? 0 : 1;
}

}  // namespace
}  // namespace lathe

int main(int count, char** words) {
  namespace fs = std::filesystem;
  fs::path root(LATHE_ROOT);
  std::vector<std::string> names(words + 1, words + count);
  if (names.size() >= 2 && names[0] == "--configs")
    return lathe::prove_suite(names[1], {names.begin() + 2, names.end()});
  bool good = true;
  auto prove = [&](const fs::path& contracts, const std::string& name) {
    lathe::Tally tally =
        lathe::prove_all(contracts / name, root / "tests/kernels/alternatives" / name);
    good &= tally.tried != 0 && tally.proved == tally.tried;
  };
  for (const std::string& name : names) prove(root / "suite/contracts", name);
  if (!names.empty()) return good ? 0 : 1;
  for (const char* kernel : {"sum_8x512", "silu_4x512", "softmax_8x256", "gemm_256x256x128"})
    for (const char* target : {"sm_89", "sm_90a", "sm_100a"}) {
      if (std::string(kernel).starts_with("gemm") && std::string(target) != "sm_89") continue;
      prove(root / "tests/kernels/contracts", std::string(kernel) + "_fp16_" + target);
    }
  return good ? 0 : 1;
}
