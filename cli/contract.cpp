// lathe contract: check a contract's directory, or show what it says.

#include <cstdio>
#include <filesystem>

#include "base/json.h"
#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/subcommand.h"
#include "gpu_node/gpu_node.h"
#include "pipeline/admission.h"

namespace lathe::cli {
namespace {

struct Options {
  std::vector<std::string> directories;
  bool json = false;
};

Json json_of(const Launch& launch) {
  Json json;
  json["grid"] = launch.grid;
  json["block"] = launch.block;
  json["cluster"] = launch.cluster;
  json["dynamic_shared_bytes"] = launch.dynamic_shared_bytes;
  json["pdl"] = launch.pdl;
  json["cooperative"] = launch.cooperative;
  json["allow"] = launch.allow;
  return json;
}

Json json_of(const Contract& contract, const Parameter& parameter) {
  Json json;
  json["name"] = parameter.name;
  json["type"] = name_of(parameter.type);
  json["size_bytes"] = parameter.map ? HostMap::bytes : bytes_of(parameter.type);
  if (parameter.map) {
    Json map = Json::object();
    map["box"] = parameter.map->box;
    map["swizzle"] = parameter.map->swizzle;
    json["tensormap"] = map;
  }
  if (parameter.tensor)
    json["tensor"] = contract.tensors[*parameter.tensor].name;
  else
    json["bits"] = parameter.bits;
  return json;
}

Json json_of(const Tensor& tensor) {
  Json json;
  json["name"] = tensor.name;
  json["dtype"] = name_of(tensor.dtype);
  json["shape"] = tensor.shape;
  json["strides"] = tensor.strides;
  json["role"] = name_of(tensor.role);
  json["align_bytes"] = tensor.align;
  json["span_bytes"] = tensor.span_bytes();
  return json;
}

Json json_of(const Contract& contract) {
  Json json;
  json["schema"] = "lathe/contract/1";
  json["identity"] = hex(contract.identity());
  json["name"] = contract.name;
  json["entry"] = contract.entry;
  json["target"] = contract.target;
  json["ptx_isa"] = contract.ptx_isa;
  json["launch"] = json_of(contract.launch);
  json["parameters"] = Json::array();
  for (const Parameter& parameter : contract.parameters)
    json["parameters"].push_back(json_of(contract, parameter));
  json["tensors"] = Json::array();
  for (const Tensor& tensor : contract.tensors) json["tensors"].push_back(json_of(tensor));
  json["tolerance"] = {{"absolute", contract.tolerance.absolute},
                       {"relative", contract.tolerance.relative},
                       {"error_factor", contract.tolerance.error_factor}};
  json["constants"] = Json::object();
  for (const auto& [key, value] : contract.constants) json["constants"][key] = value;
  json["cases"] = Json::array();
  for (const Case& each : contract.cases) json["cases"].push_back(each.name);
  json["reference"] = {{"sha256", hex(sha256(contract.reference))},
                       {"bytes", contract.reference.size()}};
  json["toml"] = print_contract(contract);
  return json;
}

Json json_of(const Error& error) {
  Json json;
  json["file"] = error.place.file;
  if (error.place.line != 0) json["line"] = error.place.line;
  if (error.place.column != 0) json["column"] = error.place.column;
  json["what"] = error.what;
  if (!error.remedy.empty()) json["help"] = error.remedy;
  return json;
}

/// Runs the reference's edges. Where it breaks a rule the contract does not hold; where that cannot
/// be told, the reason comes back.
std::string try_it(Opened& opened, const std::string& directory) {
  if (opened.contract == nullptr) return {};
  Result<Done> tried = gpu_node::try_reference(opened.contract, {});
  if (tried) return {};
  Error error = tried.error();
  if (error.fault != Fault::malformed) return error.what;
  error.place.file = (std::filesystem::path(directory) / error.place.file).string();
  opened = {nullptr, {std::move(error)}};
  return {};
}

int check(const Options& options) {
  int status = exit_done;
  Json json;
  json["schema"] = "lathe/contract-check/1";
  json["contracts"] = Json::array();
  for (const std::string& directory : options.directories) {
    Opened opened = open_contract(directory);
    std::string untried = try_it(opened, directory);
    Json one;
    one["directory"] = directory;
    one["holds"] = opened.contract != nullptr;
    if (opened.contract != nullptr) {
      one["identity"] = hex(opened.contract->identity());
      if (!options.json)
        std::printf("%s: %s, identity %s, target %s, %llu blocks of %u threads\n",
                    directory.c_str(), opened.contract->name.c_str(),
                    short_hex(opened.contract->identity()).c_str(), opened.contract->target.c_str(),
                    static_cast<unsigned long long>(opened.contract->launch.blocks()),
                    opened.contract->launch.threads());
      if (!untried.empty()) one["not_run"] = untried;
      if (!untried.empty() && !options.json)
        std::printf("  the reference was not run: %s\n", untried.c_str());
    }
    one["complaints"] = Json::array();
    for (const Error& error : opened.errors) one["complaints"].push_back(json_of(error));
    if (int own = complain(opened.errors); own != exit_done && status == exit_done) status = own;
    json["contracts"].push_back(std::move(one));
  }
  if (options.json) std::printf("%s\n", json.dump(2).c_str());
  return status;
}

int show(const Options& options) {
  Opened opened = open_contract(options.directories.front());
  if (opened.contract == nullptr) return complain(opened.errors, form_of(options.json));
  if (options.json)
    std::printf("%s\n", json_of(*opened.contract).dump(2).c_str());
  else
    std::printf("# identity %s\n%s", short_hex(opened.contract->identity()).c_str(),
                print_contract(*opened.contract).c_str());
  return exit_done;
}

}  // namespace

Body declare_contract(App& app) {
  auto options = std::make_shared<Options>();
  app.require_subcommand();
  App* checks = app.add_subcommand("check", "whether a contract can mean anything",
                                   "lathe contract check suite/contracts/sum_fp16_sm_90a");
  checks->add_option("directories", options->directories, "contract directories").required();
  App* shows = app.add_subcommand("show", "its canonical text and identity",
                                  "lathe contract show suite/contracts/sum_fp16_sm_90a");
  shows->add_option("directory", options->directories, "contract directory").required().expected(1);
  for (App* one : {checks, shows})
    one->add_flag("--json", options->json, "one JSON document on standard output");
  return [options, checks] { return checks->parsed() ? check(*options) : show(*options); };
}

}  // namespace lathe::cli
