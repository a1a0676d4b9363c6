// Kernels that are equal are proved so: other configurations of the shipped kernels, and honest
// rewrites of them.

#include "kernels.h"

namespace lathe::verifier_node {
namespace {

void check_proved(const Report& report) {
  INFO(report.json);
  CHECK(report.verdict == "proved");
  CHECK(report.reason_code == "equal");
  CHECK(report.proof.blocks == report.proof.blocks_total);
  CHECK(report.proof.failure_probability < 1e-15);
  CHECK(report.proof.outputs_compared > 0);
}

#define PROVES(contract, label)                          \
  TEST_CASE("proved: " contract " against its " label) { \
    check_proved(verified_alternative(contract, label)); \
  }
PROVES("sum_8x512_fp16_sm_89", "warps4")
PROVES("sum_8x512_fp16_sm_89", "warps1_narrow")
PROVES("sum_8x512_fp16_sm_90a", "warps4")
PROVES("sum_8x512_fp16_sm_90a", "warps1_narrow")
PROVES("sum_8x512_fp16_sm_100a", "warps4")
PROVES("sum_8x512_fp16_sm_100a", "warps1_narrow")
PROVES("silu_4x512_fp16_sm_89", "warps4_block1024")
PROVES("silu_4x512_fp16_sm_89", "warps1_narrow")
PROVES("silu_4x512_fp16_sm_90a", "warps4_block1024")
PROVES("silu_4x512_fp16_sm_90a", "warps1_narrow")
PROVES("silu_4x512_fp16_sm_100a", "warps4_block1024")
PROVES("silu_4x512_fp16_sm_100a", "warps1_narrow")
PROVES("softmax_8x256_fp16_sm_89", "warps4")
PROVES("softmax_8x256_fp16_sm_89", "warps1_narrow")
PROVES("softmax_8x256_fp16_sm_90a", "warps4")
PROVES("softmax_8x256_fp16_sm_90a", "warps1_narrow")
PROVES("softmax_8x256_fp16_sm_100a", "warps4")
PROVES("softmax_8x256_fp16_sm_100a", "warps1_narrow")
PROVES("gemm_128x128x64_fp16_sm_89", "tile32x64_warps2")
PROVES("gemm_256x256x128_fp16_sm_89", "tile128x64_warps8")
PROVES("gemm_256x256x128_fp16_sm_89", "tile32x64_warps4")
#undef PROVES

#define HONEST(name, contract)                                                            \
  TEST_CASE("proved: the honest " name) {                                                 \
    check_proved(verified(small_contract(contract),                                       \
                          text_of(kernels() / "honest" / (std::string(name) + ".ptx")))); \
  }
HONEST("softmax_reciprocal", "softmax_8x256_fp16_sm_89")
HONEST("silu_shifted_index", "silu_4x512_fp16_sm_89")
HONEST("silu_through_zero", "silu_4x512_fp16_sm_89")
HONEST("sum_rotated_load", "sum_8x512_fp16_sm_89")
HONEST("sum_tree", "sum_8x512_fp16_sm_89")
HONEST("sum_extra_barriers", "sum_8x512_fp16_sm_89")
#undef HONEST

TEST_CASE("a reference of one target stands for a candidate of another") {
  Contract contract = small_contract("softmax_8x256_fp16_sm_89");
  check_proved(verified(contract, small_contract("softmax_8x256_fp16_sm_100a").reference));
}

}  // namespace
}  // namespace lathe::verifier_node
