// What the proofs of several ranges of blocks are together.

#include "cli/verify_split.h"

#include <catch2/catch.hpp>

namespace lathe::cli {
namespace {

Json range(std::uint64_t blocks, std::uint64_t points, double probability, bool rigorous,
           const std::string& assumed) {
  Json json;
  json["verdict"] = "proved";
  json["scope"] = {{"blocks", blocks},
                   {"blocks_total", 8},
                   {"outputs_compared", 10 * blocks},
                   {"points", points},
                   {"stress_blocks", 1}};
  json["bound"] = {
      {"degree", 100 * blocks}, {"failure_probability", probability}, {"rigorous", rigorous}};
  json["assumed"] = {"reals", assumed};
  json["cost"] = {{"thread_instructions", 7}, {"peak_bytes", blocks}};
  return json;
}

TEST_CASE("ranges add up, and the weakest of them is the whole's bound") {
  Json all = merge_proofs({range(5, 4, 1e-20, true, "a"), range(3, 3, 1e-9, false, "b")});
  CHECK(all["scope"]["blocks"] == 8);
  CHECK(all["scope"]["outputs_compared"] == 80);
  CHECK(all["scope"]["points"] == 3);
  CHECK(all["bound"]["degree"] == 500);
  CHECK(all["bound"]["failure_probability"] == 1e-9);
  CHECK(all["bound"]["rigorous"] == false);
  CHECK(all["assumed"] == Json{"reals", "a", "b"});
  CHECK(all["cost"]["thread_instructions"] == 14);
  CHECK(all["cost"]["peak_bytes"] == 5);
}

TEST_CASE("one range is what it is") {
  CHECK(merge_proofs({range(8, 3, 1e-9, true, "a")})["scope"] ==
        range(8, 3, 1e-9, true, "a")["scope"]);
}

}  // namespace
}  // namespace lathe::cli
