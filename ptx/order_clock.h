#pragma once

// Who knows of whose accesses: each thread's clock, and what each thread has acquired of the
// others. A thread's clock is stamped on its accesses and steps on when it releases (arrives at a
// barrier). Threads that left one barrier together share one view, so a barrier costs one pass over
// the block's threads and an access one comparison.
//
// An asynchronous unit is an agent: one more thread, made when it is first met, whose clock steps
// on when it tells somebody that its work so far is done.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ptx/domain.h"

namespace lathe::ptx {

/// Accesses of lanes of one warp at one clock.
struct OrderStamp {
  std::uint32_t clock = 0, instruction = 0;
  Mask lanes = 0;  // 0: no such access.
  std::uint16_t warp = 0;
  bool strong : 1 = false;
  bool under_way : 1 = false;  // A cp.async that has not been waited for.
  bool copied : 1 = false;     // By a cp.async.
  bool agent : 1 = false;      // By an asynchronous unit.
};

class OrderClocks {
 public:
  void reset(std::uint32_t warps, std::uint32_t threads);
  std::uint32_t clock(std::uint32_t thread) const { return clock_[thread]; }

  /// Lanes of `stamp` whose access this thread has not acquired; never its own lane.
  Mask unordered(std::uint32_t warp, std::uint32_t lane, const OrderStamp& stamp) const;

  /// Whether there are none.
  bool comes_after(std::uint32_t warp, std::uint32_t lane, const OrderStamp& stamp) const;

  /// Lanes of a warp that are at one clock and know the same.
  class Together {
   public:
    /// Whether all of them come after an access, by the least that they know of its warp.
    bool after(const OrderStamp& stamp) const {
      if (stamp.warp == warp_) return stamp.clock <= near_;
      return stamp.warp < warps_ && stamp.clock <= least_[stamp.warp];
    }

   private:
    friend class OrderClocks;
    std::uint32_t warp_ = 0, near_ = 0;
    std::size_t warps_ = 0;
    const std::uint32_t* least_ = nullptr;  // By warp.
  };
  /// Null where these lanes differ. Good until a clock or a view changes.
  const Together* together(std::uint32_t warp, Mask mask);

  void barrier_arrive(unsigned id, std::uint32_t warp, Mask mask);
  void barrier_complete(unsigned id, std::span<const Mask> waiting);
  void warp_barrier(std::uint32_t warp, Mask mask);
  void token_release(std::uint64_t token, std::uint64_t phase, std::uint32_t warp, Mask mask);
  void token_acquire(std::uint64_t token, std::uint64_t phase, std::uint32_t warp, Mask mask);
  /// An arrival that orders nothing itself: it passes on what the threads knew at their last
  /// memory fence.
  void token_release_fenced(std::uint64_t token, std::uint64_t phase, std::uint32_t warp,
                            Mask mask);
  void token_forget(std::uint64_t token);
  /// Forgets the phases before this one.
  void token_forget_before(std::uint64_t token, std::uint64_t phase);

  /// The number of the agent of this name.
  std::uint32_t agent(std::uint64_t name);
  /// The agent tells: its clock, as it is or was, joins a token, or is known to some threads.
  void agent_release(std::uint64_t token, std::uint64_t phase, std::uint32_t agent) {
    agent_release(token, phase, agent, clock_[agent]);
  }
  void agent_release(std::uint64_t token, std::uint64_t phase, std::uint32_t agent,
                     std::uint32_t clock);
  void agent_acquire(std::uint32_t warp, Mask mask, std::uint32_t agent, std::uint32_t clock);
  /// A memory fence of a thread.
  void fence(std::uint32_t thread);
  /// A proxy fence of a thread: what it has done, and what it knows of, has passed it.
  void proxy_fence(std::uint32_t thread, bool global);
  /// Whether what `writer` did at this clock passed a proxy fence on its way to `reader`: the
  /// writer's, of which the reader knows, or the reader's, once it knew of the write.
  bool fenced(std::uint32_t writer, std::uint32_t clock, std::uint32_t reader, bool global) const;
  void step(std::uint32_t thread) {
    ++clock_[thread];
    together_.clear();
  }
  /// What a thread knows of another's clock.
  std::uint32_t known(std::uint32_t thread, std::uint32_t other) const;

 private:
  /// The clocks of all threads as far as known, and the least of each warp's.
  struct View {
    std::vector<std::uint32_t> clock, least;
  };
  using ViewPointer = std::shared_ptr<const View>;
  /// The clocks of one's own warp, which may be ahead of the view.
  struct Near {
    std::array<std::uint32_t, lane_count> clock{};
    std::uint32_t least = 0;
  };
  using NearPointer = std::shared_ptr<const Near>;
  /// What a thread knew at a fence, and its own clock after it.
  struct Fence {
    std::uint32_t clock = 0;
    ViewPointer view;
    NearPointer near;
  };
  /// What arrivals released.
  struct Release {
    std::vector<ViewPointer> views;
    std::vector<std::uint32_t> clock;
    bool has_view(const ViewPointer& view) const;
  };

  void release(Release& into, std::uint32_t warp, Mask mask);
  static void add_near(Release& into, std::uint32_t warp, const Near& near);
  const Fence* last_fence(std::uint32_t thread, std::uint32_t reader, bool global) const;
  ViewPointer join(const Release& release, const ViewPointer& with) const;
  void acquire(const ViewPointer& view, std::uint32_t warp, Mask mask);
  NearPointer near_of(const View& view, std::uint32_t warp) const;
  /// What is known of another's clock in this view, which `thread` has or had.
  static std::uint32_t known(const ViewPointer& view, const NearPointer& near, std::uint32_t thread,
                             std::uint32_t other);

  std::uint32_t warps_ = 0, threads_ = 0;
  std::map<std::uint64_t, std::uint32_t> agents_;
  std::vector<std::uint32_t> clock_;  // By thread.
  std::vector<ViewPointer> view_;     // By thread.
  std::vector<NearPointer> near_;     // By thread.
  /// Proxy fences by thread, of shared and of global memory.
  std::map<std::pair<std::uint32_t, bool>, std::vector<Fence>> proxy_fences_;
  std::map<std::uint32_t, Fence> fences_;  // The last of each thread.
  /// What was found of warps since the last change.
  struct Found {
    Mask mask = 0;
    bool alike = false;
    Together together;
  };
  std::vector<Found> together_;
  std::map<unsigned, Release> barriers_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Release> tokens_;
};

}  // namespace lathe::ptx
