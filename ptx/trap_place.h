#pragma once

// Where an access went wrong, in the terms in which a kernel's launch is written.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ptx/run.h"

namespace lathe::ptx {

struct TrapPlace {
  std::optional<std::size_t> buffer;  // In or beside which it is, of global memory.
  std::int64_t offset = 0;            // In that buffer.
  bool shared = false;                // It is in the window of shared memory.
  std::string text;                   // Of an access in no allocation, after ": "; else empty.
};

TrapPlace place_of(const Trap& trap, const Program& program, const Shape& shape,
                   std::span<const Buffer> buffers);

/// The trap's sentence with its place.
std::string sentence(const Trap& trap, const Program& program, const Shape& shape,
                     std::span<const Buffer> buffers);

}  // namespace lathe::ptx
