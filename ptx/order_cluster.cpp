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

/// Whoever reaches into another block must know of something that it has done.
void OrderObserver::check_begun(const Access& access) {
  each_lane(access.mask, [&](std::uint32_t lane) {
    auto block = static_cast<std::uint32_t>((*access.addresses)[lane] >> rank_shift);
    std::uint32_t thread = access.warp * lane_count + lane;
    if (block == block_of(access.warp) || met_.contains({thread, block})) return;
    if (some_thread(block, [&](std::uint32_t other) { return clocks_.known(thread, other) != 0; }))
      met_.insert({thread, block});
    else
      report_at(OrderFinding::Kind::absent, Space::shared, (*access.addresses)[lane],
                access.instruction, access.instruction, access.warp, Mask{1} << lane);
  });
}

/// Some thread of the block must have known of each access by another block's threads when it left.
void OrderObserver::check_end(std::uint64_t word, const OrderStamp& stamp) {
  auto block = static_cast<std::uint32_t>(word * 4 >> rank_shift);
  if (stamp.lanes == 0 || stamp.warp >= shape_[0] || block == block_of(stamp.warp)) return;
  // The mbarrier that a unit tells stands for the unit's end, which its block waits for or not.
  if (program_ != nullptr) {
    Effect effect = program_->operations[stamp.instruction].effect;
    if (effect == Effect::bulk_copy || effect == Effect::store_async ||
        effect == Effect::tensor_commit)
      return;
  }
  each_lane(stamp.lanes, [&](std::uint32_t lane) {
    std::uint32_t thread = stamp.warp * lane_count + lane;
    if (!some_thread(block,
                     [&](std::uint32_t own) { return clocks_.known(own, thread) >= stamp.clock; }))
      report_at(OrderFinding::Kind::absent, Space::shared, word * 4, stamp.instruction,
                stamp.instruction, stamp.warp, Mask{1} << lane);
  });
}

void OrderObserver::check_ends() {
  auto check = [&](std::uint64_t word, const OrderCell& cell) {
    check_end(word, cell.writer);
    check_end(word, cell.reader);
    if (cell.plain) check_end(word, *cell.plain);
    if (cell.readers)
      for (const OrderStamp& reader : *cell.readers) check_end(word, reader);
  };
  shared_.each_word([&](std::uint64_t word, const OrderCell& cell) {
    check(word, cell);
    if (cell.bytes)
      for (const OrderCell& byte : *cell.bytes) check(word, byte);
  });
}

}  // namespace lathe::ptx
