#pragma once

// What a kernel's text shows without running it: the symptoms that the pattern table of the
// diagnosis reads. Counts are static, one an instruction of the text.

#include <cstdint>
#include <string_view>

#include "ptx/module.h"

namespace lathe::planner {

struct Features {
  std::uint64_t instructions = 0, global_loads = 0, global_stores = 0;
  std::uint64_t narrow_accesses = 0;  // Global loads and stores of less than 16 bytes a thread.
  // Global loads, stores and asynchronous copies without cache operator or eviction hint.
  std::uint64_t plain_accesses = 0;
  std::uint64_t barriers = 0, shuffles = 0, conversions = 0, tensor_operations = 0;
  std::uint64_t divisions = 0, special_functions = 0;  // Divisions of floats.
  std::uint64_t shared_divisors = 0;  // Divisions whose divisor divides another one, too.
  std::uint64_t contractions =
      0;  // A product that an addition uses, or a difference that a product uses.
  std::uint64_t longest_chain = 0;  // Of one associative operation, each feeding the next.
};

Features features_of(const ptx::Module& module, std::string_view entry);

}  // namespace lathe::planner
