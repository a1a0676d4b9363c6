#pragma once

// What a register holds in each thread of a block, where that follows from the thread's number and
// constants alone: addresses in shared memory and the guards of few threads. Anything that depends
// on memory, parameters or control flow has no value here.

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "planner/dataflow.h"

namespace lathe::planner {

/// A number, or a distance from the address of a variable.
struct ThreadValue {
  std::string_view variable;
  std::uint64_t bits = 0;
  bool operator==(const ThreadValue&) const = default;
};

/// One value a thread; the number of threads is that of `.reqntid`.
using ThreadValues = std::vector<ThreadValue>;

class Threads {
 public:
  /// No threads where the function has no `.reqntid n` of one dimension with at most 1024.
  explicit Threads(const Flow& flow);

  std::uint32_t count() const { return count_; }
  /// The register's value as `index` sees it.
  std::optional<ThreadValues> of_register(RegisterId id, Index index);
  std::optional<ThreadValues> of_operand(const ptx::Operand& operand, Index index);
  /// Base and offset of an address operand.
  std::optional<ThreadValues> of_address(const ptx::Operand& operand, Index index);
  /// Whether each thread executes the instruction.
  std::optional<std::vector<bool>> executes(Index index);

 private:
  std::optional<ThreadValues> made_by(Index maker, RegisterId id, unsigned depth);
  std::optional<ThreadValues> value(const ptx::Operand& operand, Index index, unsigned depth);

  const Flow& flow_;
  std::uint32_t count_ = 0;
  std::map<Index, std::optional<ThreadValues>> known_;
};

}  // namespace lathe::planner
