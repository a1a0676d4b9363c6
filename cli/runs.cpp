// lathe runs: what runs a store holds, the newest first.

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/store_place.h"
#include "cli/subcommand.h"
#include "store/owner.h"

namespace lathe::cli {
namespace {

/// The run that the store's owner carries out, if it does that: the newest, unless `lathe resume`
/// was given another's number. A run that has not ended and is not this one was interrupted.
std::uint64_t carried_run(const std::optional<std::string>& owner, std::uint64_t newest) {
  constexpr std::string_view resume = "lathe resume ";
  if (!owner) return 0;
  if (owner->starts_with(resume)) {
    std::uint64_t number = std::strtoull(owner->c_str() + resume.size(), nullptr, 10);
    return number != 0 ? number : newest;
  }
  return owner->starts_with("lathe lower") ? newest : 0;
}

const char* name_of(store::RunState state, bool carried) {
  switch (state) {
    case store::RunState::running:
      return carried ? "running" : "interrupted";
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
  if (!store) return complain(store.error(), form_of(as_json));
  auto rows = (*store)->rows<store::RunKey>();
  if (!rows) return complain(rows.error(), form_of(as_json));
  std::uint64_t newest = rows->empty() ? 0 : rows->front().first.run.number;
  std::uint64_t carried = carried_run(store::owner_of((*store)->path()), newest);
  Json json;
  json["schema"] = "lathe/runs/1";
  json["runs"] = Json::array();
  for (const auto& [key, record] : *rows) {
    Json one;
    one["run"] = key.run.number;
    const char* state = name_of(record.state, key.run.number == carried);
    one["state"] = state;
    for (const Digest& contract : record.contracts) one["contracts"].push_back(hex(contract));
    if (!record.outcome.empty()) one["outcome"] = record.outcome;
    json["runs"].push_back(one);
    if (!as_json)
      std::printf("run %llu  %s  %zu contract(s)  %s\n",
                  static_cast<unsigned long long>(key.run.number), state, record.contracts.size(),
                  record.outcome.c_str());
  }
  if (as_json) std::printf("%s\n", json.dump(2).c_str());
  if (!as_json && rows->empty())
    std::fprintf(stderr, "lathe: the store %s holds no run; lathe lower begins one\n",
                 (*store)->path().c_str());
  return exit_done;
}

}  // namespace

Body declare_runs(App& app) {
  auto place = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  app.add_option("--store", *place, "folder of the store");
  app.add_flag("--json", *json, "one JSON document on standard output");
  return [place, json] { return run(*place, *json); };
}

}  // namespace lathe::cli
