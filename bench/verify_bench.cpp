// uses: verifier_node
// Proves shipped kernels against their other configurations, whole grid, and prints how long each
// proof took: `verify_bench` for the small contracts, `verify_bench NAME..` for contracts of
// suite/contracts by name.

#include <chrono>
#include <cstdio>
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

bool prove_all(const fs::path& contracts, const std::string& name) {
  Result<Contract> contract = read_contract(contracts / name);
  if (!contract) {
    std::printf("%s: %s\n", name.c_str(), contract.error().what.c_str());
    return false;
  }
  bool good = true;
  fs::path folder = fs::path(LATHE_ROOT) / "tests/kernels/alternatives" / name;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".ptx") continue;
    fs::path toml = entry.path();
    toml.replace_extension(".toml");
    ptx::Parsed reference = ptx::parse(contract->reference, "reference.ptx");
    ptx::Parsed candidate = ptx::parse(text_of(entry.path()), entry.path().string());
    verifier_node::Options options;
    options.seed = 1;
    options.candidate_launch = launch_of(contract->launch, text_of(toml));
    auto begin = std::chrono::steady_clock::now();
    Result<verifier_node::Report> report =
        verifier_node::verify(reference.module, candidate.module, *contract, options);
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    std::string text = report ? report->verdict + ": " + report->reason : report.error().what;
    std::printf("%-28s %-22s %8.2f s  %s\n", name.c_str(), entry.path().stem().c_str(),
                spent.count(), text.c_str());
    std::fflush(stdout);
    good &= report && report->verdict == "proved";
  }
  return good;
}

}  // namespace
}  // namespace lathe

int main(int count, char** names) {
  bool good = true;
  std::filesystem::path root(LATHE_ROOT);
  for (int i = 1; i < count; ++i) good &= lathe::prove_all(root / "suite/contracts", names[i]);
  if (count > 1) return good ? 0 : 1;
  for (const char* kernel : {"sum_8x512", "silu_4x512", "softmax_8x256", "gemm_256x256x128"})
    for (const char* target : {"sm_89", "sm_90a", "sm_100a"}) {
      if (std::string(kernel).starts_with("gemm") && std::string(target) != "sm_89") continue;
      good &= lathe::prove_all(root / "tests/kernels/contracts",
                               std::string(kernel) + "_fp16_" + target);
    }
  return good ? 0 : 1;
}
