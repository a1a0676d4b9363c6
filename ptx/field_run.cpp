// The machine over the field domain, watched by the order observer or by nobody.

#include "ptx/field_run.h"

#include <algorithm>

#include "ptx/machine.h"

namespace lathe::ptx {

template <>
const Rules<field::Field>& rules_of<field::Field>();

}  // namespace lathe::ptx

namespace lathe::ptx::field {
namespace {

/// Tells the arithmetic where it is, for what it notes.
struct Unwatched : NoObserver {
  Field* field = nullptr;
  void on_issue(std::uint32_t, std::uint32_t instruction, Mask) {
    field->arithmetic().set_instruction(instruction);
  }
};

std::vector<bool> writable(const std::vector<Buffer>& buffers) {
  std::vector<bool> out;
  for (const Buffer& buffer : buffers) out.push_back(buffer.writable);
  return out;
}

struct Watched : OrderObserver {
  explicit Watched(const std::vector<Buffer>& buffers) : OrderObserver(writable(buffers), false) {}
  Field* field = nullptr;
  void on_issue(std::uint32_t warp, std::uint32_t instruction, Mask active) {
    field->arithmetic().set_instruction(instruction);
    OrderObserver::on_issue(warp, instruction, active);
  }
};

}  // namespace

struct FieldRunner::State {
  State(std::shared_ptr<const Point> point, FieldLaunch given)
      : launch(std::move(given)),
        field(std::move(point)),
        run{*launch.program,
            launch.shape,
            launch.buffers,
            std::as_bytes(std::span(launch.parameters)),
            1024,
            launch.schedule,
            launch.steps_max,
            0},
        watched(launch.buffers),
        plain_machine(field, unwatched, run),
        ordered_machine(field, watched, run) {
    unwatched.field = &field;
    watched.field = &field;
  }

  FieldLaunch launch;
  Field field;
  Run run;
  Unwatched unwatched;
  Watched watched;
  Machine<Field, Unwatched> plain_machine;
  Machine<Field, Watched> ordered_machine;
};

FieldRunner::FieldRunner(std::shared_ptr<const Point> point, FieldLaunch launch)
    : state_(std::make_unique<State>(std::move(point), std::move(launch))) {}
FieldRunner::~FieldRunner() = default;

FieldRunner::Outcome FieldRunner::run(std::uint64_t block) {
  State& s = *state_;
  Outcome outcome;
  s.field.forget();
  outcome.trap =
      s.launch.watch_order ? s.ordered_machine.run_block(block) : s.plain_machine.run_block(block);
  outcome.written = s.field.finish_block();
  if (!outcome.trap && s.field.complaint() != nullptr) {
    Trap trap;
    trap.kind = TrapKind::undecided;
    trap.block = block;
    trap.what = s.field.complaint()->what;
    outcome.trap = trap;
  }
  return outcome;
}

Summary& FieldRunner::summary() { return state_->field.arithmetic().summary(); }

std::vector<std::uint32_t> FieldRunner::literals() const { return state_->field.literals(); }

const OrderObserver* FieldRunner::order() const {
  return state_->launch.watch_order ? &state_->watched : nullptr;
}

std::uint64_t FieldRunner::steps() const {
  return state_->plain_machine.steps() + state_->ordered_machine.steps();
}

std::uint64_t FieldRunner::peak_numbers() const { return state_->field.peak_numbers(); }

}  // namespace lathe::ptx::field
