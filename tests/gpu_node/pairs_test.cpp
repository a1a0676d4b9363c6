// The model orders the shipped pairs as an H200 did: at least 8 of 10.

#include <catch2/catch.hpp>
#include <iostream>

#include "tests/gpu_node/pairs.h"
#include "tests/places.h"

namespace lathe::gpu_node {

TEST_CASE("the model orders at least eight of ten shipped pairs as an H200 measured them") {
  // From this pair come two constants of the model, so it says nothing about the model.
  const std::string calibration = "silu_low_occupancy";
  std::size_t run = 0, right = 0;
  for (const Pair& pair : read_pairs(source_folder)) {
    if (pair.name == calibration) continue;
    Result<Estimate> reference = model(pair.reference), candidate = model(pair.candidate);
    if (!reference || !candidate) {
      const Error& error = reference ? candidate.error() : reference.error();
      INFO(pair.name << ": " << error.what);
      CHECK(error.fault == Fault::unsupported);
      continue;
    }
    double ratio = candidate->time_ns / reference->time_ns;
    ++run;
    right += agrees(pair, ratio);
    if (!agrees(pair, ratio))
      std::cout << "pair " << pair.name << ": measured " << pair.verdict << ", modelled ratio "
                << ratio << " (bound by " << name_of(candidate->bound) << ")\n";
  }
  std::cout << "pairs ordered as measured: " << right << " of " << run << "\n";
  CHECK(run >= 10);
  CHECK(right * 10 >= run * 8);
}

}  // namespace lathe::gpu_node
