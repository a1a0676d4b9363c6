// A winner as `python -m lathe_triton run` reads it: everything that its guards ask for.

#include "base/files.h"
#include "base/json.h"
#include "cli/deployment.h"
#include "pipeline/figures.h"

namespace lathe::cli {
namespace {

Json json_of(const Launch& launch) {
  return {{"grid", launch.grid},       {"block", launch.block},
          {"cluster", launch.cluster}, {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
          {"pdl", launch.pdl},         {"cooperative", launch.cooperative}};
}

Json json_of(const Values& values) {
  if (std::holds_alternative<Values::Normal>(values.kind)) return "normal";
  if (std::holds_alternative<Values::AnyBits>(values.kind)) return "bits";
  if (const auto* file = std::get_if<Values::File>(&values.kind))
    return {{"file", file->path},
            {"sha256", hex(sha256(file->bytes == nullptr ? "" : *file->bytes))}};
  return "restricted";  // A range, a permutation, ..: not to be seen at a launch.
}

/// What one launch must agree with: the contract's own, or a case's.
Json shape_of(const Launch& launch, const std::vector<Parameter>& parameters,
              const std::vector<Tensor>& tensors) {
  Json json;
  json["launch"] = json_of(launch);
  json["parameters"] = Json::array();
  for (const Parameter& parameter : parameters) {
    Json one{{"name", parameter.name}, {"type", name_of(parameter.type)}};
    if (parameter.map)
      one["map"] = tensors[*parameter.tensor].name;  // Such a launch is left to Triton.
    else if (parameter.tensor)
      one["tensor"] = tensors[*parameter.tensor].name;
    else
      one["bits"] = std::to_string(parameter.bits);
    json["parameters"].push_back(std::move(one));
  }
  json["tensors"] = Json::array();
  for (const Tensor& tensor : tensors) {
    Json one{{"name", tensor.name},          {"dtype", name_of(tensor.dtype)},
             {"shape", tensor.shape},        {"strides", tensor.strides},
             {"role", name_of(tensor.role)}, {"align_bytes", tensor.align}};
    if (tensor.role == Role::input || tensor.role == Role::inout)
      one["values"] = json_of(tensor.values);
    json["tensors"].push_back(std::move(one));
  }
  return json;
}

Json json_of(const Deployment& deployment) {
  const Contract& contract = deployment.contract();
  Json json;
  json["schema"] = "lathe/winner/1";
  json["contract"] = hex(contract.identity());
  json["name"] = contract.name;
  json["entry"] = contract.entry;
  json["target"] = contract.target;
  json["candidate"] = hex(deployment.assembled.candidate);
  json["proved"] = deployment.proved;
  json["assembler"] = deployment.assembled.assembler;
  json["cubin_sha256"] = hex(sha256(deployment.assembled.cubin));
  json["reference_sha256"] = hex(sha256(contract.reference));
  if (deployment.timing) json["timing"] = Json::parse(figures(*deployment.timing));
  if (deployment.proof) json["proof"] = Json::parse(figures(*deployment.proof));
  json["shapes"] = Json::array();
  json["shapes"].push_back(shape_of(contract.launch, contract.parameters, contract.tensors));
  for (const Case& each : contract.cases)
    json["shapes"].push_back(shape_of(each.launch, each.parameters, each.tensors));
  return json;
}

Result<Done> write_one(const Deployment& deployment, const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  const Contract& contract = deployment.contract();
  auto done = write_file(folder / "winner.json", json_of(deployment).dump(1) + "\n");
  if (done) done = write_file(folder / "winner.cubin", deployment.assembled.cubin);
  if (done) done = write_file(folder / "winner.ptx", deployment.assembled.ptx);
  if (done) done = write_file(folder / "reference.ptx", contract.reference);
  if (done) done = write_file(folder / "contract.toml", print_contract(contract));
  for (const Tensor& tensor : contract.tensors)
    if (const auto* file = std::get_if<Values::File>(&tensor.values.kind))
      if (done && file->bytes != nullptr) done = write_file(folder / file->path, *file->bytes);
  return done;
}

}  // namespace

Result<Done> write_winners(const Chosen& chosen, const std::filesystem::path& folder) {
  return write_directory(folder, [&](const std::filesystem::path& aside) -> Result<Done> {
    for (const Deployment& deployment : chosen.deployments)
      if (auto done = write_one(deployment, aside / deployment.folder()); !done) return done;
    return Done{};
  });
}

}  // namespace lathe::cli
