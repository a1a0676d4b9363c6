// Conversions to and from the formats of 8 bits and fewer, stochastic rounding, packing, and the
// comparisons and logic that give values.

#include <bit>

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

/// `lines` compute %r3 from %r1 and %r2.
std::uint32_t word(const std::string& lines, std::uint32_t a, std::uint32_t b = 0) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(1));
  launch.add(std::vector<std::uint32_t>{a, b});
  launch.run(
      body_text(".reg .b32 %r<12>;\n.reg .b64 %rd<8>;\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n"
                ".reg .b8 %c<4>;\nmov.b32 %r3, 0;",
                "ld.global.u32 %r1, [%in];\nld.global.u32 %r2, [%in+4];\n" + lines +
                    "\nst.global.u32 [%out], %r3;",
                "sm_100a", "9.4"));
  if (launch.result.trap) FAIL_CHECK(print(*launch.result.trap));
  return launch.get<std::uint32_t>(0)[0];
}
std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

/// Two floats as a packed type of 16 bits.
std::uint32_t packed(const std::string& form, float high, float low) {
  return word("cvt." + form + " %h0, %r1, %r2;\ncvt.u32.u16 %r3, %h0;", bits(high), bits(low));
}
/// And as one of 8 bits.
std::uint32_t nibbles(const std::string& form, float high, float low) {
  return word("cvt." + form + " %c0, %r1, %r2;\ncvt.u32.u8 %r3, %c0;", bits(high), bits(low));
}

TEST_CASE("e2m1 has eight magnitudes, ties go to even, and what is too large is six") {
  CHECK(nibbles("rn.satfinite.e2m1x2.f32", 1.0f, 0.5f) == 0x21);
  CHECK(nibbles("rn.satfinite.e2m1x2.f32", 6.0f, 100.0f) == 0x77);
  CHECK(nibbles("rn.satfinite.e2m1x2.f32", -100.0f, -0.5f) == 0xF9);
  CHECK(nibbles("rn.satfinite.e2m1x2.f32", 2.5f, 5.0f) == 0x46);  // Between 2 and 3, 4 and 6.
  CHECK(nibbles("rn.satfinite.e2m1x2.f32", 0.25f, 0.75f) == 0x02);
}

TEST_CASE("NaN becomes the largest where a format has none, and relu takes the sign away") {
  CHECK(nibbles("rn.satfinite.e2m1x2.f32", NAN, -NAN) == 0x77);
  CHECK(nibbles("rn.satfinite.relu.e2m1x2.f32", -3.0f, 3.0f) == 0x05);
  CHECK(packed("rn.satfinite.e2m3x2.f32", NAN, -8.0f) == 0x1F3F);
  CHECK(packed("rn.satfinite.e3m2x2.f32", -1.0f, 28.0f) == 0x2C1F);
}

TEST_CASE("small formats come back exactly") {
  // 6 and -0.5 as e2m1; 7.5 and -1 as e2m3; 28 and 0.0625 as e3m2.
  CHECK(word("mov.b16 %h0, 0x79;\ncvt.u8.u16 %c0, %h0;\ncvt.rn.f16x2.e2m1x2 %r3, %c0;", 0) ==
        0x4600B800u);
  CHECK(word("mov.b16 %h0, 0x1F28;\ncvt.rn.f16x2.e2m3x2 %r3, %h0;", 0) == 0x4780BC00u);
  CHECK(word("mov.b16 %h0, 0x1F01;\ncvt.rn.f16x2.e3m2x2 %r3, %h0;", 0) == 0x4F002C00u);
  CHECK(word("mov.b16 %h0, 0x7E38;\ncvt.rn.bf16x2.e4m3x2 %r3, %h0;", 0) == 0x43E03F80u);
}

TEST_CASE("ue8m0 is a power of two: up or down, without a sign") {
  CHECK(packed("rp.ue8m0x2.f32", 1.0f, 1.5f) == 0x7F80);
  CHECK(packed("rz.ue8m0x2.f32", 1.0f, 1.5f) == 0x7F7F);
  CHECK(packed("rz.ue8m0x2.f32", -4.0f, 0.0f) == 0x8100);
  CHECK(packed("rp.ue8m0x2.f32", INFINITY, NAN) == 0xFFFF);
  CHECK(packed("rp.satfinite.ue8m0x2.f32", INFINITY, NAN) == 0xFEFF);
  CHECK(word("mov.b16 %h0, 0x7F00;\ncvt.rn.bf16x2.ue8m0x2 %r3, %h0;", 0) == 0x3F800040u);
}

TEST_CASE("s2f6 is fixed point, divided by a factor on the way down and multiplied on the way up") {
  CHECK(packed("rn.satfinite.s2f6x2.f32", 1.0f, -1.0f) == 0x40C0);
  CHECK(packed("rn.satfinite.s2f6x2.f32", 5.0f, NAN) == 0x7F7F);
  CHECK(word("mov.b16 %h1, 0x807F;\ncvt.rn.satfinite.scaled::n2::ue8m0.s2f6x2.f32 %h0, %r1, %r2, "
             "%h1;\ncvt.u32.u16 %r3, %h0;",
             bits(1.0f), bits(1.0f)) == 0x2040);
  CHECK(word("mov.b16 %h0, 0x4040;\nmov.b16 %h1, 0x807F;\n"
             "cvt.rn.scaled::n2::ue8m0.bf16x2.s2f6x2 %r3, %h0, %h1;",
             0) == 0x40003F80u);
}

TEST_CASE("random bits that carry round away from zero") {
  // 1 + 2^-11 lies in the middle between two f16: 12 of 13 cut bits are clear.
  std::string lines = "cvt.rs.f16x2.f32 %r3, %r1, %r1, %r2;";
  float middle = 1.0f + 0x1p-11f;
  CHECK(word(lines, bits(middle), 0x00000000) == 0x3C003C00u);
  CHECK(word(lines, bits(middle), 0x10000000) == 0x3C013C00u);
  CHECK(word(lines, bits(middle), 0x00001000) == 0x3C003C01u);
  CHECK(word(lines, bits(middle), 0x0FFF0FFF) == 0x3C003C00u);
  CHECK(word(lines, bits(-middle), 0x10001000) == 0xBC01BC01u);
}

TEST_CASE("four floats are packed with the first uppermost") {
  std::string four = "mov.b32 %r4, 0f40000000;\nmov.b32 %r5, 0f40400000;\n";
  CHECK(word(four + "mov.b32 %r3, 0;\n"
                    "cvt.rs.satfinite.e4m3x4.f32 %r3, {%r1, %r2, %r4, %r5}, %r3;",
             bits(1.0f), bits(-1.0f)) == 0x38B84044u);
  CHECK(word(four + "mov.b32 %r3, 0;\n"
                    "cvt.rs.satfinite.e2m1x4.f32 %h0, {%r1, %r2, %r4, %r5}, %r3;\n"
                    "cvt.u32.u16 %r3, %h0;",
             bits(1.0f), bits(-1.0f)) == 0x2A45u);
}

TEST_CASE("cvt.pack clamps, and shifts what was packed before") {
  CHECK(word("cvt.pack.sat.s16.s32 %r3, %r1, %r2;", 40000, 0xFFFF0000) == 0x7FFF8000u);
  CHECK(word("cvt.pack.sat.u8.s32.b32 %r3, %r1, %r2, 0x1234;", 300, 0xFFFFFFFF) == 0x1234FF00u);
  CHECK(word("cvt.pack.sat.s4.s32.b32 %r3, %r1, %r2, 0xF;", 100, 0xFFFFFF00) == 0xF78u);
  CHECK(word("cvt.pack.sat.u2.s32.b32 %r3, %r1, %r2, 0;", 9, 2) == 0xEu);
}

TEST_CASE("set gives one in the format of its result, or ones in each half") {
  CHECK(word("set.lt.f32.s32 %r3, %r1, %r2;", 1, 2) == bits(1.0f));
  CHECK(word("set.lt.f16.f32 %h0, %r1, %r2;\ncvt.u32.u16 %r3, %h0;", bits(1), bits(2)) == 0x3C00);
  CHECK(word("set.gt.bf16.s32 %h0, %r1, %r2;\ncvt.u32.u16 %r3, %h0;", 3, 2) == 0x3F80);
  CHECK(word("mov.b16 %h0, 0x3C00;\nset.eq.u16.f16 %h1, %h0, %h0;\ncvt.u32.u16 %r3, %h1;", 0) ==
        0xFFFF);
  CHECK(word("set.eq.u32.f16x2 %r3, %r1, %r2;", 0x3C004000, 0x3C003C00) == 0xFFFF0000u);
  CHECK(word("set.eq.f16x2.f16x2 %r3, %r1, %r2;", 0x3C004000, 0x3C003C00) == 0x3C000000u);
  CHECK(word("setp.eq.s32 %p1, %r1, %r1;\nset.eq.and.u32.f16x2 %r3, %r1, %r2, !%p1;", 0x3C003C00,
             0x3C003C00) == 0);
}

TEST_CASE("lop3 with .or or .and makes a predicate beside its result") {
  std::string rest = "\nselp.u32 %r4, 0x100, 0, %p2;\nor.b32 %r3, %r3, %r4;";
  std::string off = "setp.ne.s32 %p1, %r1, %r1;\n", on = "setp.eq.s32 %p1, %r1, %r1;\n";
  CHECK(word(off + "lop3.or.b32 %r3|%p2, %r1, %r2, 0, 0xC0, %p1;" + rest, 3, 6) == 0x102);
  CHECK(word(off + "lop3.or.b32 %r3|%p2, %r1, %r2, 0, 0xC0, %p1;" + rest, 1, 6) == 0);
  CHECK(word(on + "lop3.and.b32 _|%p2, %r1, %r2, 0, 0xC0, %p1;" + rest, 3, 6) == 0x100);
  CHECK(word(off + "lop3.and.b32 _|%p2, %r1, %r2, 0, 0xC0, %p1;" + rest, 3, 6) == 0);
}

TEST_CASE("fns finds the n-th set bit up and down") {
  CHECK(word("fns.b32 %r3, %r1, 3, 1;", 0xAAAAAAAA) == 3);
  CHECK(word("fns.b32 %r3, %r1, 3, -1;", 0xAAAAAAAA) == 3);
  CHECK(word("fns.b32 %r3, %r1, 2, 1;", 0xAAAAAAAA) == 3);
  CHECK(word("fns.b32 %r3, %r1, 2, -1;", 0xAAAAAAAA) == 1);
  CHECK(word("fns.b32 %r3, %r1, 0, 40;", 0xAAAAAAAA) == 0xFFFFFFFF);
  CHECK(word("fns.b32 %r3, %r1, 1, 0;", 0xAAAAAAAA) == 1);
}

TEST_CASE("a half that was never set stays apart from the other") {
  // The low half of %r5 is undefined: its high half may be read again.
  CHECK(word("mov.b32 %r5, {%h7, %h0};\nmov.b32 {%h2, %h1}, %r5;\n"
             "mov.b16 %h0, 7;\nmov.b32 %r5, {%h7, %h0};\nmov.b32 {%h2, %h1}, %r5;\n"
             "cvt.u32.u16 %r3, %h1;",
             0) == 7);
  Launched launch;
  launch.add(std::vector<std::uint32_t>(1));
  launch.add(std::vector<std::uint32_t>(1));
  launch.run(body_text(".reg .b32 %r<4>;\n.reg .b16 %h<4>;",
                       "mov.b16 %h0, 7;\nmov.b32 %r1, {%h1, %h0};\nst.global.u32 [%out], %r1;"));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::undefined_value);
}

TEST_CASE("packed arithmetic keeps an undefined half apart from the other") {
  // %h0 is 1.0, and the upper half of %r1; its lower half, %h7, was never set.
  std::string pair = "mov.b16 %h0, 0x3C00;\nmov.b32 %r2, {%h0, %h0};\nmov.b32 %r1, {%h7, %h0};\n";
  std::string sum = "add.f16x2 %r1, %r1, %r2;\n", product = "fma.rn.f16x2 %r1, %r2, %r1, %r1;\n";
  std::string apart = "mov.b32 {%h2, %h1}, %r1;\n";
  auto run = [](const std::string& text) {
    Launched launch;
    launch.add(std::vector<std::uint32_t>(1));
    launch.add(std::vector<std::uint32_t>(1));
    launch.run(body_text(".reg .b32 %r<4>;\n.reg .b16 %h<8>;", text));
    std::optional<TrapKind> kind;
    if (launch.result.trap) kind = launch.result.trap->kind;
    return kind;
  };
  for (const std::string& row : {sum, product, sum + product}) {
    CHECK(run(pair + row + apart + "st.global.u16 [%out], %h1;") == std::nullopt);
    CHECK(run(pair + row + apart + "st.global.u16 [%out], %h2;") == TrapKind::undefined_value);
    CHECK(run(pair + row + "st.global.u32 [%out], %r1;") == TrapKind::undefined_value);
  }
  // What had a whole pair before has a half less afterwards, and is whole again once it is set.
  CHECK(run(pair + "add.f16x2 %r2, %r2, %r1;\nst.global.u32 [%out], %r2;") ==
        TrapKind::undefined_value);
  CHECK(run(pair + sum + "mov.b16 %h7, %h0;\nmov.b32 %r1, {%h7, %h0};\n" + product +
            "st.global.u32 [%out], %r1;") == std::nullopt);
}

}  // namespace
}  // namespace lathe::ptx
