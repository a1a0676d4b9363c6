// The wide domain gives what doubles give, where the bits domain rounds; and says so where it
// cannot.

#include <cmath>

#include "base/random.h"
#include "ptx/wide.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

/// The same launch in both domains; the first buffer is written, the second read.
struct Both {
  Launched bits;
  WideResult wide;

  Both(const std::string& text, const std::vector<float>& in, std::size_t out) {
    Program program = Launched::decoded(text);
    bits.add(std::vector<float>(out));
    bits.add(in);
    bits.shape = {{1, 1, 1}, {static_cast<std::uint32_t>(out), 1, 1}, 0};
    bits.prepare(program);
    WideRequest request;
    request.program = &program;
    request.shape = bits.shape;
    request.tensors = {
        {bits.request.buffers[0].buffer, Type::f32, {}, false},
        {bits.request.buffers[1].buffer, Type::f32, bits.request.buffers[1].bytes, false}};
    request.parameters.assign(reinterpret_cast<const char*>(bits.request.parameters.data()),
                              bits.request.parameters.size());
    wide = run_wide(request);
    bits.run(program);
    REQUIRE(!bits.result.trap);
  }
  double value(std::uint64_t element) const {
    for (const WideValue& each : wide.values)
      if (each.tensor == 0 && each.element == element) return each.value;
    FAIL("element " << element << " was not written");
    return 0;
  }
};

std::string text_of(const std::string& lines) {
  return body_text(".reg .f32 %a, %b, %c; .reg .b16 %h; .reg .b32 %r; .reg .pred %p;\n",
                   "ld.global.f32 %a, [%in];\n" + lines + "\nst.global.f32 [%out], %a;");
}

TEST_CASE("a sum that cancels keeps in the wide domain what f32 loses") {
  Both run(text_of("add.f32 %a, %a, 0f4CBEBC20;\nsub.f32 %a, %a, 0f4CBEBC20;"), {1, 0.25f}, 2);
  REQUIRE(!run.wide.trap);
  CHECK(run.value(0) == 1);
  CHECK(run.value(1) == 0.25);
  CHECK(run.bits.get<float>(0)[0] == 0);
}

TEST_CASE("a value that passes through f16 is rounded in the bits domain alone") {
  Both run(text_of("cvt.rn.f16.f32 %h, %a;\ncvt.f32.f16 %a, %h;"), {0.1f}, 1);
  REQUIRE(!run.wide.trap);
  CHECK(run.value(0) == static_cast<double>(0.1f));
  CHECK(run.bits.get<float>(0)[0] != 0.1f);
}

TEST_CASE("expressions of any inputs are those of doubles, under many seeds") {
  std::string text = text_of(
      "mul.f32 %b, %a, %a;\nfma.rn.f32 %c, %b, %a, %a;\nex2.approx.ftz.f32 %b, %a;\n"
      "add.f32 %b, %b, %c;\nmax.f32 %b, %b, %a;\nsetp.lt.f32 %p, %a, 0f00000000;\n"
      "selp.f32 %a, %b, %c, %p;\ndiv.rn.f32 %a, %a, %b;");
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    std::vector<float> in(32);
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<float>(static_cast<double>(philox64(seed, 1, i) >> 12) * 0x1p-50 - 2);
    Both run(text, in, in.size());
    REQUIRE(!run.wide.trap);
    std::vector<float> bits = run.bits.get<float>(0);
    for (std::size_t i = 0; i < in.size(); ++i) {
      double x = in[i], c = x * x * x + x, b = std::fmax(std::exp2(x) + c, x);
      double wanted = (x < 0 ? b : c) / b;
      CHECK(run.value(i) == Approx(wanted).epsilon(1e-13));
      CHECK(static_cast<double>(bits[i]) == Approx(wanted).epsilon(1e-4).margin(1e-5));
    }
  }
}

TEST_CASE("infinities and NaN stay what they are") {
  Both run(text_of("add.f32 %a, %a, 0f3F800000;"), {INFINITY, -INFINITY, NAN}, 3);
  REQUIRE(!run.wide.trap);
  CHECK(run.value(0) == HUGE_VAL);
  CHECK(run.value(1) == -HUGE_VAL);
  CHECK(std::isnan(run.value(2)));
}

TEST_CASE("a float's bits as an integer have no wide value: a trap, and no value") {
  Both run(text_of("mov.b32 %r, %a;\nmul.lo.u32 %r, %r, 3;\nmov.b32 %a, %r;"), {1}, 1);
  REQUIRE(run.wide.trap);
  CHECK(run.wide.trap->kind == TrapKind::undecided);
  CHECK(run.wide.values.empty());
}

}  // namespace
}  // namespace lathe::ptx
