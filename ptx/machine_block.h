#pragma once

// The life of a block, or of the blocks of a cluster together: what they begin with, the schedule
// of warps and of asynchronous work, and how they end. Included by machine.h.

#include "base/random.h"
#include "ptx/machine.h"

namespace lathe::ptx {

template <class D, class O>
std::uint64_t Machine<D, O>::special_of_cluster(Special which, std::uint32_t rank) const {
  const Shape& shape = run_.shape;
  auto at = [&](Special first) {
    return static_cast<std::uint32_t>(which) - static_cast<std::uint32_t>(first);
  };
  if (which == Special::cluster_ctarank) return rank;
  if (which == Special::cluster_nctarank) return shape.cluster_blocks();
  if (which >= Special::cluster_nctaid_x) return shape.cluster[at(Special::cluster_nctaid_x)];
  const std::array<std::uint32_t, 3>& index = blocks_[rank].index;
  if (which >= Special::cluster_ctaid_x) {
    std::uint32_t axis = at(Special::cluster_ctaid_x);
    return index[axis] % shape.cluster[axis];
  }
  if (which >= Special::nclusterid_x) {
    std::uint32_t axis = at(Special::nclusterid_x);
    return shape.grid[axis] / shape.cluster[axis];
  }
  std::uint32_t axis = at(Special::clusterid_x);
  return index[axis] / shape.cluster[axis];
}

template <class D, class O>
std::uint64_t Machine<D, O>::special(Special which, std::uint32_t w, unsigned lane) const {
  const Shape& shape = run_.shape;
  auto at = static_cast<std::uint32_t>(which);
  std::uint32_t warp = w % warps_each_, thread = warp * lane_count + lane;
  std::uint32_t bit = 1u << lane;
  if (which >= Special::clusterid_x) return special_of_cluster(which, w / warps_each_);
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
      return blocks_[w / warps_each_].index[at - static_cast<std::uint32_t>(Special::ctaid_x)];
    case Special::nctaid_x:
    case Special::nctaid_y:
    case Special::nctaid_z:
      return shape.grid[at - static_cast<std::uint32_t>(Special::nctaid_x)];
    case Special::laneid:
      return lane;
    case Special::warpid:
      return warp;
    case Special::nwarpid:
      return warps_each_;
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
  std::uint64_t window = run_.shared_base | std::uint64_t{w / warps_each_} << rank_shift;
  for (const Constant& constant : program_.constants) {
    Slot slot{constant.place, constant.width};
    std::uint64_t bits = constant.bits;
    if (constant.kind == Constant::Kind::shared) bits += window;
    if (constant.kind == Constant::Kind::stack) bits = program_.local_bytes;
    if (constant.kind == Constant::Kind::variable)
      bits = variable_addresses_[bits & 0xFFFFFFFFu] + (bits >> 32);
    if (constant.kind != Constant::Kind::special) {
      put_all(warps_[w], slot, bits, every_lane);
      continue;
    }
    for (unsigned lane = 0; lane < lane_count; ++lane)
      d_.put(warps_[w].lanes, slot.cell(lane), constant.width,
             special(static_cast<Special>(bits), w, lane));
  }
}

template <class D, class O>
void Machine<D, O>::make_variables() {
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
}

/// The blocks of the cluster that `first` lies in, by rank.
template <class D, class O>
void Machine<D, O>::make_blocks(std::uint64_t first) {
  const Shape& shape = run_.shape;
  std::array<std::uint64_t, 3> corner{first % shape.grid[0], first / shape.grid[0] % shape.grid[1],
                                      first / shape.grid[0] / shape.grid[1]};
  for (std::size_t i = 0; i < 3; ++i) corner[i] -= corner[i] % shape.cluster[i];
  blocks_.clear();
  blocks_.resize(shape.cluster_blocks());
  for (std::uint32_t rank = 0; rank < blocks_.size(); ++rank) {
    Block& block = blocks_[rank];
    std::array<std::uint32_t, 3> within{rank % shape.cluster[0],
                                        rank / shape.cluster[0] % shape.cluster[1],
                                        rank / shape.cluster[0] / shape.cluster[1]};
    for (std::size_t i = 0; i < 3; ++i)
      block.index[i] = static_cast<std::uint32_t>(corner[i]) + within[i];
    block.number = block.index[0] +
                   shape.grid[0] * (block.index[1] + std::uint64_t{shape.grid[1]} * block.index[2]);
    block.shared.emplace(d_.make_region(shared_bytes_));
  }
}

template <class D, class O>
void Machine<D, O>::begin(std::uint64_t block) {
  const Shape& shape = run_.shape;
  std::uint32_t threads = shape.threads();
  trap_.reset();
  now_warp_ = 0;
  shared_bytes_ = program_.static_shared_bytes + shape.dynamic_shared_bytes;
  warps_each_ = (threads + lane_count - 1) / lane_count;
  make_blocks(block);
  auto count = static_cast<std::uint32_t>(warps_each_ * blocks_.size());
  local_.reset();
  if (program_.local_bytes != 0)
    local_.emplace(d_.make_region(program_.local_bytes * count * lane_count));
  make_variables();
  flights_.clear();
  flights_made_ = 0;
  cluster_phase_ = 0;
  gave_way_ = false;
  warps_.clear();
  warps_.reserve(count);
  for (std::uint32_t w = 0; w < count; ++w) {
    warps_.push_back({});
    warps_[w].lanes = d_.make_lanes(program_.register_bytes);
    std::uint32_t left = threads - w % warps_each_ * lane_count;
    warps_[w].live = left >= lane_count ? every_lane : (Mask{1} << left) - 1;
    warps_[w].parts.push_back({0, none, warps_[w].live, none, 0, State::ready, 0, 0, 0});
    fill_constants(w);
  }
  // Numbers of threads run through a cluster, gaps included.
  o_.on_cluster(static_cast<std::uint32_t>(blocks_.size()));
  o_.on_block(program_, blocks_[0].number, count,
              blocks_.size() == 1 ? threads : count * lane_count);
}

template <class D, class O>
std::optional<Trap> Machine<D, O>::run_block(std::uint64_t block) {
  const Shape& shape = run_.shape;
  if (shape.cluster_blocks() > 1) {
    std::uint64_t x = block % shape.grid[0] / shape.cluster[0],
                  y = block / shape.grid[0] % shape.grid[1] / shape.cluster[1],
                  z = block / shape.grid[0] / shape.grid[1] / shape.cluster[2];
    if (!clusters_.insert(x | y << 24 | z << 44).second) return std::nullopt;
  }
  begin(block);
  steps_end_ = run_.steps_max == 0 ? ~std::uint64_t{0} : steps_ + run_.steps_max * blocks_.size();
  for (bool moved = true; moved && !trap_;) {
    moved = false;
    for (std::uint32_t w = 0; w < warps_.size() && !trap_; ++w) {
      now_warp_ = w;
      while (!trap_ && !gave_way_ && run_warp(w)) moved = true;
      gave_way_ = false;
    }
    if (!moved && !trap_) moved = fly();
  }
  bool left = false;
  for (const Warp& warp : warps_) left |= warp.live != 0;
  if (left && !trap_) report_deadlock();
  if (!trap_) check_end();
  o_.on_block_end();
  return std::move(trap_);
}

/// What must be undone before a block ends.
template <class D, class O>
void Machine<D, O>::check_end() {
  for (std::uint32_t rank = 0; rank < blocks_.size(); ++rank) {
    if (!blocks_[rank].tensor || blocks_[rank].tensor->allocations.empty()) continue;
    now_warp_ = rank * warps_each_;
    auto last = program_.operations.rbegin();
    while (last->line == 0 && last + 1 != program_.operations.rend()) ++last;
    return trap(TrapKind::bad_operand, "the block ends with tensor memory allocated", *last, 0);
  }
}

/// Asynchronous work: carried out now, or when the schedule says.
template <class D, class O>
void Machine<D, O>::launch(Flight flight) {
  bool now = run_.schedule == AsyncSchedule::at_issue;
  if (run_.schedule == AsyncSchedule::seeded)
    now = (philox64(run_.schedule_seed, 0, flights_made_++) & 1) != 0 && flights_.empty();
  if (now) return flight.carry_out();
  flights_.push_back(std::move(flight));
  if (run_.schedule == AsyncSchedule::seeded &&
      (philox64(run_.schedule_seed, 1, flights_made_) & 3) == 0)
    fly();
}

/// The oldest work that was put off; false where there is none.
template <class D, class O>
bool Machine<D, O>::fly() {
  if (flights_.empty()) return false;
  Flight flight = std::move(flights_.front());
  flights_.pop_front();
  std::uint32_t warp = now_warp_;
  now_warp_ = flight.warp;
  flight.carry_out();
  now_warp_ = warp;
  return true;
}

template <class D, class O>
void Machine<D, O>::report_deadlock() {
  std::string what = "nobody can go on:";
  const Operation* first = nullptr;
  auto thing = [&](const Part& part, std::uint32_t w) {
    std::string of = std::to_string(part.waits_for & ((1u << rank_shift) - 1));
    if (part.state == State::mbarrier) {
      Block& block = block_of(w);
      auto found = block.mbarriers.find(part.waits_for & ((1u << rank_shift) - 1));
      std::string state;
      if (found != block.mbarriers.end())
        state = " (phase " + std::to_string(found->second.phase) + ", " +
                std::to_string(found->second.pending) + " arrivals and " +
                std::to_string(found->second.transactions) + " bytes pending)";
      return "the mbarrier at " + of + state;
    }
    if (part.state == State::barrier) return "barrier " + of;
    if (part.state == State::cluster) return std::string("the barrier of the cluster");
    return of + " columns of tensor memory";
  };
  for (std::uint32_t w = 0; w < warps_.size(); ++w)
    for (const Part& part : warps_[w].parts) {
      if (part.state == State::ready || part.state == State::children || part.state == State::dead)
        continue;
      const Operation& op = program_.operations[part.waits_at];
      if (first == nullptr) first = &op, now_warp_ = w;
      if (what.size() > 600) continue;
      what += " warp " + std::to_string(w) + " waits at line " + std::to_string(op.line) + " for " +
              thing(part, w) + ";";
    }
  what.pop_back();
  trap(TrapKind::deadlock, what, first != nullptr ? *first : program_.operations[0], 0);
}

}  // namespace lathe::ptx
