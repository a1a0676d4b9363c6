#pragma once

// The wall clock, read where a program begins; below, time is an argument.

#include <chrono>
#include <cstdint>

namespace lathe {

/// Seconds since 1970.
inline std::uint64_t wall_seconds() {
  using std::chrono::system_clock;
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch())
          .count());
}

}  // namespace lathe
