// Rows at the edges of arithmetic, through whole kernels: text in, bits out.

#include <cmath>

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

/// `lines` compute %r3 from %r1 and %r2 (words of `a` and `b` for each lane).
std::uint32_t word(const std::string& lines, std::uint32_t a, std::uint32_t b = 0,
                   const std::string& target = "sm_90a") {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(1));
  launch.add(std::vector<std::uint32_t>{a, b});
  launch.run(body_text(".reg .b32 %r<12>;\n.reg .b64 %rd<8>;\n.reg .pred %p<8>;\n.reg .b16 %h<8>;",
                       "ld.global.u32 %r1, [%in];\nld.global.u32 %r2, [%in+4];\n" + lines +
                           "\nst.global.u32 [%out], %r3;",
                       target, target == "sm_100a" ? "8.8" : "8.7"));
  if (launch.result.trap) FAIL_CHECK(print(*launch.result.trap));
  return launch.get<std::uint32_t>(0)[0];
}
std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// The same of each lane's two words, by so many threads from `first` on.
std::vector<std::uint32_t> words_of(const std::string& lines, const std::vector<std::uint32_t>& a,
                                    const std::vector<std::uint32_t>& b, std::size_t first,
                                    unsigned threads) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(threads));
  std::vector<std::uint32_t> in(a.begin() + static_cast<std::ptrdiff_t>(first), a.end());
  in.resize(lane_count);
  in.insert(in.end(), b.begin() + static_cast<std::ptrdiff_t>(first), b.end());
  launch.add(in);
  launch.shape.block[0] = threads;
  launch.run(body_text(".reg .b32 %r<12>;\n.reg .pred %p<8>;\n.reg .b16 %h<8>;",
                       "ld.global.u32 %r1, [%in];\nld.global.u32 %r2, [%in+128];\n" + lines +
                           "\nst.global.u32 [%out], %r3;"));
  if (launch.result.trap) FAIL_CHECK(print(*launch.result.trap));
  return launch.get<std::uint32_t>(0);
}

TEST_CASE("a row of a whole warp, and of most of one, is that of each lane alone") {
  const std::vector<std::uint32_t> edges{
      0,          0x80000000, 1,          0x80000001, 0x007FFFFF, 0x00800000, 0x807FFFFF,
      0x7F800000, 0xFF800000, 0x7FC00001, 0xFF812345, 0x7F7FFFFF, 0x3F800000, 0xBF800001,
      0x33800000, 0x38800000, 0x387FC000, 0x477FF000, 0x477FEFFF, 0x00007C00, 0x00007E01,
      0x000003FF, 0x00008001, 0x0000FC00, 0xC2B00000, 0x42FE0000, 0x2B000000, 0x1F000000,
      0xFFFFFFFF, 0x40490FDB, 0x7C017C00, 0x04000001};
  REQUIRE(edges.size() == lane_count);
  unsigned flushed = 0;
  for (unsigned shift : {0u, 1u, 5u, 9u, 13u, 22u})
    for (const char* lines :
         {"fma.rn.f32 %r3, %r1, %r2, %r1;",
          "fma.rn.ftz.f32 %r3, %r1, %r2, %r1;",
          "mul.f32 %r3, %r1, %r2;",
          "mul.ftz.f32 %r3, %r1, %r2;",
          "add.f32 %r3, %r1, %r2;",
          "add.ftz.f32 %r3, %r1, %r2;",
          "max.f32 %r3, %r1, %r2;",
          "min.ftz.f32 %r3, %r1, %r2;",
          "sub.rz.f32 %r3, %r1, %r2;",
          "mul.sat.f32 %r3, %r1, %r2;",
          "ex2.approx.ftz.f32 %r3, %r1;",
          "ex2.approx.f32 %r3, %r1;",
          "rcp.rn.f32 %r3, %r1;",
          "sqrt.rn.ftz.f32 %r3, %r1;",
          "abs.f32 %r3, %r1;",
          "neg.ftz.f32 %r3, %r1;",
          "add.u32 %r1, %r1, %r2;\nmov.u32 %r3, %r1;",
          "mul.hi.s32 %r3, %r1, %r2;",
          "shr.s32 %r3, %r1, %r2;",
          "cvt.rn.f32.s32 %r3, %r1;",
          "cvt.rzi.s32.f32 %r3, %r1;",
          "setp.lt.ftz.f32 %p1, %r1, %r2;\nselp.b32 %r3, 1, 2, %p1;",
          "cvt.u16.u32 %h1, %r1;\ncvt.f32.f16 %r3, %h1;",
          "cvt.u16.u32 %h1, %r1;\ncvt.f32.bf16 %r3, %h1;",
          "cvt.rn.f16.f32 %h1, %r1;\ncvt.u32.u16 %r3, %h1;",
          "cvt.rn.bf16.f32 %h1, %r1;\ncvt.u32.u16 %r3, %h1;",
          "cvt.rn.f16x2.f32 %r3, %r1, %r2;",
          "fma.rn.f16x2 %r3, %r1, %r2, %r2;",
          "cvt.u16.u32 %h1, %r1;\nadd.f16 %h1, %h1, %h1;\ncvt.u32.u16 %r3, %h1;"}) {
      CAPTURE(lines, shift);
      std::vector<std::uint32_t> others, alone;
      for (std::size_t i = 0; i < lane_count; ++i)
        others.push_back(edges[(i + shift) % lane_count]);
      for (std::size_t i = 0; i < lane_count; ++i)
        alone.push_back(words_of(lines, edges, others, i, 1)[0]);
      CHECK(words_of(lines, edges, others, 0, lane_count) == alone);
      alone.pop_back();
      CHECK(words_of(lines, edges, others, 0, lane_count - 1) == alone);
      if (std::string(lines).starts_with("mul.ftz"))
        flushed += alone != words_of("mul.f32 %r3, %r1, %r2;", edges, others, 0, lane_count - 1);
    }
  CHECK(flushed == 6);
}

TEST_CASE("a shift beyond the width gives zero, or the sign") {
  CHECK(word("shl.b32 %r3, %r1, %r2;", 0x80000001, 1) == 2);
  CHECK(word("shl.b32 %r3, %r1, %r2;", 0x80000001, 40) == 0);
  CHECK(word("shr.s32 %r3, %r1, %r2;", 0x80000001, 40) == 0xFFFFFFFF);
  CHECK(word("shr.u32 %r3, %r1, %r2;", 0x80000001, 40) == 0);
}

TEST_CASE("a vector register is moved as a whole and by its lanes") {
  CHECK(word(".reg .v2 .u32 %v<2>;\nld.global.v2.u32 %v0, [%in];\nmov.u32 %v1.x, %v0.y;\n"
             "mov.u32 %v1.y, %v0.r;\nsub.u32 %r3, %v1.x, %v1.y;",
             5, 12) == 7);
}

TEST_CASE("an element of a variable lies behind those before it") {
  const std::string declared = ".shared .align 4 .u32 room[4];\nmov.u32 %r4, room";
  CHECK(word(declared + "[3];\nmov.u32 %r5, room;\nsub.u32 %r3, %r4, %r5;", 0) == 12);
  CHECK(word(declared + "+3;\nmov.u32 %r5, room;\nsub.u32 %r3, %r4, %r5;", 0) == 3);
}

TEST_CASE("NaN of sixteen bits is canonical when it is converted to its own type") {
  CHECK(word("cvt.u16.u32 %h1, %r1;\ncvt.f16.f16 %h2, %h1;\ncvt.u32.u16 %r3, %h2;", 0xFE05) ==
        0x7FFF);
  CHECK(word("cvt.u16.u32 %h1, %r1;\ncvt.f16.f16 %h2, %h1;\ncvt.u32.u16 %r3, %h2;", 0xFC00) ==
        0xFC00);
  CHECK(word("cvt.u16.u32 %h1, %r1;\nmov.b16 %h2, %h1;\ncvt.u32.u16 %r3, %h2;", 0xFE05) == 0xFE05);
}

TEST_CASE("packed halves are bounded below by zero with .relu, each by itself") {
  CHECK(word("max.relu.s16x2 %r3, %r1, %r2;", 0xFFFF0005, 0xFFF00003) == 0x00000005);
  CHECK(word("min.relu.s16x2 %r3, %r1, %r2;", 0x00070005, 0x00090003) == 0x00070003);
}

TEST_CASE("signed and unsigned differ where they must") {
  CHECK(word("max.s32 %r3, %r1, %r2;", 0xFFFFFFFF, 1) == 1);
  CHECK(word("max.u32 %r3, %r1, %r2;", 0xFFFFFFFF, 1) == 0xFFFFFFFF);
  CHECK(word("div.s32 %r3, %r1, %r2;", 0xFFFFFFF9, 2) == 0xFFFFFFFD);
  CHECK(word("div.u32 %r3, %r1, %r2;", 0xFFFFFFF9, 2) == 0x7FFFFFFC);
  CHECK(word("rem.s32 %r3, %r1, %r2;", 0xFFFFFFF9, 2) == 0xFFFFFFFF);
  CHECK(word("mul.hi.s32 %r3, %r1, %r2;", 0xFFFFFFFF, 2) == 0xFFFFFFFF);
  CHECK(word("mul.hi.u32 %r3, %r1, %r2;", 0xFFFFFFFF, 2) == 1);
  CHECK(word("setp.lt.s32 %p1, %r1, %r2;\nselp.u32 %r3, 1, 0, %p1;", 0xFFFFFFFF, 1) == 1);
  CHECK(word("setp.lt.u32 %p1, %r1, %r2;\nselp.u32 %r3, 1, 0, %p1;", 0xFFFFFFFF, 1) == 0);
  CHECK(word("setp.lo.u32 %p1, %r1, %r2;\nselp.u32 %r3, 1, 0, %p1;", 0xFFFFFFFF, 1) == 0);
}

TEST_CASE("division by zero gives all ones") {
  CHECK(word("div.u32 %r3, %r1, %r2;", 7, 0) == 0xFFFFFFFF);
  CHECK(word("div.s32 %r3, %r1, %r2;", 0x80000000, 0xFFFFFFFF) == 0x80000000);
}

TEST_CASE("bit fields are cut at the width, with the sign of their top bit") {
  CHECK(word("bfe.u32 %r3, %r1, 4, 8;", 0x12345678) == 0x67);
  CHECK(word("bfe.s32 %r3, %r1, 4, 8;", 0x00000F80) == 0xFFFFFFF8);
  CHECK(word("bfe.s32 %r3, %r1, 28, 16;", 0x80000000) == 0xFFFFFFF8);
  CHECK(word("bfe.u32 %r3, %r1, 40, 4;", 0xFFFFFFFF) == 0);
  CHECK(word("bfi.b32 %r3, %r1, %r2, 8, 4;", 0xFF, 0) == 0xF00);
  CHECK(word("bfi.b32 %r3, %r1, %r2, 8, 0;", 0xFF, 5) == 5);
}

TEST_CASE("lop3 follows its table") {
  CHECK(word("lop3.b32 %r3, %r1, %r2, 0xFF00, 0xE8;", 0xF0F0, 0xFFFF) == 0xFFF0);
  CHECK(word("lop3.b32 %r3, %r1, %r2, 0, 0x3C;", 0xF0F0, 0xFFFF) == 0x0F0F);
}

TEST_CASE("prmt moves bytes and replicates signs") {
  CHECK(word("prmt.b32 %r3, %r1, %r2, 0x5410;", 0x44332211, 0x88776655) == 0x66552211);
  CHECK(word("prmt.b32 %r3, %r1, %r2, 0x000F;", 0x44332211, 0x88776655) == 0x111111FF);
  CHECK(word("prmt.b32.b4e %r3, %r1, %r2, 1;", 0x44332211, 0x88776655) == 0x77881122);
  CHECK(word("prmt.b32.rc16 %r3, %r1, %r2, 1;", 0x44332211, 0x88776655) == 0x44334433);
}

TEST_CASE("shf takes 32 bits of 64, wrapping or clamping its amount") {
  CHECK(word("shf.l.wrap.b32 %r3, %r1, %r2, 8;", 0x11223344, 0x55667788) == 0x66778811);
  CHECK(word("shf.r.clamp.b32 %r3, %r1, %r2, 40;", 0x11223344, 0x55667788) == 0x55667788);
  CHECK(word("shf.r.wrap.b32 %r3, %r1, %r2, 40;", 0x11223344, 0x55667788) == 0x88112233);
}

TEST_CASE("carries pass from add.cc to addc") {
  CHECK(word("add.cc.u32 %r4, %r1, %r2;\naddc.u32 %r3, 5, 0;", 0xFFFFFFFF, 1) == 6);
  CHECK(word("add.cc.u32 %r4, %r1, %r2;\naddc.u32 %r3, 5, 0;", 0xFFFFFFFE, 1) == 5);
  CHECK(word("sub.cc.u32 %r4, %r1, %r2;\nsubc.u32 %r3, 5, 0;", 1, 2) == 4);
  CHECK(word("mad.lo.cc.u32 %r4, %r1, %r2, %r1;\nmadc.hi.u32 %r3, %r1, %r2, 0;", 0xFFFFFFFF, 2) ==
        2);
}

TEST_CASE("min and max lose NaN unless told otherwise, and order zeros") {
  const std::uint32_t nan = 0x7FC00001;
  CHECK(word("max.f32 %r3, %r1, %r2;", nan, bits(2)) == bits(2));
  CHECK(word("max.NaN.f32 %r3, %r1, %r2;", nan, bits(2)) == 0x7FFFFFFF);
  CHECK(word("min.f32 %r3, %r1, %r2;", 0x80000000, 0) == 0x80000000);
  CHECK(word("max.f32 %r3, %r1, %r2;", 0x80000000, 0) == 0);
  CHECK(word("min.xorsign.abs.f32 %r3, %r1, %r2;", bits(-3), bits(2)) == bits(-2));
}

TEST_CASE("a NaN result is the canonical one") {
  CHECK(word("add.f32 %r3, %r1, %r2;", 0x7F800000, 0xFF800000) == 0x7FFFFFFF);
  CHECK(word("mul.f32 %r3, %r1, %r2;", 0, 0x7F800000) == 0x7FFFFFFF);
}

TEST_CASE("ftz flushes what is subnormal before and after, and keeps the sign") {
  CHECK(word("add.ftz.f32 %r3, %r1, %r2;", 0x80000001, 0x80000000) == 0x80000000);
  CHECK(word("mul.ftz.f32 %r3, %r1, %r2;", bits(0x1p-100f), bits(-0x1p-40f)) == 0x80000000);
  CHECK(word("mul.f32 %r3, %r1, %r2;", bits(0x1p-100f), bits(-0x1p-40f)) == 0x80000200);
}

TEST_CASE("sat clamps to one and turns NaN into zero") {
  CHECK(word("add.sat.f32 %r3, %r1, %r2;", bits(0.75f), bits(0.75f)) == bits(1));
  CHECK(word("add.sat.f32 %r3, %r1, %r2;", bits(-0.75f), bits(0.25f)) == 0);
  CHECK(word("add.sat.f32 %r3, %r1, %r2;", 0x7FC00000, 0) == 0);
}

TEST_CASE("directed roundings bracket the nearest") {
  const std::uint32_t one = bits(1), tiny = bits(0x1p-60f);
  CHECK(word("add.rp.f32 %r3, %r1, %r2;", one, tiny) == one + 1);
  CHECK(word("add.rm.f32 %r3, %r1, %r2;", one, tiny) == one);
  CHECK(word("add.rz.f32 %r3, %r1, %r2;", one, tiny ^ 0x80000000) == one - 1);
  CHECK(word("add.rm.f32 %r3, %r1, %r2;", one, bits(-1)) == 0x80000000);
  CHECK(word("div.rp.f32 %r3, %r1, %r2;", one, bits(3)) == bits(1.0f / 3));
  CHECK(word("div.rm.f32 %r3, %r1, %r2;", one, bits(3)) == bits(1.0f / 3) - 1);
  CHECK(word("sqrt.rm.f32 %r3, %r1;", bits(2)) == bits(std::sqrt(2.0f)));
  CHECK(word("fma.rz.f32 %r3, %r1, %r2, %r1;", bits(3e38f), bits(3)) == 0x7F7FFFFF);
}

TEST_CASE("halves round once") {
  // 2048 + 1 ties to even; 2048 + 3 rounds up to 2052.
  CHECK(word("add.f16x2 %r3, %r1, %r2;", 0x68006800, 0x3C004200) == 0x68006802);
  CHECK(word("fma.rn.f16x2 %r3, %r1, %r2, %r2;", 0x3C003C00, 0x3C00BC00) == 0x4000C000);
  CHECK(word("max.f16x2 %r3, %r1, %r2;", 0x7E003C00, 0x3C004000) == 0x3C004000);
  CHECK(word("fma.rn.relu.bf16x2 %r3, %r1, %r2, %r2;", 0xBF803F80, 0x40004000) == 0x00004080);
}

TEST_CASE("conversions to integers clamp") {
  CHECK(word("cvt.rzi.s32.f32 %r3, %r1;", bits(-3.7f)) == 0xFFFFFFFD);
  CHECK(word("cvt.rni.s32.f32 %r3, %r1;", bits(2.5f)) == 2);
  CHECK(word("cvt.rpi.u32.f32 %r3, %r1;", bits(-3.5f)) == 0);
  CHECK(word("cvt.rzi.s32.f32 %r3, %r1;", bits(1e20f)) == 0x7FFFFFFF);
  CHECK(word("cvt.rzi.s32.f32 %r3, %r1;", 0x7FC00000) == 0);
}

TEST_CASE("a narrow result is extended into its register as its type says") {
  CHECK(word("cvt.s8.s32 %r3, %r1;", 0x000000F0) == 0xFFFFFFF0);
  CHECK(word("cvt.u8.u32 %r3, %r1;", 0x000001F0) == 0x000000F0);
  CHECK(word("cvt.s32.s8 %r3, %r1;", 0x123456F0) == 0xFFFFFFF0);
}

TEST_CASE("packing puts the first source in the upper half") {
  CHECK(word("cvt.rn.f16x2.f32 %r3, %r1, %r2;", bits(1), bits(2)) == 0x3C004000);
  CHECK(word("cvt.rn.bf16x2.f32 %r3, %r1, %r2;", bits(1), bits(2)) == 0x3F804000);
}

TEST_CASE("eight-bit floats saturate, and come back exactly") {
  CHECK(word("cvt.rn.satfinite.e4m3x2.f32 %h1, %r1, %r2;\ncvt.u32.u16 %r3, %h1;", bits(1000),
             bits(1)) == 0x7E38);
  CHECK(word("mov.b32 {%h1, %h2}, %r1;\ncvt.rn.f16x2.e4m3x2 %r3, %h1;", 0x7E38) == 0x5F003C00);
  CHECK(word("cvt.rn.satfinite.e5m2x2.f32 %h1, %r1, %r2;\ncvt.u32.u16 %r3, %h1;", bits(1e9f),
             0x7FC00000) == 0x7B7F);
}

TEST_CASE("tf32 rounds to nearest away, ten bits of fraction") {
  CHECK(word("cvt.rna.tf32.f32 %r3, %r1;", 0x3F801000) == 0x3F802000);
  CHECK(word("cvt.rna.tf32.f32 %r3, %r1;", 0x3F800FFF) == 0x3F800000);
}

TEST_CASE("set gives all ones, or one, by the type of its result") {
  CHECK(word("set.lt.u32.s32 %r3, %r1, %r2;", 1, 2) == 0xFFFFFFFF);
  CHECK(word("set.lt.f32.s32 %r3, %r1, %r2;", 1, 2) == bits(1));
  CHECK(word("set.gtu.s32.f32 %r3, %r1, %r2;", 0x7FC00000, 0) == 0xFFFFFFFF);
  CHECK(word("set.gt.s32.f32 %r3, %r1, %r2;", 0x7FC00000, 0) == 0);
}

TEST_CASE("setp gives a pair, combined with a third predicate") {
  CHECK(word("setp.eq.s32 %p3, 0, 0;\nsetp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;\n"
             "selp.u32 %r4, 1, 0, %p1;\nselp.u32 %r5, 2, 0, %p2;\nadd.u32 %r3, %r4, %r5;",
             1, 2) == 0);
  CHECK(word("setp.lt.s32 %p1|%p2, %r1, %r2;\n"
             "selp.u32 %r4, 1, 0, %p1;\nselp.u32 %r5, 2, 0, %p2;\nadd.u32 %r3, %r4, %r5;",
             1, 2) == 1);
  CHECK(word("setp.lt.f16x2 %p1|%p2, %r1, %r2;\n"
             "selp.u32 %r4, 1, 0, %p1;\nselp.u32 %r5, 2, 0, %p2;\nadd.u32 %r3, %r4, %r5;",
             0x3C004000, 0x40003C00) == 2);
}

TEST_CASE("f32x2 is two operations") {
  CHECK(word("mov.b64 %rd1, {%r1, %r2};\nfma.rn.f32x2 %rd2, %rd1, %rd1, %rd1;\n"
             "mov.b64 {%r4, %r3}, %rd2;",
             bits(2), bits(3), "sm_100a") == bits(12));
}

TEST_CASE("mixed precision adds the exact half") {
  CHECK(word("mov.b32 {%h1, %h2}, %r1;\nadd.f32.f16 %r3, %h1, %r2;", 0x00003C00, bits(0x1p-20f),
             "sm_100a") == bits(1 + 0x1p-20f));
}

TEST_CASE("approximate functions are near, and right at their ends") {
  CHECK(word("ex2.approx.f32 %r3, %r1;", bits(3)) == bits(8));
  CHECK(word("ex2.approx.ftz.f32 %r3, %r1;", bits(-HUGE_VALF)) == 0);
  CHECK(word("lg2.approx.f32 %r3, %r1;", bits(8)) == bits(3));
  CHECK(word("lg2.approx.f32 %r3, %r1;", 0) == bits(-HUGE_VALF));
  CHECK(word("rsqrt.approx.f32 %r3, %r1;", bits(4)) == bits(0.5f));
  CHECK(word("rcp.approx.f32 %r3, %r1;", 0x80000000) == bits(-HUGE_VALF));
  CHECK(word("div.full.f32 %r3, %r1, %r2;", bits(6), bits(3)) == bits(2));
  CHECK(word("tanh.approx.f32 %r3, %r1;", bits(50)) == bits(1));
  CHECK(word("sin.approx.f32 %r3, %r1;", 0x80000000) == 0x80000000);
}

TEST_CASE("dot products of bytes follow both signs") {
  CHECK(word("dp4a.s32.s32 %r3, %r1, %r2, 1;", 0xFF020304, 0x01010101) == 9);
  CHECK(word("dp4a.u32.s32 %r3, %r1, %r2, 1;", 0xFF020304, 0x01010101) == 265);
}

TEST_CASE("an operand of the wrong width is refused with its place") {
  Parsed parsed = parse(module_text(".entry t()\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n"
                                    "  add.s32 %r1, %r2, %rd1;\n}\n"),
                        "t.ptx");
  auto program = decode(parsed.module, "t");
  REQUIRE_FALSE(program);
  CHECK(program.error().place.line == 8);
  CHECK(program.error().what.find("%rd1") != std::string::npos);
}

TEST_CASE("an undeclared register is refused") {
  Parsed parsed =
      parse(module_text(".entry t()\n{\n.reg .b32 %r<4>;\nadd.s32 %r1, %r2, %r4;\n}\n"), "t.ptx");
  CHECK_FALSE(decode(parsed.module, "t"));
}

TEST_CASE("a branch to nowhere is refused") {
  Parsed parsed = parse(module_text(".entry t()\n{\nbra nowhere;\n}\n"), "t.ptx");
  CHECK_FALSE(decode(parsed.module, "t"));
}

}  // namespace
}  // namespace lathe::ptx
