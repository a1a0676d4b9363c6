// lathe doctor: what is there on this machine, what is not, and where each setting came from.

#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/json.h"
#include "cli/exit_status.h"
#include "cli/settings.h"
#include "cli/store_place.h"
#include "cli/subcommand.h"
#include "cli/version.h"
#include "gpu_node/gpu_node.h"

namespace lathe::cli {
namespace {

namespace fs = std::filesystem;

Json assemblers() {
  Json list = Json::array();
  for (const gpu_node::Assembler& one : gpu_node::find_assemblers())
    list.push_back({{"program", one.program.string()},
                    {"version", one.version},
                    {"ptx_isa_max", one.ptx_isa_max}});
  return list;
}

/// The nearest folder that exists: where the store would be made.
fs::path standing_part(fs::path path) {
  std::error_code code;
  path = fs::absolute(path, code);
  while (!path.empty() && path != path.parent_path() && !fs::exists(path, code))
    path = path.parent_path();
  return path;
}

Json store_folder() {
  fs::path place = store_place(""), standing = standing_part(place);
  std::error_code code;
  Json json;
  json["folder"] = place.string();
  json["exists"] = fs::exists(place, code);
  json["writable"] = ::access(standing.c_str(), W_OK) == 0;
  struct statvfs room {};
  if (::statvfs(standing.c_str(), &room) == 0)
    json["free_bytes"] = std::uint64_t{room.f_bavail} * room.f_frsize;
  return json;
}

Json processor() {
  Json json;
  json["engine"] = processor_variant();
  json["cores"] = std::thread::hardware_concurrency();
  return json;
}

/// The driver answers through this file on every Linux that has it.
Json device() {
  std::error_code code;
  bool driver = fs::exists("/proc/driver/nvidia/version", code);
  Json json;
  json["gpu_driver"] = driver;
  json["used"] = "emulated";
  return json;
}

/// The bridge makes it in steps, and writes down last that it is whole.
Json triton() {
  const fs::path folder = ".venv-triton";
  std::error_code code;
  Json json;
  json["environment"] = folder.string();
  json["exists"] = fs::exists(folder, code);
  json["whole"] = fs::exists(folder / "complete", code) && fs::exists(folder / "bin/python", code);
  return json;
}

Json examine(const CLI::App& root) {
  Json json;
  json["schema"] = "lathe/doctor/1";
  json["version"] = version_text();
  json["assemblers"] = assemblers();
  json["processor"] = processor();
  json["device"] = device();
  json["store"] = store_folder();
  json["triton"] = triton();
  auto file = settings_file();
  if (file) json["settings_file"] = file->string();
  json["settings"] = Json::array();
  for (const Setting& setting : current_settings(root))
    json["settings"].push_back(
        {{"name", setting.name}, {"value", setting.value}, {"from", setting.origin}});
  json["ready"] = !json["assemblers"].empty() && json["store"]["writable"].get<bool>();
  return json;
}

std::string word(const Json& json) { return json.get<std::string>(); }

void print(const Json& json) {
  std::printf("%s\n", word(json["version"]).c_str());
  for (const Json& one : json["assemblers"])
    std::printf("assembler  ptxas %s, PTX up to %s (%s)\n", word(one["version"]).c_str(),
                word(one["ptx_isa_max"]).c_str(), word(one["program"]).c_str());
  if (json["assemblers"].empty())
    std::printf(
        "assembler  none: install a CUDA toolkit, set LATHE_PTXAS, or run ./check, which takes "
        "one from the Python registry\n");
  std::printf("processor  %u cores, engine %s\n", json["processor"]["cores"].get<unsigned>(),
              word(json["processor"]["engine"]).c_str());
  std::printf("device     %s%s\n", word(json["device"]["used"]).c_str(),
              json["device"]["gpu_driver"].get<bool>() ? "; a GPU driver is there, but not used yet"
                                                       : "; no GPU driver");
  const Json& store = json["store"];
  std::printf("store      %s%s%s", word(store["folder"]).c_str(),
              store["exists"].get<bool>() ? "" : " (not there yet)",
              store["writable"].get<bool>() ? "" : ", NOT WRITABLE");
  if (store.contains("free_bytes"))
    std::printf(", %.1f GB free",
                static_cast<double>(store["free_bytes"].get<std::uint64_t>()) / 1e9);
  const Json& triton = json["triton"];
  std::printf("\ntriton     %s: %s\n", word(triton["environment"]).c_str(),
              triton["whole"].get<bool>() ? "there"
              : triton["exists"].get<bool>()
                  ? "half made; `python -m lathe_triton export` makes it whole when asked for"
                  : "not there; `python -m lathe_triton export` makes it when asked for");
  if (json["settings"].empty()) std::printf("settings   none but the defaults\n");
  for (const Json& one : json["settings"])
    std::printf("setting    %s = %s (from %s)\n", word(one["name"]).c_str(),
                word(one["value"]).c_str(), word(one["from"]).c_str());
}

}  // namespace

Body declare_doctor(App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "one JSON document on standard output");
  CLI::App* root = app.program();
  return [json, root] {
    Json found = examine(*root);
    if (*json)
      std::printf("%s\n", found.dump(2).c_str());
    else
      print(found);
    return static_cast<int>(found["ready"].get<bool>() ? exit_done : exit_unavailable);
  };
}

}  // namespace lathe::cli
