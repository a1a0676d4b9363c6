#pragma once

// What blocks of a contract's program give in the wide domain (ptx/wide.h): the yardstick of a
// result's error.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "contract/contract.h"
#include "ptx/wide.h"

namespace lathe {

/// For a yardstick alone nobody waits longer than so many warp instructions take: some seconds.
inline constexpr std::uint64_t wide_steps_max = 4'000'000;

struct WideLaunch {
  const Contract* contract = nullptr;
  const ptx::Program* program = nullptr;
  std::vector<ptx::Buffer> buffers;                // By tensor, ascending by address.
  std::vector<std::span<const std::byte>> inputs;  // By tensor; those of outputs are not read.
  std::string parameters;
  std::vector<std::uint64_t> blocks;
  std::uint64_t steps_max = 0;  // Of one block.
};

/// What the blocks wrote, of tensors of floats; nothing where the wide domain cannot say.
std::optional<std::vector<ptx::WideValue>> wide_values(const WideLaunch& launch);

/// One double an element of the tensor's span: NaN where the blocks did not write, or wrote what is
/// not finite. Empty where the wide domain cannot say.
std::vector<double> wide_result(const WideLaunch& launch, std::size_t tensor);

}  // namespace lathe
