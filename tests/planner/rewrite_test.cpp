// Each family of rewrites: what it must find, and its near-misses, which it must leave alone.

#include "rewriting.h"

namespace lathe::planner {
namespace {

using namespace rewriting;

const std::string declared =
    ".reg .pred %p<9>;\n.reg .b32 %r<99>;\n.reg .b16 %rs<9>;\n.reg .b64 %rd<9>;\n"
    "ld.param.b64 %rd1, [a];\n";
const std::string store_r20 = "st.global.b32 [%rd1], %r20;\nret;";

std::string chain(const std::string& opcode, const std::string& between = "") {
  std::string out = declared + "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1+16];\n" +
                    "ld.global.v4.b32 {%r5, %r6, %r7, %r8}, [%rd1+32];\n";
  out += opcode + " %r11, %r1, %r2;\n" + opcode + " %r12, %r11, %r3;\n";
  out += between;
  for (int i = 4; i < 8; ++i)
    out += opcode + " %r" + std::to_string(9 + i) + ", %r" + std::to_string(8 + i) + ", %r" +
           std::to_string(i) + ";\n";
  return out + opcode + " %r20, %r16, %r8;\n";
}

TEST_CASE("a chain of sums becomes a balanced tree with as many operations") {
  std::vector<std::string> made = of_body(chain("add.f32") + store_r20, family::tree_reduction);
  REQUIRE(made.size() == 1);
  CHECK(count(made[0], "add.f32") == 7);
  CHECK(count(made[0], "%r1, %r2;") == 1);
  CHECK(count(made[0], "%r7, %r8;") == 1);
}

TEST_CASE("maxima and packed sums are trees too") {
  CHECK(of_body(chain("max.f32") + store_r20, family::tree_reduction).size() == 1);
  CHECK(of_body(chain("add.rn.f16x2") + store_r20, family::tree_reduction).size() == 1);
}

TEST_CASE("a chain whose partial result is read elsewhere stays") {
  std::string body = chain("add.f32", "st.global.b32 [%rd1+4], %r12;\n") + store_r20;
  for (const std::string& made : of_body(body, family::tree_reduction)) {
    // What is left behind the read may be a tree; the value that is read must still be made.
    CHECK(count(made, "add.f32 %r12, %r11, %r3;") == 1);
  }
}

TEST_CASE("what does not associate, is short, guarded or balanced already stays") {
  CHECK(of_body(chain("sub.f32") + store_r20, family::tree_reduction).empty());
  CHECK(of_body(chain("add.rz.f32") + store_r20, family::tree_reduction).empty());
  CHECK(of_body(declared + "add.f32 %r3, %r1, %r2;\nadd.f32 %r20, %r3, %r4;\n" + store_r20,
                family::tree_reduction)
            .empty());
  CHECK(of_body(declared +
                    "add.f32 %r11, %r1, %r2;\nadd.f32 %r12, %r3, %r4;\nadd.f32 %r13, %r5, "
                    "%r6;\nadd.f32 %r14, %r7, %r8;\nadd.f32 %r15, %r11, %r12;\nadd.f32 "
                    "%r16, %r13, %r14;\nadd.f32 %r20, %r15, %r16;\n" +
                    store_r20,
                family::tree_reduction)
            .empty());
}

TEST_CASE("a chain over a join of paths or with a guarded step stays") {
  std::string guarded = chain("add.f32", "@%p1 add.f32 %r12, %r12, %r12;\n") + store_r20;
  for (const std::string& made : of_body(guarded, family::tree_reduction))
    CHECK(count(made, "%r12, %r11, %r3;") == 1);
  std::string joined = chain("add.f32", "@%p1 bra L;\nL:\n") + store_r20;
  for (const std::string& made : of_body(joined, family::tree_reduction))
    CHECK(count(made, "%r12, %r11, %r3;") == 1);
}

TEST_CASE("a leaf that is written again before the tree's end stays where it is") {
  CHECK(of_body(chain("add.f32", "mov.b32 %r2, 0;\n") + store_r20, family::tree_reduction).empty());
}

TEST_CASE("divisions by one divisor become one reciprocal and multiplications") {
  std::string body = declared +
                     "ld.global.b32 %r9, [%rd1];\ndiv.full.f32 %r11, %r1, %r9;\n"
                     "div.full.f32 %r12, %r2, %r9;\ndiv.full.f32 %r20, %r3, %r9;\n" +
                     store_r20;
  std::vector<std::string> made = of_body(body, family::reciprocal);
  REQUIRE(made.size() == 2);
  CHECK(count(made[0], "rcp.approx.f32") == 1);
  CHECK(count(made[0], "mul.f32") == 3);
  CHECK(count(made[0], "div.full") == 0);
  CHECK(count(made[1], "rcp.approx.ftz.f32") == 1);
}

TEST_CASE("divisions by different divisors, or by one that changes, are not joined") {
  std::string two = declared + "div.full.f32 %r11, %r1, %r8;\ndiv.full.f32 %r20, %r2, %r9;\n";
  CHECK(of_body(two + store_r20, family::reciprocal).empty());
  std::string changed = declared +
                        "div.full.f32 %r11, %r1, %r9;\nadd.f32 %r9, %r9, %r1;\n"
                        "div.full.f32 %r20, %r2, %r9;\n";
  CHECK(of_body(changed + store_r20, family::reciprocal).empty());
  std::string blocks = declared +
                       "div.full.f32 %r11, %r1, %r9;\n@%p1 bra L;\n"
                       "div.full.f32 %r20, %r2, %r9;\nL:\n";
  CHECK(of_body(blocks + store_r20, family::reciprocal).empty());
  std::string roundings = declared + "div.full.f32 %r11, %r1, %r9;\ndiv.rn.f32 %r20, %r2, %r9;\n";
  CHECK(of_body(roundings + store_r20, family::reciprocal).empty());
}

TEST_CASE("a correctly rounded division keeps a correctly rounded reciprocal") {
  std::string body = declared + "div.rn.f32 %r11, %r1, %r9;\ndiv.rn.f32 %r20, %r2, %r9;\n";
  CHECK(count(of_body(body + store_r20, family::reciprocal).at(0), "rcp.rn.f32") == 1);
}

TEST_CASE("one divided by a value is its reciprocal, two is not") {
  std::string one = declared + "mov.b32 %r8, 0f3F800000;\ndiv.full.f32 %r20, %r8, %r9;\n";
  std::string two = declared + "mov.b32 %r8, 0f40000000;\ndiv.full.f32 %r20, %r8, %r9;\n";
  CHECK(count(of_body(one + store_r20, family::reciprocal).at(0), "rcp.approx.f32") == 1);
  CHECK(of_body(two + store_r20, family::reciprocal).empty());
}

std::string differences(const std::string& second) {
  return declared + "sub.f32 %r11, %r1, %r9;\nsub.f32 %r12, %r2, " + second +
         ";\nsub.f32 %r13, %r3, %r9;\nmul.f32 %r14, %r11, 0f3FB8AA3B;\nmul.f32 %r15, %r12, "
         "0f3FB8AA3B;\nmul.f32 %r20, %r13, 0f3FB8AA3B;\n";
}

TEST_CASE("scaled differences with one subtrahend become multiply-adds") {
  std::string body = differences("%r9");
  std::string from = "mov.b32 %r9, %tid.x;\n";
  body.insert(declared.size(), from);
  std::vector<std::string> made = of_body(body + store_r20, family::fma);
  REQUIRE(made.size() == 1);
  CHECK(count(made[0], "fma.rn.f32") == 3);
  CHECK(count(made[0], "sub.f32") == 0);
  CHECK(count(made[0], "0fBFB8AA3B") == 1);
}

TEST_CASE("scaled differences stay where a subtrahend differs or a difference is read twice") {
  CHECK(of_body(differences("%r8") + store_r20, family::fma).empty());
  std::string twice = differences("%r9") + "st.global.b32 [%rd1+4], %r12;\n";
  CHECK(of_body(twice + store_r20, family::fma).empty());
}

TEST_CASE("scaled differences whose subtrahend is written among them stay") {
  std::string changed = differences("%r9");
  changed.insert(changed.find("sub.f32 %r13"), "add.f32 %r9, %r9, %r1;\n");
  CHECK(of_body(changed + store_r20, family::fma).empty());
}

TEST_CASE("a negation before a constant factor is part of the factor") {
  std::string body = declared +
                     "mov.b32 %r8, 0f00000000;\nsub.f32 %r11, %r8, %r1;\nmul.f32 %r20, "
                     "%r11, 0f3FB8AA3B;\n";
  std::vector<std::string> made = of_body(body + store_r20, family::fma);
  REQUIRE(made.size() == 1);
  CHECK(count(made[0], "mul.f32 \t%r20, %r1, 0fBFB8AA3B;") == 1);
}

TEST_CASE("a product that a sum alone reads is contracted, a rounded or shared one is not") {
  std::string body = declared + "mul.f32 %r11, %r1, %r2;\nadd.f32 %r20, %r11, %r3;\n";
  CHECK(count(of_body(body + store_r20, family::fma).at(0), "fma.rn.f32 \t%r20, %r1, %r2, %r3;") ==
        1);
  std::string rounded = declared + "mul.rn.f32 %r11, %r1, %r2;\nadd.f32 %r20, %r11, %r3;\n";
  CHECK(of_body(rounded + store_r20, family::fma).empty());
  std::string shared = body + "st.global.b32 [%rd1+4], %r11;\n";
  CHECK(of_body(shared + store_r20, family::fma).empty());
  std::string changed = declared +
                        "mul.f32 %r11, %r1, %r2;\nmov.b32 %r1, 0;\nadd.f32 %r20, %r11, "
                        "%r3;\n";
  CHECK(of_body(changed + store_r20, family::fma).empty());
}

std::string loads(const std::string& between, const std::string& second = "[%rd1+64]") {
  return declared + "ld.global.v2.b32 {%r1, %r2}, [%rd1];\nadd.s32 %r5, %r1, %r2;\n" + between +
         "mov.u32 %r3, 0x0;\nmov.u32 %r4, 0x0;\nld.global.v2.b32 {%r3, %r4}, " + second +
         ";\nadd.s32 %r6, %r3, %r4;\nadd.s32 %r20, %r5, %r6;\n" + store_r20;
}

TEST_CASE("a load rises above the work on an earlier one, with its address") {
  std::vector<std::string> made = of_body(loads(""), family::hoisted_loads);
  REQUIRE(made.size() == 1);
  CHECK(made[0].find("[%rd1+64]") < made[0].find("add.s32 %r5"));
  CHECK(count(made[0], "0x0") == 0);
  std::vector<std::string> addressed =
      of_body(loads("add.s64 %rd2, %rd1, 4096;\n", "[%rd2]"), family::hoisted_loads);
  REQUIRE(addressed.size() == 1);
  CHECK(addressed[0].find("add.s64 %rd2") < addressed[0].find("[%rd2]"));
  CHECK(addressed[0].find("[%rd2]") < addressed[0].find("add.s32 %r5"));
}

TEST_CASE("a load does not rise above what may write its memory, its registers or its address") {
  for (const char* between :
       {"st.global.b32 [%rd3], %r5;\n", "st.b32 [%rd3], %r5;\n", "bar.sync 0;\n", "membar.gl;\n",
        "atom.global.add.u32 %r9, [%rd3], 1;\n",
        "add.s32 %r3, %r1, 1;\nst.shared.b32 [smem], %r3;\n",
        "@%p1 mov.b32 %r3, 1;\nst.shared.b32 [smem], %r3;\n"}) {
    INFO(between);
    CHECK(of_body(loads(between), family::hoisted_loads).empty());
  }
  CHECK(of_body(loads("cvt.u64.u32 %rd2, %r5;\n", "[%rd2]"), family::hoisted_loads).empty());
  CHECK(of_body(loads("@%p1 bra L;\nL:\n"), family::hoisted_loads).size() <= 1);
}

TEST_CASE("an address that is made of a register of an inner scope stays there, and its load") {
  std::string inner = "{ .reg .b64 %rd1;\nmov.b64 %rd1, 64;\nadd.s64 %rd2, %rd1, 64; }\n";
  CHECK(of_body(loads(inner, "[%rd2]"), family::hoisted_loads).empty());
}

TEST_CASE("a store to shared memory does not hold a load of global memory") {
  CHECK(of_body(loads("st.shared.b32 [smem], %r5;\n"), family::hoisted_loads).size() == 1);
}

TEST_CASE("streaming accesses get a hint, those of a loop or with one do not") {
  CHECK(of_body(loads(""), family::cached_access).size() == 2);
  std::string hinted = declared + "ld.global.L1::no_allocate.b32 %r1, [%rd1];\nret;";
  CHECK(of_body(hinted, family::cached_access).empty());
  std::string loop = declared +
                     "L: ld.global.b32 %r1, [%rd1];\nsetp.eq.s32 %p1, %r1, 0;\n@%p1 bra "
                     "L;\nret;";
  CHECK(of_body(loop, family::cached_access).empty());
  std::string strong = declared + "ld.volatile.global.b32 %r1, [%rd1];\nret;";
  CHECK(of_body(strong, family::cached_access).empty());
}

TEST_CASE("an entry that is not there has no rewrites") {
  ptx::Parsed parsed = kernel(chain("add.f32") + store_r20);
  CHECK(rewrites(parsed.module, "other", "sm_90a").empty());
}

}  // namespace
}  // namespace lathe::planner
