#pragma once

// The last block. Blocks leave parts in memory and take a ticket from a counter; whoever gets the
// last one puts the parts together. A ticket is no number here: a block is run as not the last, and
// some blocks once more as the last, with what all have left in memory. Nothing but whether it is
// the last can be asked of a ticket.

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/field_number.h"
#include "ptx/observer.h"

namespace lathe::ptx::field {

/// An element that a block wrote to global memory.
struct Written {
  std::uint32_t tensor = 0;
  std::uint64_t element = 0;
  Number number;           // Of a float tensor, and of integers that are not exact.
  std::uint64_t bits = 0;  // Of any other: exact.
  bool added = false;      // By atomics: it adds to what others left there.
};

/// What a block took from a counter, which was 0 before all of them.
struct Ticket {
  std::uint32_t tensor = 0, instruction = 0;
  std::uint64_t element = 0;
  std::optional<std::uint32_t> wraps_at;  // atom.inc: after this value comes 0.
  std::optional<std::uint32_t> last;      // What was asked whether it is.
};

constexpr std::uint64_t place_of(std::uint32_t tensor, std::uint64_t element) {
  return std::uint64_t{tensor} << 44 | element;
}

/// What blocks left that took tickets, by place.
struct Left {
  struct Element {
    Written written;
    std::uint64_t block = 0;
  };
  std::unordered_map<std::uint64_t, Element> elements;
};

/// How a block is run that may take a ticket.
struct Turn {
  bool last = false;
  const Left* left = nullptr;  // Of the last.
};

/// Whether what a block leaves is seen by the last one: barriers of the whole block, and fences of
/// the whole GPU between them and the ticket. Knows no more of order than that, and says what is
/// missing.
class TurnOrder {
 public:
  void begin(const Program& program, std::uint32_t threads, bool last);
  void on_fence(std::uint32_t warp, Mask mask, char scope, Proxy proxy);
  void on_barrier_complete(std::span<const Mask> arrived);
  void on_write(const Access& access);
  void on_ticket(const Access& access);
  /// Of what other blocks left.
  void on_read(const Access& access);
  const std::string& missing() const { return missing_; }

 private:
  void miss(std::string what) {
    if (missing_.empty()) missing_ = std::move(what);
  }
  template <class Each>
  static void each_thread(std::uint32_t warp, Mask mask, Each each) {
    for (unsigned lane = 0; lane < lane_count; ++lane)
      if ((mask >> lane & 1) != 0) each(warp * lane_count + lane);
  }

  const Program* program_ = nullptr;
  std::uint32_t threads_ = 0;
  bool last_ = false;
  std::uint64_t now_ = 0, barrier_ = 0;                              // When the last barrier was.
  std::unordered_map<std::uint32_t, std::uint64_t> fenced_, wrote_;  // When, by thread.
  std::optional<std::uint32_t> taker_;
  std::uint64_t taken_ = 0;
  bool acquires_ = false;
  std::string missing_;
};

}  // namespace lathe::ptx::field
