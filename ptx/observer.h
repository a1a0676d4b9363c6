#pragma once

// Who watches a block run: races, uninitialised reads, counters, a critical path. The machine is a
// template over its observer; NoObserver's empty functions compile to nothing. An observer never
// changes what happens; it may ask to stop by returning false from `good`.
//
// Order of calls: on_block, then for each warp instruction on_issue followed by the calls of its
// effects, and at the end on_block_end. Warps are numbered within the block, or within the cluster
// where blocks run as one; thread = 32 * warp + lane. Shared addresses and barrier numbers of a
// cluster's block r have r above bit 24, and 16 r added. `instruction` is an index into
// Program::operations, which knows line and column.

#include <array>
#include <cstdint>
#include <span>

#include "ptx/domain.h"

namespace lathe::ptx {

struct Program;

enum class Space : std::uint8_t {
  generic,
  global,
  shared,
  local,
  param,
  constant,
  tensor,
  cluster
};
enum class AccessKind : std::uint8_t { read, write, atomic };
/// Which of the two memory proxies an access goes through.
enum class Proxy : std::uint8_t {
  generic,
  async,
  async_shared,  // Of a fence: for one space only.
  async_global,
};

/// Who carries an access out: a thread, or a unit that a thread has set to work. Each unit tells of
/// its end in its own way, and until then its accesses are ordered with nobody's.
enum class Unit : std::uint8_t {
  thread,
  copy,          // A bulk copy that tells an mbarrier.
  store,         // A bulk copy of a bulk group: its thread waits for it.
  warpgroup,     // wgmma, by warp: commit_group and wait_group.
  tensor,        // tcgen05.mma, cp, shift, by thread: told to an mbarrier by commit.
  tensor_load,   // tcgen05.ld, by warp: wait::ld.
  tensor_store,  // tcgen05.st, by warp: wait::st.
};

/// One warp instruction's access to one space. Lanes of one instruction that go to different spaces
/// through generic addresses come as one Access a space.
struct Access {
  Space space = Space::global;
  AccessKind kind = AccessKind::read;
  Proxy proxy = Proxy::generic;
  bool asynchronous = false;  // Part of a cp.async: issued here, it lands by on_async_wait.
  bool read_only = false;     // ld.global.nc
  bool relaxed = false;       // .relaxed, .acquire, .release or .volatile: strong.
  std::uint32_t instruction = 0;
  std::uint32_t warp = 0;
  Mask mask = 0;            // Lanes that access.
  std::uint32_t bytes = 0;  // Of each lane, contiguous from its address.
  /// Byte offsets into the space by lane: absolute addresses of global, offsets from the window's
  /// begin for shared and local.
  const std::array<std::uint64_t, lane_count>* addresses = nullptr;
  /// Of global: which buffer each lane's access lies in.
  const std::array<std::uint32_t, lane_count>* buffers = nullptr;
  /// Of writes, where the observer compares writes: lanes that wrote what was there already.
  Mask unchanged = 0;
  /// Of a unit's access the lanes of `mask` only number its pieces: lane `issuer` of `warp` had it
  /// done. A copy tells the mbarrier at `completes`, in its phase `phase`.
  bool mbarrier = false;  // An mbarrier object itself.
  Unit unit = Unit::thread;
  std::uint8_t issuer = 0;
  std::uint64_t completes = 0, phase = 0;
};

/// What happens between a unit and the threads that use it.
struct UnitEvent {
  enum class Kind : std::uint8_t {
    commit,     // These lanes close a group of a unit.
    wait,       // At most the newest `pending` groups are still under way.
    wait_read,  // The same, but only what they read is through.
    signal,     // tcgen05.commit: an arrival at `offset`, phase `phase`, when all before is done.
    fence,      // wgmma.fence.
    issue,      // wgmma.mma_async: registers are in use from here on. A copy that will tell the
                // mbarrier at `offset`, now in phase `phase`, is on its way.
    phase,      // The mbarrier at `offset` has completed phase `phase`.
  };
  Kind kind = Kind::commit;
  Unit unit = Unit::thread;
  std::uint32_t warp = 0, instruction = 0;
  Mask mask = 0;
  std::uint32_t pending = 0;
  std::uint64_t offset = 0, phase = 0;
  std::uint64_t macs = 0;  // Of a product whose shape only its descriptor says, as if of 16 bits.
};

/// Who has something to say of doubtful waits says so.
template <class Observer>
concept DoubtsWaits = requires {
  requires Observer::doubts_waits;
};

/// The same of one that may be told only when it is made.
template <class Observer>
bool doubts_waits(const Observer& observer) {
  if constexpr (requires { observer.doubts_waits; })
    return observer.doubts_waits;
  else
    return false;
}

struct NoObserver {
  static constexpr bool active = false;
  /// Whether Access::unchanged is computed.
  static constexpr bool compares_writes = false;
  /// Whether a wait that may give up does so once, the first time that a warp comes to it.
  static constexpr bool doubts_waits = false;

  /// So many blocks run as one, from the next on_block on.
  void on_cluster(std::uint32_t /*blocks*/) {}
  void on_block(const Program&, std::uint64_t /*block*/, std::uint32_t /*warps*/,
                std::uint32_t /*threads*/) {}
  void on_block_end() {}
  void on_issue(std::uint32_t /*warp*/, std::uint32_t /*instruction*/, Mask /*active*/) {}
  /// After the bounds and alignment of all lanes were found good. Called once the effect is done.
  void on_access(const Access&) {}

  /// bar.sync / bar.arrive / barrier / bar.red: these lanes arrive; `threads` is the count that
  /// completes it. A warp that waits (`waits`) goes on after on_barrier_complete.
  void on_barrier_arrive(std::uint32_t /*warp*/, std::uint32_t /*instruction*/, unsigned /*id*/,
                         std::uint32_t /*threads*/, Mask, bool /*waits*/) {}
  /// `arrived[w]` and `waiting[w]` are the lanes of warp w that arrived at, and that leave, it.
  void on_barrier_complete(unsigned /*id*/, std::span<const Mask> /*arrived*/,
                           std::span<const Mask> /*waiting*/) {}
  /// bar.warp.sync: these lanes of one warp order their accesses.
  void on_warp_barrier(std::uint32_t /*warp*/, std::uint32_t /*instruction*/, Mask) {}

  /// cp.async: groups are numbered by thread. After on_async_wait only the newest `pending` groups
  /// of these threads may be under way; wait_all has pending 0 and counts uncommitted copies too.
  void on_async_commit(std::uint32_t /*warp*/, std::uint32_t /*instruction*/, Mask) {}
  void on_async_wait(std::uint32_t /*warp*/, std::uint32_t /*instruction*/, Mask,
                     std::uint32_t /*pending*/) {}

  /// membar and fence of a scope ('c'ta, c'l'uster, 'g'pu, 's'ystem; 'b': of new mbarriers alone,
  /// 'm': of tensor maps alone), of the generic or async proxy.
  void on_fence(std::uint32_t /*warp*/, std::uint32_t /*instruction*/, Mask, char /*scope*/,
                Proxy) {}
  /// mbarrier objects in shared memory: phase counts from 0.
  void on_mbarrier_init(std::uint32_t /*warp*/, std::uint32_t /*instruction*/,
                        std::uint64_t /*offset*/, std::uint32_t /*count*/) {}
  /// `relaxed`: it happens in its order, and orders no memory.
  void on_mbarrier_arrive(std::uint32_t /*warp*/, std::uint32_t /*instruction*/, Mask,
                          std::uint64_t /*offset*/, std::uint64_t /*phase*/, bool /*relaxed*/) {}
  void on_mbarrier_wait(std::uint32_t /*warp*/, std::uint32_t /*instruction*/, Mask,
                        std::uint64_t /*offset*/, std::uint64_t /*phase*/, bool /*relaxed*/) {}

  void on_unit(const UnitEvent&) {}

  void on_branch(std::uint32_t /*warp*/, std::uint32_t /*instruction*/, Mask /*active*/,
                 Mask /*taken*/) {}
  void on_exit(std::uint32_t /*warp*/, std::uint32_t /*instruction*/, Mask) {}

  /// False ends the block with a trap of kind `stopped`.
  bool good() const { return true; }
};

}  // namespace lathe::ptx
