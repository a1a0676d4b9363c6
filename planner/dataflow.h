#pragma once

// Who writes and reads each register of a function, and its basic blocks: what a rewrite asks
// before it moves or replaces an instruction. Everything is told conservatively: a guarded write
// may not happen, and what is not understood answers nothing.

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/module.h"

namespace lathe::planner {

/// A register of one declaration; the same name in another scope is another register.
using RegisterId = std::uint32_t;
/// An instruction by its place in Function::instructions.
using Index = std::uint32_t;

struct Block {
  Index begin = 0, end = 0;
  std::vector<std::uint32_t> next, previous;
};

class Flow {
 public:
  /// Keeps a reference to the function.
  explicit Flow(const ptx::Function& function);

  const ptx::Function& function() const { return function_; }
  const ptx::Instruction& at(Index index) const { return function_.instructions[index]; }
  Index size() const { return static_cast<Index>(function_.instructions.size()); }

  /// The blocks' arrows are complete: no indirect branch, no label twice in the same braces.
  bool certain() const { return certain_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  std::uint32_t block_of(Index index) const { return block_of_[index]; }
  /// In the body itself, not in braces inside it.
  bool outermost(Index index) const { return scope_of_[index] == 0; }

  /// None: not a register (an immediate, a special register, a label, a variable).
  std::optional<RegisterId> find(Index index, std::string_view name) const;
  std::string_view type_of(RegisterId id) const { return registers_[id].type; }
  /// In order; an instruction that reads a register twice is there twice.
  const std::vector<Index>& writers(RegisterId id) const { return registers_[id].writers; }
  const std::vector<Index>& readers(RegisterId id) const { return registers_[id].readers; }
  const std::vector<RegisterId>& written_by(Index index) const { return writes_[index]; }
  const std::vector<RegisterId>& read_by(Index index) const { return reads_[index]; }

  /// The one write whose value `index` sees, where that is certain.
  std::optional<Index> reaching(RegisterId id, Index index) const;
  /// Written by an instruction after `first` and before `last`, both of one block.
  bool written_between(RegisterId id, Index first, Index last) const;
  bool read_between(RegisterId id, Index first, Index last) const;
  /// Written once, without a guard, and read once.
  bool single_use(RegisterId id) const;

 private:
  struct Register {
    std::string_view type;
    std::vector<Index> writers, readers;
  };
  struct Names;
  void number_registers();
  void note(Index index, const ptx::Operand& operand, const Names& names, bool written);
  void note_instruction(Index index, const Names& names);
  RegisterId intern(const Names& names, std::uint64_t key, std::string_view type);
  void place_labels();
  std::optional<Index> target(Index index, std::string_view name) const;
  void cut_blocks();
  void connect_blocks();

  const ptx::Function& function_;
  bool certain_ = true;
  std::vector<Register> registers_;
  std::vector<std::vector<RegisterId>> writes_, reads_;
  // The names that each instruction mentions, beside the registers they are.
  std::vector<std::vector<std::pair<std::string_view, RegisterId>>> mentions_;
  std::vector<std::uint32_t> scope_of_;
  std::vector<std::uint32_t> around_, in_braces_;  // Of braces those around; of an instruction.
  std::map<std::pair<std::uint32_t, std::string_view>, Index> labels_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> block_of_;
};

/// How an instruction touches memory that threads share; for what may pass what.
struct Touch {
  bool reads = false, writes = false;
  bool orders =
      false;  // A barrier, fence, atomic or asynchronous operation, a call: nothing passes.
  bool shared = false;  // Shared memory for certain; else global, generic or unknown.
  bool global = false;  // Global memory for certain.
};
Touch touch_of(const ptx::Instruction& instruction);

/// bar.sync of all threads of the block on one barrier number.
bool is_block_barrier(const ptx::Instruction& instruction);

/// Whether the first operand is written.
bool writes_first_operand(const ptx::Instruction& instruction);

bool has_modifier(const ptx::Instruction& instruction, std::string_view modifier);

/// "add.f32": the opcode with its modifiers.
std::string opcode_of(const ptx::Instruction& instruction);

}  // namespace lathe::planner
