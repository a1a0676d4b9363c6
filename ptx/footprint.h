#pragma once

// Which pages of global buffers a run touches, and which bytes it writes: so that inputs are made
// only where they are read, and outputs compared only where they were written. And which operations
// some lane carried out.

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ptx/common_place.h"
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
    for (Mask left = access.mask; left != 0; left &= left - 1) {
      auto lane = static_cast<unsigned>(std::countr_zero(left));
      std::uint32_t number = (*access.buffers)[lane];
      if (number >= buffers.size()) continue;
      std::uint64_t offset = (*access.addresses)[lane] - buffers[number].address;
      touch(buffers[number], offset, access.bytes, access.kind);
      if (watches(number, access.kind))
        look(offset, access.bytes, access.warp * lane_count + lane, access.instruction);
    }
  }
  /// The same of lanes that are all in one buffer; side by side they are one range.
  template <class Region>
  void on_common(const CommonPlace<Region>& at, std::uint32_t instruction, std::uint32_t warp,
                 Mask mask, std::uint32_t bytes, AccessKind kind) {
    if (at.space != Space::global || at.buffer >= buffers.size()) return;
    Marks& marks = buffers[at.buffer];
    bool watched = watches(at.buffer, kind);
    if (at.reach != Reach::any && mask == every_lane && !watched)
      return touch(marks, (*at.where)[0] - marks.address,
                   at.reach == Reach::row ? lane_count * std::uint64_t{bytes} : bytes, kind);
    for (Mask left = mask; left != 0; left &= left - 1) {
      auto lane = static_cast<unsigned>(std::countr_zero(left));
      std::uint64_t offset = (*at.where)[lane] - marks.address;
      touch(marks, offset, bytes, kind);
      if (watched) look(offset, bytes, warp * lane_count + lane, instruction);
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
  static void touch(Marks& marks, std::uint64_t offset, std::uint64_t bytes, AccessKind kind) {
    std::uint64_t end = (offset + bytes - 1) / page_bytes;
    for (std::uint64_t page = offset / page_bytes; page <= end; ++page) marks.pages[page] = 1;
    if (kind != AccessKind::read && marks.written != nullptr)
      std::memset(marks.written + offset, 1, bytes);
  }
  bool watches(std::uint32_t number, AccessKind kind) const {
    return watch.wanted && kind != AccessKind::read && number == watch.buffer;
  }
  void look(std::uint64_t offset, std::uint32_t bytes, std::uint32_t thread,
            std::uint32_t instruction) {
    if (watch.offset < offset || watch.offset >= offset + bytes) return;
    watch.seen = true;
    watch.block = block_;
    watch.thread = thread;
    watch.instruction = instruction;
  }

  std::uint64_t block_ = 0;
};

}  // namespace lathe::ptx
