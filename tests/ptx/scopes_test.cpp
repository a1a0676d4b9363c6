// Labels in braces: the same name may stand in several of them, and is known inside of its own.

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

std::string kernel(const std::string& body) {
  return R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{
  .reg .pred %p<4>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 16;
  mov.b32 %r2, 0;
  mov.b32 %r3, 0;
)" + body +
         R"(
  mad.lo.u32 %r2, %r3, 100, %r2;
  mad.wide.u32 %rd1, %r1, 4, %rd1;
  st.global.u32 [%rd1], %r2;
  ret;
}
)";
}

std::vector<std::uint32_t> run(const std::string& body) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(32));
  launch.shape = {{1, 1, 1}, {32, 1, 1}, 0};
  launch.run(kernel(body));
  INFO((launch.result.trap ? print(*launch.result.trap) : ""));
  REQUIRE(!launch.result.trap);
  return launch.get<std::uint32_t>(0);
}

TEST_CASE("a branch goes to the label of its own braces, not to a later one of the same name") {
  auto values = run(R"(
  {
    @%p1 bra skip;
    add.u32 %r2, %r2, 1;
    skip:
  }
  add.u32 %r3, %r3, 1;
  {
    @!%p1 bra skip;
    add.u32 %r2, %r2, 10;
    skip:
  })");
  for (unsigned lane = 0; lane < 32; ++lane) CHECK(values[lane] == (lane < 16 ? 110u : 101u));
}

TEST_CASE("a loop in braces goes back to its own label") {
  auto values = run(R"(
  {
    again:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, 3;
    @%p2 bra again;
  }
  {
    again:
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p3, %r3, 5;
    @%p3 bra again;
  })");
  for (std::uint32_t value : values) CHECK(value == 503);
}

TEST_CASE("a label outside of the braces is known inside of them") {
  auto values = run(R"(
  {
    {
      @%p1 bra skip;
      add.u32 %r2, %r2, 1;
    }
    add.u32 %r2, %r2, 1;
    skip:
    add.u32 %r3, %r3, 1;
  })");
  for (unsigned lane = 0; lane < 32; ++lane) CHECK(values[lane] == (lane < 16 ? 100u : 102u));
}

TEST_CASE("a label inside of braces is not known outside of them") {
  Parsed parsed = parse(kernel("  @%p1 bra skip;\n  {\n    skip:\n  }"), "test.ptx");
  Result<Program> program = Error{Fault::malformed, "it does not parse", "", {}};
  if (parsed.errors.empty()) program = decode(parsed.module, "k");
  CHECK(!program);
}

}  // namespace
}  // namespace lathe::ptx
