#pragma once

// Which operation comes next: the parts of a warp, and an operation after another. Included by
// machine.h.

#include "ptx/machine.h"

namespace lathe::ptx {

/// Runs the last part that can run; false where none can.
template <class D, class O>
bool Machine<D, O>::run_warp(std::uint32_t w) {
  Warp& warp = warps_[w];
  std::size_t count = warp.parts.size();
  std::size_t first = warp.polled < count ? warp.polled : count;
  for (std::size_t i = 1; i <= count; ++i) {
    std::size_t p = (first + count - i) % count;
    if (warp.parts[p].state != State::ready) continue;
    warp.polled = none;
    run_part(w, static_cast<std::uint32_t>(p));
    return true;
  }
  return false;
}

template <class D, class O>
Rule<typename Machine<D, O>::Ruled> Machine<D, O>::rule_of(const Operation& op) const {
  auto type = static_cast<std::size_t>(op.form.type);
  if (op.effect == Effect::none) return rules_.rows[op.form.row][type];
  if constexpr (std::is_same_v<Ruled, D> && !NotesControl<D>)
    if constexpr (requires { requires D::vectorises; })
      if (op.effect == Effect::move)  // A move sets a register as a row does, and no more.
        return [](D& d, Lanes& lanes, const Operation& move, Mask active) {
          const Slot &to = move.fixed[0], &from = move.fixed[1];
          d.copy_all(lanes, to.place, from.place, to.width, active);
        };
  if (op.effect != Effect::convert) return nullptr;
  return rules_.converts[type][static_cast<std::size_t>(op.form.other)];
}

/// What the domain could not do, and what the observer does not allow.
template <class D, class O>
void Machine<D, O>::went_wrong(const Operation& op) {
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

/// Rows one after the other: no lane goes another way, and nobody waits.
template <class D, class O>
void Machine<D, O>::run_rows(Warp& warp, std::uint32_t w, Part& part) {
  const Mask active = part.mask;
  const std::uint32_t join = part.join;
  std::uint32_t pc = part.pc;
  const Operation* op = &program_.operations[pc];
  const Rule<Ruled>* rule = &row_rules_[pc];
  while (pc != join && *rule != nullptr && op->guard == no_spot && steps_ < steps_end_ && !trap_) {
    ++steps_;
    o_.on_issue(w, pc, active);
    apply(*rule, warp.lanes, *op, active);
    went(*op);
    ++pc, ++op, ++rule;
  }
  part.pc = pc;
}

/// An instruction that data guard, or some over which a branch goes that asks for data: a domain
/// without data carries them out for all lanes, and what they set is data too. False where they do
/// more than set registers.
template <class D, class O>
bool Machine<D, O>::run_doubted(Warp& warp, std::uint32_t w, Part& part) {
  if constexpr (requires { d_.note_guard(warp.lanes, Spot{}, part.mask); }) {
    const Operation& op = program_.operations[part.pc];
    bool skips = op.effect == Effect::branch;
    std::uint32_t first = skips ? part.pc + 1 : part.pc, end = skips ? op.target : first + 1;
    if (skips && (op.join != op.target || end <= first)) return false;
    for (std::uint32_t i = first; i < end; ++i) {
      const Operation& each = program_.operations[i];
      bool sets =
          row_rules_[i] != nullptr || (each.effect == Effect::move && each.fixed[0].present());
      if (!sets || (i != part.pc && each.guard != no_spot)) return false;
    }
    o_.on_issue(w, part.pc, part.mask);
    d_.note_guard(warp.lanes, op.guard, part.mask);
    for (std::uint32_t i = first; i < end && !trap_; ++i) {
      const Operation& each = program_.operations[i];
      ++steps_;
      o_.on_issue(w, i, part.mask);
      d_.note_result(warp.lanes, each, part.mask);
      if (row_rules_[i] != nullptr)
        apply(row_rules_[i], warp.lanes, each, part.mask);
      else
        move(warp, each, part.mask);
      d_.note_result(warp.lanes, each, part.mask);
      d_.lose_result(warp.lanes, each, part.mask);
      went(each);
    }
    part.pc = end;
    return true;
  }
  return false;
}

template <class D, class O>
void Machine<D, O>::run_part(std::uint32_t w, std::uint32_t p) {
  Warp& warp = warps_[w];
  while (!trap_ && p < warp.parts.size()) {
    Part& part = warp.parts[p];
    if (part.state != State::ready || gave_way_) return;
    if (part.mask != 0) run_rows(warp, w, part);
    if (trap_) return;
    if (part.pc == part.join) return finish(warp, p);
    const Operation& op = program_.operations[part.pc];
    Mask active = part.mask;
    if (op.guard != no_spot) {
      std::optional<Mask> truths = d_.truths(warp.lanes, op.guard, part.mask);
      if (!truths && run_doubted(warp, w, part)) continue;
      if (!truths)
        return trap(TrapKind::undefined_value, "an undefined predicate guards an instruction", op,
                    first_lane(part.mask));
      active = op.guard_negated ? part.mask & ~*truths : *truths;
    }
    if (++steps_ > steps_end_)
      return trap(TrapKind::exhausted, "the limit of warp instructions is reached", op,
                  first_lane(part.mask));
    o_.on_issue(w, part.pc, active);
    Rule<Ruled> rule = row_rules_[part.pc++];
    if (rule != nullptr) {
      if (active != 0) apply(rule, warp.lanes, op, active);
    } else if (active != 0 || op.effect == Effect::branch) {
      carry_out(warp, w, p, op, active);
    }
    went(op);
  }
}

template <class D, class O>
void Machine<D, O>::carry_out(Warp& warp, std::uint32_t w, std::uint32_t p, const Operation& op,
                              Mask active) {
  // clang-format off
  switch (op.effect) {
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
    case Effect::load_fragment: case Effect::store_fragment: return fragment(warp, op, active);
    case Effect::multiply: return multiply(warp, op, active);
    case Effect::elect: case Effect::active_mask: return vote(warp, op, active);
    case Effect::shuffle: case Effect::vote: case Effect::match: case Effect::reduce:
      return by_groups(warp, op, active, [&](Mask group) { together(warp, op, group); });
    case Effect::barrier: return barrier(warp, w, p, op, active);
    case Effect::warp_barrier: return warp_barrier(warp, op, active);
    case Effect::fence:
      return o_.on_fence(w, number(op), active, op.scope, fence_proxy(op));
    case Effect::mbarrier: return mbarrier(warp, p, op, active);
    case Effect::cluster_barrier: return cluster_barrier(warp, p, op, active);
    case Effect::map_address: return map_address(warp, op, active);
    case Effect::bulk_copy: return bulk_copy(warp, op, active);
    case Effect::bulk_commit: return bulk_commit(warp, op, active);
    case Effect::bulk_wait: return bulk_wait(warp, op, active);
    case Effect::store_async: return store_async(warp, op, active);
    case Effect::tensor_map: return tensor_map(warp, op, active);
    case Effect::stack: return stack(warp, op, active);
    case Effect::discard: return discard(warp, op, active);
    case Effect::fill: return fill(warp, op, active);
    case Effect::launch_control: return launch_control(warp, op, active);
    case Effect::warpgroup: return warpgroup(warp, op, active);
    case Effect::tensor_memory: return tensor_memory(warp, p, op, active);
    case Effect::tensor_load: case Effect::tensor_store: return tensor_move(warp, op, active);
    case Effect::tensor_wait: return tensor_wait(warp, op, active);
    case Effect::tensor_multiply: return tensor_multiply(warp, op, active);
    case Effect::tensor_commit: return tensor_commit(warp, op, active);
    case Effect::tensor_copy: return tensor_copy(warp, op, active);
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

}  // namespace lathe::ptx
