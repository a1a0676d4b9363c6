// The two entries: `lathe verify`, and the gate.

#include "verifier_node/verify.h"

#include "base/digest.h"
#include "verifier_node/verifier.h"

namespace lathe::verifier_node {

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
