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

  void barrier_arrive(unsigned id, std::uint32_t warp, Mask mask);
  void barrier_complete(unsigned id, std::span<const Mask> waiting);
  void warp_barrier(std::uint32_t warp, Mask mask);
  void token_release(std::uint64_t token, std::uint64_t phase, std::uint32_t warp, Mask mask);
  void token_acquire(std::uint64_t token, std::uint64_t phase, std::uint32_t warp, Mask mask);
  void token_forget(std::uint64_t token);
  /// Forgets the phases before this one.
  void token_forget_before(std::uint64_t token, std::uint64_t phase);

  /// The number of the agent of this name.
  std::uint32_t agent(std::uint64_t name);
  /// The agent tells: its clock joins a token, or is known to some threads.
  void agent_release(std::uint64_t token, std::uint64_t phase, std::uint32_t agent);
  void agent_acquire(std::uint32_t warp, Mask mask, std::uint32_t agent, std::uint32_t clock);
  /// A proxy fence of a thread: what it has done has passed it.
  void fence(std::uint32_t thread, bool global);
  /// Whether what `writer` did at this clock passed a proxy fence of its own that `reader` knows
  /// of. A fence on the reader's side is not enough: the manual states no rule by which it would
  /// be.
  bool fenced(std::uint32_t writer, std::uint32_t clock, std::uint32_t reader, bool global) const;
  void step(std::uint32_t thread) { ++clock_[thread]; }
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
  /// What arrivals released.
  struct Release {
    std::vector<ViewPointer> views;
    std::vector<std::uint32_t> clock;
    bool has_view(const ViewPointer& view) const;
  };

  void release(Release& into, std::uint32_t warp, Mask mask);
  ViewPointer join(const Release& release, const ViewPointer& with) const;
  void acquire(const ViewPointer& view, std::uint32_t warp, Mask mask);
  NearPointer near_of(const View& view, std::uint32_t warp) const;

  std::uint32_t warps_ = 0, threads_ = 0;
  std::map<std::uint64_t, std::uint32_t> agents_;
  std::vector<std::uint32_t> clock_;  // By thread.
  std::vector<ViewPointer> view_;     // By thread.
  std::vector<NearPointer> near_;     // By thread.
  /// By thread, of shared and of global memory: the thread's own clock after each.
  std::map<std::pair<std::uint32_t, bool>, std::vector<std::uint32_t>> fences_;
  std::map<unsigned, Release> barriers_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Release> tokens_;
};

}  // namespace lathe::ptx
