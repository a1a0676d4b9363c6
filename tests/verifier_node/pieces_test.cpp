// Points see the piece that their shadows enter, at the magnitudes that they have. A candidate that
// has more pieces than the reference, or leaves its magnitudes, is never proved by them.

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/verifier_node/kernels.h"

namespace lathe::verifier_node {
namespace {

/// The row sum with something done to the total before it is rounded.
std::string with_total(const Contract& contract, const std::string& lines) {
  return edited(contract.reference, "\tcvt.rn.f16.f32 \t%rs1, %r48;",
                lines + "\tcvt.rn.f16.f32 \t%rs1, %r48;");
}

Report of_total(const std::string& lines) {
  Contract contract = small_contract("sum_8x512_fp16_sm_89");
  return verified(contract, with_total(contract, lines));
}

TEST_CASE("a detour through huge numbers is not proved, though it is the identity over the reals") {
  Report report =
      of_total("\tmul.f32 \t%r48, %r48, 0f78000000;\n\tmul.f32 \t%r48, %r48, 0f07000000;\n");
  CHECK(report.verdict != "proved");
}

TEST_CASE("a detour through tiny numbers is not proved either") {
  Report report =
      of_total("\tmul.f32 \t%r48, %r48, 0f07000000;\n\tmul.f32 \t%r48, %r48, 0f78000000;\n");
  CHECK(report.verdict != "proved");
}

TEST_CASE("a detour that stays near is a rounding more, not a matter of range") {
  Report report =
      of_total("\tmul.f32 \t%r48, %r48, 0f40000000;\n\tmul.f32 \t%r48, %r48, 0f3F000000;\n");
  CHECK(report.reason.find("magnitudes") == std::string::npos);
}

TEST_CASE("what else a stress input has a candidate do is the reason, not its magnitudes") {
  Report report = of_total(
      "\t{\n\t.reg .pred \t%q;\n\tsetp.gt.f32 \t%q, %r48, 0f49742400;\n\t@%q trap;\n\t}\n");
  CHECK(report.verdict == "refuted");
  CHECK(report.reason_code == "fault");
  CHECK(report.reason.find("on inputs of class overflow it ends in a fault (line ") == 0);
}

TEST_CASE("one value of the total that gives something else is not proved") {
  Report report = of_total(
      "\t{\n\t.reg .pred \t%q;\n\tsetp.eq.f32 \t%q, %r48, 0f447A2000;\n"
      "\tselp.b32 \t%r48, 0, %r48, %q;\n\t}\n");
  CHECK(report.verdict != "proved");
  CHECK(report.reason_code == "atom");
}

TEST_CASE("a narrow window of the total that gives something else is not proved") {
  Report report = of_total(
      "\t{\n\t.reg .pred \t%q<3>;\n\tsetp.gt.f32 \t%q1, %r48, 0f447A0000;\n"
      "\tsetp.lt.and.f32 \t%q2, %r48, 0f447A051F, %q1;\n\tselp.b32 \t%r48, 0, %r48, %q2;\n\t}\n");
  CHECK(report.verdict != "proved");
}

TEST_CASE("what lies beyond a literal that no point passes is assumed to meet no data") {
  // The total stays below 2^30 on whatever input; the literals are 1e30 and 2e30.
  auto beyond = [](const char* literal) {
    return "\t{\n\t.reg .pred \t%q;\n\t.reg .b32 \t%w;\n\tadd.f32 \t%w, %r48, %r48;\n"
           "\tsetp.gt.f32 \t%q, %r48, " +
           std::string(literal) + ";\n\tselp.b32 \t%r48, %w, %r48, %q;\n\t}\n";
  };
  Contract contract = small_contract("sum_8x512_fp16_sm_89");
  std::string same = with_total(contract, beyond("0f7149F2CA"));
  std::string other = with_total(contract, beyond("0f71C9F2CA"));
  contract.reference = same;
  for (bool moved : {false, true}) {
    Report report = verified(contract, moved ? other : same);
    CHECK(report.verdict == "proved");
    const auto& assumed = report.proof.assumed;
    CHECK(
        std::count(assumed.begin(), assumed.end(),
                   "no data pass a literal of the reference's comparisons that no point passes") ==
        (moved ? 1 : 0));
  }
}

TEST_CASE("a window made of a maximum where the reference has none is not proved") {
  Report report = of_total(
      "\t{\n\t.reg .b32 \t%w<3>;\n\tadd.f32 \t%w1, %r48, 0fC47A2000;\n"
      "\tmax.f32 \t%w1, %w1, 0fFF7FFFFF;\n\tsub.f32 \t%w2, %w1, %w1;\n\tadd.f32 \t%r48, %r48, "
      "%w2;\n\t}\n");
  CHECK(report.verdict != "proved");
}

TEST_CASE("a function known to eleven bits that the reference does without is not proved") {
  Report report = of_total("\t{\n\t.reg .b32 \t%w;\n\ttanh.approx.f32 \t%w, %r48;\n\t}\n");
  CHECK(report.verdict == "undecided");
  CHECK(report.reason_code == "precision");
}

}  // namespace
}  // namespace lathe::verifier_node
