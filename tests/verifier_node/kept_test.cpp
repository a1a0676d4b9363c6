// What a reference gave is kept for further candidates, and found again only where it is the same.

#include "verifier_node/kept.h"
#include "kernels.h"
#include "verifier_node/binding.h"
#include "verifier_node/replay.h"

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

/// y = (n + 1) x, block by block, where a branch asks for the block's n, which is drawn.
std::string branching(const std::string& twice) {
  return ".version 8.7\n.target sm_89\n.address_size 64\n"
         ".visible .entry k(.param .u64 n, .param .u64 x, .param .u64 y) {\n"
         ".reg .b64 %rd<9>; .reg .b32 %r<5>; .reg .f32 %f<3>; .reg .pred %p<2>;\n"
         "ld.param.u64 %rd1, [n]; ld.param.u64 %rd2, [x]; ld.param.u64 %rd3, [y];\n"
         "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 32, %r1;\n"
         "mul.wide.u32 %rd4, %r2, 4; add.s64 %rd1, %rd1, %rd4; mul.wide.u32 %rd5, %r3, 4;\n"
         "add.s64 %rd2, %rd2, %rd5; add.s64 %rd3, %rd3, %rd5;\n"
         "ld.global.s32 %r4, [%rd1]; ld.global.f32 %f1, [%rd2];\n"
         "setp.eq.s32 %p1, %r4, 0; @%p1 bra once;\n" +
         twice + "once:\nst.global.f32 [%rd3], %f1; ret; }\n";
}

TEST_CASE("what blocks do is remembered with the integers that decide it") {
  Result<Contract> contract = parse_contract(
      "format = 1\nname = \"drawn\"\nentry = \"k\"\ntarget = \"sm_89\"\nptx_isa = \"8.7\"\n"
      "[launch]\ngrid = [64, 1, 1]\nblock = [32, 1, 1]\n"
      "[[parameter]]\nname = \"n\"\ntensor = \"n\"\n[[parameter]]\nname = \"x\"\ntensor = \"x\"\n"
      "[[parameter]]\nname = \"y\"\ntensor = \"y\"\n"
      "[[tensor]]\nname = \"n\"\ndtype = \"s32\"\nshape = [64]\nrole = \"input\"\n"
      "values = {integers = [0, 1]}\n"
      "[[tensor]]\nname = \"x\"\ndtype = \"f32\"\nshape = [2048]\nrole = \"input\"\n"
      "[[tensor]]\nname = \"y\"\ndtype = \"f32\"\nshape = [2048]\nrole = \"output\"\n"
      "[tolerance]\nabsolute = 1e-3\nrelative = 1e-3\n",
      "drawn.toml");
  REQUIRE(contract);
  contract->reference = branching("add.f32 %f1, %f1, %f1;\n");
  std::string candidate = branching("mul.f32 %f1, %f1, 0f40000000;\n");
  auto kept = std::make_shared<Kept>(plenty);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    Report expected = verified(*contract, candidate, alone(seed));
    INFO(expected.json);
    CHECK(expected.verdict == "proved");
    CHECK(expected.json.find("\"outputs_translated\"") != std::string::npos);
    for (unsigned time = 0; time < 2; ++time)
      CHECK(verified(*contract, candidate, keeping(kept, seed)).json == expected.json);
  }
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

/// y[i] = x[4096 i] by 128 threads; x is too large to be made whole.
const char* const strided =
    ".version 8.7\n.target sm_89\n.address_size 64\n"
    ".visible .entry k(.param .u64 x, .param .u64 y) {\n"
    ".reg .b64 %rd<7>; .reg .b32 %r<3>; .reg .f32 %f<2>;\n"
    "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd3, %r1, 16384; add.s64 %rd4, %rd1, %rd3; ld.global.f32 %f1, [%rd4];\n"
    "mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd2, %rd5; st.global.f32 [%rd6], %f1; ret; }\n";

Contract strided_contract() {
  Result<Contract> contract = parse_contract(
      "format = 1\nname = \"strided\"\nentry = \"k\"\ntarget = \"sm_89\"\nptx_isa = \"8.7\"\n"
      "[launch]\ngrid = [1, 1, 1]\nblock = [128, 1, 1]\n"
      "[[parameter]]\nname = \"x\"\ntensor = \"x\"\n[[parameter]]\nname = \"y\"\ntensor = \"y\"\n"
      "[[tensor]]\nname = \"x\"\ndtype = \"f32\"\nshape = [128, 4096]\nrole = \"input\"\n"
      "values = {uniform = [-1.0, 1.0]}\n"
      "[[tensor]]\nname = \"y\"\ndtype = \"f32\"\nshape = [128]\nrole = \"output\"\n"
      "[tolerance]\nabsolute = 1e-3\nrelative = 1e-3\n",
      "strided.toml");
  REQUIRE(contract);
  contract->reference = strided;
  return *std::move(contract);
}

TEST_CASE("a program meets the same inputs, whether made or kept beside the reference") {
  Contract contract = strided_contract();
  ptx::Parsed parsed = ptx::parse(strided, "strided.ptx");
  Result<ptx::Program> program = ptx::decode(parsed.module, "k");
  REQUIRE(program);
  Sides sides;
  sides.contract = &contract;
  sides.buffers = buffers_of(contract);
  sides.parameters = parameter_bytes(contract);
  for (Subject* subject : {&sides.reference, &sides.candidate}) {
    subject->module = &parsed.module;
    subject->program = *program;
    subject->launch = contract.launch;
  }
  Kept kept(plenty);
  Digest name = name_of_reference(sides);
  for (InputClass input_class : input_classes(contract))
    for (std::uint64_t seed : {1, 2}) {
      INFO(name_of(input_class) << " " << seed);
      Replay made(sides);
      REQUIRE(made.use_inputs(input_class, seed));
      std::string expected = made.run(Side::candidate, {0}).bytes[1];
      for (unsigned time = 0; time < 2; ++time) {
        Replay again(sides);
        again.keep_in(&kept, name);
        REQUIRE(again.use_inputs(input_class, seed));
        CHECK(again.run_reference({0})->bytes[1] == expected);
        CHECK(again.run(Side::candidate, {0}).bytes[1] == expected);
      }
    }
}

TEST_CASE("one program is one text, launched alike") {
  ptx::Parsed one = ptx::parse(strided, "one.ptx"), same = ptx::parse(strided, "same.ptx");
  std::string text = strided;
  text.replace(text.find("16384"), 5, "16380");
  ptx::Parsed other = ptx::parse(text, "other.ptx");
  Sides sides;
  sides.reference.module = &one.module;
  sides.candidate.module = &same.module;
  CHECK(sides.same_runs());
  sides.candidate.launch.dynamic_shared_bytes = 16;
  CHECK_FALSE(sides.same_runs());
  sides.candidate.launch = sides.reference.launch;
  sides.candidate.launch.block[0] = 64;
  CHECK_FALSE(sides.same_runs());
  sides.candidate.launch = sides.reference.launch;
  sides.candidate.module = &other.module;
  CHECK_FALSE(sides.same_runs());
}

}  // namespace
}  // namespace lathe::verifier_node
