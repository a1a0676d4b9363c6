// The verdict document, determinism, limits and what is refused.

#include "kernels.h"

namespace lathe::verifier_node {
namespace {

Contract sum() { return small_contract("sum_8x512_fp16_sm_89"); }

TEST_CASE("the reference proves equal to itself, with a bound and its scope") {
  Contract contract = sum();
  Report report = verified(contract, contract.reference);
  CHECK(report.verdict == "proved");
  CHECK(report.json.starts_with("{\"schema\":\"lathe/verify/1\",\"verdict\":\"proved\""));
  CHECK(report.json.find("\"bound\":{\"degree\":1,") != std::string::npos);
  CHECK(report.json.find("\"rigorous\":true") != std::string::npos);
  CHECK(report.json.find("\"witness\"") == std::string::npos);
}

TEST_CASE("a verdict is a function of contract, files and seed") {
  Contract contract = small_contract("softmax_8x256_fp16_sm_89");
  Report first = verified(contract, contract.reference);
  Report again = verified(contract, contract.reference);
  CHECK(first.json == again.json);
}

TEST_CASE("more points are run where they are asked for") {
  Contract contract = small_contract("silu_4x512_fp16_sm_89");
  Options options;
  options.points = 6;
  Report report = verified(contract, contract.reference, options);
  CHECK(report.proof.points >= 6);
  CHECK_FALSE(report.proof.rigorous);
}

TEST_CASE("a named constant and the exponents' independence are assumptions of the verdict") {
  Contract contract = small_contract("silu_4x512_fp16_sm_89");
  Report report = verified(contract, contract.reference);
  CHECK(report.json.find("constant 0x3FB8AA3B read as log2 e") != std::string::npos);
  CHECK(report.json.find("different exponents act as independent elements") != std::string::npos);
}

TEST_CASE("a range of blocks is proved as that range and no more") {
  Contract contract = sum();
  Options options;
  options.block_begin = 2;
  options.block_end = 5;
  Report report = verified(contract, contract.reference, options);
  CHECK(report.verdict == "proved");
  CHECK(report.proof.blocks == 3);
  CHECK(report.proof.blocks_total == 8);
  CHECK(report.proof.outputs_compared == 3);
}

TEST_CASE("a mistake in the last block is missed by a range without it, and found with it") {
  Contract contract = sum();
  std::string wrong = text_of(kernels() / "mistakes" / "sum_last_block.ptx");
  Options options;
  options.block_end = 7;
  CHECK(verified(contract, wrong, options).verdict == "proved");
  options.block_begin = 7;
  options.block_end = 8;
  CHECK(verified(contract, wrong, options).verdict == "refuted");
}

TEST_CASE("a further shape of the contract is proved too, or the verdict is not proved") {
  Contract contract = sum();
  Case half{"half", contract.launch, contract.parameters, contract.tensors};
  half.launch.grid = {7, 1, 1};
  contract.cases.push_back(half);
  Report both = verified(contract, contract.reference);
  CHECK(both.verdict == "proved");
  CHECK(both.proof.blocks == 15);
  std::string wrong = text_of(kernels() / "mistakes" / "sum_last_block.ptx");
  contract.launch.grid = {7, 1, 1};
  contract.cases[0].launch.grid = {8, 1, 1};
  Report found = verified(contract, wrong);
  CHECK(found.verdict == "refuted");
  CHECK(found.reason.starts_with("case half: "));
}

TEST_CASE("a limit on instructions makes the verdict undecided, never more") {
  Contract contract = sum();
  Options options;
  options.steps_max = 50;
  Report report = verified(contract, contract.reference, options);
  CHECK(report.verdict == "undecided");
  CHECK(report.reason_code == "exhausted");
}

TEST_CASE("a loop without end is told before any point, and a long one is none") {
  Contract contract = sum();
  Report report = verified(contract, edited(contract.reference, "ret;", "forever:\nbra forever;"));
  INFO(report.reason);
  CHECK(report.verdict == "undecided");
  CHECK(report.reason_code == "exhausted");
  CHECK(report.reason.find("is there a loop without end? --steps") != std::string::npos);
  std::string counted =
      "mov.u32 %r1, 0;\nagain:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 20000;\n"
      "@%p1 bra again;\nret;";
  CHECK(verified(contract, edited(contract.reference, "ret;", counted)).verdict == "proved");
  Options options;
  options.steps_max = 2000;
  report =
      verified(contract, edited(contract.reference, "ret;", "forever:\nbra forever;"), options);
  CHECK(report.reason.find("64 times as many, --steps 128000, do not suffice") !=
        std::string::npos);
}

TEST_CASE("an instruction without a model is named with its line") {
  Contract contract = sum();
  std::string text = edited(contract.reference, "bar.sync", "nanosleep.u32 0;\n\tbar.sync");
  CHECK(verified(contract, text).verdict == "proved");
  text = edited(contract.reference, "add.f32", "sin.approx.f32 %r62, %r30;\n\tadd.f32");
  Report report = verified(contract, text);
  CHECK(report.verdict == "undecided");
  CHECK(report.reason_code == "unsupported");
  CHECK(report.json.find("\"unsupported\":[{\"file\":\"candidate\",\"line\":") !=
        std::string::npos);
}

TEST_CASE("a candidate without the entry is an error, not a verdict") {
  Contract contract = sum();
  ptx::Parsed reference = ptx::parse(contract.reference, "reference.ptx");
  ptx::Parsed other =
      ptx::parse(edited(contract.reference, "entry sum_kernel", "entry other"), "candidate.ptx");
  REQUIRE(other.errors.empty());
  Result<Report> report = verify(reference.module, other.module, contract, {});
  REQUIRE_FALSE(report.has_value());
  CHECK(report.error().fault == Fault::malformed);
}

TEST_CASE("gemm in tensor memory is proved, and without its wait it is not") {
  Contract contract = small_contract("gemm_128x128x64_fp16_sm_100a");
  Report report = verified(contract, contract.reference);
  INFO(report.json);
  CHECK(report.verdict == "proved");
  std::string text = edited(contract.reference, "tcgen05.wait::st.sync.aligned;", "");
  report = verified(contract, text);
  INFO(report.json);
  CHECK(report.verdict == "refuted");
}

TEST_CASE("gemm with wgmma is proved, and without wgmma.fence or its wait it is refuted") {
  Contract contract = small_contract("gemm_128x128x64_fp16_sm_90a");
  Report report = verified(contract, contract.reference);
  INFO(report.json);
  CHECK(report.verdict == "proved");
  CHECK(report.json.find("\"races\":\"passed\"") != std::string::npos);
  std::string text = edited(contract.reference, "wgmma.fence.sync.aligned;", "");
  report = verified(contract, text);
  INFO(report.json);
  CHECK(report.verdict == "refuted");
}

TEST_CASE("the gate passes the reference and turns away a mistake with its evidence") {
  Contract contract = sum();
  auto shared = std::make_shared<const Contract>(contract);
  auto tested = [&](const std::string& text) {
    Tested candidate;
    candidate.contract = shared;
    candidate.ptx = text;
    ptx::Parsed parsed = ptx::parse(text, "candidate.ptx");
    candidate.module = std::make_shared<const ptx::Module>(std::move(parsed.module));
    return candidate;
  };
  Options options;
  options.seed = 5;
  Step<Proved> good = prove(tested(contract.reference), options);
  REQUIRE(good.passed() != nullptr);
  CHECK(good.passed()->proof.outputs_compared == 8);
  Step<Proved> bad =
      prove(tested(text_of(kernels() / "mistakes" / "sum_wrong_shuffle.ptx")), options);
  REQUIRE(bad.rejected() != nullptr);
  CHECK(bad.rejected()->evidence.code == "value");
  CHECK(bad.rejected()->evidence.json.find("\"witness\"") != std::string::npos);
  Step<Proved> narrow =
      prove(tested(text_of(kernels() / "mistakes" / "sum_f16_accumulation.ptx")), options);
  CHECK(narrow.rejected() != nullptr);
}

TEST_CASE(
    "what cannot be carried out is named with its line, where the reason is all that is read") {
  Contract contract = small_contract("sum_8x512_fp16_sm_89");
  std::string text = edited(contract.reference, "\tret;", "\tmov.u32 \t%r1, %nosuch;\n\tret;");
  Report report = verified(contract, text);
  CHECK(report.verdict == "undecided");
  CHECK(report.reason_code == "unsupported");
  CHECK(report.reason.find("the candidate cannot be carried out: ") == 0);
  CHECK(report.reason.find("(line ") != std::string::npos);
}

}  // namespace
}  // namespace lathe::verifier_node
