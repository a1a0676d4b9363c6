#pragma once

// The order observer: which accesses of a run are ordered by what the kernel does, and which only
// by luck. It runs beside any domain. Every byte of shared memory, and of the global buffers that
// may be written, remembers its last writer and the readers since; an access that is not ordered
// after a conflicting one is a race, wherever this schedule happened to put the two.
//
// Order comes from barriers (by id, with the threads that arrived), bar.warp.sync, mbarrier phases
// and the end of a cp.async for the thread that waits. Shuffles, votes, mma and ldmatrix order
// nothing; exited threads order nothing; lanes of one warp are threads like any other. Fences,
// acquires and releases are not followed: `follows_all()` turns false where a kernel uses them to
// order. Atomics are excused from one another; volatile and relaxed accesses from nothing, since
// what they read is a matter of the schedule.
//
// An asynchronous unit's accesses come after what its issuer knows, and before what those know who
// were told of its end. What a thread wrote is seen by a unit, or overwritten by it, only behind a
// fence.proxy.async on the way from one to the other: the writer's, before it released the write,
// or the issuer's, after it acquired it. cp.async is exempt, since Triton's products of copied
// tiles rest on that.
//
// Whether a phase of an mbarrier may end too early is a matter of what happens before what, which
// is more than memory's order: an arrival that orders no memory still comes after the thread's
// waits, and so do the bytes of a copy after those of its issuer. A second set of clocks follows
// it.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "ptx/observer.h"
#include "ptx/order_atomics.h"
#include "ptx/order_cells.h"
#include "ptx/order_clock.h"
#include "ptx/order_registers.h"

namespace lathe::ptx {

/// One side of a conflict.
struct OrderAccess {
  std::uint32_t instruction = 0, thread = 0;
  std::uint64_t block = 0;
  bool write = false;
};

struct OrderFinding {
  enum class Kind : std::uint8_t {
    race,            // Two threads of a block, or two blocks, and no order between them.
    early_read,      // Of what a cp.async has not yet brought.
    early_write,     // Over what a cp.async is still bringing.
    unfenced,        // A unit uses what a thread wrote without fence.proxy.async.
    lapped,          // A phase of an mbarrier may end before all have left the wait for the last.
    early_register,  // A register of a wgmma that has not been waited for.
    unfenced_register,  // A wgmma's register was touched since the last wgmma.fence.
    uninitialised,  // A read of shared memory that nothing wrote. A fault only where it matters,
                    // which the domain knows; kept apart from the others.
    barrier,        // Two arrivals at one barrier, either of which may be part of its completion.
    absent,         // Shared memory of a block that may not have begun, or may have ended.
  };
  Kind kind = Kind::race;
  Space space = Space::shared;
  std::uint64_t address = 0;  // Offset in shared memory, a global address, or a barrier's number.
  std::uint32_t buffer = 0;   // Of global.
  OrderAccess first, second;  // In the order of this schedule; of uninitialised, only `second`.
  std::uint64_t count = 1;    // How many times these two instructions did so.
};
std::string_view name_of(OrderFinding::Kind kind);
/// What is wrong, after "line 12: ": empty for what is told as a race.
std::string_view explain(OrderFinding::Kind kind);

class OrderObserver {
 public:
  static constexpr bool active = true;
  static constexpr bool compares_writes = true;
  static constexpr bool doubts_waits = true;

  /// `writable[i]` says whether buffer i may be written; the others are not remembered. Blocks are
  /// compared with one another only where `across_blocks`.
  explicit OrderObserver(std::vector<bool> writable, bool across_blocks = true);

  /// Forgets the run so far.
  void restart() { *this = OrderObserver(std::move(writable_), across_blocks_); }

  const std::vector<OrderFinding>& findings() const { return findings_; }
  const std::vector<OrderFinding>& uninitialised() const { return uninitialised_; }
  /// Writes that met an unordered access but changed nothing.
  std::uint64_t harmless() const { return harmless_; }
  bool follows_all() const { return follows_all_ && !(fenced_ && relaxed_); }

  void on_block(const Program& program, std::uint64_t block, std::uint32_t warps,
                std::uint32_t threads) {
    if (program_ != &program) atomics_ = OrderAtomics(program);
    program_ = &program;
    begin(block, warps, threads);
    registers_.begin(program, warps);
  }
  void on_cluster(std::uint32_t blocks) { blocks_ = blocks; }
  void begin(std::uint64_t block, std::uint32_t warps, std::uint32_t threads);
  void on_block_end() {
    if (blocks_ > 1) check_ends();
  }
  void on_issue(std::uint32_t warp, std::uint32_t instruction, Mask active) {
    if (registers_.any() && active != 0) touch_registers(warp, instruction, active);
    if (blocks_ > 1) began_[warp] |= active;
  }
  void on_access(const Access& access);
  void on_barrier_arrive(std::uint32_t warp, std::uint32_t instruction, unsigned id,
                         std::uint32_t threads, Mask mask, bool waits);
  void on_barrier_complete(unsigned id, std::span<const Mask> arrived,
                           std::span<const Mask> waiting);
  void on_warp_barrier(std::uint32_t warp, std::uint32_t instruction, Mask mask);
  void on_async_commit(std::uint32_t warp, std::uint32_t instruction, Mask mask);
  void on_async_wait(std::uint32_t warp, std::uint32_t instruction, Mask mask,
                     std::uint32_t pending);
  void on_fence(std::uint32_t warp, std::uint32_t instruction, Mask mask, char scope, Proxy proxy);
  void on_mbarrier_init(std::uint32_t, std::uint32_t, std::uint64_t offset, std::uint32_t);
  void on_mbarrier_arrive(std::uint32_t warp, std::uint32_t instruction, Mask mask,
                          std::uint64_t offset, std::uint64_t phase, bool relaxed);
  void on_mbarrier_wait(std::uint32_t warp, std::uint32_t instruction, Mask mask,
                        std::uint64_t offset, std::uint64_t phase, bool relaxed);
  void on_unit(const UnitEvent& event);
  void on_branch(std::uint32_t, std::uint32_t, Mask, Mask) {}
  void on_exit(std::uint32_t warp, std::uint32_t, Mask mask) {
    if (blocks_ > 1) left_[warp] |= mask;
  }
  /// A product read what cp.async brought without a fence between the proxies.
  bool trusts_copies() const { return trusts_copies_; }
  /// A block that has shown enough distinct faults may stop.
  bool good() const { return findings_.size() < findings_max; }

  static constexpr std::size_t findings_max = 20;

 private:
  struct Touch {  // One lane's part of an access, or that of lanes which read one place.
    const Access* access;
    std::uint32_t lane;
    std::uint64_t address;
    Mask lanes;
  };
  struct Copy {  // A cp.async under way.
    std::uint64_t offset;
    std::uint32_t bytes, group;
  };
  struct CopyState {
    std::uint32_t committed = 0;
    std::vector<Copy> copies;
  };

  struct Arrivals {  // At a barrier: of its last completion, and since.
    std::vector<OrderStamp> completed, pending;
  };

  /// Threads that left a wait, and how far each was.
  struct Waiters {
    std::uint32_t warp = 0;
    Mask lanes = 0;
    std::array<std::uint32_t, lane_count> clock{};
  };
  struct Phases {  // Of an mbarrier, by the clocks of what happens.
    std::uint32_t agent = 0;
    std::uint32_t completed = 0;    // The agent's clock when the last phase ended.
    std::uint32_t instruction = 0;  // Of the last wait.
    std::vector<Waiters> waiters;   // For the last phase.
  };
  struct Groups {  // Of a unit, committed and not yet waited for: the agent's clocks.
    std::vector<std::uint32_t> clocks;
  };

  void touch_registers(std::uint32_t warp, std::uint32_t instruction, Mask active);
  void unit_access(const Access& access);
  void unit_touch(OrderCell& cell, const Touch& touch, const OrderStamp& stamp,
                  std::uint64_t address);
  void check_fence(const OrderCell& cell, const Touch& touch, std::uint64_t address);
  std::uint32_t agent_of(const Access& access);
  void commit_units(const UnitEvent& event);
  void wait_units(const UnitEvent& event);
  void signal(const UnitEvent& event);
  void end_phase(const UnitEvent& event);
  void copy_issued(const UnitEvent& event);
  void check_arrival(std::uint32_t warp, std::uint32_t instruction, Mask mask, std::uint64_t offset,
                     std::uint64_t phase);
  void check_phase_before(std::uint32_t warp, std::uint32_t instruction, Mask mask,
                          std::uint64_t offset, std::uint64_t phase);
  void make_apart(const Access& access);
  // order_cluster.cpp
  std::uint32_t block_of(std::uint32_t warp) const { return warp * blocks_ / shape_[0]; }
  template <class Holds>
  bool some_thread(std::uint32_t block, Holds&& holds) const;
  void reach(const Access& access);
  void check_ends();
  void report_at(OrderFinding::Kind kind, Space space, std::uint64_t address, std::uint32_t first,
                 std::uint32_t second, std::uint32_t warp, Mask mask);
  void touch_words(OrderCells& cells, const Touch& touch, const OrderClocks::Together* together);
  void touch_shared(const Access& access, const OrderClocks::Together* together);
  bool touch_together(OrderCell& cell, const Touch& touch,
                      const OrderClocks::Together& together) const;
  bool read_beside(OrderCell& cell, const Touch& touch, const OrderStamp& stamp,
                   const OrderClocks::Together& together) const;
  void touch(OrderCell& cell, const Touch& touch, std::uint64_t address);
  void read(OrderCell& cell, const Touch& touch, const OrderStamp& stamp, std::uint64_t address);
  void write(OrderCell& cell, const Touch& touch, const OrderStamp& stamp, std::uint64_t address);
  void touch_across(const Touch& touch, std::uint32_t buffer);
  void touch_read_only(const Touch& touch);
  void note_strong(const Access& access);
  /// A copy of this thread is done, as if done by `agent`: the thread, or an mbarrier.
  void land(std::uint32_t thread, const Copy& copy, std::uint32_t agent);
  OrderStamp stamp_of(const Access& access, std::uint32_t lane) const;
  void report(OrderFinding::Kind kind, const Touch& touch, std::uint64_t address,
              const OrderStamp& earlier, std::uint32_t earlier_lane, bool earlier_write);
  void add(std::vector<OrderFinding>& list, const OrderFinding& finding);

  std::vector<bool> writable_;
  bool across_blocks_;
  std::uint64_t block_ = 0;
  OrderClocks clocks_;
  OrderClocks happened_;                  // What happens before what; from the first mbarrier on.
  bool phased_ = false;                   // Whether there was one.
  std::array<std::uint32_t, 2> shape_{};  // Warps and threads.
  std::uint32_t blocks_ = 1;              // Of the cluster.
  std::vector<Mask> began_, left_;        // By warp, of a cluster.
  struct Reach {
    std::uint32_t clock = 0, instruction = 0;
  };
  /// The last access of a thread to shared memory of another block.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Reach> reached_;
  std::map<std::uint32_t, std::uint32_t> passed_on_;  // Makers' clocks at fences, by thread.
  OrderCells shared_;
  std::map<std::uint32_t, OrderCells> global_;     // By buffer; of this block.
  std::map<std::uint32_t, OrderBlocks> between_;   // By buffer; of the run.
  std::vector<CopyState> copies_;                  // By thread.
  std::map<unsigned, Arrivals> arrivals_;          // By barrier.
  std::map<std::uint64_t, OrderStamp> read_only_;  // Words read through the read-only path.
  std::vector<OrderFinding> findings_, uninitialised_;
  std::uint64_t harmless_ = 0;
  bool follows_all_ = true, trusts_copies_ = false;
  OrderCells tensor_;
  std::map<std::uint64_t, Phases> phases_;  // By the mbarrier's place.
  std::map<std::uint64_t, Groups> groups_;  // By the agent's name.
  OrderRegisters registers_;
  /// Relaxed and volatile accesses alone order nothing; with fences they may.
  bool relaxed_ = false, fenced_ = false;
  const Program* program_ = nullptr;
  OrderAtomics atomics_;
};

}  // namespace lathe::ptx
