// Which polynomials stand for which functions, and where.

#include "ptx/field_lemma.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "ptx/parser.h"
#include "ptx/program.h"

namespace lathe::ptx::field {
namespace {

using Function = Lemma::Function;

const std::vector<double> exp2_7{1.0,           0.69314718f,   0.24022636f,    0.05550338f,
                                 0.0096145785f, 0.0013429321f, 0.00014334594f, 2.1647938e-05f};

/// ln(1 + t) as the library has it.
const std::vector<double> ln{0.0,          1.0,         -0.5,         0.33333182f,
                             -0.24999669f, 0.20012290f, -0.16684422f, 0.13980614f,
                             -0.12148507f, 0.14020838f, -0.13022254f};

std::optional<Match> match_of(const std::vector<double>& p, Function function) {
  for (const Match& match : functions_of(p))
    if (match.function == function) return match;
  return std::nullopt;
}

double at(const std::vector<double>& p, double t) {
  double sum = 0;
  for (std::size_t i = p.size(); i-- > 0;) sum = sum * t + p[i];
  return sum;
}

TEST_CASE("a polynomial is the function that it is near, on the interval where it is") {
  std::optional<Match> match = match_of(ln, Function::ln_1p);
  REQUIRE(match);
  CHECK(match->low < -0.2);
  CHECK(match->high > 0.3);
  CHECK(functions_of(ln).size() == 1);
  for (int i = 0; i <= 1000; ++i) {
    double t = match->low + (match->high - match->low) * i / 1000;
    CHECK(std::fabs(at(ln, t) - std::log1p(t)) <=
          match->error * std::max(std::fabs(std::log1p(t)), 0.125));
  }
}

TEST_CASE("one coefficient that is off is no function, or one on a smaller interval") {
  for (std::size_t i = 0; i < ln.size(); ++i) {
    INFO(i);
    std::vector<double> other = ln;
    other[i] += 1e-3;
    CHECK_FALSE(match_of(other, Function::ln_1p));
  }
}

TEST_CASE("a cubic is no exponential, and a Taylor polynomial is one only near 0") {
  CHECK(functions_of({1.0, 0.6951, 0.2276, 0.0771}).empty());
  std::vector<double> taylor{1};
  for (int k = 1; k < 8; ++k) taylor.push_back(taylor.back() / k);
  std::optional<Match> match = match_of(taylor, Function::exp);
  REQUIRE(match);
  CHECK(match->high < 1.5);
  CHECK(match->low > -1.5);
}

Lemmas lemmas_of(const std::string& lines) {
  Parsed parsed = parse(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg "
      ".b32 %r<40>;\n.reg .b64 %d<4>;\n.reg .pred %p<4>;\nld.param.u64 %d1, [p];\nld.global.b32 "
      "%r1, [%d1];\n" +
          lines + "st.global.b32 [%d1], %r3;\nret;\n}\n",
      "k.ptx");
  REQUIRE(parsed.errors.empty());
  Result<Program> program = decode(parsed.module, "k");
  REQUIRE(program.has_value());
  return find_lemmas(*program);
}

const std::string horner =
    "mov.b32 %r3, 0f37B5A0BA;\nfma.rn.f32 %r3, %r3, %r1, 0f3915F0A9;\n"
    "fma.rn.f32 %r3, %r3, %r1, 0f3AB006F8;\nfma.rn.f32 %r3, %r3, %r1, 0f3C1D8217;\n"
    "fma.rn.f32 %r3, %r3, %r1, 0f3D635984;\nfma.rn.f32 %r3, %r3, %r1, 0f3E75FDE6;\n"
    "fma.rn.f32 %r3, %r3, %r1, 0f3F317218;\nfma.rn.f32 %r3, %r3, %r1, 0f3F800000;\n";

TEST_CASE("the last operation of a Horner chain has the lemma") {
  Lemmas lemmas = lemmas_of(horner);
  REQUIRE(lemmas.size() == 1);
  const Lemma& lemma = lemmas.begin()->second;
  CHECK(lemma.function == Function::exp2);
  CHECK(lemma.operand == 1);
  CHECK(lemma.low <= 0);
  CHECK(lemma.high >= 1);
}

TEST_CASE("an argument that is set anew, a guard or a label within is no chain") {
  std::string middle = "fma.rn.f32 %r3, %r3, %r1, 0f3D635984;\n";
  for (const std::string& between : {std::string("add.f32 %r1, %r1, %r1;\n"),
                                     std::string("L:\n setp.eq.f32 %p1, %r3, %r3;\n@%p1 bra L;\n"),
                                     std::string("@%p2 mov.b32 %r3, %r1;\n")}) {
    INFO(between);
    std::string other = horner;
    other.insert(other.find(middle), between);
    CHECK(lemmas_of(other).empty());
  }
}

TEST_CASE("the rest of a literal is one only beside its first part, of one register") {
  std::string head = "fma.rn.f32 %r2, %r1, 0f3FB8AA3B, %r4;\n";
  CHECK(lemmas_of(head + "fma.rn.f32 %r3, %r1, 0f32A57060, %r2;\n").size() == 1);
  CHECK(lemmas_of(head + "fma.rn.f32 %r3, %r4, 0f32A57060, %r2;\n").empty());
  CHECK(lemmas_of(head + "fma.rn.f32 %r3, %r1, 0fB2A57060, %r2;\n").empty());
  CHECK(lemmas_of(head + "fma.rn.f32 %r3, %r1, 0f32A57060, %r4;\n").empty());
}

}  // namespace
}  // namespace lathe::ptx::field
