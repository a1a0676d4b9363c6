// uses: gpu_node
// The model beside an H200: each shipped pair, measured and modelled.

#include <cstdio>

#include "tests/gpu_node/pairs.h"

int main() {
  using namespace lathe::gpu_node;
  for (const Pair& pair : read_pairs(LATHE_ROOT)) {
    lathe::Result<Estimate> reference = model(pair.reference), candidate = model(pair.candidate);
    if (!reference || !candidate) {
      std::printf("%-28s %s\n", pair.name.c_str(),
                  (reference ? candidate.error() : reference.error()).what.c_str());
      continue;
    }
    double ratio = candidate->time_ns / reference->time_ns;
    std::printf("%-28s measured %-6s %7.2f %7.2f %6.3f  modelled %7.2f %7.2f %6.3f  %s -> %s  %s\n",
                pair.name.c_str(), pair.verdict.c_str(), pair.reference.measured_us,
                pair.candidate.measured_us, pair.candidate.measured_us / pair.reference.measured_us,
                reference->time_ns / 1000, candidate->time_ns / 1000, ratio,
                std::string(name_of(reference->bound)).c_str(),
                std::string(name_of(candidate->bound)).c_str(), agrees(pair, ratio) ? "" : "WRONG");
    for (const Estimate* one : {&*reference, &*candidate}) {
      std::printf("    ");
      for (std::size_t i = 0; i < one->resource_ns.size(); ++i)
        std::printf("%s %.2f ", std::string(name_of(static_cast<Bound>(i))).c_str(),
                    one->resource_ns[i] / 1000);
      std::printf("waves %llu cycles %.0f\n", static_cast<unsigned long long>(one->waves),
                  one->critical_cycles);
    }
  }
}
