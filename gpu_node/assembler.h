#pragma once

// Which ptxas there is, and which PTX each reads. The places to look are arguments, so a test can
// offer its own; gpu_node.h's find_assemblers gives those of this process.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_node/gpu_node.h"

namespace lathe::gpu_node {

/// Where to look: programs by name, and folders whose `**/bin/ptxas` count.
struct Places {
  std::vector<std::filesystem::path> programs;
  std::vector<std::filesystem::path> tool_folders;
};

/// LATHE_PTXAS, the PATH, CUDA_HOME, /usr/local/cuda*, and `.tools` beside or above the working
/// folder and this program.
Places usual_places();

/// Asks each program once; newest first, one a version. What does not answer is left out.
std::vector<Assembler> find_assemblers(const Places& places);

/// The newest of `assemblers` that reads `ptx_isa`.
Result<Assembler> choose_assembler(const std::vector<Assembler>& assemblers,
                                   const std::string& ptx_isa);

/// Compares "9.10" with "9.4" by number; a missing part is 0.
int compare_versions(std::string_view a, std::string_view b);

/// The newest PTX of a release whose ptxas does not list what it reads: "12.8.93" gives "8.7".
std::string ptx_isa_of_release(std::string_view version);

}  // namespace lathe::gpu_node
