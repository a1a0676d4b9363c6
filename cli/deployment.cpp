#include "cli/deployment.h"

#include <algorithm>

#include "base/json.h"
#include "cli/frontier_view.h"
#include "cli/input_file.h"
#include "gpu_node/gpu_node.h"
#include "pipeline/admission.h"
#include "pipeline/codec.h"
#include "store/deeds.h"
#include "verifier_node/verify.h"

namespace lathe::cli {
namespace {

/// A gate's answer as an error, for what cannot be deployed.
template <class Next>
Error refusal(const Step<Next>& step, Gate gate, const std::string& file) {
  if (step.error() != nullptr) return *step.error();
  bool rejected = step.rejected() != nullptr;
  const Evidence& evidence = rejected ? step.rejected()->evidence : step.undecided()->evidence;
  return {rejected ? Fault::malformed : Fault::unsupported,
          std::string(name_of(gate)) + (rejected ? ": rejected, " : ": undecided, ") +
              evidence.code + ": " + evidence.reason,
          "lathe try says more",
          {file, evidence.place.line, evidence.place.column}};
}

Result<Assembled> assembled_of(std::shared_ptr<const Contract> contract, std::string ptx,
                               const std::string& file) {
  auto screened = screen({contract, std::move(ptx)});
  if (screened.passed() == nullptr) return refusal(screened, Gate::screen, file);
  auto assembler = gpu_node::choose_assembler(contract->ptx_isa);
  if (!assembler) return assembler.error();
  auto assembled = gpu_node::assemble(*screened.passed(), *assembler, {});
  if (assembled.passed() == nullptr) return refusal(assembled, Gate::assemble, file);
  return *assembled.passed();
}

/// What a store holds that has no run: kernels of people, which `lathe try` admitted.
Error no_run(const store::Store& store) {
  Error error{Fault::malformed,
              "the store has no run",
              "lathe lower starts one",
              {store.path().string(), 0, 0}};
  auto contracts = contracts_named(store, "");
  if (!contracts) return error;
  std::string admitted;
  for (const Digest& contract : *contracts) {
    auto rows = store::frontier(store, contract);
    Result<Contract> about = store::kept_contract(store, contract);
    if (!rows || !about) continue;
    for (const store::FrontierEntry& row : *rows)
      admitted += (admitted.empty() ? "" : ", ") + short_hex(row.key.candidate) + " of " +
                  about->name + " for " + about->target;
  }
  if (admitted.empty()) return error;
  error.what += "; admitted by lathe try: " + admitted;
  error.remedy =
      "lathe show DIGITS --ptx prints one for --file FILE.ptx --contract DIR; lathe lower starts a "
      "run";
  return error;
}

Result<std::pair<std::uint64_t, store::RunRecord>> run_named(const store::Store& store,
                                                             std::optional<std::uint64_t> run) {
  if (!run) {
    auto newest = store.newest_run();
    if (!newest) return newest.error();
    if (*newest) return **newest;
    return no_run(store);
  }
  auto record = store.get(store::RunKey{store::Descending{*run}});
  if (!record) return record.error();
  if (!*record)
    return Error{Fault::malformed,
                 "the store has no run " + std::to_string(*run),
                 "lathe runs lists them",
                 {store.path().string(), 0, 0}};
  return std::pair{*run, **record};
}

Result<Deployment> deployment_of(const store::Store& store, std::shared_ptr<const Contract> about,
                                 const store::FrontierEntry& entry) {
  auto record = store.get(store::CandidateKey{entry.key.contract, entry.key.candidate});
  if (!record) return record.error();
  if (!*record)
    return Error{Fault::malformed,
                 "the store has candidate " + short_hex(entry.key.candidate) +
                     " on the frontier, and not its PTX",
                 "restore a backup",
                 {store.path().string(), 0, 0}};
  Result<std::string> ptx = store.blob((*record)->ptx);
  if (!ptx) return ptx.error();
  Result<Assembled> assembled = assembled_of(about, *std::move(ptx), "");
  if (!assembled) return assembled.error();
  Deployment deployment{*std::move(assembled), entry.key.unproved == 0, {}, {}};
  Result<Timing> timing = decode_timing(entry.record.timing);
  if (!timing) return timing.error();
  deployment.timing = *std::move(timing);
  if (!entry.record.proof.empty()) {
    Result<Proof> proof = decode_proof(entry.record.proof);
    if (!proof) return proof.error();
    deployment.proof = *std::move(proof);
  }
  return deployment;
}

}  // namespace

std::string Deployment::folder() const {
  std::string name;
  for (char c : contract().name)
    name += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  return name + "_" + hex(contract().identity()).substr(0, 8);
}

Result<Chosen> deployments_of_run(const store::Store& store, std::optional<std::uint64_t> run,
                                  const std::string& contract, bool unproved) {
  auto found = run_named(store, run);
  if (!found) return found.error();
  std::vector<Digest> wanted = found->second.contracts;
  if (!contract.empty()) {
    auto named = contracts_named(store, contract);
    if (!named) return named.error();
    std::erase_if(wanted, [&](const Digest& one) {
      return std::find(named->begin(), named->end(), one) == named->end();
    });
    if (wanted.empty())
      return Error{Fault::malformed, "the run has no contract " + contract, "lathe frontier", {}};
  }
  Chosen chosen;
  for (const Digest& digest : wanted) {
    Result<Contract> kept = store::kept_contract(store, digest);
    if (!kept) return kept.error();
    auto about = std::make_shared<const Contract>(*std::move(kept));
    chosen.contracts.push_back(about);
    auto rows = store::frontier(store, digest, 1);
    if (!rows) return rows.error();
    if (rows->empty() || (rows->front().key.unproved != 0 && !unproved)) {
      chosen.without.push_back(about->name + " (" + short_hex(digest) + ") for " + about->target +
                               (rows->empty() ? ": no candidate is better than the reference"
                                              : ": no candidate is proved"));
      continue;
    }
    Result<Deployment> deployment = deployment_of(store, about, rows->front());
    if (!deployment) return deployment.error();
    chosen.deployments.push_back(*std::move(deployment));
  }
  return chosen;
}

Result<Chosen> deployment_of_file(const std::string& file, const std::string& contract,
                                  std::uint64_t seed) {
  Opened opened = open_contract(contract);
  if (opened.contract == nullptr) return opened.errors.front();
  Result<std::string> ptx = read_input(file);
  if (!ptx) return ptx.error();
  Result<Assembled> assembled = assembled_of(opened.contract, *std::move(ptx), file);
  if (!assembled) return assembled.error();
  gpu_node::Limits limits;
  limits.seed = seed;
  auto sanitized = gpu_node::sanitize(*assembled, limits);
  if (sanitized.passed() == nullptr) return refusal(sanitized, Gate::sanitize, file);
  auto tested = gpu_node::test(*sanitized.passed(), limits);
  if (tested.passed() == nullptr) return refusal(tested, Gate::test, file);
  ptx::Parsed reference = ptx::parse(opened.contract->reference, "reference.ptx");
  if (!reference.errors.empty()) return reference.errors.front();
  verifier_node::Options how;
  how.seed = seed;
  auto report = verifier_node::verify(reference.module, *assembled->module, *opened.contract, how);
  if (!report) return report.error();
  if (report->verdict != "proved")
    return Error{report->verdict == "refuted" ? Fault::malformed : Fault::unsupported,
                 "verify: " + report->verdict + ", " + report->reason_code + ": " + report->reason,
                 "only what is proved is deployed",
                 {file, 0, 0}};
  Chosen chosen;
  chosen.contracts.push_back(opened.contract);
  chosen.deployments.push_back({*std::move(assembled), true, {}, report->proof});
  return chosen;
}

}  // namespace lathe::cli
