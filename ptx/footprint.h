#pragma once

// Which pages of global buffers a run touches, and which bytes it writes: so that inputs are made
// only where they are read, and outputs compared only where they were written. And which operations
// some lane carried out.

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ptx/observer.h"
#include "ptx/program.h"

namespace lathe::ptx {

class FootprintObserver {
 public:
  static constexpr bool active = true;
  static constexpr bool compares_writes = false;
  /// It need not be told of other accesses.
  static constexpr bool global_only = true;
  static constexpr std::uint64_t page_bytes = 512;

  struct Marks {
    std::uint64_t address = 0;
    std::uint8_t* written = nullptr;  // One a byte; null: not wanted.
    std::vector<std::uint8_t> pages;  // One a page: 1 where anything was read or written.
  };
  std::vector<Marks> buffers;

  /// One byte of a buffer whose last writer is wanted.
  struct Watch {
    bool wanted = false, seen = false;
    std::uint32_t buffer = 0;
    std::uint64_t offset = 0;
    std::uint64_t block = 0;
    std::uint32_t thread = 0, instruction = 0;
  };
  Watch watch;

  std::vector<std::uint8_t> executed;  // By operation: 1 where some lane did.

  void on_block(const Program& program, std::uint64_t block, std::uint32_t, std::uint32_t) {
    block_ = block;
    executed.resize(program.operations.size());
  }
  void on_cluster(std::uint32_t) {}
  void on_block_end() {}
  void on_issue(std::uint32_t, std::uint32_t instruction, Mask active) {
    if (active != 0) executed[instruction] = 1;
  }
  void on_access(const Access& access) {
    if (access.space != Space::global || access.buffers == nullptr) return;
    bool reads = access.kind == AccessKind::read;
    std::uint64_t page = ~std::uint64_t{0};  // That was marked last, if of the same buffer.
    std::uint32_t last = ~std::uint32_t{0};
    for (Mask left = access.mask; left != 0; left &= left - 1) {
      auto lane = static_cast<unsigned>(std::countr_zero(left));
      std::uint32_t number = (*access.buffers)[lane];
      if (number >= buffers.size()) continue;
      Marks& marks = buffers[number];
      std::uint64_t offset = (*access.addresses)[lane] - marks.address;
      std::uint64_t end = (offset + access.bytes - 1) / page_bytes;
      if (number != last || page != end || offset / page_bytes != end) {
        last = number, page = end;
        marks.pages[offset / page_bytes] = 1;
        marks.pages[end] = 1;
      }
      if (reads) continue;
      if (marks.written != nullptr) std::memset(marks.written + offset, 1, access.bytes);
      if (watch.wanted && number == watch.buffer && watch.offset >= offset &&
          watch.offset < offset + access.bytes) {
        watch.seen = true;
        watch.block = block_;
        watch.thread = access.warp * lane_count + lane;
        watch.instruction = access.instruction;
      }
    }
  }
  void on_barrier_arrive(std::uint32_t, std::uint32_t, unsigned, std::uint32_t, Mask, bool) {}
  void on_barrier_complete(unsigned, std::span<const Mask>, std::span<const Mask>) {}
  void on_warp_barrier(std::uint32_t, std::uint32_t, Mask) {}
  void on_async_commit(std::uint32_t, std::uint32_t, Mask) {}
  void on_async_wait(std::uint32_t, std::uint32_t, Mask, std::uint32_t) {}
  void on_fence(std::uint32_t, std::uint32_t, Mask, char, Proxy) {}
  void on_mbarrier_init(std::uint32_t, std::uint32_t, std::uint64_t, std::uint32_t) {}
  void on_mbarrier_arrive(std::uint32_t, std::uint32_t, Mask, std::uint64_t, std::uint64_t, bool) {}
  void on_mbarrier_wait(std::uint32_t, std::uint32_t, Mask, std::uint64_t, std::uint64_t, bool) {}
  void on_unit(const UnitEvent&) {}
  void on_branch(std::uint32_t, std::uint32_t, Mask, Mask) {}
  void on_exit(std::uint32_t, std::uint32_t, Mask) {}
  bool good() const { return true; }

 private:
  std::uint64_t block_ = 0;
};

}  // namespace lathe::ptx
