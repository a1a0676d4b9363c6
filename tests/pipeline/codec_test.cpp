// What crosses a process comes out as it went in, and hostile bytes are refused.

#include "pipeline/codec.h"

#include "tests/pipeline/kernel.h"

namespace lathe {
namespace {

Tested tested_candidate() {
  auto step =
      screen({kernel_contract(), kernel_with("add.f32 %f2, %f1, %f1", "mul.f32 %f2, %f1, 2.0")});
  REQUIRE(step.passed() != nullptr);
  Tested tested;
  static_cast<Screened&>(tested) = *step.passed();
  tested.cubin = std::string(
      "\x7f"
      "ELF\0\1",
      6);
  tested.assembler = "ptxas 13.0.88";
  tested.resources = {12, 0, 0, -1, 32, 1};
  tested.checks = {"bounds", "races"};
  tested.blocks = 4;
  tested.inputs = {"declared", "zeros"};
  tested.elements_compared = 1024;
  tested.difference_max = 0.25;
  tested.candidate_error_max = 0.125;
  tested.reference_error_max = 0.0625;
  return tested;
}

Verdict sample_verdict() {
  Verdict verdict;
  verdict.gate = Gate::test;
  verdict.answer = Verdict::Answer::rejected;
  verdict.evidence = {"value", "element 3 differs", {"candidate.ptx", 12, 3}, "{\"a\":1}"};
  verdict.limits = "blocks_max=64";
  return verdict;
}

TEST_CASE("a tested candidate comes out as it went in") {
  Tested tested = tested_candidate();
  auto decoded = decode_tested(encode(tested));
  REQUIRE(decoded.has_value());
  CHECK(decoded->contract->identity() == tested.contract->identity());
  CHECK(decoded->ptx == tested.ptx);
  CHECK(decoded->candidate == tested.candidate);
  CHECK(decoded->module->functions.size() == 1);
  CHECK(decoded->cubin == tested.cubin);
  CHECK(decoded->resources.stack_bytes == -1);
  CHECK(decoded->resources.static_shared_bytes == 32);
  CHECK(decoded->checks == tested.checks);
  CHECK(decoded->inputs == tested.inputs);
  CHECK(decoded->difference_max == 0.25);
  CHECK(decoded->candidate_error_max == 0.125);
  CHECK(decoded->reference_error_max == 0.0625);
  CHECK(encode(*decoded) == encode(tested));
}

TEST_CASE("every stage has its own decoder") {
  Tested tested = tested_candidate();
  CHECK(decode_screened(encode(static_cast<const Screened&>(tested))).has_value());
  CHECK(decode_assembled(encode(static_cast<const Assembled&>(tested)))->cubin == tested.cubin);
  CHECK(decode_sanitized(encode(static_cast<const Sanitized&>(tested)))->blocks == 4);
}

TEST_CASE("a later stage is not made of an earlier one's bytes") {
  Tested tested = tested_candidate();
  CHECK_FALSE(decode_tested(encode(static_cast<const Sanitized&>(tested))).has_value());
  CHECK_FALSE(decode_tested(encode(static_cast<const Assembled&>(tested))).has_value());
  CHECK_FALSE(decode_sanitized(encode(static_cast<const Screened&>(tested))).has_value());
}

TEST_CASE("equal candidates have equal bytes") {
  CHECK(encode(tested_candidate()) == encode(tested_candidate()));
}

TEST_CASE("a proof and a timing come out as they went in") {
  Proof proof;
  proof.blocks = 4096;
  proof.degree = 12;
  proof.prime_bits = 30;
  proof.failure_probability = 2.1e-22;
  proof.assumed = {"reals"};
  auto proved = decode_proof(encode(proof));
  REQUIRE(proved.has_value());
  CHECK(proved->failure_probability == 2.1e-22);
  CHECK(proved->assumed == proof.assumed);
  Timing timing;
  timing.device = "H200 (modelled)";
  timing.time_ns = 1234.5;
  timing.counters = {{"fma", 12}, {"sectors", 0.5}};
  auto timed = decode_timing(encode(timing));
  if (!timed) FAIL(timed.error().what);
  CHECK(timed->counters == timing.counters);
  CHECK(timed->modelled);
}

TEST_CASE("a verdict comes out as it went in") {
  Verdict verdict = sample_verdict();
  auto decoded = decode_verdict(encode(verdict));
  REQUIRE(decoded.has_value());
  CHECK(decoded->gate == Gate::test);
  CHECK(decoded->answer == Verdict::Answer::rejected);
  CHECK(decoded->evidence.place.line == 12);
  CHECK(decoded->evidence.json == "{\"a\":1}");
  CHECK(decoded->limits == "blocks_max=64");
}

TEST_CASE("a verdict refuses every truncation") {
  std::string whole = encode(sample_verdict());
  for (std::size_t size = 0; size < whole.size(); ++size)
    if (decode_verdict(std::string_view(whole).substr(0, size)).has_value())
      FAIL_CHECK("accepted " << size << " bytes");
  CHECK_FALSE(decode_verdict(whole + "x").has_value());
}

TEST_CASE("a tested candidate refuses every truncation") {
  std::string whole = encode(tested_candidate());
  for (std::size_t size = 0; size < whole.size(); size += 7)
    if (decode_tested(std::string_view(whole).substr(0, size)).has_value())
      FAIL_CHECK("accepted " << size << " bytes");
}

TEST_CASE("bytes with one bit changed are refused or decode to something, and never crash") {
  std::string whole = encode(sample_verdict());
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      (void)decode_verdict(changed).has_value();
    }
  SUCCEED();
}

TEST_CASE("a verdict of a gate, answer or reason that does not exist is refused") {
  Verdict verdict = sample_verdict();
  verdict.gate = static_cast<Gate>(9);
  CHECK_FALSE(decode_verdict(encode(verdict)).has_value());
  verdict.gate = static_cast<Gate>(0);
  CHECK_FALSE(decode_verdict(encode(verdict)).has_value());
  verdict = sample_verdict();
  verdict.answer = static_cast<Verdict::Answer>(4);
  CHECK_FALSE(decode_verdict(encode(verdict)).has_value());
  verdict = sample_verdict();
  verdict.reason_code = static_cast<Reason>(8);
  CHECK_FALSE(decode_verdict(encode(verdict)).has_value());
}

TEST_CASE("a candidate whose digest is not its own is refused") {
  Tested tested = tested_candidate();
  tested.candidate.bytes[0] ^= 1;
  auto decoded = decode_tested(encode(tested));
  REQUIRE_FALSE(decoded.has_value());
  CHECK(decoded.error().what.find("digest") != std::string::npos);
}

TEST_CASE("the files of a contract's values travel with it") {
  auto contract = parse_contract(
      edited(kernel_toml, "role = \"input\"", "role = \"input\"\nvalues = {file = \"x.bin\"}"),
      "c");
  REQUIRE(contract.has_value());
  contract->reference = kernel_ptx;
  auto& file = std::get<Values::File>(contract->tensors[0].values.kind);
  file.bytes = std::make_shared<const std::string>(2048, 'q');
  auto step = screen({std::make_shared<const Contract>(*contract), kernel_ptx});
  REQUIRE(step.passed() != nullptr);
  auto decoded = decode_screened(encode(*step.passed()));
  REQUIRE(decoded.has_value());
  CHECK(decoded->contract->identity() == contract->identity());
  file.bytes = nullptr;
  auto without = screen({std::make_shared<const Contract>(*contract), kernel_ptx});
  CHECK_FALSE(decode_screened(encode(*without.passed())).has_value());
}

}  // namespace
}  // namespace lathe
