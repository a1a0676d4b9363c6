// How far a proof is, as the live line of `lathe verify` hears it.

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "pipeline/admission.h"
#include "tests/places.h"
#include "verifier_node/verify.h"

namespace lathe::cli {
namespace {

/// What is told while the reference of a small contract is proved equal to itself.
std::vector<double> told_of(std::uint64_t blocks) {
  Opened opened =
      open_contract(std::string(source_folder) + "/tests/kernels/contracts/sum_8x512_fp16_sm_90a");
  REQUIRE(opened.contract != nullptr);
  ptx::Parsed reference = ptx::parse(opened.contract->reference, "reference.ptx");
  std::vector<double> told;
  verifier_node::Options how;
  how.seed = 1;
  how.block_end = blocks;
  how.progress = [&](std::uint64_t done, std::uint64_t total) {
    told.push_back(static_cast<double>(done) / static_cast<double>(total));
  };
  auto report = verifier_node::verify(reference.module, reference.module, *opened.contract, how);
  REQUIRE(report.has_value());
  CHECK(report->verdict == "proved");
  return told;
}

TEST_CASE("progress grows from the first block to the stress inputs, however few the blocks are") {
  for (std::uint64_t blocks : {1, 2, 8}) {
    INFO(blocks);
    std::vector<double> told = told_of(blocks);
    REQUIRE(told.size() >= 2);
    CHECK(std::is_sorted(told.begin(), told.end()));
    CHECK(told.front() > 0);
    CHECK(told.front() <= 0.5);
    CHECK(told.back() > 0.5);
    CHECK(told.back() < 1);
  }
}

}  // namespace
}  // namespace lathe::cli
