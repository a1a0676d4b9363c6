#pragma once

// Running a program's blocks in the field domain: the engine behind the verifier.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptx/field.h"
#include "ptx/order.h"
#include "ptx/run.h"

namespace lathe::ptx::field {

struct FieldLaunch {
  const Program* program = nullptr;
  Shape shape;
  std::vector<Buffer> buffers;  // Ascending by address; the point's recipes in the same order.
  std::string parameters;
  AsyncSchedule schedule = AsyncSchedule::at_issue;
  std::uint64_t steps_max = 0;  // Of one block.
  bool watch_order = false;
  bool one_block = false;  // Only one is run: whether another is like it, nobody asks.
  /// By block from `kinds_begin` on: blocks of one kind do the same on other places, so that one of
  /// them is watched. Null: they are told by what they were seen to do.
  const std::vector<std::uint32_t>* kinds = nullptr;
  std::uint64_t kinds_begin = 0;
  const Lemmas* lemmas = nullptr;  // The program's; null: polynomials are what they are.
};

/// One program at one point. Blocks may be run in any order; a trap ends only its block.
class FieldRunner {
 public:
  FieldRunner(std::shared_ptr<const Point> point, FieldLaunch launch);
  ~FieldRunner();

  struct Outcome {
    std::optional<Trap> trap;
    std::vector<Written> written;
    /// Elements of tensors that change, read before the block wrote them.
    std::vector<std::pair<std::uint32_t, std::uint64_t>> initial_reads;
    std::vector<Ticket> tickets;
    std::vector<std::uint64_t> left_reads;  // Places of other blocks' that it read.
  };
  Outcome run(std::uint64_t block, const Turn& turn = {});
  Summary& summary();
  /// Bits of f32 literals that were read as floats, sorted.
  std::vector<std::uint32_t> literals() const;
  /// Null where nobody watches.
  const OrderObserver* order() const;
  std::uint64_t steps() const;
  std::uint64_t peak_numbers() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe::ptx::field
