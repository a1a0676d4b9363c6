// The machine over the field domain, watched by the order observer or by nobody.

#include "ptx/field_run.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

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
  TurnOrder turns;
  std::size_t tickets = 0, left_reads = 0;  // Seen so far.

  void on_block(const Program& program, std::uint64_t block, std::uint32_t warps,
                std::uint32_t threads) {
    tickets = left_reads = 0;
    turns.begin(program, threads, field->is_last());
    OrderObserver::on_block(program, block, warps, threads);
  }
  void on_issue(std::uint32_t warp, std::uint32_t instruction, Mask active) {
    field->arithmetic().set_instruction(instruction);
    OrderObserver::on_issue(warp, instruction, active);
  }
  void on_access(const Access& access) {
    if (access.space == Space::global && access.kind == AccessKind::write) turns.on_write(access);
    if (field->tickets().size() != tickets) turns.on_ticket(access);
    if (field->left_reads().size() != left_reads) turns.on_read(access);
    tickets = field->tickets().size();
    left_reads = field->left_reads().size();
    OrderObserver::on_access(access);
  }
  void on_barrier_complete(unsigned id, std::span<const Mask> arrived,
                           std::span<const Mask> waiting) {
    turns.on_barrier_complete(arrived);
    OrderObserver::on_barrier_complete(id, arrived, waiting);
  }
  void on_fence(std::uint32_t warp, std::uint32_t instruction, Mask mask, char scope, Proxy proxy) {
    turns.on_fence(warp, mask, scope, proxy);
    OrderObserver::on_fence(warp, instruction, mask, scope, proxy);
  }
};

/// Names what the order observer would see of a block: two blocks of one name differ by where in
/// the global buffers they are, and in nothing that could be a race. Whatever the order observer
/// comes to look at must be hashed here too.
class Skeleton : public NoObserver {
 public:
  static constexpr bool active = true;
  static constexpr bool doubts_waits = OrderObserver::doubts_waits;

  Skeleton(const std::vector<Buffer>& buffers, std::uint64_t key)
      : writable_(writable(buffers)), key_(key) {
    for (unsigned i = 0; i < lane_count; ++i) factors_[i] = mix(key, i) | 1;
  }
  Field* field = nullptr;
  std::uint64_t name() const { return name_; }

  void on_block(const Program&, std::uint64_t, std::uint32_t warps, std::uint32_t threads) {
    name_ = mix(key_, warps * 4096 + threads);
    bases_.assign(writable_.size(), ~std::uint64_t{0});
  }
  void on_issue(std::uint32_t warp, std::uint32_t instruction, Mask active) {
    field->arithmetic().set_instruction(instruction);
    take(std::uint64_t{warp} << 32 | instruction, active);
  }
  void on_access(const Access& access);
  void on_barrier_arrive(std::uint32_t warp, std::uint32_t, unsigned id, std::uint32_t threads,
                         Mask mask, bool waits) {
    take(std::uint64_t{warp} << 32 | id << 16 | threads << 1 | (waits ? 1 : 0), mask);
  }
  void on_barrier_complete(unsigned id, std::span<const Mask> arrived,
                           std::span<const Mask> waiting) {
    for (Mask mask : arrived) take(id, mask);
    for (Mask mask : waiting) take(id + 64, mask);
  }
  void on_async_wait(std::uint32_t warp, std::uint32_t, Mask mask, std::uint32_t pending) {
    take(std::uint64_t{warp} << 32 | pending, mask);
  }
  void on_mbarrier_init(std::uint32_t, std::uint32_t, std::uint64_t offset, std::uint32_t count) {
    take(offset, count);
  }
  void on_mbarrier_arrive(std::uint32_t, std::uint32_t, Mask mask, std::uint64_t offset,
                          std::uint64_t phase, bool) {
    take(offset << 32 ^ phase, mask);
  }
  void on_mbarrier_wait(std::uint32_t, std::uint32_t, Mask mask, std::uint64_t offset,
                        std::uint64_t phase, bool) {
    take(offset << 32 ^ phase << 1 ^ 1, mask);
  }

  void on_unit(const UnitEvent& event) {
    take(static_cast<std::uint64_t>(event.kind) | static_cast<std::uint64_t>(event.unit) << 8 |
             std::uint64_t{event.warp} << 16 | std::uint64_t{event.pending} << 40,
         event.mask);
    take(event.offset, event.phase);
  }

 private:
  void take(std::uint64_t a, std::uint64_t b) {
    name_ = (name_ ^ a) * 0x9E3779B97F4A7C15ull;
    name_ = (name_ ^ name_ >> 29 ^ b) * 0xBF58476D1CE4E5B9ull;
  }

  std::vector<bool> writable_;
  std::uint64_t key_, name_ = 0;
  std::array<std::uint64_t, lane_count> factors_{};
  std::vector<std::uint64_t> bases_;
};

void Skeleton::on_access(const Access& access) {
  bool global = access.space == Space::global && access.buffers != nullptr;
  std::uint64_t sum = 0;
  for (Mask left = access.mask; left != 0; left &= left - 1) {
    auto lane = static_cast<unsigned>(std::countr_zero(left));
    std::uint64_t address = (*access.addresses)[lane];
    if (global) {
      std::uint32_t buffer = (*access.buffers)[lane];
      if (buffer >= writable_.size() || !writable_[buffer]) continue;
      if (bases_[buffer] == ~std::uint64_t{0}) bases_[buffer] = address;
      address -= bases_[buffer];
      sum += (buffer + 1) * 0x51ED270B7F4A7C15ull;
    }
    sum += (address + 1) * factors_[lane];
  }
  std::uint64_t what = static_cast<std::uint64_t>(access.space) | std::uint64_t{access.bytes} << 8 |
                       static_cast<std::uint64_t>(access.kind) << 40 |
                       static_cast<std::uint64_t>(access.proxy) << 44 |
                       std::uint64_t{access.asynchronous} << 48 |
                       std::uint64_t{access.relaxed} << 49 | std::uint64_t{access.warp} << 50;
  take(what, access.mask);
  take(sum ^ sum >> 31, access.instruction);
  take(static_cast<std::uint64_t>(access.unit) | std::uint64_t{access.issuer} << 8 |
           std::uint64_t{access.mbarrier} << 16 | access.completes << 20,
       access.phase);
}

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
        skeleton(launch.buffers, field.arithmetic().point().key(2, 3)),
        watched(launch.buffers),
        plain_machine(field, unwatched, run),
        named_machine(field, skeleton, run),
        ordered_machine(field, watched, run) {
    field.set_lemmas(launch.lemmas);
    unwatched.field = &field;
    skeleton.field = &field;
    watched.field = &field;
  }

  std::optional<Trap> run_watched(std::uint64_t block);

  FieldLaunch launch;
  Field field;
  Run run;
  Unwatched unwatched;
  Skeleton skeleton;
  Watched watched;
  std::unordered_set<std::uint64_t> seen;  // Kinds or names of blocks that were watched.
  Machine<Field, Unwatched> plain_machine;
  Machine<Field, Skeleton> named_machine;
  Machine<Field, Watched> ordered_machine;
};

/// A block is watched unless one like it was. Where writes were harmless because they wrote what
/// was there, which is a matter of values, every block is watched.
std::optional<Trap> FieldRunner::State::run_watched(std::uint64_t block) {
  bool values_matter = watched.harmless() != 0, named = launch.kinds == nullptr;
  std::uint64_t name = named ? 0 : (*launch.kinds)[block - launch.kinds_begin];
  if (!values_matter && !named && seen.contains(name)) return plain_machine.run_block(block);
  if (!values_matter && named && !launch.one_block) {
    std::optional<Trap> trap = named_machine.run_block(block);
    name = skeleton.name();
    if (!trap && seen.contains(name)) return trap;
    field.finish_block();
    field.initial_reads();
    field.forget();
  }
  std::optional<Trap> trap = ordered_machine.run_block(block);
  if (!trap && watched.findings().empty()) seen.insert(name);
  return trap;
}

FieldRunner::FieldRunner(std::shared_ptr<const Point> point, FieldLaunch launch)
    : state_(std::make_unique<State>(std::move(point), std::move(launch))) {}
FieldRunner::~FieldRunner() = default;

FieldRunner::Outcome FieldRunner::run(std::uint64_t block, const Turn& turn) {
  State& s = *state_;
  Outcome outcome;
  s.field.forget();
  s.field.set_turn(turn);
  outcome.trap = s.launch.watch_order ? s.run_watched(block) : s.plain_machine.run_block(block);
  outcome.tickets = s.field.tickets();
  outcome.left_reads = s.field.left_reads();
  outcome.written = s.field.finish_block();
  outcome.initial_reads = s.field.initial_reads();
  bool unseen =
      s.launch.watch_order && !outcome.tickets.empty() && !s.watched.turns.missing().empty();
  if (!outcome.trap && (s.field.complaint() != nullptr || unseen)) {
    Trap trap;
    trap.kind = TrapKind::undecided;
    trap.block = block;
    trap.what = unseen ? s.watched.turns.missing() : s.field.complaint()->what;
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
  return state_->plain_machine.steps() + state_->named_machine.steps() +
         state_->ordered_machine.steps();
}

std::uint64_t FieldRunner::peak_numbers() const { return state_->field.peak_numbers(); }

}  // namespace lathe::ptx::field
