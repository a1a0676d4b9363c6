// Chooses the build of the engines that this processor can run.

#include "ptx/engine.h"

#include <cstdlib>

namespace lathe::ptx {

namespace engine_plain {
RunResult run_bits(const RunRequest& request);
}
namespace engine_avx2 {
RunResult run_bits(const RunRequest& request);
}

namespace {

bool use_avx2() {
  static const bool chosen = [] {
    const char* wanted = std::getenv("LATHE_ENGINE");
    if (wanted != nullptr && std::string_view(wanted) == "plain") return false;
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
           __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("f16c") != 0;
  }();
  return chosen;
}

}  // namespace

std::string_view engine_variant() { return use_avx2() ? "avx2" : "plain"; }

RunResult run_bits(const RunRequest& request) {
  return use_avx2() ? engine_avx2::run_bits(request) : engine_plain::run_bits(request);
}

}  // namespace lathe::ptx
