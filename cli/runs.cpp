// lathe runs: what runs a store holds, the newest first.

#include <cstdio>

#include "base/json.h"
#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/store_place.h"
#include "cli/subcommand.h"

namespace lathe::cli {
namespace {

const char* name_of(store::RunState state) {
  switch (state) {
    case store::RunState::running:
      return "interrupted or running";
    case store::RunState::paused:
      return "paused";
    case store::RunState::stopped:
      return "stopped";
    case store::RunState::finished:
      return "finished";
  }
  return "unknown";
}

int run(const std::string& place, bool as_json) {
  Result<std::unique_ptr<store::Store>> store = look_at_store(place);
  if (!store) return complain(store.error());
  auto rows = (*store)->rows<store::RunKey>();
  if (!rows) return complain(rows.error());
  Json json;
  json["schema"] = "lathe/runs/1";
  json["runs"] = Json::array();
  for (const auto& [key, record] : *rows) {
    Json one;
    one["run"] = key.run.number;
    one["state"] = name_of(record.state);
    for (const Digest& contract : record.contracts) one["contracts"].push_back(hex(contract));
    if (!record.outcome.empty()) one["outcome"] = record.outcome;
    json["runs"].push_back(one);
    if (!as_json)
      std::printf("run %llu  %s  %zu contract(s)  %s\n",
                  static_cast<unsigned long long>(key.run.number), name_of(record.state),
                  record.contracts.size(), record.outcome.c_str());
  }
  if (as_json) std::printf("%s\n", json.dump(2).c_str());
  return exit_done;
}

}  // namespace

Body declare_runs(CLI::App& app) {
  auto place = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  app.add_option("--store", *place, "folder of the store");
  app.add_flag("--json", *json, "one JSON document on standard output");
  return [place, json] { return run(*place, *json); };
}

}  // namespace lathe::cli
