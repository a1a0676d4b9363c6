// Whether blocks end at all: a loop without end is told by the bits domain, in which as many warp
// instructions take moments as take minutes with numbers.

#include <algorithm>

#include "verifier_node/verifier.h"

namespace lathe::verifier_node {
namespace {

/// Whatever the reference takes, a block may take as many warp instructions, or so many times as
/// many.
constexpr std::uint64_t steps_floor = 4'000'000, steps_factor = 50;

/// Whether anything is carried out twice.
bool goes_back(const ptx::Program& program) {
  for (std::uint32_t i = 0; i < program.operations.size(); ++i) {
    const ptx::Operation& op = program.operations[i];
    if (op.effect == ptx::Effect::branch && op.target <= i) return true;
  }
  return false;
}

}  // namespace

/// The candidate's first block beside blocks of the reference, where no limit was given.
Result<Done> Verifier::check_end() {
  if (options_->steps_max != 0 || !goes_back(sides_.candidate.program)) return Done{};
  if (Result<Done> ready = replay_.use_inputs(InputClass::declared, 1); !ready)
    return ready.error();
  std::uint64_t block = candidate_range_.begin;
  auto ends = [&](std::uint64_t limit) {
    Replayed run =
        replay_.run(Side::candidate, {block}, ptx::AsyncSchedule::at_issue, false, limit);
    return !run.trap || run.trap->kind != ptx::TrapKind::exhausted;
  };
  if (ends(steps_floor)) return Done{};
  std::uint64_t most = 0;
  for (std::uint64_t each : sampled_blocks(3).reference_blocks) {
    Replayed run =
        replay_.run(Side::reference, {each}, ptx::AsyncSchedule::at_issue, false, steps_most);
    if (run.trap) return Done{};
    most = std::max(most, run.steps);
  }
  std::uint64_t fewer =
      1 + sides_.reference.launch.blocks() / std::max<std::uint64_t>(1, candidate_range_.size());
  std::uint64_t limit = std::min(steps_most, steps_floor + steps_factor * fewer * most);
  if (limit == steps_most || ends(limit)) return Done{};
  undecided("exhausted",
            "block " + std::to_string(block) + " has not ended after " + std::to_string(limit) +
                " warp instructions, where the reference's take " + std::to_string(most) +
                ": is there a loop without end? --steps allows as many as it says");
  return Done{};
}

/// What the limit would have had to be, by a run in the bits domain.
Result<std::string> Verifier::needed_steps(const StoppedBlock& stopped) {
  constexpr std::uint64_t times_max = 64;
  if (options_->steps_max == 0) return "; --steps allows more than " + std::to_string(steps_most);
  std::uint64_t limit = times_max * options_->steps_max;
  Result<Done> ready = replay_.use_inputs(InputClass::declared, 1);
  if (!ready) return ready.error();
  Replayed run =
      replay_.run(stopped.side, {stopped.block}, ptx::AsyncSchedule::at_issue, false, limit);
  if (run.trap)
    return "; " + std::to_string(times_max) + " times as many, --steps " + std::to_string(limit) +
           ", do not suffice either";
  return "; the block takes " + std::to_string(run.steps) + " warp instructions: --steps " +
         std::to_string(run.steps + run.steps / 8 + 1);
}

}  // namespace lathe::verifier_node
