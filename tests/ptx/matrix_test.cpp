// Matrices and shuffles through whole kernels: fragments against a plain product, what tensor cores
// truncate, ldmatrix and its kin, and every mode of shfl, vote, match and redux.

#include <cmath>
#include <functional>

#include "ptx/bits_value.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

std::uint16_t half(double x) { return rounded<Type::f16>(x, 0, Rounding::rn).held; }

/// One warp; `in` holds words by register and lane, `out` gets them back: in[32 * r + lane].
std::vector<std::uint32_t> warp(const std::vector<std::uint32_t>& in, unsigned outputs,
                                const std::string& lines, const std::string& target = "sm_90a") {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(32 * outputs));
  launch.add(in);
  launch.shape.block[0] = 32;
  std::string text;
  for (std::size_t r = 0; r < in.size() / 32; ++r)
    text += "ld.global.u32 %i" + std::to_string(r) + ", [%in+" + std::to_string(128 * r) + "];\n";
  text += lines + "\n";
  for (unsigned r = 0; r < outputs; ++r)
    text += "st.global.u32 [%out+" + std::to_string(128 * r) + "], %o" + std::to_string(r) + ";\n";
  launch.run(
      body_text(".reg .b32 %i<24>;\n.reg .b32 %o<8>;\n.reg .b32 %r<8>;\n.reg .pred %p<4>;\n"
                ".reg .b64 %rd<4>;",
                text, target, target == "sm_100a" ? "8.8" : "8.7"));
  if (launch.result.trap) FAIL_CHECK(print(*launch.result.trap));
  return launch.get<std::uint32_t>(0);
}

constexpr unsigned m = 16, n = 8, k = 16;
using Matrix16 = std::vector<double>;  // Row-major.

/// The words of mma.m16n8k16 with f16 inputs: four of A, two of B, four of C in f32.
std::vector<std::uint32_t> fragments(const Matrix16& a, const Matrix16& b, const Matrix16& c) {
  std::vector<std::uint32_t> words(32 * 10);
  for (unsigned lane = 0; lane < 32; ++lane) {
    unsigned g = lane / 4, t = lane % 4;
    auto pair = [](double low, double high) {
      return std::uint32_t{half(low)} | std::uint32_t{half(high)} << 16;
    };
    for (unsigned r = 0; r < 4; ++r) {
      unsigned row = g + 8 * (r & 1), column = 2 * t + 8 * (r >> 1);
      words[32 * r + lane] = pair(a[row * k + column], a[row * k + column + 1]);
    }
    for (unsigned r = 0; r < 2; ++r) {
      unsigned row = 2 * t + 8 * r;
      words[32 * (4 + r) + lane] = pair(b[row * n + g], b[(row + 1) * n + g]);
    }
    for (unsigned r = 0; r < 4; ++r)
      words[32 * (6 + r) + lane] = std::bit_cast<std::uint32_t>(
          static_cast<float>(c[(g + 8 * (r >> 1)) * n + 2 * t + (r & 1)]));
  }
  return words;
}

Matrix16 product(const Matrix16& a, const Matrix16& b, const Matrix16& c,
                 const std::string& target) {
  auto words = warp(fragments(a, b, c), 4,
                    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%o0,%o1,%o2,%o3}, "
                    "{%i0,%i1,%i2,%i3}, {%i4,%i5}, {%i6,%i7,%i8,%i9};",
                    target);
  Matrix16 d(m * n);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < 4; ++r)
      d[(lane / 4 + 8 * (r >> 1)) * n + 2 * (lane % 4) + (r & 1)] =
          static_cast<double>(std::bit_cast<float>(words[32 * r + lane]));
  return d;
}

Matrix16 filled(std::size_t size, const std::function<double(std::size_t)>& f) {
  Matrix16 values(size);
  for (std::size_t i = 0; i < size; ++i) values[i] = f(i);
  return values;
}

void check_integers(const std::string& target) {
  auto a = filled(m * k, [](std::size_t i) { return static_cast<double>(i * 7 % 23) - 11; });
  auto b = filled(k * n, [](std::size_t i) { return static_cast<double>(i * 5 % 19) - 9; });
  auto c = filled(m * n, [](std::size_t i) { return static_cast<double>(i) * 3 - 50; });
  auto d = product(a, b, c, target);
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j) {
      double sum = c[i * n + j];
      for (unsigned l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      CHECK(d[i * n + j] == sum);
    }
}

TEST_CASE("mma of small integers is exact on sm_89") { check_integers("sm_89"); }
TEST_CASE("mma of small integers is exact on sm_90a") { check_integers("sm_90a"); }
TEST_CASE("mma of small integers is exact on sm_100a") { check_integers("sm_100a"); }

TEST_CASE("tensor cores truncate what lies below the largest term, by architecture") {
  Matrix16 a(m * k, 0.0), b(k * n, 0.0), c(m * n, 0.0);
  a[0] = 1, b[0] = 1;                     // 1 in element (0, 0),
  a[1] = 1, b[n] = std::ldexp(1.0, -24);  // and 2^-24, which 24 bits still keep,
  c[0] = -1;                              // so that it is seen once the ones cancel.
  CHECK(product(a, b, c, "sm_89")[0] == std::ldexp(1.0, -24));
  a[1] = 0.5;  // 2^-25: only Hopper and later keep it.
  CHECK(product(a, b, c, "sm_89")[0] == 0);
  CHECK(product(a, b, c, "sm_90a")[0] == std::ldexp(1.0, -25));
  a[1] = 0.25;
  CHECK(product(a, b, c, "sm_90a")[0] == 0);
}

TEST_CASE("an f32 accumulator is truncated, not rounded") {
  Matrix16 a(m * k, 0.0), b(k * n, 0.0), c(m * n, 0.0);
  c[0] = 1;
  a[0] = std::ldexp(1.0, -12), b[0] = std::ldexp(1.75, -12);  // 1.75 * 2^-24.
  CHECK(product(a, b, c, "sm_90a")[0] == 1);
  a[0] *= 2;  // 1.75 * 2^-23 truncates to 2^-23.
  CHECK(product(a, b, c, "sm_90a")[0] == 1 + std::ldexp(1.0, -23));
}

TEST_CASE("sm_89 multiplies sixteen columns as two halves, the lower first") {
  Matrix16 a(m * k, 0.0), b(k * n, 0.0), c(m * n, 0.0);
  a[0] = 1, b[0] = std::ldexp(1.0, -20);
  a[8] = 32768, b[8 * n] = 32768;  // 2^30 swallows 2^-20 only in its own step.
  a[9] = -32768, b[9 * n] = 32768;
  CHECK(product(a, b, c, "sm_89")[0] == 0);
  std::swap(a[0], a[10]);
  std::swap(b[0], b[10 * n]);
  CHECK(product(a, b, c, "sm_89")[0] == 0);
  CHECK(product(a, b, c, "sm_90a")[0] == 0);
}

TEST_CASE("infinities and NaN go through mma") {
  Matrix16 a(m * k, 0.0), b(k * n, 1.0), c(m * n, 0.0);
  a[0] = HUGE_VAL;
  a[k] = HUGE_VAL, a[k + 1] = -HUGE_VAL;
  auto d = product(a, b, c, "sm_90a");
  CHECK(d[0] == HUGE_VAL);
  CHECK(std::isnan(d[n]));
  CHECK(d[2 * n] == 0);
}

std::vector<std::uint32_t> lanes(const std::function<std::uint32_t(std::uint32_t)>& f) {
  std::vector<std::uint32_t> values(32);
  for (std::uint32_t i = 0; i < 32; ++i) values[i] = f(i);
  return values;
}

TEST_CASE("movmatrix transposes, twice is nothing") {
  auto in = lanes([](std::uint32_t i) { return i * 0x00020002u + 0x00010000u; });
  auto once = warp(in, 1, "movmatrix.sync.aligned.m8n8.trans.b16 %o0, %i0;");
  // Lane 1 holds columns 2 and 3 of row 0, which were in lanes 8 and 12.
  CHECK((once[1] & 0xFFFF) == (in[8] & 0xFFFF));
  CHECK(once[1] >> 16 == (in[12] & 0xFFFF));
  CHECK((once[4] & 0xFFFF) == in[0] >> 16);
  auto twice = warp(once, 1, "movmatrix.sync.aligned.m8n8.trans.b16 %o0, %i0;");
  CHECK(twice == in);
}

const std::string matrix_memory = R"(
  .shared .align 16 .b8 tile[512];
  mov.u32 %r1, tile;
  and.b32 %r2, %tid, 31;
  shl.b32 %r2, %r2, 4;
  add.u32 %r1, %r1, %r2;
)";

TEST_CASE("stmatrix and ldmatrix are inverse, straight and transposed") {
  std::vector<std::uint32_t> in(128);
  for (std::uint32_t i = 0; i < 128; ++i) in[i] = i * 0x10001u + 0x5000u;
  for (const char* trans : {"", ".trans"}) {
    auto back = warp(in, 4,
                     matrix_memory + "stmatrix.sync.aligned.m8n8.x4" + trans +
                         ".shared.b16 [%r1], {%i0,%i1,%i2,%i3};\n"
                         "ldmatrix.sync.aligned.m8n8.x4" +
                         trans + ".shared.b16 {%o0,%o1,%o2,%o3}, [%r1];");
    CHECK(back == in);
  }
}

TEST_CASE("ldmatrix.trans gives what movmatrix makes of ldmatrix") {
  auto in = lanes([](std::uint32_t i) { return i * 0x01010203u; });
  std::string store = matrix_memory + "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%i0};\n";
  auto straight = warp(in, 1,
                       store +
                           "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r1];\n"
                           "movmatrix.sync.aligned.m8n8.trans.b16 %o0, %r3;");
  auto turned = warp(in, 1, store + "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%o0}, [%r1];");
  CHECK(straight == turned);
}

std::vector<std::uint32_t> shuffled(const std::string& text) {
  return warp(lanes([](std::uint32_t i) { return 100 + i; }), 2,
              "shfl.sync." + text + ";\nselp.u32 %o1, 1, 0, %p1;");
}

TEST_CASE("shfl.up stops at the segment's begin") {
  auto v = shuffled("up.b32 %o0|%p1, %i0, 3, 0, 0xFFFFFFFF");
  CHECK(v[2] == 102);
  CHECK(v[32 + 2] == 0);
  CHECK(v[3] == 100);
  CHECK(v[31] == 128);
}
TEST_CASE("shfl.down stops at the segment's end") {
  auto v = shuffled("down.b32 %o0|%p1, %i0, 3, 31, 0xFFFFFFFF");
  CHECK(v[28] == 131);
  CHECK(v[29] == 129);
  CHECK(v[32 + 29] == 0);
}
TEST_CASE("shfl.bfly exchanges partners") {
  auto v = shuffled("bfly.b32 %o0|%p1, %i0, 5, 31, 0xFFFFFFFF");
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(v[i] == 100 + (i ^ 5));
}
TEST_CASE("shfl.idx stays in a segment of eight") {
  auto v = shuffled("idx.b32 %o0|%p1, %i0, 2, 0x1807, 0xFFFFFFFF");
  CHECK(v[0] == 102);
  CHECK(v[13] == 110);
  CHECK(v[31] == 126);
}
TEST_CASE("a shuffle without its lane in the mask is a trap") {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(32));
  launch.add(std::vector<std::uint32_t>(32));
  launch.shape.block[0] = 32;
  launch.run(
      body_text(".reg .b32 %r<4>;",
                "shfl.sync.bfly.b32 %r1, %tid, 1, 31, 0x0000FFFF;\nst.global.u32 [%out], %r1;"));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::bad_operand);
  CHECK(launch.result.trap->thread == 16);
}

TEST_CASE("votes and ballots") {
  auto v = warp(lanes([](std::uint32_t i) { return i; }), 2, R"(
    setp.lt.u32 %p1, %i0, 4;
    vote.sync.ballot.b32 %o0, %p1, 0xFFFFFFFF;
    vote.sync.any.pred %p2, %p1, 0xFFFFFFFF;
    vote.sync.all.pred %p3, !%p1, 0xFFFFFFFF;
    selp.u32 %o1, 2, 0, %p2;
    @%p3 mov.u32 %o1, 9;)");
  CHECK(v[20] == 0xF);
  CHECK(v[32] == 2);
}

TEST_CASE("match.any finds equals, match.all wants all") {
  auto v = warp(lanes([](std::uint32_t i) { return i % 3; }), 2, R"(
    match.any.sync.b32 %o0, %i0, 0xFFFFFFFF;
    match.all.sync.b32 %r1|%p1, %i0, 0xFFFFFFFF;
    selp.u32 %o1, 1, 0, %p1;)");
  CHECK(v[0] == 0x49249249);
  CHECK(v[32] == 0);
}

TEST_CASE("redux reduces integers with and without sign, and floats on sm_100a") {
  auto in = lanes([](std::uint32_t i) { return i - 5; });
  auto v = warp(in, 3, R"(
    redux.sync.add.s32 %o0, %i0, 0xFFFFFFFF;
    redux.sync.min.s32 %o1, %i0, 0xFFFFFFFF;
    redux.sync.max.u32 %o2, %i0, 0xFFFFFFFF;)");
  CHECK(v[7] == 31 * 16 - 160);
  CHECK(v[32] == 0xFFFFFFFB);
  CHECK(v[64] == 0xFFFFFFFF);
  auto floats = lanes(
      [](std::uint32_t i) { return std::bit_cast<std::uint32_t>(static_cast<float>(i) - 40.0f); });
  auto w = warp(floats, 2, R"(
    redux.sync.max.f32 %o0, %i0, 0xFFFFFFFF;
    redux.sync.max.abs.f32 %o1, %i0, 0xFFFFFFFF;)",
                "sm_100a");
  CHECK(std::bit_cast<float>(w[0]) == -9.0f);
  CHECK(std::bit_cast<float>(w[32]) == 40.0f);
}

TEST_CASE("elect chooses one lane") {
  auto v = warp(lanes([](std::uint32_t i) { return i; }), 2,
                "elect.sync %o0|%p1, 0xFFFFFFFF;\nselp.u32 %o1, 1, 0, %p1;");
  CHECK(v[5] == 0);
  CHECK(v[32] == 1);
  CHECK(v[33] == 0);
}

}  // namespace
}  // namespace lathe::ptx
