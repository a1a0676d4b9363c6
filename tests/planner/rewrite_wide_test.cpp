// Wider accesses: only where the address is known to be aligned in every launch.

#include "rewriting.h"

namespace lathe::planner {
namespace {

using namespace rewriting;

const std::string aligned16 = ".param .u64 .ptr .global .align 16 a";

std::string body(const std::string& between = "", const std::string& second = "[%rd2+8]",
                 const std::string& address =
                     "mul.wide.u32 %rd9, %r1, 16;\nadd.s64 %rd2, %rd1, "
                     "%rd9;\n") {
  return ".reg .pred %p<3>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<12>;\nld.param.b64 %rd1, [a];\n"
         "mov.u32 %r1, %tid.x;\n" +
         address + "ld.global.v2.b32 {%r2, %r3}, [%rd2];\n" + between +
         "ld.global.v2.b32 {%r4, %r5}, " + second +
         ";\nadd.s32 %r6, %r2, %r3;\nadd.s32 %r7, %r4, %r5;\nadd.s32 %r8, %r6, %r7;\n"
         "st.global.b32 [%rd2], %r8;\nret;";
}

std::vector<std::string> wide(const std::string& text, const std::string& parameter = aligned16,
                              const Contract* contract = nullptr) {
  ptx::Parsed parsed = kernel(text, parameter);
  return of_family(parsed.module, family::wide_access, contract);
}

TEST_CASE("two adjacent aligned loads become one") {
  std::vector<std::string> made = wide(body());
  REQUIRE(made.size() == 1);
  CHECK(count(made[0], "ld.global.v4.b32 \t{%r2, %r3, %r4, %r5}, [%rd2];") == 1);
  CHECK(count(made[0], "ld.global.v2.b32") == 0);
}

TEST_CASE("an address that is a sum with a constant is adjacent too") {
  CHECK(wide(body("add.s64 %rd3, %rd2, 8;\n", "[%rd3]")).size() == 1);
  CHECK(wide(body("add.s64 %rd3, %rd2, 16;\n", "[%rd3+-8]")).size() == 1);
  CHECK(wide(body("add.s64 %rd2, %rd2, 8;\n", "[%rd2]")).size() == 1);
  CHECK(wide(body("add.s64 %rd2, %rd2, 4;\n", "[%rd2]")).empty());
}

TEST_CASE("loads from a base that may be unaligned stay") {
  CHECK(wide(body(), ".param .u64 .ptr .global .align 8 a").empty());
  CHECK(wide(body(), ".param .u64 .ptr .global .align 1 a").empty());
  CHECK(wide(body(), ".param .u64 a").empty());
  CHECK(wide(body("", "[%rd2+8]", "mul.wide.u32 %rd9, %r1, 8;\nadd.s64 %rd2, %rd1, %rd9;\n"))
            .empty());
}

TEST_CASE("loads with a gap, in the other order of halves, or of other values stay") {
  CHECK(wide(body("", "[%rd2+12]")).empty());
  CHECK(wide(body("", "[%rd2+16]")).empty());
  CHECK(wide(body("", "[%rd1+8]")).empty());
}

TEST_CASE("loads with something between that may write the memory or the registers stay") {
  for (const char* between :
       {"st.global.b32 [%rd1], %r2;\n", "bar.sync 0;\n", "st.b32 [%rd1], %r2;\n",
        "mov.b32 %r4, 1;\nst.shared.b32 [smem], %r4;\n", "red.global.add.u32 [%rd1], 1;\n",
        "@%p1 bra L;\nL:\n"}) {
    INFO(between);
    CHECK(wide(body(between)).empty());
  }
  CHECK(wide(body("st.shared.b32 [smem], %r2;\n")).size() == 1);
}

TEST_CASE("the contract's alignment is enough, and its least case decides") {
  Contract contract;
  contract.parameters = {{"a", ParameterType::u64, 0, {}, 0}};
  contract.tensors.resize(1);
  contract.tensors[0].align = 16;
  CHECK(wide(body(), ".param .u64 a", &contract).size() == 1);
  contract.cases.resize(1);
  contract.cases[0].parameters = contract.parameters;
  contract.cases[0].tensors = contract.tensors;
  CHECK(wide(body(), ".param .u64 a", &contract).size() == 1);
  contract.cases[0].tensors[0].align = 4;
  CHECK(wide(body(), ".param .u64 a", &contract).empty());
}

TEST_CASE("adjacent stores become one where the last was") {
  std::string text =
      ".reg .b32 %r<99>;\n.reg .b64 %rd<12>;\nld.param.b64 %rd1, [a];\nst.global.b32 [%rd1], "
      "%r1;\nst.global.b32 [%rd1+4], %r2;\nadd.s32 %r4, %r1, %r2;\nst.global.b32 [%rd1+8], "
      "%r3;\nst.global.b32 [%rd1+12], %r4;\nret;";
  std::vector<std::string> made = wide(text);
  REQUIRE(made.size() == 1);
  CHECK(count(made[0], "st.global.v4.b32 \t[%rd1], {%r1, %r2, %r3, %r4};") == 1);
  CHECK(count(made[0], "st.global") == 1);
}

TEST_CASE("stores with a load between them or a value that changes stay") {
  auto stores = [](const std::string& between) {
    return ".reg .b32 %r<99>;\n.reg .b64 %rd<12>;\nld.param.b64 %rd1, [a];\nst.global.b32 [%rd1], "
           "%r1;\n" +
           between + "st.global.b32 [%rd1+4], %r2;\nret;";
  };
  CHECK(wide(stores("")).size() == 1);
  CHECK(wide(stores("ld.global.b32 %r9, [%rd1];\nst.shared.b32 [smem], %r9;\n")).empty());
  CHECK(wide(stores("mov.b32 %r1, 0;\nst.shared.b32 [smem], %r1;\n")).empty());
  CHECK(wide(stores("bar.sync 0;\n")).empty());
}

}  // namespace
}  // namespace lathe::planner
