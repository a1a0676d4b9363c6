// Kernels whose blocks write elsewhere than the reference's, on grids that are too large to be run
// whole: a wrong one is told by what both wrote or by its own blocks, a right one is never
// rejected.

#include <catch2/catch.hpp>

#include "base/json.h"
#include "gpu_node/emulator.h"
#include "kernels.h"

namespace lathe::gpu_node {
namespace {

constexpr const char* sum = "suite/contracts/sum_fp16_sm_90a";
constexpr const char* block_of_sum = "mov.u32 \t%r22, %ctaid.x;";

std::string replaced(std::string text, std::string_view from, const std::string& to) {
  std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

/// Block i does what block i + 1 of the reference does, and the last what the first does.
std::string rotated(const Contract& contract) {
  return replaced(contract.reference, block_of_sum,
                  "mov.u32 %r22, %ctaid.x; add.u32 %r22, %r22, 1; rem.u32 %r22, %r22, 256;");
}

/// No grid is run whole.
Limits sampled() {
  Limits limits;
  limits.grid_steps_max = 0;
  return limits;
}

}  // namespace

TEST_CASE("blocks in another order pass where the grid can be run, and are undecided elsewhere") {
  auto contract = contract_at(sum);
  Sanitized candidate = sanitized(contract, rotated(*contract));
  CHECK(test(candidate, {}).passed());
  Step<Tested> step = test(candidate, sampled());
  REQUIRE(step.undecided());
  CHECK(step.undecided()->reason == Reason::exhausted);
  CHECK(step.undecided()->evidence.code == "elsewhere");
}

TEST_CASE("a wrong value where both wrote is told without the whole grid") {
  auto contract = contract_at(sum);
  std::string wrong = replaced(rotated(*contract), "@%p4 st.global.b16",
                               "mov.b16 %rs1, 0x3C00; @%p4 st.global.b16");
  Step<Tested> step = test(sanitized(contract, wrong), sampled());
  REQUIRE(step.rejected());
  CHECK(step.rejected()->evidence.code == "value");
}

TEST_CASE("a kernel that writes nothing is told by its own blocks, whatever the reference costs") {
  auto contract = contract_at("suite/contracts/gemm_fp16_sm_89");
  Result<std::vector<Fake>> fakes = make_fakes(*contract);
  REQUIRE(fakes);
  for (const Fake& fake : *fakes) {
    if (fake.name != "null") continue;
    Step<Tested> step = test(sanitized(contract, fake.ptx), {});
    REQUIRE(step.rejected());
    CHECK(step.rejected()->evidence.code == "unwritten");
    CHECK(Json::parse(step.rejected()->evidence.json)["bytes_extra"] == 0);
  }
}

TEST_CASE("a kernel that leaves one block's elements is told where its grid can be run") {
  auto contract = contract_at(sum);
  // The last block ends at once: its own grid shows what is missing, which no sample can.
  std::string idle = replaced(rotated(*contract), "ld.param",
                              "mov.u32 %r22, %ctaid.x; setp.eq.u32 %p1, %r22, 255; @%p1 ret; "
                              "ld.param");
  Step<Tested> step = test(sanitized(contract, idle), {});
  REQUIRE(step.rejected());
  CHECK(step.rejected()->evidence.code == "unwritten");
  CHECK(test(sanitized(contract, idle), sampled()).undecided());
}

}  // namespace lathe::gpu_node
