// Triton's override folder. Its key covers source, signature, constants and divisibility, and
// neither scalars nor grid nor warps nor target: what it would take where nobody proved it is
// refused.

#include <algorithm>

#include "base/files.h"
#include "cli/deployment.h"
#include "pipeline/abi.h"

namespace lathe::cli {
namespace {

/// Where Triton looks, as captured: FOLDER/NAME.ptx; empty where the contract does not say.
std::string override_path(const Contract& contract) {
  for (const auto& [key, value] : contract.constants)
    if (key == "triton_override" && value.size() > 2) return value.substr(1, value.size() - 2);
  return {};
}

bool is_plain_path(const std::string& path) {
  std::filesystem::path parts = path;
  return !path.empty() && !parts.is_absolute() && path.find("..") == std::string::npos &&
         std::distance(parts.begin(), parts.end()) == 2 && path.ends_with(".ptx");
}

/// Triton's two trailing pointers are no scalars of the program.
bool is_runtime_scalar(const Contract& contract, std::size_t at) {
  const Parameter& parameter = contract.parameters[at];
  if (parameter.tensor) return false;
  bool trailing = at + 2 >= contract.parameters.size();
  return !(trailing && parameter.type == ParameterType::u64 && parameter.bits == 0);
}

/// Cases cover a scalar where one of them gives it another value: whoever wrote the contract has
/// said which values there are.
bool is_covered(const Contract& contract, std::size_t at) {
  return std::any_of(contract.cases.begin(), contract.cases.end(), [&](const Case& each) {
    return each.parameters[at].bits != contract.parameters[at].bits;
  });
}

void check_abi(const Deployment& deployment, std::vector<std::string>& refusals) {
  const Contract& contract = deployment.contract();
  for (const Disagreement& one :
       abi_disagreements(contract, *deployment.assembled.module, "the winner"))
    refusals.push_back(contract.name + ": " + one.what);
  if (!contract.launch.allow.empty())
    refusals.push_back(contract.name +
                       ": the contract grants freedoms of the launch, which Triton does not");
  ptx::Parsed reference = ptx::parse(contract.reference, "reference.ptx");
  if (!reference.errors.empty()) {
    refusals.push_back(contract.name + ": " + reference.errors.front().what);
    return;
  }
  std::string winner(deployment.assembled.module->version), own(reference.module.version);
  if (version_number(winner).value_or(0) > version_number(own).value_or(0))
    refusals.push_back(contract.name + ": the winner's .version " + winner + " is newer than the " +
                       own + " that Triton's own assembler reads");
}

void check_scalars(const Contract& contract, std::vector<std::string>& refusals) {
  for (std::size_t at = 0; at < contract.parameters.size(); ++at)
    if (is_runtime_scalar(contract, at) && !is_covered(contract, at))
      refusals.push_back(contract.name + ": the scalar " + contract.parameters[at].name +
                         " is no constexpr and no case covers it; Triton would take the override "
                         "for every value");
}

/// What the proof assumes of an input's contents, Triton would not look at.
void check_values(const Contract& contract, std::vector<std::string>& refusals) {
  for (const Tensor& tensor : contract.tensors) {
    bool any = std::holds_alternative<Values::Normal>(tensor.values.kind) ||
               std::holds_alternative<Values::AnyBits>(tensor.values.kind);
    bool is_read = tensor.role == Role::input || tensor.role == Role::inout;
    if (is_read && !any)
      refusals.push_back(contract.name + ": the contract says what " + tensor.name +
                         " holds; Triton would take the override whatever it holds");
  }
}

}  // namespace

std::vector<std::string> override_refusals(const Chosen& chosen) {
  std::vector<std::string> refusals;
  for (const Deployment& deployment : chosen.deployments) {
    const Contract& contract = deployment.contract();
    std::string path = override_path(contract);
    if (!is_plain_path(path)) {
      refusals.push_back(contract.name +
                         ": the contract does not say where Triton looks (constants."
                         "triton_override); python -m lathe_triton capture writes it");
      continue;
    }
    check_scalars(contract, refusals);
    check_values(contract, refusals);
    check_abi(deployment, refusals);
    for (const auto& other : chosen.contracts) {
      if (override_path(*other) != path || other->identity() == contract.identity()) continue;
      auto winner = std::find_if(
          chosen.deployments.begin(), chosen.deployments.end(),
          [&](const Deployment& one) { return one.contract().identity() == other->identity(); });
      if (winner == chosen.deployments.end() ||
          winner->assembled.candidate != deployment.assembled.candidate)
        refusals.push_back(contract.name + ": the contract " + short_hex(other->identity()) +
                           " is of the same source, and Triton would take this winner for it too");
    }
  }
  return refusals;
}

Result<Done> write_override(const Chosen& chosen, const std::filesystem::path& folder) {
  std::vector<std::string> refusals = override_refusals(chosen);
  if (!refusals.empty()) {
    std::string all;
    for (const std::string& one : refusals) all += (all.empty() ? "" : "; ") + one;
    return Error{Fault::malformed,
                 "refused: " + all,
                 "python -m lathe_triton run --winners DIR checks each launch instead",
                 {}};
  }
  return write_directory(folder, [&](const std::filesystem::path& aside) -> Result<Done> {
    std::error_code code;
    std::filesystem::create_directories(aside / "cache", code);
    for (const Deployment& deployment : chosen.deployments) {
      std::filesystem::path file = aside / "override" / override_path(deployment.contract());
      std::filesystem::create_directories(file.parent_path(), code);
      if (auto done = write_file(file, deployment.assembled.ptx); !done) return done;
    }
    std::string script =
        "#!/bin/sh\n"
        "# Runs a program with the winners of this folder: ./run python program.py. Triton's usual "
        "cache is not\n"
        "# touched; removing the folder removes every trace.\n"
        "here=$(cd \"$(dirname \"$0\")\" && pwd)\n"
        "exec env TRITON_KERNEL_OVERRIDE=1 TRITON_OVERRIDE_DIR=\"$here/override\" \\\n"
        "  TRITON_CACHE_DIR=\"$here/cache\" TRITON_ALWAYS_COMPILE=1 \"$@\"\n";
    auto done = write_file(aside / "run", script);
    using std::filesystem::perms;
    std::filesystem::permissions(aside / "run",
                                 perms::owner_all | perms::group_read | perms::group_exec |
                                     perms::others_read | perms::others_exec,
                                 code);
    return done;
  });
}

}  // namespace lathe::cli
