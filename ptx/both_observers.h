#pragma once

// Two observers of one run.

#include <cstdint>
#include <span>

#include "ptx/observer.h"

namespace lathe::ptx {

template <class A, class B>
class Both {
 public:
  static constexpr bool active = true;
  static constexpr bool compares_writes = A::compares_writes || B::compares_writes;
  static constexpr bool doubts_waits = DoubtsWaits<A> || DoubtsWaits<B>;

  Both(A& first, B& second) : a_(first), b_(second) {}

  void on_cluster(std::uint32_t blocks) {
    a_.on_cluster(blocks);
    b_.on_cluster(blocks);
  }
  void on_block(const Program& program, std::uint64_t block, std::uint32_t warps,
                std::uint32_t threads) {
    a_.on_block(program, block, warps, threads);
    b_.on_block(program, block, warps, threads);
  }
  void on_block_end() {
    a_.on_block_end();
    b_.on_block_end();
  }
  void on_issue(std::uint32_t warp, std::uint32_t at, Mask active) {
    a_.on_issue(warp, at, active);
    b_.on_issue(warp, at, active);
  }
  void on_access(const Access& access) {
    a_.on_access(access);
    b_.on_access(access);
  }
  void on_barrier_arrive(std::uint32_t warp, std::uint32_t at, unsigned id, std::uint32_t threads,
                         Mask mask, bool waits) {
    a_.on_barrier_arrive(warp, at, id, threads, mask, waits);
    b_.on_barrier_arrive(warp, at, id, threads, mask, waits);
  }
  void on_barrier_complete(unsigned id, std::span<const Mask> arrived,
                           std::span<const Mask> waiting) {
    a_.on_barrier_complete(id, arrived, waiting);
    b_.on_barrier_complete(id, arrived, waiting);
  }
  void on_warp_barrier(std::uint32_t warp, std::uint32_t at, Mask mask) {
    a_.on_warp_barrier(warp, at, mask);
    b_.on_warp_barrier(warp, at, mask);
  }
  void on_async_commit(std::uint32_t warp, std::uint32_t at, Mask mask) {
    a_.on_async_commit(warp, at, mask);
    b_.on_async_commit(warp, at, mask);
  }
  void on_async_wait(std::uint32_t warp, std::uint32_t at, Mask mask, std::uint32_t pending) {
    a_.on_async_wait(warp, at, mask, pending);
    b_.on_async_wait(warp, at, mask, pending);
  }
  void on_fence(std::uint32_t warp, std::uint32_t at, Mask mask, char scope, Proxy proxy) {
    a_.on_fence(warp, at, mask, scope, proxy);
    b_.on_fence(warp, at, mask, scope, proxy);
  }
  void on_mbarrier_init(std::uint32_t warp, std::uint32_t at, std::uint64_t offset,
                        std::uint32_t count) {
    a_.on_mbarrier_init(warp, at, offset, count);
    b_.on_mbarrier_init(warp, at, offset, count);
  }
  void on_mbarrier_arrive(std::uint32_t warp, std::uint32_t at, Mask mask, std::uint64_t offset,
                          std::uint64_t phase, bool relaxed) {
    a_.on_mbarrier_arrive(warp, at, mask, offset, phase, relaxed);
    b_.on_mbarrier_arrive(warp, at, mask, offset, phase, relaxed);
  }
  void on_mbarrier_wait(std::uint32_t warp, std::uint32_t at, Mask mask, std::uint64_t offset,
                        std::uint64_t phase, bool relaxed) {
    a_.on_mbarrier_wait(warp, at, mask, offset, phase, relaxed);
    b_.on_mbarrier_wait(warp, at, mask, offset, phase, relaxed);
  }
  void on_unit(const UnitEvent& event) {
    a_.on_unit(event);
    b_.on_unit(event);
  }
  void on_branch(std::uint32_t warp, std::uint32_t at, Mask active, Mask taken) {
    a_.on_branch(warp, at, active, taken);
    b_.on_branch(warp, at, active, taken);
  }
  void on_exit(std::uint32_t warp, std::uint32_t at, Mask mask) {
    a_.on_exit(warp, at, mask);
    b_.on_exit(warp, at, mask);
  }
  bool good() const { return a_.good() && b_.good(); }

 private:
  A& a_;
  B& b_;
};

}  // namespace lathe::ptx
