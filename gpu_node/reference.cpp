// Whether a contract's reference runs on the contract's own tensors: its edges and a few blocks
// between are carried out, so that a grid which reaches beyond a tensor is seen at the door.

#include "gpu_node/emulator.h"
#include "ptx/trap_place.h"

namespace lathe::gpu_node {
namespace {

constexpr std::uint64_t blocks_tried_max = 8;

Error judged(const ptx::Trap& trap, const EmulatedDevice& device, const ptx::Program& program,
             const std::string& text) {
  TrapVerdict verdict = judge_trap(trap, device, program, text, "");
  bool shared = ptx::place_of(trap, program, device.shape(), device.buffers()).shared;
  Place place{"reference.ptx", trap.line, trap.column};
  std::string what = "the reference itself does not hold: " + verdict.evidence.reason;
  switch (verdict.answer) {
    case TrapVerdict::Answer::rejected:
      return {Fault::malformed, what,
              shared ? "make launch.dynamic_shared_bytes what the kernel was launched with"
                     : "make grid, shapes and strides those of one launch",
              place};
    case TrapVerdict::Answer::exhausted:
      return {Fault::exhausted, what, "", place};
    default:
      return {Fault::unsupported, what, "", place};
  }
}

Result<Done> try_one(const std::shared_ptr<const Contract>& contract, const ptx::Program& program,
                     const Limits& limits) {
  EmulatedDevice device(contract, InputClass::declared, limits.seed);
  Limits few = limits;
  few.blocks_max = std::min(limits.blocks_max, blocks_tried_max);
  Result<std::vector<std::uint64_t>> blocks = device.choose_blocks(program, few);
  if (!blocks) return blocks.error();
  LaunchOptions options{*blocks, ptx::AsyncSchedule::at_issue, limits.steps_max, {}};
  Result<Launched> launched = device.launch(program, options);
  if (!launched) return launched.error();
  if (launched->trap) return judged(*launched->trap, device, program, contract->reference);
  return Done{};
}

}  // namespace

Result<Done> try_reference(const std::shared_ptr<const Contract>& contract, const Limits& limits) {
  ptx::Parsed parsed = ptx::parse(contract->reference, "reference.ptx");
  if (!parsed.errors.empty()) return parsed.errors.front();
  Result<ptx::Program> program = ptx::decode(parsed.module, contract->entry);
  if (!program) return program.error();
  if (Result<Done> tried = try_one(contract, *program, limits); !tried) return tried;
  for (const Case& one : contract->cases) {
    auto shaped = std::make_shared<Contract>(*contract);
    shaped->launch = one.launch;
    shaped->parameters = one.parameters;
    shaped->tensors = one.tensors;
    shaped->cases.clear();
    Result<Done> tried = try_one(shaped, *program, limits);
    if (tried) continue;
    Error error = tried.error();
    error.what = "case " + one.name + ": " + error.what;
    return error;
  }
  return Done{};
}

}  // namespace lathe::gpu_node
