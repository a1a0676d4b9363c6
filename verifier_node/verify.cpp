// The two entries: `lathe verify`, and the gate.

#include "verifier_node/verify.h"

#include <algorithm>

#include "base/digest.h"
#include "verifier_node/verifier.h"

namespace lathe::verifier_node {

namespace {

/// A further shape of the contract: the verdict stays proved only if it is proved there too.
Result<Done> verify_case(const ptx::Module& reference, const ptx::Module& candidate,
                         const Contract& contract, const Case& one, Options options,
                         Findings& findings) {
  Contract shaped = contract;
  shaped.launch = one.launch;
  shaped.parameters = one.parameters;
  shaped.tensors = one.tensors;
  shaped.cases.clear();
  options.reference_launch.reset();
  options.candidate_launch.reset();
  options.block_begin = options.block_end = 0;
  Result<Findings> found = Verifier(reference, candidate, shaped, options).run();
  if (!found) return found.error();
  if (found->verdict != "proved") {
    found->reason = "case " + one.name + ": " + found->reason;
    findings = *std::move(found);
    return Done{};
  }
  Proof &all = findings.proof, &more = found->proof;
  all.blocks += more.blocks;
  all.blocks_total += more.blocks_total;
  all.outputs_compared += more.outputs_compared;
  all.stress_blocks += more.stress_blocks;
  all.points = std::min(all.points, more.points);
  all.degree = std::max(all.degree, more.degree);
  all.failure_probability = std::max(all.failure_probability, more.failure_probability);
  all.rigorous &= more.rigorous;
  for (const std::string& text : more.assumed)
    if (std::find(all.assumed.begin(), all.assumed.end(), text) == all.assumed.end())
      all.assumed.push_back(text);
  return Done{};
}

}  // namespace

Result<Report> verify(const ptx::Module& reference, const ptx::Module& candidate,
                      const Contract& contract, const Options& options) {
  for (const auto& [module, name] : {std::pair{&reference, "reference"}, {&candidate, "candidate"}})
    if (module->find_entry(contract.entry) == nullptr)
      return Error{Fault::malformed,
                   "the " + std::string(name) + " has no entry " + contract.entry,
                   "",
                   {module->file, 0, 0}};
  Verifier verifier(reference, candidate, contract, options);
  Result<Findings> findings = verifier.run();
  if (!findings) return findings.error();
  for (const Case& one : contract.cases) {
    if (findings->verdict != "proved") break;
    Result<Done> done = verify_case(reference, candidate, contract, one, options, *findings);
    if (!done) return done.error();
  }
  Report report;
  report.verdict = findings->verdict;
  report.reason_code = findings->reason_code;
  report.reason = findings->reason;
  report.proof = findings->proof;
  report.json = document(*findings, hex(sha256(print(reference))), hex(sha256(print(candidate))));
  return report;
}

Step<Proved> prove(Tested candidate, const Options& options) {
  ptx::Parsed reference = ptx::parse(candidate.contract->reference, "reference.ptx");
  if (!reference.errors.empty()) return reference.errors.front();
  Result<Report> report = verify(reference.module, *candidate.module, *candidate.contract, options);
  if (!report) {
    const Error& error = report.error();
    if (error.fault != Fault::unsupported && error.fault != Fault::exhausted) return error;
    Reason reason = error.fault == Fault::exhausted ? Reason::exhausted : Reason::unsupported;
    return Undecided{reason, {std::string(name_of(reason)), error.what, error.place, "{}"}};
  }
  Evidence evidence{report->reason_code, report->reason, {}, report->json};
  if (report->verdict == "refuted") return Rejected{evidence};
  // Below the reference's precision is the candidate's own doing: the gate
  // turns it away.
  if (report->reason_code == "precision") return Rejected{evidence};
  if (report->verdict == "undecided") return Undecided{reason_of(report->reason_code), evidence};
  return Proved{std::move(candidate), report->proof};
}

}  // namespace lathe::verifier_node
