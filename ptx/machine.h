#pragma once

// Runs a block of a kernel in any domain, watched by any observer: warps, diverged lanes that meet
// again at post-dominators, memories, barriers, asynchronous copies. One canonical schedule: each
// warp runs until it waits, in order; the diverged parts of a warp go on independently, so that one
// part may wait for another.
//
// The class is here; what its instructions do is in machine_memory.h, machine_warp.h and
// machine_sync.h.

#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "ptx/isa/functions.h"
#include "ptx/rules.h"
#include "ptx/run.h"
#include "ptx/window.h"

namespace lathe::ptx {

struct SharedMatrix;  // machine_wgmma.h

template <class D, class O>
class Machine {
 public:
  using Lanes = typename D::Lanes;
  using Region = typename D::Region;

  Machine(D& domain, O& observer, const Run& run)
      : d_(domain), o_(observer), run_(run), program_(run.program), rules_(rules_of<D>()) {}

  /// Runs one block to its end, or to the trap that ended it.
  std::optional<Trap> run_block(std::uint64_t block);
  /// Warp instructions of all blocks so far.
  std::uint64_t steps() const { return steps_; }

 private:
  enum class State : std::uint8_t { ready, children, barrier, mbarrier, dead };
  static constexpr std::uint32_t none = ~0u;

  /// Lanes of a warp that run together.
  struct Part {
    std::uint32_t pc = 0;
    std::uint32_t join = none;  // Where it ends and its parent goes on.
    Mask mask = 0;
    std::uint32_t parent = none;
    std::uint32_t children = 0;
    State state = State::ready;
    std::uint32_t waits_at = 0;     // The operation.
    std::uint64_t waits_for = 0;    // A barrier's number or an mbarrier's offset.
    std::uint64_t waits_phase = 0;  // Of an mbarrier.
  };
  struct Copy {
    std::uint64_t to = 0, from = 0;
    std::uint32_t group = 0, buffer = 0;
    std::uint8_t lane = 0, bytes = 0, taken = 0;
  };
  struct Warp {
    Lanes lanes;
    std::vector<Part> parts;
    Mask live = 0;
    std::array<std::uint32_t, lane_count> groups{};  // Committed by each lane.
    std::vector<Copy> copies;                        // Under way, in the order of issue.
  };
  struct Waiting {
    std::uint32_t warp = 0, part = 0, operation = 0;
    Mask mask = 0;
  };
  struct Barrier {
    std::uint32_t needed = 0;  // Threads; 0: all of the block.
    std::uint32_t counted = 0;
    bool used = false;
    std::vector<Mask> arrived, waiting;
    std::vector<Waiting> parts;
    std::uint32_t population = 0;
    bool all = true, any = false;
  };
  struct MemoryBarrier {
    std::uint64_t phase = 0;
    std::int64_t pending = 0, expected = 0, transactions = 0;
  };
  /// Where an address lies.
  struct Location {
    Region* region = nullptr;
    std::uint64_t offset = 0;
    Space space = Space::global;
    std::uint32_t buffer = 0;
  };
  using Addresses = std::array<std::uint64_t, lane_count>;
  using Locations = std::array<Location, lane_count>;

  // machine.h
  void begin(std::uint64_t block);
  void fill_constants(std::uint32_t w);
  std::uint64_t special(Special which, std::uint32_t thread) const;
  bool run_warp(std::uint32_t w);
  void run_part(std::uint32_t w, std::uint32_t p);
  void carry_out(Warp& warp, std::uint32_t w, std::uint32_t p, const Operation& op, Mask active);
  void diverge(Warp& warp, std::uint32_t p, const Operation& op, Mask taken);
  void finish(Warp& warp, std::uint32_t p);
  void leave(std::uint32_t w, Mask mask, const Operation& op);
  void trap(TrapKind kind, std::string what, const Operation& op, unsigned lane,
            std::uint64_t address = 0);
  void report_deadlock();
  std::uint32_t number(const Operation& op) const {
    return static_cast<std::uint32_t>(&op - program_.operations.data());
  }
  static unsigned first_lane(Mask mask) { return static_cast<unsigned>(std::countr_zero(mask)); }
  /// The bits of a control operand; a trap and nothing where they are not exact.
  std::optional<std::uint64_t> control(const Lanes& lanes, Slot slot, unsigned lane,
                                       const Operation& op, const char* what);

  // machine_memory.h
  bool locate(Space space, std::uint64_t address, unsigned bytes, bool write, const Operation& op,
              unsigned lane, Location& out);
  bool find_buffer(std::uint64_t address, unsigned bytes, Location& out);
  bool addresses_of(Warp& warp, const Operation& op, const Address& address, Mask active,
                    Addresses& out);
  bool locate_all(Warp& warp, const Operation& op, Mask active, unsigned bytes, Addresses& where,
                  Locations& out);
  void tell(const Operation& op, Mask active, unsigned bytes, const Locations& at,
            const Addresses& where, AccessKind kind, Mask unchanged, bool asynchronous);
  void load(Warp& warp, const Operation& op, Mask active);
  void store(Warp& warp, const Operation& op, Mask active);
  void atomic(Warp& warp, const Operation& op, Mask active);
  template <Type T>
  void combine(Lanes& lanes, const Operation& op, unsigned lane);
  void combine(Lanes& lanes, const Operation& op, unsigned lane);
  void copy_async(Warp& warp, const Operation& op, Mask active);
  void land(Warp& warp, const Copy& copy);
  void wait_async(Warp& warp, const Operation& op, Mask active);
  void load_matrix(Warp& warp, const Operation& op, Mask active);
  void store_matrix(Warp& warp, const Operation& op, Mask active);

  // machine_warp.h
  bool whole(Warp& warp, const Operation& op, Mask active, const char* what);
  bool members(Warp& warp, const Operation& op, Mask active, Mask& mask);
  void move(Warp& warp, const Operation& op, Mask active);
  void permute(Warp& warp, const Operation& op, Mask active);
  void shuffle(Warp& warp, const Operation& op, Mask active);
  void vote(Warp& warp, const Operation& op, Mask active);
  void match(Warp& warp, const Operation& op, Mask active);
  void reduce(Warp& warp, const Operation& op, Mask active);
  template <Type T>
  void reduce_as(Warp& warp, const Operation& op, Mask active);
  void transpose_matrix(Warp& warp, const Operation& op, Mask active);
  void multiply(Warp& warp, const Operation& op, Mask active);
  void multiply_one(Warp& warp, const Operation& op, const Matrix& matrix);
  void put_all(Warp& warp, Slot slot, std::uint64_t bits, Mask mask);

  // machine_wgmma.h
  bool gather(Warp& warp, const Operation& op, const SharedMatrix& matrix,
              const std::vector<Cell>& cells, unsigned mn_begin, bool a_operand, unsigned k_count,
              std::vector<std::uint64_t>& units);
  void tell_units(const Operation& op, std::vector<std::uint64_t>& units);
  void warpgroup_multiply(Warp& warp, const Operation& op, Mask active);

  // machine_sync.h
  void barrier(Warp& warp, std::uint32_t w, std::uint32_t p, const Operation& op, Mask active);
  bool complete(std::uint32_t id);
  void complete_barriers();
  void mbarrier(Warp& warp, std::uint32_t p, const Operation& op, Mask active);
  void arrive(MemoryBarrier& object, std::int64_t count);
  void wake_mbarriers();

  D& d_;
  O& o_;
  const Run& run_;
  const Program& program_;
  const Rules<D>& rules_;
  std::uint64_t block_ = 0, steps_ = 0, steps_end_ = 0;
  std::array<std::uint32_t, 3> block_index_{};
  std::uint32_t now_warp_ = 0;
  std::vector<Warp> warps_;
  std::optional<Region> shared_, local_, parameters_;
  std::vector<Region> variables_;
  std::vector<std::uint64_t> variable_addresses_;
  std::uint64_t shared_bytes_ = 0, last_buffer_ = 0;
  std::array<Barrier, 16> barriers_;
  std::map<std::uint64_t, MemoryBarrier> mbarriers_;
  std::optional<Trap> trap_;
};

template <class D, class O>
void Machine<D, O>::trap(TrapKind kind, std::string what, const Operation& op, unsigned lane,
                         std::uint64_t address) {
  if (trap_) return;
  trap_ = Trap{kind,   block_, now_warp_ * lane_count + lane, op.line, op.column, std::move(what),
               address};
}

template <class D, class O>
std::optional<std::uint64_t> Machine<D, O>::control(const Lanes& lanes, Slot slot, unsigned lane,
                                                    const Operation& op, const char* what) {
  std::optional<std::uint64_t> bits =
      d_.exact(lanes, slot.cell(lane), slot.width < 8 ? slot.width : 8);
  if (!bits && !d_.complaint())
    trap(TrapKind::undefined_value, std::string(what) + " is no known number", op, lane);
  return bits;
}

template <class D, class O>
std::uint64_t Machine<D, O>::special(Special which, std::uint32_t thread) const {
  const Shape& shape = run_.shape;
  auto at = static_cast<std::uint32_t>(which);
  unsigned lane = thread % lane_count;
  std::uint32_t bit = 1u << lane;
  switch (which) {
    case Special::tid_x:
      return thread % shape.block[0];
    case Special::tid_y:
      return thread / shape.block[0] % shape.block[1];
    case Special::tid_z:
      return thread / shape.block[0] / shape.block[1];
    case Special::ntid_x:
    case Special::ntid_y:
    case Special::ntid_z:
      return shape.block[at - static_cast<std::uint32_t>(Special::ntid_x)];
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z:
      return block_index_[at - static_cast<std::uint32_t>(Special::ctaid_x)];
    case Special::nctaid_x:
    case Special::nctaid_y:
    case Special::nctaid_z:
      return shape.grid[at - static_cast<std::uint32_t>(Special::nctaid_x)];
    case Special::laneid:
      return lane;
    case Special::warpid:
      return thread / lane_count;
    case Special::nwarpid:
      return warps_.size();
    case Special::lanemask_eq:
      return bit;
    case Special::lanemask_le:
      return bit | (bit - 1);
    case Special::lanemask_lt:
      return bit - 1;
    case Special::lanemask_ge:
      return ~(bit - 1);
    case Special::lanemask_gt:
      return ~(bit | (bit - 1));
    case Special::dynamic_shared:
      return shape.dynamic_shared_bytes;
    case Special::total_shared:
      return shared_bytes_;
    case Special::one:
      return 1;
    default:
      return 0;
  }
}

template <class D, class O>
void Machine<D, O>::fill_constants(std::uint32_t w) {
  Lanes& lanes = warps_[w].lanes;
  for (const Constant& constant : program_.constants)
    for (unsigned lane = 0; lane < lane_count; ++lane) {
      std::uint64_t bits = constant.bits;
      if (constant.kind == Constant::Kind::shared) bits += run_.shared_base;
      if (constant.kind == Constant::Kind::variable)
        bits = variable_addresses_[bits & 0xFFFFFFFFu] + (bits >> 32);
      if (constant.kind == Constant::Kind::special)
        bits = special(static_cast<Special>(bits), w * lane_count + lane);
      d_.put(lanes, Slot{constant.place, constant.width}.cell(lane), constant.width, bits);
    }
}

template <class D, class O>
void Machine<D, O>::begin(std::uint64_t block) {
  block_ = block;
  const Shape& shape = run_.shape;
  block_index_ = {static_cast<std::uint32_t>(block % shape.grid[0]),
                  static_cast<std::uint32_t>(block / shape.grid[0] % shape.grid[1]),
                  static_cast<std::uint32_t>(block / shape.grid[0] / shape.grid[1])};
  std::uint32_t threads = shape.threads();
  trap_.reset();
  shared_bytes_ = program_.static_shared_bytes + shape.dynamic_shared_bytes;
  shared_.emplace(d_.make_region(shared_bytes_));
  local_.reset();
  if (program_.local_bytes != 0) local_.emplace(d_.make_region(program_.local_bytes * threads));
  parameters_.emplace(d_.make_region(program_.parameter_bytes));
  for (std::uint64_t i = 0; i < program_.parameter_bytes; ++i)
    d_.poke(*parameters_, i, 1,
            i < run_.parameters.size() ? std::to_integer<std::uint64_t>(run_.parameters[i]) : 0);
  variables_.clear();
  variable_addresses_.clear();
  std::uint64_t next = variable_window;
  for (const StaticVariable& variable : program_.variables) {
    next = (next + variable.align + 255) / 256 * 256;
    variables_.push_back(d_.make_region(variable.bytes));
    d_.zero(variables_.back(), 0, variable.bytes);
    for (std::size_t i = 0; i < variable.initial.size(); ++i)
      d_.poke(variables_.back(), i, 1, variable.initial[i]);
    variable_addresses_.push_back(next);
    next += variable.bytes;
  }
  barriers_ = {};
  mbarriers_.clear();
  std::uint32_t count = (threads + lane_count - 1) / lane_count;
  warps_.clear();
  warps_.reserve(count);
  for (std::uint32_t w = 0; w < count; ++w)
    warps_.push_back({d_.make_lanes(program_.register_bytes), {}, 0, {}, {}});
  for (std::uint32_t w = 0; w < count; ++w) {
    std::uint32_t left = threads - w * lane_count;
    warps_[w].live = left >= lane_count ? every_lane : (Mask{1} << left) - 1;
    warps_[w].parts.push_back({0, none, warps_[w].live, none, 0, State::ready, 0, 0, 0});
    fill_constants(w);
  }
  o_.on_block(program_, block, count, threads);
}

template <class D, class O>
std::optional<Trap> Machine<D, O>::run_block(std::uint64_t block) {
  begin(block);
  steps_end_ = run_.steps_max == 0 ? ~std::uint64_t{0} : steps_ + run_.steps_max;
  for (bool moved = true; moved && !trap_;) {
    moved = false;
    for (std::uint32_t w = 0; w < warps_.size() && !trap_; ++w) {
      now_warp_ = w;
      while (!trap_ && run_warp(w)) moved = true;
    }
  }
  bool left = false;
  for (const Warp& warp : warps_) left |= warp.live != 0;
  if (left && !trap_) report_deadlock();
  o_.on_block_end();
  return std::move(trap_);
}

/// Runs the last part that can run; false where none can.
template <class D, class O>
bool Machine<D, O>::run_warp(std::uint32_t w) {
  Warp& warp = warps_[w];
  for (std::size_t p = warp.parts.size(); p-- > 0;)
    if (warp.parts[p].state == State::ready) {
      run_part(w, static_cast<std::uint32_t>(p));
      return true;
    }
  return false;
}

template <class D, class O>
void Machine<D, O>::run_part(std::uint32_t w, std::uint32_t p) {
  Warp& warp = warps_[w];
  while (!trap_ && p < warp.parts.size()) {
    Part& part = warp.parts[p];
    if (part.state != State::ready) return;
    if (part.pc == part.join) return finish(warp, p);
    const Operation& op = program_.operations[part.pc];
    Mask active = part.mask;
    if (op.guard != no_spot) {
      std::optional<Mask> truths = d_.truths(warp.lanes, op.guard, part.mask);
      if (!truths)
        return trap(TrapKind::undefined_value, "an undefined predicate guards an instruction", op,
                    first_lane(part.mask));
      active = op.guard_negated ? part.mask & ~*truths : *truths;
    }
    if (++steps_ > steps_end_)
      return trap(TrapKind::exhausted, "the limit of warp instructions is reached", op,
                  first_lane(part.mask));
    o_.on_issue(w, part.pc, active);
    ++part.pc;
    if (op.effect == Effect::none) {
      if (active != 0)
        rules_.rows[op.form.row][static_cast<std::size_t>(op.form.type)](d_, warp.lanes, op,
                                                                         active);
    } else if (active != 0 || op.effect == Effect::branch) {
      carry_out(warp, w, p, op, active);
    }
    if constexpr (D::complains) {
      if (const Complaint* complaint = d_.complaint()) {
        TrapKind kind = complaint->kind == ComplaintKind::unsupported ? TrapKind::unsupported
                        : complaint->kind == ComplaintKind::undefined ? TrapKind::undefined_value
                                                                      : TrapKind::undecided;
        trap(kind, complaint->what, op, complaint->lane);
      }
    }
    if constexpr (O::active)
      if (!o_.good()) trap(TrapKind::stopped, "the observer ended the block", op, 0);
  }
}

template <class D, class O>
void Machine<D, O>::carry_out(Warp& warp, std::uint32_t w, std::uint32_t p, const Operation& op,
                              Mask active) {
  // clang-format off
  switch (op.effect) {
    case Effect::convert:
      return rules_.converts[static_cast<std::size_t>(op.form.type)]
                            [static_cast<std::size_t>(op.form.other)](d_, warp.lanes, op, active);
    case Effect::move: case Effect::piece: return move(warp, op, active);
    case Effect::permute: return permute(warp, op, active);
    case Effect::load: return load(warp, op, active);
    case Effect::store: return store(warp, op, active);
    case Effect::atomic: return atomic(warp, op, active);
    case Effect::copy_async: return copy_async(warp, op, active);
    case Effect::commit_async:
      for (unsigned lane = 0; lane < lane_count; ++lane) warp.groups[lane] += active >> lane & 1;
      return o_.on_async_commit(w, number(op), active);
    case Effect::wait_async: return wait_async(warp, op, active);
    case Effect::load_matrix: return load_matrix(warp, op, active);
    case Effect::store_matrix: return store_matrix(warp, op, active);
    case Effect::transpose_matrix: return transpose_matrix(warp, op, active);
    case Effect::multiply: return multiply(warp, op, active);
    case Effect::shuffle: return shuffle(warp, op, active);
    case Effect::vote: case Effect::elect: case Effect::active_mask: return vote(warp, op, active);
    case Effect::match: return match(warp, op, active);
    case Effect::reduce: return reduce(warp, op, active);
    case Effect::barrier: return barrier(warp, w, p, op, active);
    case Effect::warp_barrier: return o_.on_warp_barrier(w, number(op), active);
    case Effect::fence:
      return o_.on_fence(w, number(op), active, op.scope, op.flag ? Proxy::async : Proxy::generic);
    case Effect::mbarrier: return mbarrier(warp, p, op, active);
    case Effect::branch: return diverge(warp, p, op, active);
    case Effect::exit: return leave(w, active, op);
    case Effect::trap:
      return trap(TrapKind::trapped, "the kernel executed a trap", op, first_lane(active));
    case Effect::prefetch: case Effect::policy: case Effect::nothing: return;
    default:
      return trap(TrapKind::unsupported,
                  "`" + program_.texts[op.instruction] + "` has no meaning in the table", op,
                  first_lane(active));
  }
  // clang-format on
}

template <class D, class O>
void Machine<D, O>::diverge(Warp& warp, std::uint32_t p, const Operation& op, Mask taken) {
  Part& part = warp.parts[p];
  o_.on_branch(now_warp_, number(op), part.mask, taken);
  if (taken == 0) return;
  if (taken == part.mask) {
    part.pc = op.target;
    return;
  }
  Mask stays = part.mask & ~taken;
  std::uint32_t next = part.pc;
  std::uint32_t parent = part.parent;
  if (part.join != op.join || op.join == none) {
    parent = p;  // This part waits at the join for both.
    part.pc = op.join == none ? part.pc : op.join;
    part.state = State::children;
    part.children = 0;
    if (op.join == none) part.mask = 0;
  } else {
    part.state = State::dead;  // Its two halves take its place beside its siblings.
    --warp.parts[parent].children;
  }
  auto add = [&](std::uint32_t pc, Mask mask) {
    if (pc == op.join) return;  // Already there: the waiting parent has these lanes.
    warp.parts.push_back({pc, op.join, mask, parent, 0, State::ready, 0, 0, 0});
    ++warp.parts[parent].children;
  };
  add(next, stays);
  add(op.target, taken);
  if (warp.parts[parent].children == 0) warp.parts[parent].state = State::ready;
}

/// A part that has reached its join, or has no lanes left.
template <class D, class O>
void Machine<D, O>::finish(Warp& warp, std::uint32_t p) {
  for (;;) {
    Part& part = warp.parts[p];
    part.state = State::dead;
    std::uint32_t parent = part.parent;
    while (!warp.parts.empty() && warp.parts.back().state == State::dead) warp.parts.pop_back();
    if (parent == none) return;
    Part& above = warp.parts[parent];
    if (--above.children != 0) return;
    above.state = State::ready;
    if (above.mask != 0) return;
    p = parent;
  }
}

template <class D, class O>
void Machine<D, O>::leave(std::uint32_t w, Mask mask, const Operation& op) {
  Warp& warp = warps_[w];
  o_.on_exit(w, number(op), mask);
  warp.live &= ~mask;
  for (Part& part : warp.parts) part.mask &= ~mask;
  for (std::size_t p = warp.parts.size(); p-- > 0;)
    if (p < warp.parts.size() && warp.parts[p].state == State::ready && warp.parts[p].mask == 0) {
      finish(warp, static_cast<std::uint32_t>(p));
      break;
    }
  complete_barriers();
}

}  // namespace lathe::ptx

#include "ptx/machine_memory.h"
#include "ptx/machine_sync.h"
#include "ptx/machine_warp.h"
#include "ptx/machine_wgmma.h"
