#pragma once

// What a kernel's launch needs beyond its blocks and threads: the blocks of a cluster, and tensor
// maps, which stand behind `in` as parameters. One text says it to the archive and to the device
// program, which makes the maps by the driver of the same parameters as the replay does by ours.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ptx/tensor_map.h"

namespace lathe::ptx::witness {

/// A tensor map whose address counts from the beginning of one of the two buffers.
struct MapParameter {
  TensorMap map;
  bool of_output = false;
};

struct Launch {
  std::uint32_t cluster = 1;
  std::vector<MapParameter> maps;
};

/// Empty for a launch of neither; no spaces: a word of list.txt.
std::string print(const Launch& launch);
Result<Launch> read_launch(std::string_view text);

}  // namespace lathe::ptx::witness
