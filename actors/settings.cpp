#include "actors/settings.h"

#include <cstdlib>

#include "base/digest.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/json.h"

namespace lathe::actors {

std::string engine_version() { return "lathe 0.1.0"; }

Result<std::string> model_without_paths(const std::string& model) {
  std::string kind = model.substr(0, model.find(':'));
  if (kind == "recorded") {
    Result<std::string> transcript =
        read_text(model.substr(std::min(model.size(), kind.size() + 1)));
    if (!transcript) return transcript.error();
    return kind + ":" + hex(sha256(*transcript));
  }
  return kind == "command" || kind == "folder" ? kind : model;
}

std::string print(const RunSettings& settings) {
  Json json;
  json["rounds"] = settings.rounds;
  json["branches"] = settings.branches;
  json["policy"] = static_cast<unsigned>(settings.policy);
  json["seed"] = settings.seed;
  json["model"] = settings.model;
  json["budget_micro"] = settings.budget_micro;
  json["assembler"] = settings.assembler;
  json["engine"] = settings.engine;
  return json.dump();
}

Result<RunSettings> read_settings(const std::string& text) {
  try {
    Json json = Json::parse(text);
    RunSettings settings;
    settings.rounds = json.at("rounds");
    settings.branches = json.at("branches");
    settings.policy = static_cast<Policy>(json.at("policy").get<unsigned>());
    settings.seed = json.at("seed");
    settings.model = json.at("model");
    settings.budget_micro = json.at("budget_micro");
    settings.assembler = json.at("assembler");
    settings.engine = json.at("engine");
    return settings;
  } catch (const std::exception& exception) {
    return Error{Fault::malformed,
                 std::string("the run's settings do not read: ") + exception.what(),
                 "the store was written by another version",
                 {}};
  }
}

std::string print_local(const std::string& model) { return Json{{"model", model}}.dump(); }

std::string read_local_model(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_object() ? json.value("model", "none") : "none";
}

Result<std::unique_ptr<store::Store>> open_store(const std::filesystem::path& place,
                                                 const std::string& program) {
  store::StoreOptions options;
  options.program = program;
  // A test fills a small disk; everybody else keeps the store's own margin.
  if (auto margin = environment_variable("LATHE_STORE_FREE_BYTES_MIN"))
    options.free_bytes_min = std::strtoull(margin->c_str(), nullptr, 10);
  return store::Store::open(place, options);
}

Result<FoundRun> find_run(const store::Store& store, std::optional<std::uint64_t> number) {
  if (!number) {
    auto newest = store.newest_run();
    if (!newest) return newest.error();
    if (*newest) return FoundRun{(*newest)->first, (*newest)->second};
  } else {
    auto record = store.get(store::RunKey{store::Descending{*number}});
    if (!record) return record.error();
    if (*record) return FoundRun{*number, **record};
  }
  return Error{Fault::malformed,
               number ? "the store has no run " + std::to_string(*number) : "the store has no run",
               "start one with lathe lower",
               {store.path().string(), 0, 0}};
}

}  // namespace lathe::actors
