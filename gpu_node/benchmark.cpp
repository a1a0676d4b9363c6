// The benchmark gate on the emulated device: candidate, incumbent and baseline under one model.

#include <list>
#include <mutex>
#include <utility>

#include "base/json.h"
#include "gpu_node/assembler.h"
#include "gpu_node/emulator.h"
#include "gpu_node/measure.h"
#include "gpu_node/model.h"

namespace lathe::gpu_node {
namespace {

constexpr std::uint64_t blocks_counted_max = 16;

/// Estimates of a process: incumbent and baseline are asked for with every candidate.
class EstimateCache {
 public:
  std::optional<Estimate> find(const std::string& key) {
    std::scoped_lock lock(mutex_);
    for (const auto& [name, estimate] : entries_)
      if (name == key) return estimate;
    return {};
  }
  void keep(const std::string& key, const Estimate& estimate) {
    std::scoped_lock lock(mutex_);
    entries_.emplace_back(key, estimate);
    if (entries_.size() > 32) entries_.pop_front();
  }

 private:
  std::mutex mutex_;
  std::list<std::pair<std::string, Estimate>> entries_;
};

EstimateCache& estimates() {
  static EstimateCache cache;
  return cache;
}

Undecided undecided(Reason reason, const std::string& what, const std::string& json = "{}") {
  return {reason, {"benchmark", what, {}, json}};
}

Error trapped(const ptx::Trap& trap, const std::string& whose) {
  Fault fault = trap.kind == ptx::TrapKind::exhausted ? Fault::exhausted : Fault::unsupported;
  return {
      fault, whose + " cannot be counted: " + ptx::print(trap), "", {"", trap.line, trap.column}};
}

/// Assembles a kernel that is no candidate: only its resources are wanted.
Result<Resources> resources_of(const std::shared_ptr<const Contract>& contract,
                               const std::string& ptx, std::shared_ptr<const ptx::Module> module,
                               const Assembler& assembler, const Limits& limits,
                               const std::string& whose) {
  Screened screened;
  screened.contract = contract;
  screened.ptx = ptx;
  screened.module = std::move(module);
  Step<Assembled> step = assemble(std::move(screened), assembler, limits);
  if (const Assembled* assembled = step.passed()) return assembled->resources;
  if (step.error() != nullptr) return *step.error();
  const Evidence& evidence =
      step.rejected() != nullptr ? step.rejected()->evidence : step.undecided()->evidence;
  return Error{Fault::unsupported, whose + ": " + evidence.reason, "", evidence.place};
}

/// Tensor work that runs beside the warp that issued it. The machine carries it out at once, so
/// that the longest chain of a block says nothing of what such a kernel waits for.
std::optional<Error> untimed(const Measured& kernel) {
  const ptx::Function* entry = kernel.module->find_entry(kernel.contract->entry);
  if (entry == nullptr) return std::nullopt;
  for (const ptx::Instruction& instruction : entry->instructions)
    if (instruction.opcode == "wgmma" || instruction.opcode == "tcgen05")
      return Error{Fault::unsupported,
                   kernel.name + " cannot be timed: the model knows no asynchronous tensor work (" +
                       std::string(instruction.opcode) + ", line " +
                       std::to_string(instruction.span.line) + ")",
                   "",
                   {"", instruction.span.line, instruction.span.column}};
  return std::nullopt;
}

}  // namespace

Result<Estimate> measure(const Measured& kernel, const Limits& limits) {
  if (std::optional<Error> error = untimed(kernel)) return *error;
  const Contract& contract = *kernel.contract;
  std::optional<Rates> rates = rates_of(contract.target);
  std::optional<TargetLimits> target = limits_of(contract.target);
  if (!rates || !target)
    return Error{Fault::unsupported, "there is no model of " + contract.target, "", {}};
  Result<ptx::Program> program = ptx::decode(*kernel.module, contract.entry);
  if (!program) return program.error();
  EmulatedDevice device(kernel.contract, InputClass::declared, limits.seed, Alignment::allocated);
  LaunchOptions options;
  options.blocks =
      sample_blocks(contract.launch, std::min(limits.blocks_max, blocks_counted_max), limits.seed);
  options.steps_max = limits.steps_max;
  ptx::CostObserver cost(latencies());
  Result<Launched> launched = device.launch(*program, options, nullptr, &cost);
  if (!launched) return launched.error();
  if (launched->trap) return trapped(*launched->trap, kernel.name);
  gpu_node::Shape shape;
  shape.blocks = contract.launch.blocks();
  shape.threads = contract.launch.threads();
  shape.shared_bytes = contract.launch.dynamic_shared_bytes;
  if (kernel.resources.static_shared_bytes > 0)
    shape.shared_bytes += static_cast<std::uint64_t>(kernel.resources.static_shared_bytes);
  for (const Tensor& tensor : contract.tensors) shape.buffer_bytes.push_back(tensor.span_bytes());
  return estimate(*rates, *target, shape, cost.counters(), kernel.resources);
}

Result<Estimate> measure_text(const std::shared_ptr<const Contract>& contract,
                              const std::string& ptx, const std::string& name,
                              const Assembler& assembler, const Limits& limits) {
  std::string key =
      hex(contract->identity()) + hex(sha256(ptx)) + assembler.version + print(limits);
  if (std::optional<Estimate> known = estimates().find(key)) return *known;
  ptx::Parsed parsed = ptx::parse(ptx, name + ".ptx");
  if (!parsed.errors.empty()) return parsed.errors[0];
  auto module = std::make_shared<const ptx::Module>(std::move(parsed.module));
  Result<Resources> resources = resources_of(contract, ptx, module, assembler, limits, name);
  if (!resources) return resources.error();
  Result<Estimate> found = measure({contract, name, module, *resources}, limits);
  if (found) estimates().keep(key, *found);
  return found;
}

Step<Timed> benchmark(Tested candidate, const std::string& incumbent_ptx,
                      const Assembler& assembler, const Limits& limits) {
  auto refuse = [&](const Error& error) -> Step<Timed> {
    if (error.fault == Fault::unsupported) return undecided(Reason::unsupported, error.what);
    if (error.fault == Fault::exhausted) return undecided(Reason::exhausted, error.what);
    return error;
  };
  Result<Estimate> own =
      measure({candidate.contract, "the candidate", candidate.module, candidate.resources}, limits);
  if (!own) return refuse(own.error());
  Result<Estimate> incumbent =
      measure_text(candidate.contract, incumbent_ptx, "incumbent", assembler, limits);
  if (!incumbent) return refuse(incumbent.error());
  Result<Estimate> baseline = measure_text(candidate.contract, candidate.contract->reference,
                                           "baseline", assembler, limits);
  if (!baseline) return refuse(baseline.error());
  Timed timed{std::move(candidate), {}};
  Timing& timing = timed.timing;
  timing.device = std::string(rates_of(timed.contract->target)->device) + " (modelled)";
  timing.modelled = true;
  timing.time_ns = timing.low_ns = timing.high_ns = own->time_ns;
  timing.incumbent_ns = incumbent->time_ns;
  timing.baseline_ns = baseline->time_ns;
  timing.verdict = compare_times(own->time_ns, incumbent->time_ns);
  timing.bound_by = name_of(own->bound);
  timing.reason = explain(*own, *incumbent);
  timing.counters = figures_of(*own);
  return timed;
}

}  // namespace lathe::gpu_node
