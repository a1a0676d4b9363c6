// Atomics of vectors and of 128 bits, subnormals, multicast objects, and groups of a warp that work
// under masks of their own.

#include <bit>
#include <cmath>

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

const std::string registers =
    ".reg .b32 %r<12>;\n.reg .b64 %rd<8>;\n.reg .b128 %q<4>;\n.reg .pred %p<4>;\n.reg .b16 %h<20>;";

struct Outcome {
  std::vector<std::uint32_t> out, in;
  std::optional<Trap> trap;
};
/// One thread; `in` is a buffer that the lines may change.
Outcome run(const std::string& lines, std::vector<std::uint32_t> in, bool multicast = false) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(16));
  launch.add(in);
  Parsed parsed = parse(body_text(registers, lines, "sm_90a", "8.7"), "test.ptx");
  REQUIRE(parsed.errors.empty());
  auto program = decode(parsed.module, "test");
  if (!program) FAIL(program.error().what << " " << program.error().remedy);
  launch.multicast = multicast ? 1 : -1;
  launch.run(*program);
  return {launch.get<std::uint32_t>(0), launch.get<std::uint32_t>(1), launch.result.trap};
}
std::uint32_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }

TEST_CASE("an atomic vector adds each element and gives the old ones") {
  Outcome done =
      run("mov.b32 %r1, 0f3F800000;\nmov.b32 %r2, 0f40000000;\n"
          "atom.global.add.v2.f32 {%r3, %r4}, [%in], {%r1, %r2};\n"
          "st.global.v2.u32 [%out], {%r3, %r4};",
          {bits(10.0f), bits(20.0f)});
  CHECK(done.in == std::vector<std::uint32_t>{bits(11.0f), bits(22.0f)});
  CHECK(done.out[0] == bits(10.0f));
  CHECK(done.out[1] == bits(20.0f));
}

TEST_CASE("the results of an atomic vector may be its sources") {
  Outcome done =
      run("mov.b32 %r1, 0f3F800000;\nmov.b32 %r2, 0f40000000;\n"
          "atom.global.add.v2.f32 {%r2, %r1}, [%in], {%r1, %r2};\n"
          "st.global.v2.u32 [%out], {%r1, %r2};",
          {bits(10.0f), bits(20.0f)});
  CHECK(done.in == std::vector<std::uint32_t>{bits(11.0f), bits(22.0f)});
  CHECK(done.out[0] == bits(20.0f));
  CHECK(done.out[1] == bits(10.0f));
}

TEST_CASE("an atomic vector is aligned as a whole") {
  Outcome done = run("mov.b32 %r1, 0f3F800000;\nred.global.add.v2.f32 [%in+4], {%r1, %r1};",
                     {bits(1), bits(2), bits(3), bits(4)});
  REQUIRE(done.trap);
  CHECK(done.trap->kind == TrapKind::misaligned);
}

TEST_CASE("halves in vectors of eight take the larger") {
  std::string lines = "mov.b16 %h9, 0x4000;\n";
  std::string eight;
  for (int i = 0; i < 8; ++i) eight += std::string(i == 0 ? "" : ", ") + "%h9";
  Outcome done = run(lines + "red.global.max.noftz.v8.f16 [%in], {" + eight + "};",
                     {0x3C004400, 0x3C004400, 0x3C004400, 0x3C004400});
  CHECK(done.in == std::vector<std::uint32_t>(4, 0x40004400));
}

TEST_CASE("128 bits are swapped where they are what was expected") {
  std::string lines =
      "mov.u64 %rd1, 1;\nmov.u64 %rd2, 2;\nmov.u64 %rd3, 9;\nmov.b128 %q0, {%rd1, %rd2};\n"
      "mov.b128 %q1, {%rd3, %rd3};\natom.global.cas.b128 %q2, [%in], %q0, %q1;\n"
      "mov.b128 {%rd4, %rd5}, %q2;\nst.global.v2.u64 [%out], {%rd4, %rd5};";
  Outcome equal = run(lines, {1, 0, 2, 0});
  CHECK(equal.in == std::vector<std::uint32_t>{9, 0, 9, 0});
  CHECK(equal.out[0] == 1);
  Outcome other = run(lines, {1, 0, 2, 7});
  CHECK(other.in == std::vector<std::uint32_t>{1, 0, 2, 7});
  CHECK(other.out[3] == 7);
}

TEST_CASE("f32 added in global memory flushes subnormals, in shared memory it does not") {
  std::uint32_t tiny = 3;
  Outcome global = run("mov.b32 %r1, 0f00000005;\nred.global.add.f32 [%in], %r1;", {tiny});
  CHECK(global.in[0] == 0);
  Outcome shared =
      run("{\n.shared .align 4 .b32 s;\nmov.b32 %r1, 3;\nst.shared.u32 [s], %r1;\nmov.b32 %r2, 5;\n"
          "red.shared.add.f32 [s], %r2;\nld.shared.u32 %r3, [s];\nst.global.u32 [%out], %r3;\n}",
          {0});
  CHECK(shared.out[0] == 8);
}

TEST_CASE("multimem reads, writes and reduces a multicast object") {
  Outcome done =
      run("mov.b32 %r1, 5;\nmultimem.red.relaxed.gpu.global.add.u32 [%in], %r1;\n"
          "multimem.ld_reduce.acquire.gpu.global.add.u32 %r2, [%in];\n"
          "multimem.st.weak.global.u32 [%in+4], %r2;\nst.global.u32 [%out], %r2;",
          {7, 0}, true);
  CHECK_FALSE(done.trap);
  CHECK(done.in == std::vector<std::uint32_t>{12, 12});
  CHECK(done.out[0] == 12);
}

TEST_CASE("multimem takes no plain memory, and plain accesses no multicast object") {
  Outcome plain = run("mov.b32 %r1, 5;\nmultimem.st.weak.global.u32 [%in], %r1;", {7});
  REQUIRE(plain.trap);
  CHECK(plain.trap->kind == TrapKind::bad_operand);
  Outcome object = run("ld.global.u32 %r1, [%in];", {7}, true);
  REQUIRE(object.trap);
  CHECK(object.trap->kind == TrapKind::bad_operand);
}

TEST_CASE("an ordered multimem access needs its scope, a weak one has none") {
  for (const char* wrong : {"multimem.st.relaxed.global.u32 [%in], %r1;",
                            "multimem.st.weak.gpu.global.u32 [%in], %r1;"}) {
    Parsed parsed = parse(body_text(registers, wrong), "test.ptx");
    REQUIRE(parsed.errors.empty());
    CHECK_FALSE(decode(parsed.module, "test"));
  }
}

TEST_CASE("a policy is named where a hint is, and nowhere else") {
  for (auto [line, good] : {std::pair{"red.global.add.u32 [%in], %r1;", true},
                            {"red.global.add.L2::cache_hint.u32 [%in], %r1, %rd1;", true},
                            {"red.global.add.u32 [%in], %r1, %rd1;", false},
                            {"red.global.add.L2::cache_hint.u32 [%in], %r1;", false}}) {
    Parsed parsed = parse(body_text(registers, line), "test.ptx");
    REQUIRE(parsed.errors.empty());
    INFO(line);
    CHECK(bool(decode(parsed.module, "test")) == good);
  }
}

TEST_CASE("groups of one warp reduce under masks of their own") {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(32));
  launch.add(std::vector<std::uint32_t>(32));
  launch.shape.block[0] = 32;
  launch.run(body_text(registers,
                       "setp.lt.u32 %p1, %tid, 8;\nselp.u32 %r1, 0xFF, 0xFFFFFF00, %p1;\n"
                       "redux.sync.add.u32 %r2, %tid, %r1;\nst.global.u32 [%out], %r2;"));
  if (launch.result.trap) FAIL(print(*launch.result.trap));
  CHECK(launch.get<std::uint32_t>(0)[3] == 28);
  CHECK(launch.get<std::uint32_t>(0)[20] == 496 - 28);
}

TEST_CASE("one undefined value makes a reduction undefined for all") {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(32));
  launch.add(std::vector<std::uint32_t>(32));
  launch.shape.block[0] = 32;
  launch.run(body_text(registers,
                       "setp.lt.u32 %p1, %tid, 8;\n@%p1 mov.b32 %r1, 1;\n"
                       "redux.sync.add.u32 %r2, %r1, 0xFFFFFFFF;\nst.global.u32 [%out], %r2;"));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::undefined_value);
}

}  // namespace
}  // namespace lathe::ptx
