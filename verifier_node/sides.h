#pragma once

// The two programs of a verification, decoded, with how each is launched.

#include <optional>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "ptx/module.h"
#include "ptx/program.h"
#include "ptx/run.h"
#include "verifier_node/ledger.h"

namespace lathe::verifier_node {

struct Subject {
  const ptx::Module* module = nullptr;
  ptx::Program program;
  ptx::field::Lemmas lemmas;  // Of its polynomials.
  Launch launch;

  std::uint32_t line_of(std::uint32_t operation) const {
    return operation < program.operations.size() ? program.operations[operation].line : 0;
  }
};

struct Sides {
  const Contract* contract = nullptr;
  Subject reference, candidate;
  std::vector<ptx::Buffer> buffers;
  std::string parameters;

  const Subject& at(Side side) const { return side == Side::reference ? reference : candidate; }
  ptx::Shape shape(Side side) const;
  /// The same text, launched alike: on the same inputs both do the same.
  bool same_runs() const;
};

/// Atomics or reducing copies on memory that blocks may share: what one block leaves is a part.
bool adds_across_blocks(const Subject& subject);
/// The first atomic on such memory whose scope holds fewer threads than the grid has, by index.
std::optional<std::uint32_t> narrow_atomic(const Subject& subject);

/// Blocks as (x, y, z) of a grid.
std::array<std::uint32_t, 3> block_index(const Launch& launch, std::uint64_t block);
/// Threads of a block in the same way.
std::array<std::uint32_t, 3> thread_index(const Launch& launch, std::uint32_t thread);

}  // namespace lathe::verifier_node
