// The order observer's clusters: shared memory of another block is there from when that block is
// known to have begun until its last thread leaves.

#include "ptx/order.h"
#include "ptx/order_names.h"
#include "ptx/program.h"
#include "ptx/window.h"

namespace lathe::ptx {

template <class Holds>
bool OrderObserver::some_thread(std::uint32_t block, Holds&& holds) const {
  std::uint32_t each = shape_[0] / blocks_ * lane_count;
  for (std::uint32_t thread = block * each; thread < (block + 1) * each; ++thread)
    if (holds(thread)) return true;
  return false;
}

/// Whoever reaches into another block must know of something that it has done. The mbarrier that a
/// unit tells stands for the unit's end, for which the other block waits or not.
void OrderObserver::reach(const Access& access) {
  if (access.mbarrier && program_ != nullptr &&
      program_->operations[access.instruction].effect != Effect::mbarrier)
    return;
  each_lane(access.mask, [&](std::uint32_t lane) {
    auto block = static_cast<std::uint32_t>((*access.addresses)[lane] >> rank_shift);
    std::uint32_t thread = access.warp * lane_count + lane;
    if (block == block_of(access.warp)) return;
    auto [reached, fresh] = reached_.try_emplace({thread, block});
    reached->second = {happened_.clock(thread), access.instruction};
    if (!fresh) return;
    if (!some_thread(block, [&](std::uint32_t own) { return happened_.known(thread, own) != 0; }))
      report_at(OrderFinding::Kind::absent, Space::shared, (*access.addresses)[lane],
                access.instruction, access.instruction, access.warp, Mask{1} << lane);
  });
}

/// Some thread of the block must have known of each such access when it left.
void OrderObserver::check_ends() {
  if (began_ != left_) return;  // It did not end.
  for (const auto& [who, last] : reached_) {
    auto [thread, block] = who;
    std::uint32_t other = thread, clock = last.clock;
    if (!some_thread(block,
                     [&](std::uint32_t own) { return happened_.known(own, other) >= clock; }))
      report_at(OrderFinding::Kind::absent, Space::shared, std::uint64_t{block} << rank_shift,
                last.instruction, last.instruction, thread / lane_count,
                Mask{1} << thread % lane_count);
  }
}

}  // namespace lathe::ptx
