// What a reference gave is kept for further candidates, and found again only where it is the same.

#include "verifier_node/kept.h"
#include "kernels.h"

namespace lathe::verifier_node {
namespace {

constexpr std::uint64_t plenty = std::uint64_t{1} << 28;

Options keeping(const std::shared_ptr<Kept>& kept, std::uint64_t seed = 7) {
  Options options;
  options.seed = seed;
  options.kept = kept;
  return options;
}

Options alone(std::uint64_t seed = 7) { return keeping(nullptr, seed); }

TEST_CASE("the verdict is the same whether the reference was run or remembered") {
  auto kept = std::make_shared<Kept>(plenty);
  for (const char* name :
       {"sum_8x512_fp16_sm_89", "softmax_8x256_fp16_sm_89", "gemm_128x128x64_fp16_sm_90a"}) {
    INFO(name);
    Contract contract = small_contract(name);
    std::string expected = verified(contract, contract.reference, alone()).json;
    CHECK(expected.find("\"verdict\":\"proved\"") != std::string::npos);
    for (unsigned time = 0; time < 3; ++time)
      CHECK(verified(contract, contract.reference, keeping(kept)).json == expected);
  }
}

TEST_CASE("a mistake is found beside what is remembered") {
  auto kept = std::make_shared<Kept>(plenty);
  Contract contract = small_contract("sum_8x512_fp16_sm_89");
  std::string wrong = text_of(kernels() / "mistakes" / "sum_last_block.ptx");
  CHECK(verified(contract, contract.reference, keeping(kept)).verdict == "proved");
  CHECK(verified(contract, wrong, keeping(kept)).json == verified(contract, wrong, alone()).json);
  CHECK(verified(contract, wrong, keeping(kept)).verdict == "refuted");
}

TEST_CASE("another reference is another's") {
  auto kept = std::make_shared<Kept>(plenty);
  Contract contract = small_contract("sum_8x512_fp16_sm_89"), other = contract;
  other.reference = text_of(kernels() / "mistakes" / "sum_last_block.ptx");
  CHECK(verified(contract, contract.reference, keeping(kept)).verdict == "proved");
  CHECK(verified(other, contract.reference, keeping(kept)).verdict != "proved");
  CHECK(verified(other, other.reference, keeping(kept)).verdict == "proved");
}

TEST_CASE("each seed has points of its own") {
  auto kept = std::make_shared<Kept>(plenty);
  Contract contract = small_contract("softmax_8x256_fp16_sm_89");
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    CHECK(verified(contract, contract.reference, keeping(kept, seed)).json ==
          verified(contract, contract.reference, alone(seed)).json);
}

TEST_CASE("other values of the inputs, and another launch, are another reference") {
  auto kept = std::make_shared<Kept>(plenty);
  Contract contract = small_contract("sum_8x512_fp16_sm_89"), shorter = contract;
  CHECK(verified(contract, contract.reference, keeping(kept)).verdict == "proved");
  shorter.launch.grid[0] = 4;
  Report report = verified(shorter, contract.reference, keeping(kept));
  CHECK(report.json == verified(shorter, contract.reference, alone()).json);
  CHECK(report.proof.blocks_total == 4);
}

TEST_CASE("what does not fit is not kept, and nothing depends on it") {
  Contract contract = small_contract("softmax_8x256_fp16_sm_89");
  std::string expected = verified(contract, contract.reference, alone()).json;
  for (std::uint64_t bytes : {0, 1000, 20000}) {
    auto kept = std::make_shared<Kept>(bytes);
    for (unsigned time = 0; time < 2; ++time)
      CHECK(verified(contract, contract.reference, keeping(kept)).json == expected);
  }
}

}  // namespace
}  // namespace lathe::verifier_node
