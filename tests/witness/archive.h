#pragma once

// The witness archive: kernels with their inputs and what a device gave for them, in one file that
// needs no generator to be replayed. Equal inputs are stored once, all of it compressed.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lathe::ptx::witness {

struct Record {
  std::string name, mnemonic;
  std::string variables, body;  // Of the module and of its entry.
  std::uint32_t blocks = 1, threads = 32, vectors = 0;
  std::size_t input = 0;  // Index into Archive::inputs.
  std::string output;
  std::string launch{};  // As launch.h prints it.
};

struct Archive {
  std::string device;  // As the driver names it.
  std::vector<std::string> inputs;
  std::vector<Record> records;
};

std::string pack(const Archive& archive);
Result<Archive> unpack(std::string_view bytes);

}  // namespace lathe::ptx::witness
