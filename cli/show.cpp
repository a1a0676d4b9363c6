// lathe show: one candidate: where it came from, what each gate said, its figures and its
// difference from its parent.

#include <cstdio>

#include "actors/records.h"
#include "base/json.h"
#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/found_candidate.h"
#include "cli/frontier_view.h"
#include "cli/store_place.h"
#include "cli/subcommand.h"
#include "pipeline/codec.h"
#include "ptx/patch.h"

namespace lathe::cli {
namespace {

struct Options {
  std::string candidate, store;
  bool json = false, ptx = false;
};

struct Found : FoundCandidate {
  std::string parent_ptx;
  std::vector<Verdict> verdicts;
};

Result<Found> find(const store::Store& store, const std::string& digits) {
  Result<FoundCandidate> candidate = find_candidate(store, digits);
  if (!candidate) return candidate.error();
  Found found{*std::move(candidate), {}, {}};
  auto parent = store.get(store::CandidateKey{found.key.contract, found.record.parent});
  if (parent && *parent) {
    if (Result<std::string> text = store.blob((*parent)->ptx)) found.parent_ptx = *std::move(text);
  } else if (Result<Contract> contract = store::kept_contract(store, found.key.contract)) {
    found.parent_ptx = contract->reference;
  }
  auto rows = store.rows<store::VerdictKey>(
      store::prefix<store::VerdictKey>(found.key.contract, found.key.candidate));
  if (!rows) return rows.error();
  for (const auto& [key, record] : *rows) {
    Result<Verdict> verdict = decode_verdict(record.verdict);
    if (!verdict) return verdict.error();
    found.verdicts.push_back(*std::move(verdict));
  }
  return found;
}

Json json_of(const Found& found) {
  Json json;
  json["schema"] = "lathe/candidate/1";
  json["candidate"] = hex(found.key.candidate);
  json["contract"] = hex(found.key.contract);
  json["family"] = found.record.family;
  json["subagent"] = found.record.subagent;
  json["explanation"] = found.record.explanation;
  json["round"] = found.record.round;
  json["branch"] = found.record.branch;
  if (!store::is_none(found.record.parent)) json["parent"] = hex(found.record.parent);
  json["verdicts"] = Json::array();
  for (const Verdict& verdict : found.verdicts)
    json["verdicts"].push_back(Json::parse(actors::verdict_line(found.key.candidate, verdict)));
  json["difference"] = ptx::diff(found.parent_ptx, found.ptx);
  return json;
}

void print_text(const Found& found) {
  const store::CandidateRecord& record = found.record;
  std::string origin = record.family;
  if (!record.subagent.empty())
    origin = "round " + std::to_string(record.round) + ", branch " + std::to_string(record.branch) +
             ", " + record.subagent + ", " + record.family;
  std::printf("candidate %s  (%s)\n%s\n", hex(found.key.candidate).c_str(), origin.c_str(),
              record.explanation.c_str());
  for (const Verdict& verdict : found.verdicts)
    std::printf("  %s: %s %s\n    %s\n", std::string(name_of(verdict.gate)).c_str(),
                std::string(name_of(verdict.answer)).c_str(),
                verdict.answer == Verdict::Answer::passed ? "" : verdict.evidence.reason.c_str(),
                verdict.evidence.json.c_str());
  std::printf("%s", ptx::diff(found.parent_ptx, found.ptx).c_str());
}

int run(const Options& options) {
  if (auto wrong = no_digits(options.candidate))
    return complain_with(exit_usage, *wrong, form_of(options.json));
  Result<std::unique_ptr<store::Store>> store = look_at_store(options.store);
  if (!store) return complain(store.error(), form_of(options.json));
  Result<Found> found = find(**store, options.candidate);
  if (!found) return complain(found.error(), form_of(options.json));
  if (options.ptx)
    std::fwrite(found->ptx.data(), 1, found->ptx.size(), stdout);
  else if (options.json)
    std::printf("%s\n", json_of(*found).dump(2).c_str());
  else
    print_text(*found);
  return std::fflush(stdout) == 0 ? exit_done : exit_io;
}

}  // namespace

Body declare_show(App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("candidate", options->candidate, "the first digits of its digest").required();
  app.add_option("--store", options->store, "folder of the store");
  app.add_flag("--ptx", options->ptx, "its PTX alone");
  app.add_flag("--json", options->json, "one JSON document on standard output");
  return [options] { return run(*options); };
}

}  // namespace lathe::cli
