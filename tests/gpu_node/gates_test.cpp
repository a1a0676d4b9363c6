// Sanitize and test on the emulated device: honest kernels pass, each planted mistake and each fake
// is rejected with evidence, what the machine lacks is undecided.

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/json.h"
#include "gpu_node/emulator.h"
#include "kernels.h"
#include "pipeline/figures.h"
#include "tests/pipeline/kernel.h"

namespace lathe::gpu_node {
namespace {

namespace fs = std::filesystem;

/// The answer of both gates: "passed", or the gate and the evidence's code.
struct Verdict {
  std::string gate = "passed", code;
  Evidence evidence;
};

template <class Next>
bool take(const Step<Next>& step, const char* gate, Verdict& verdict) {
  if (step.passed() != nullptr) return false;
  if (step.error() != nullptr) {
    verdict = {"error", step.error()->what, {}};
    return true;
  }
  const Evidence& evidence =
      step.rejected() != nullptr ? step.rejected()->evidence : step.undecided()->evidence;
  verdict = {step.rejected() != nullptr ? gate : "undecided", evidence.code, evidence};
  return true;
}

Verdict judge(const std::shared_ptr<const Contract>& contract, const std::string& ptx) {
  Verdict verdict;
  Step<Sanitized> first = sanitize(assembled(contract, ptx), {});
  if (take(first, "sanitize", verdict)) return verdict;
  Step<Tested> second = test(*first.passed(), {});
  take(second, "test", verdict);
  return verdict;
}

const std::vector<std::string> runnable{"softmax_8x256_fp16_sm_89",   "softmax_8x256_fp16_sm_90a",
                                        "softmax_8x256_fp16_sm_100a", "silu_4x512_fp16_sm_89",
                                        "silu_4x512_fp16_sm_90a",     "silu_4x512_fp16_sm_100a",
                                        "sum_8x512_fp16_sm_89",       "sum_8x512_fp16_sm_90a",
                                        "sum_8x512_fp16_sm_100a",     "gemm_128x128x64_fp16_sm_89"};

/// name, contract and file of each entry of an index.toml: a line a key, as the suite writes it.
std::vector<std::map<std::string, std::string>> entries_of(const std::string& path) {
  std::vector<std::map<std::string, std::string>> entries;
  std::string text = text_at(path);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("[[")) entries.emplace_back();
    std::size_t equals = line.find(" = \"");
    if (equals == std::string::npos || entries.empty()) continue;
    entries.back()[line.substr(0, equals)] = line.substr(equals + 4, line.size() - equals - 5);
  }
  return entries;
}

std::string mistake(const std::string& name) {
  return text_at("tests/kernels/mistakes/" + name + ".ptx");
}

}  // namespace

TEST_CASE("an honest reference passes sanitize and test, on every target that can be run") {
  for (const std::string& name : runnable) {
    INFO(name);
    auto contract = small(name);
    Verdict verdict = judge(contract, contract->reference);
    INFO(verdict.code << " " << verdict.evidence.reason << " " << verdict.evidence.json);
    CHECK(verdict.gate == "passed");
  }
}

TEST_CASE("honest neighbours of mistakes pass") {
  for (auto& entry : entries_of("tests/kernels/honest/index.toml")) {
    INFO(entry["name"]);
    Verdict verdict = judge(contract_at(entry["contract"]), text_at(entry["file"]));
    INFO(verdict.code << " " << verdict.evidence.reason);
    CHECK(verdict.gate == "passed");
  }
}

TEST_CASE("planted mistakes are rejected before any proof, but for those that only a proof sees") {
  // Within the tolerance on every class of input, so that only the field tells them apart.
  const std::set<std::string> for_the_proof{"softmax_wrong_constant", "sum_divided_by_itself",
                                            "sum_narrow_total",       "gemm_f16_accumulation",
                                            "sum_f16_accumulation",   "silu_wrong_constant"};
  for (auto& entry : entries_of("tests/kernels/mistakes/index.toml")) {
    if (for_the_proof.contains(entry["name"])) continue;
    INFO(entry["name"] << ": " << entry["what"]);
    Verdict verdict = judge(contract_at(entry["contract"]), text_at(entry["file"]));
    INFO(verdict.gate << " " << verdict.code << " " << verdict.evidence.reason);
    CHECK((verdict.gate == "sanitize" || verdict.gate == "test"));
  }
}

TEST_CASE("a dropped barrier is a race that names both lines, threads and the place") {
  Verdict verdict = judge(small("sum_8x512_fp16_sm_89"), mistake("sum_dropped_barrier"));
  CHECK(verdict.gate == "sanitize");
  CHECK(verdict.code == "race");
  CHECK(verdict.evidence.place.line > 0);
  // Which comes first is what nothing decides, so that the sentence says neither.
  CHECK(verdict.evidence.reason.find("have no order between them") != std::string::npos);
  Json json = Json::parse(verdict.evidence.json);
  const Json& finding = json["findings"][0];
  CHECK(finding["space"] == "shared");
  CHECK(finding["first"]["line"].get<int>() > 0);
  CHECK(finding["second"]["source"].get<std::string>().find("shared") != std::string::npos);
  CHECK(finding["first"]["thread"] != finding["second"]["thread"]);
}

TEST_CASE("a wrong value comes back with its class, element and both results") {
  Verdict verdict = judge(small("sum_8x512_fp16_sm_89"), mistake("sum_last_block"));
  CHECK(verdict.gate == "test");
  CHECK(verdict.code == "value");
  Json json = Json::parse(verdict.evidence.json);
  CHECK(json["class"] == "declared");
  CHECK(json["tensor"] == "y");
  CHECK(json["index"] == Json::array({7}));
  CHECK(json["reference"] != json["candidate"]);
  CHECK(json["yardstick"] == "the reference in the wide domain");
  CHECK(json["wide"].get<double>() == Approx(json["reference"].get<double>()).epsilon(1e-2));
  CHECK(json["written_by"]["block"] == 7);
  CHECK(json["written_by"]["source"].get<std::string>().find("st.global") != std::string::npos);
  CHECK(verdict.evidence.place.line == json["written_by"]["line"].get<std::uint32_t>());
}

TEST_CASE("errors are told where the wide domain was asked, and nowhere else") {
  auto with_body = [](const std::string& body) {
    return lathe::kernel_with("add.f32 %f2, %f1, %f1;", body);
  };
  std::string rounded =
      with_body(".reg .b16 %h<2>;\n  cvt.rn.f16.f32 %h1, %f1;\n  cvt.f32.f16 %f2, %h1;");
  auto contract = lathe::kernel_contract(lathe::kernel_toml, rounded);
  Step<Tested> same = test(sanitized(contract, rounded), {});
  REQUIRE(same.passed());
  CHECK(same.passed()->difference_max == 0);
  CHECK_FALSE(same.passed()->candidate_error_max);
  CHECK(Json::parse(figures(*same.passed()))["reference_error_max"].is_null());
  // Beyond the tolerance of what the reference gives, and as near to the reals as can be.
  Step<Tested> better = test(sanitized(contract, with_body("mov.f32 %f2, %f1;")), {});
  REQUIRE(better.passed());
  CHECK(better.passed()->difference_max > 1e-4);
  CHECK(better.passed()->candidate_error_max == 0);
  CHECK(better.passed()->reference_error_max > 1e-4);
}

TEST_CASE("a store over the input is rejected with the tensor's name") {
  Verdict verdict = judge(small("softmax_8x256_fp16_sm_89"), mistake("softmax_input_overwritten"));
  CHECK(verdict.gate == "sanitize");
  CHECK(verdict.code == "read_only");
  CHECK(Json::parse(verdict.evidence.json)["tensor"] == "x");
}

TEST_CASE("a store behind the end of the output is out of bounds") {
  Verdict verdict = judge(small("sum_8x512_fp16_sm_89"), mistake("sum_extra_write"));
  CHECK(verdict.gate == "sanitize");
  CHECK(verdict.code == "out_of_bounds");
  CHECK(verdict.evidence.reason.find("it is at byte 16 of `y`, which has 16") != std::string::npos);
}

TEST_CASE("a wait that is too short is seen under the latest schedule") {
  Verdict verdict = judge(small("gemm_128x128x64_fp16_sm_89"), mistake("gemm_short_wait"));
  CHECK(verdict.gate == "sanitize");
  CHECK(verdict.code == "race");
  CHECK(verdict.evidence.reason.find("what the cp.async of line ") != std::string::npos);
}

TEST_CASE("a copy into what a product still reads is told as that, by the product's name") {
  auto contract = contract_at("suite/contracts/gemm_fp16_sm_90a");
  std::string wait = "wgmma.wait_group.sync.aligned 1", ptx = contract->reference;
  std::size_t at = ptx.find(wait);
  REQUIRE(at != std::string::npos);
  Limits few;
  few.blocks_max = 1;
  Step<Sanitized> step =
      sanitize(assembled(contract, ptx.replace(at + wait.size() - 1, 1, "2")), few);
  REQUIRE(step.rejected());
  const std::string& reason = step.rejected()->evidence.reason;
  INFO(reason);
  CHECK(reason.find("writes where the wgmma.mma_async of line ") != std::string::npos);
  CHECK(reason.find("may still be reading") != std::string::npos);
}

TEST_CASE("a kernel with copies is run with late copies too, and one without is not") {
  auto late = [](const std::string& name) {
    auto contract = small(name);
    Step<Sanitized> step = sanitize(assembled(contract, contract->reference), {});
    REQUIRE(step.passed());
    const auto& checks = step.passed()->checks;
    return std::find(checks.begin(), checks.end(), "late copies") != checks.end();
  };
  CHECK(late("gemm_128x128x64_fp16_sm_89"));
  CHECK_FALSE(late("sum_8x512_fp16_sm_89"));
}

TEST_CASE("each fake fails the test, and the reference beside them passes") {
  for (const std::string& name : runnable) {
    INFO(name);
    auto contract = small(name);
    Result<std::vector<Fake>> fakes = make_fakes(*contract);
    REQUIRE(fakes);
    CHECK(fakes->size() == 5);
    for (const Fake& fake : *fakes) {
      INFO(fake.name);
      Step<Tested> step = test(sanitized(contract, fake.ptx), {});
      REQUIRE(step.rejected());
      INFO(step.rejected()->evidence.reason);
      bool empty = fake.name == "null";
      CHECK(step.rejected()->evidence.code == (empty ? "unwritten" : "value"));
    }
    CHECK(test(sanitized(contract, contract->reference), {}).passed());
  }
}

TEST_CASE("a contract under which a fake passes is refused with the fake's name") {
  auto contract = std::make_shared<Contract>(*small("sum_8x512_fp16_sm_89"));
  CHECK(check_fakes(contract, {}));
  contract->tensors[0].values.kind = Values::Zero{};
  contract->tolerance.absolute = 1e9;
  Result<Done> refused = check_fakes(contract, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().fault == Fault::malformed);
  CHECK(refused.error().what.find("\"constant\"") != std::string::npos);
}

TEST_CASE("a large grid is sampled, and its fakes fail too") {
  auto contract = contract_at("suite/contracts/sum_fp16_sm_90a");
  Result<std::vector<Fake>> fakes = make_fakes(*contract);
  REQUIRE(fakes);
  for (const Fake& fake : *fakes) {
    INFO(fake.name);
    CHECK(test(sanitized(contract, fake.ptx), {}).rejected());
  }
  Step<Tested> honest = test(sanitized(contract, contract->reference), {});
  REQUIRE(honest.passed());
  CHECK(honest.passed()->elements_compared == 64 * honest.passed()->inputs.size());
}

TEST_CASE("what the machine has no meaning for is undecided, with its line") {
  auto contract = small("gemm_128x128x64_fp16_sm_100a");
  std::string text = contract->reference;
  std::size_t first = text.find("ld.param");
  REQUIRE(first != std::string::npos);
  // Nobody says what it does without its mbarrier.
  text.insert(first, "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r1;\n");
  Step<Sanitized> step = sanitize(assembled(contract, text), {});
  REQUIRE(step.undecided());
  CHECK(step.undecided()->reason == Reason::unsupported);
  CHECK(step.undecided()->evidence.place.line > 0);
}

TEST_CASE("a kernel whose tensor work runs beside its warps has no modelled time") {
  auto contract = small("gemm_128x128x64_fp16_sm_90a");
  Tested tested;
  static_cast<Assembled&>(tested) = assembled(contract, contract->reference);
  Step<Timed> step = benchmark(tested, contract->reference, Assembler{}, {});
  REQUIRE(step.undecided());
  CHECK(step.undecided()->reason == Reason::unsupported);
  CHECK(step.undecided()->evidence.reason.find("wgmma") != std::string::npos);
}

TEST_CASE("the same candidate and seed give the same evidence, byte for byte") {
  auto contract = small("softmax_8x256_fp16_sm_89");
  Verdict first = judge(contract, mistake("softmax_dropped_barrier"));
  Verdict second = judge(contract, mistake("softmax_dropped_barrier"));
  CHECK(first.evidence.json == second.evidence.json);
  CHECK(first.evidence.reason == second.evidence.reason);
  CHECK(first.evidence.json.find("/work") == std::string::npos);
}

TEST_CASE("a kernel without end is undecided: exhausted") {
  auto contract = small("sum_8x512_fp16_sm_89");
  std::string text = contract->reference;
  std::size_t at = text.rfind("ret;");
  text.insert(at, "LATHE_LOOP:\n\tbra.uni \tLATHE_LOOP;\n\t");
  Limits limits;
  limits.steps_max = 10'000;
  Step<Sanitized> step = sanitize(assembled(contract, text), limits);
  REQUIRE(step.undecided());
  CHECK(step.undecided()->reason == Reason::exhausted);
}

TEST_CASE(
    "a kernel without end is told by the reference's own steps, without waiting for a limit") {
  auto contract = small("sum_8x512_fp16_sm_89");
  std::string text = contract->reference;
  text.insert(text.rfind("ret;"), "LATHE_LOOP:\n\tbra.uni \tLATHE_LOOP;\n\t");
  Step<Sanitized> step = sanitize(assembled(contract, text), {});
  REQUIRE(step.undecided());
  CHECK(step.undecided()->reason == Reason::exhausted);
  CHECK(step.undecided()->evidence.json.find("without end") != std::string::npos);
}

TEST_CASE("what a candidate may take follows the reference, with a floor and a limit") {
  Limits limits;
  CHECK(steps_allowed(0, 8, limits) == 1'000'000);
  CHECK(steps_allowed(8'000'000, 8, limits) == 1'000'000 + 50'000'000 + 16'000'000);
  limits.steps_max = 5'000;
  CHECK(steps_allowed(8'000'000, 8, limits) == 5'000);
}

TEST_CASE("a contract's reference stays inside its tensors, and one block more is out of bounds") {
  auto contract = small("sum_8x512_fp16_sm_89");
  CHECK(try_reference(contract, {}).has_value());
  auto wide = std::make_shared<Contract>(*contract);
  wide->launch.grid = {9, 1, 1};
  Result<Done> tried = try_reference(wide, {});
  REQUIRE_FALSE(tried.has_value());
  CHECK(tried.error().fault == Fault::malformed);
  CHECK(tried.error().what.find("out_of_bounds in block 8") != std::string::npos);
  CHECK(tried.error().place.line > 0);
  CHECK(tried.error().remedy.find("grid") != std::string::npos);
  auto without = std::make_shared<Contract>(*contract);
  without->launch.dynamic_shared_bytes = 0;
  tried = try_reference(without, {});
  REQUIRE_FALSE(tried.has_value());
  CHECK(tried.error().what.find("a block has 0 bytes of shared memory") != std::string::npos);
  CHECK(tried.error().remedy.find("launch.dynamic_shared_bytes") != std::string::npos);
  auto cases = std::make_shared<Contract>(*contract);
  cases->cases.push_back({"long", wide->launch, contract->parameters, contract->tensors});
  tried = try_reference(cases, {});
  REQUIRE_FALSE(tried.has_value());
  CHECK(tried.error().what.starts_with("case long: "));
}

TEST_CASE("blocks are sampled with the first, the last and the edges, the same for a seed") {
  Launch launch;
  launch.grid = {100, 50, 1};
  std::vector<std::uint64_t> blocks = sample_blocks(launch, 16, 7);
  CHECK(blocks.size() == 16);
  for (std::uint64_t edge : {0, 99, 4900, 4999})
    CHECK(std::find(blocks.begin(), blocks.end(), edge) != blocks.end());
  CHECK(blocks == sample_blocks(launch, 16, 7));
  CHECK(blocks != sample_blocks(launch, 16, 8));
  CHECK(sample_blocks(launch, 5000, 7).size() == 5000);
  launch.grid = {10, 5, 40};
  blocks = sample_blocks(launch, 8, 7);
  CHECK(std::find(blocks.begin(), blocks.end(), 1999) != blocks.end());
}

}  // namespace lathe::gpu_node
