#include "cli/ptx_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <optional>

#include "base/digest.h"
#include "base/files.h"
#include "cli/complaint.h"
#include "cli/document.h"
#include "cli/exit_status.h"
#include "cli/input_file.h"
#include "cli/waiting.h"
#include "gpu_node/emulator.h"
#include "pipeline/admission.h"
#include "ptx/module.h"
#include "ptx/program.h"
#include "ptx/trap_place.h"

namespace lathe::cli {
namespace {

std::optional<InputClass> class_named(const Contract& contract, const std::string& name) {
  for (InputClass each : input_classes(contract))
    if (name_of(each) == name) return each;
  return std::nullopt;
}

Result<ptx::Program> program_of(const std::string& file, const Contract& contract,
                                std::vector<Error>& errors) {
  Result<std::string> text = read_input(file);
  if (!text) return text.error();
  ptx::Parsed parsed = ptx::parse(*std::move(text), file);
  errors = parsed.errors;
  if (!errors.empty()) return errors[0];
  return ptx::decode(parsed.module, contract.entry);
}

/// A trap is a definite no, but where the machine does not model something.
int say_trap(const ptx::Trap& trap, const gpu_node::EmulatedDevice& device,
             const ptx::Program& program, const std::string& file, Form form) {
  bool exhausted = trap.kind == ptx::TrapKind::exhausted;
  bool unsure = trap.kind == ptx::TrapKind::unsupported || exhausted;
  Error error{unsure ? Fault::unsupported : Fault::malformed,
              std::string(ptx::name_of(trap.kind)) + ": " +
                  ptx::sentence(trap, program, device.shape(), device.buffers()) + " (block " +
                  std::to_string(trap.block) + ", thread " + std::to_string(trap.thread) + ")",
              exhausted ? "is there a loop without end? --steps allows more" : "",
              {file, trap.line, trap.column}};
  return complain_with(unsure ? exit_undecided : exit_no, error, form);
}

/// What a launch left of one tensor, with its first elements as numbers.
Json tensor_json(const Tensor& tensor, const gpu_node::HostMemory& bytes,
                 const gpu_node::HostMemory& written) {
  std::string_view marks = written.view();
  std::size_t width = std::max<std::size_t>(1, bits_of(tensor.dtype) / 8);
  Json json;
  json["tensor"] = tensor.name;
  json["bytes"] = bytes.size();
  json["written_bytes"] = std::count_if(marks.begin(), marks.end(), [](char c) { return c != 0; });
  json["sha256"] = hex(sha256(bytes.view()));
  json["first"] = Json::array();
  for (std::uint64_t i = 0; i < 4 && (i + 1) * width <= bytes.size(); ++i)
    if (marks.size() > i * width && marks[i * width] != 0)
      json["first"].push_back(element_at(tensor.dtype, bytes.view(), i));
  return json;
}

Result<Done> keep(const std::string& folder, const std::string& name, std::string_view bytes) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code)
    return Error{Fault::unavailable, "`" + folder + "` cannot be made", "", {}, Absent::file};
  return write_file(std::filesystem::path(folder) / (name + ".bin"), bytes);
}

gpu_node::LaunchOptions launch_of(const PtxRunOptions& options, const Contract& contract) {
  gpu_node::LaunchOptions launch;
  launch.steps_max = options.steps;
  if (options.blocks != 0) {
    launch.blocks = gpu_node::sample_blocks(contract.launch, options.blocks, options.seed);
  } else {
    launch.blocks.resize(contract.launch.blocks());
    std::iota(launch.blocks.begin(), launch.blocks.end(), std::uint64_t{0});
  }
  return launch;
}

/// What the launch left, as one document; outputs go to files where a folder is named.
Result<Json> results(const PtxRunOptions& options, const Contract& contract, std::size_t blocks,
                     const gpu_node::Launched& launched) {
  Json json;
  json["schema"] = "lathe/ptx-run/1";
  json["device"] = "emulated";
  json["blocks"] = blocks;
  json["blocks_total"] = contract.launch.blocks();
  json["warp_instructions"] = launched.steps;
  json["outputs"] = Json::array();
  for (std::size_t i = 0; i < contract.tensors.size(); ++i) {
    const Tensor& tensor = contract.tensors[i];
    if (tensor.role == Role::input) continue;
    json["outputs"].push_back(tensor_json(tensor, launched.outputs[i], launched.written[i]));
    if (options.out.empty()) continue;
    Result<Done> kept = keep(options.out, tensor.name, launched.outputs[i].view());
    if (!kept) return kept.error();
  }
  return json;
}

void print(const Json& json) {
  std::printf("%s of %s blocks on the emulated device, %s warp instructions\n",
              json["blocks"].dump().c_str(), json["blocks_total"].dump().c_str(),
              json["warp_instructions"].dump().c_str());
  for (const Json& output : json["outputs"])
    std::printf("%s: %s of %s bytes written, sha256 %s, begins %s\n",
                output["tensor"].get<std::string>().c_str(), output["written_bytes"].dump().c_str(),
                output["bytes"].dump().c_str(), output["sha256"].get<std::string>().c_str(),
                output["first"].dump().c_str());
}

}  // namespace

int run_ptx(const PtxRunOptions& options) {
  Form form = form_of(options.json);
  Opened opened = open_contract(options.contract);
  if (opened.contract == nullptr) return complain(opened.errors, form);
  const Contract& contract = *opened.contract;
  std::optional<InputClass> inputs = class_named(contract, options.inputs);
  if (!inputs)
    return complain_with(exit_usage,
                         Error{Fault::malformed,
                               "the contract has no inputs of class `" + options.inputs + "`",
                               "declared, zeros, cancellation, ..",
                               {}},
                         form);
  std::vector<Error> errors;
  Result<ptx::Program> program = program_of(options.file, contract, errors);
  if (!errors.empty()) return complain(errors, form);
  if (!program) return complain(program.error(), form);
  gpu_node::EmulatedDevice device(opened.contract, *inputs, options.seed);
  gpu_node::LaunchOptions launch = launch_of(options, contract);
  Waiting waiting(false);
  waiting.begin("run");
  Result<gpu_node::Launched> launched = device.launch(*program, launch);
  if (!launched) return waiting.clear(), complain(launched.error(), form);
  waiting.begin("");
  waiting.clear();
  if (launched->trap) return say_trap(*launched->trap, device, *program, options.file, form);
  Result<Json> json = results(options, contract, launch.blocks.size(), *launched);
  if (!json) return complain(json.error(), form);
  if (options.json) return print_document(*json);
  print(*json);
  return exit_done;
}

}  // namespace lathe::cli
