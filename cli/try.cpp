// lathe try: a person's own PTX through every gate, compared with the incumbent, admitted if it
// earns it.

#include <cstdio>

#include "actors/records.h"
#include "actors/trial.h"
#include "base/json.h"
#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/frontier_view.h"
#include "cli/store_place.h"
#include "cli/subcommand.h"
#include "cli/waiting.h"
#include "pipeline/figures.h"

namespace lathe::cli {
namespace {

struct Options {
  std::string candidate, contract, store;
  std::uint64_t seed = 0;
  bool json = false, quiet = false, difference = false;
};

std::string line_of(const Verdict& verdict, const std::string& file) {
  std::string text =
      std::string(name_of(verdict.gate)) + ": " + std::string(name_of(verdict.answer));
  if (verdict.answer == Verdict::Answer::passed) return text;
  text += ", " + verdict.evidence.code + ": " + verdict.evidence.reason;
  if (verdict.evidence.place.line != 0)
    text += " (" + file + ":" + std::to_string(verdict.evidence.place.line) + ":" +
            std::to_string(verdict.evidence.place.column) + ")";
  return text;
}

Json json_of(const actors::TrialEnd& end) {
  Json json;
  json["schema"] = "lathe/try/1";
  json["contract"] = hex(end.contract);
  json["candidate"] = hex(end.candidate);
  json["incumbent"] = hex(end.incumbent);
  json["incumbent_is_reference"] = end.incumbent_is_reference;
  json["verdicts"] = Json::array();
  for (const Verdict& verdict : end.verdicts)
    json["verdicts"].push_back(Json::parse(actors::verdict_line(end.candidate, verdict)));
  if (!end.resources_json.empty()) json["resources"] = Json::parse(end.resources_json);
  if (end.timing) json["timing"] = Json::parse(figures(*end.timing));
  if (end.proof) json["proof"] = Json::parse(figures(*end.proof));
  json["admitted"] = end.admitted;
  json["decision"] = end.decision;
  return json;
}

int status_of(const actors::TrialEnd& end) {
  Verdict::Answer last = end.verdicts.back().answer;
  if (last == Verdict::Answer::rejected) return exit_no;
  if (last == Verdict::Answer::undecided) return exit_undecided;
  return end.admitted ? exit_done : exit_no;
}

int run(const Options& options) {
  Waiting waiting(options.quiet);
  actors::TrialRequest request{options.candidate == "-" ? "/dev/stdin" : options.candidate,
                               options.contract,
                               store_place(options.store),
                               options.seed,
                               actors::child_runner(std::chrono::seconds(3600), 0),
                               [&](Gate gate) { waiting.begin(std::string(name_of(gate))); },
                               {}};
  if (!options.json)
    request.tell = [&](const Verdict& verdict) {
      waiting.clear();
      std::printf("%s\n", line_of(verdict, options.candidate).c_str());
      std::fflush(stdout);
    };
  Result<actors::TrialEnd> end = actors::try_candidate(request);
  waiting.begin("");
  waiting.clear();
  if (!end) return complain(end.error(), form_of(options.json));
  if (!options.quiet)
    std::fprintf(stderr, "lathe: kept in the store %s\n", store_place(options.store).c_str());
  if (options.json) {
    std::printf("%s\n", json_of(*end).dump(2).c_str());
    return status_of(*end);
  }
  if (options.difference) std::printf("%s", end->difference.c_str());
  if (!end->resources_json.empty()) std::printf("resources: %s\n", end->resources_json.c_str());
  if (end->timing)
    std::printf("time: %s on %s (reference %s, incumbent %s); bound by %s; %s\n",
                time_text(end->timing->time_ns).c_str(), end->timing->device.c_str(),
                time_text(end->timing->baseline_ns).c_str(),
                time_text(end->timing->incumbent_ns).c_str(), end->timing->bound_by.c_str(),
                end->timing->reason.c_str());
  std::printf("%s\n", end->decision.c_str());
  return status_of(*end);
}

}  // namespace

Body declare_try(App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("file", options->candidate, "the candidate's PTX, or - for standard input")
      .required();
  app.add_option("--contract", options->contract, "contract directory").required();
  app.add_option("--store", options->store, "folder of the store");
  app.add_option("--seed", options->seed, "of inputs and points");
  app.add_flag("--diff", options->difference, "print the difference from the incumbent");
  app.add_flag("--quiet", options->quiet, "no progress");
  app.add_flag("--json", options->json, "one JSON document on standard output");
  return [options] { return run(*options); };
}

}  // namespace lathe::cli
