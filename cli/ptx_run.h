#pragma once

// lathe ptx run: a kernel executed on the emulated device with a contract's inputs.

#include <cstdint>
#include <string>

namespace lathe::cli {

struct PtxRunOptions {
  std::string file, contract, out, inputs = "declared";
  std::uint64_t seed = 1;
  std::uint32_t blocks = 0;           // 0: all.
  std::uint64_t steps = 100'000'000;  // Warp instructions of a block; 0: no limit.
  bool json = false;
};

int run_ptx(const PtxRunOptions& options);

}  // namespace lathe::cli
