#pragma once

// Runs a program in a child process group under limits; the only way that ptxas, a proof or a
// device job runs.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lathe {

struct ProcessLimits {
  std::chrono::milliseconds wall{60'000};
  std::uint64_t memory_bytes = 0;  // Address space; 0 is no limit.
  std::uint64_t cpu_seconds = 0;   // 0 is no limit.
  std::uint64_t output_bytes = 64ull << 20;
  const std::atomic<bool>* stop = nullptr;  // Once true, the group is killed as at a limit.
  /// Is given standard output as it comes; ProcessEnd::out then stays empty.
  std::function<void(std::string_view)> take_out = nullptr;
};

struct ProcessEnd {
  int status = 0;          // Exit status, where it exited.
  int signal = 0;          // The signal that ended it, or 0.
  bool timed_out = false;  // Our limit ended it: its whole group was killed.
  std::string out;
  std::string err;
};

/// Starts `command[0]`, feeds it `input`, and waits. The child is killed with its parent.
/// Errors: unavailable where the program cannot be started.
Result<ProcessEnd> run_process(const std::vector<std::string>& command, std::string_view input,
                               const ProcessLimits& limits,
                               const std::filesystem::path& folder = {});

/// The path of this very program.
std::filesystem::path own_program();

}  // namespace lathe
