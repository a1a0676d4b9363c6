#pragma once

// A few lines of PTX as a kernel whose threads each have a word in and a word out.

#include <numeric>

#include "tests/ptx/launch.h"

namespace lathe::ptx {

inline const std::string usual =
    ".reg .b32 %r<20>;\n.reg .b64 %rd<10>;\n.reg .pred %p<8>;\n"
    ".reg .b16 %h<8>;\n.reg .f32 %f<8>;";

inline std::vector<std::uint32_t> iota(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 0u);
  return values;
}

/// Runs lines with `threads` threads; each has its word of `in` (its number) and of `out` (zero).
inline Launched run_lines(const std::string& lines, unsigned threads = 32,
                   const std::string& registers = usual) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(threads));
  launch.add(iota(threads));
  launch.shape.block[0] = threads;
  launch.request.steps_max = 100000;
  launch.run(body_text(registers, lines));
  return launch;
}

inline std::vector<std::uint32_t> out(const Launched& launch) {
  if (launch.result.trap) FAIL_CHECK(print(*launch.result.trap));
  return launch.get<std::uint32_t>(0);
}

inline Trap trap_of(const Launched& launch) {
  REQUIRE(launch.result.trap);
  return *launch.result.trap;
}

}  // namespace lathe::ptx
