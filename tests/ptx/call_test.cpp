// Device functions are carried out where they are called.

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

const std::string functions =
    ".func (.param .b32 result) twice_or_less(.param .b32 value)\n{\n"
    ".reg .b32 %r<3>; .reg .pred %p;\nld.param.b32 %r1, [value];\n"
    "setp.gt.u32 %p, %r1, 10;\n@%p bra BIG;\n"
    "add.u32 %r2, %r1, %r1;\nst.param.b32 [result], %r2;\nret;\n"
    "BIG: sub.u32 %r2, %r1, 10;\nst.param.b32 [result], %r2;\nret;\n}\n";

std::string text_of(const std::string& lines, const std::string& more = "") {
  std::string text = body_text(".reg .b32 %v, %w; .reg .pred %q;", lines);
  return text.insert(text.find(".visible"), functions + more);
}

const std::string one_call =
    "{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %v;\n"
    "call.uni (b), twice_or_less, (a);\nld.param.b32 %v, [b];\n}\n";

Launched launched(const std::string& text) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(32));
  launch.add(std::vector<std::uint32_t>(32, 6));
  launch.shape = {{1, 1, 1}, {32, 1, 1}, 0};
  launch.run(text);
  return launch;
}

}  // namespace

TEST_CASE("a function returns from where its lanes are, and its registers are its own") {
  Launched launch = launched(
      text_of("mov.u32 %v, %tid;\n" + one_call + one_call + "st.global.u32 [%out], %v;\n"));
  INFO((launch.result.trap ? print(*launch.result.trap) : ""));
  REQUIRE(!launch.result.trap);
  auto f = [](std::uint32_t x) { return x > 10 ? x - 10 : 2 * x; };
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(launch.get<std::uint32_t>(0)[i] == f(f(i)));
}

TEST_CASE("a label belongs to its scope: two scopes may have one each of a name") {
  const std::string text =
      body_text(".reg .b32 %v; .reg .pred %q;",
                "mov.u32 %v, 0;\nsetp.lt.u32 %q, %tid, 4;\n"
                "{\n@%q bra skip;\nadd.u32 %v, %v, 1;\nskip:\n}\nadd.u32 %v, %v, 10;\n"
                "{\n@!%q bra skip;\nadd.u32 %v, %v, 100;\nskip:\n}\nst.global.u32 [%out], %v;\n");
  Launched launch = launched(text);
  REQUIRE(!launch.result.trap);
  CHECK(launch.get<std::uint32_t>(0)[0] == 110);
  CHECK(launch.get<std::uint32_t>(0)[5] == 11);
}

TEST_CASE("a guarded call is made by some lanes only") {
  std::string text = text_of(
      "mov.u32 %v, %tid;\nsetp.lt.u32 %q, %tid, 4;\n.param .b32 a;\n.param .b32 b;\n"
      "st.param.b32 [a], %v;\nst.param.b32 [b], 99;\n@%q call (b), twice_or_less, (a);\n"
      "ld.param.b32 %v, [b];\nst.global.u32 [%out], %v;\n");
  Launched launch = launched(text);
  REQUIRE(!launch.result.trap);
  CHECK(launch.get<std::uint32_t>(0)[3] == 6);
  CHECK(launch.get<std::uint32_t>(0)[4] == 99);
}

TEST_CASE("a function that calls itself is not carried out, and the trap says where") {
  std::string more =
      ".func again()\n{\ncall again;\nret;\n}\n.func outer()\n{\ncall again;\nret;\n}\n";
  Launched launch = launched(text_of("call outer;\n", more));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::unsupported);
  CHECK(launch.result.trap->line > 0);
}

TEST_CASE("a call with a wrong number of values is malformed") {
  Parsed parsed = parse(text_of("call twice_or_less;\n"), "test.ptx");
  REQUIRE(parsed.errors.empty());
  CHECK_FALSE(decode(parsed.module, "test").has_value());
}

}  // namespace lathe::ptx
