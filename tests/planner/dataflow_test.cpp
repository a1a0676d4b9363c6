// Who writes and reads what, where blocks begin and end, and what memory an instruction touches.

#include "planner/dataflow.h"

#include "planner/subagents/alignment.h"
#include "rewriting.h"

namespace lathe::planner {
namespace {

using namespace rewriting;

struct Built {
  ptx::Parsed parsed;
  Flow flow;
  explicit Built(const std::string& body, const std::string& parameter = ".param .u64 a")
      : parsed(kernel(body, parameter)), flow(parsed.module.functions[0]) {}
  RegisterId id(Index index, std::string_view name) const {
    auto found = flow.find(index, name);
    REQUIRE(found);
    return *found;
  }
};

const std::string registers =
    ".reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .b32 x;\n";

TEST_CASE("writers and readers are found through vectors, addresses, guards and pairs") {
  Built built(registers +
              "ld.global.v2.b32 {%r1, %r2}, [%rd1+8];\nsetp.eq.s32 %p1|%p2, %r1, %r2;\n@%p1 "
              "st.shared.b32 [%r3], {%r2};\nshfl.sync.bfly.b32 x|%p3, %r2, 1, 31, -1;\nret;");
  CHECK(built.flow.written_by(0).size() == 2);
  CHECK(built.flow.read_by(0) == std::vector<RegisterId>{built.id(0, "%rd1")});
  CHECK(built.flow.written_by(1).size() == 2);
  CHECK(built.flow.written_by(2).empty());
  CHECK(built.flow.read_by(2).size() == 3);
  CHECK(built.flow.written_by(3).size() == 2);
  CHECK(built.flow.readers(built.id(1, "%r2")) == std::vector<Index>{1, 2, 3});
  CHECK(built.flow.type_of(built.id(1, "%p1")) == "pred");
}

TEST_CASE("special registers, labels, variables and undeclared names are no registers") {
  Built built(registers + "mov.u32 %r1, %tid.x;\nmov.b32 %r2, smem;\nmov.b32 %r9, 0;\nL: bra L;");
  CHECK(built.flow.read_by(0).empty());
  CHECK(built.flow.read_by(1).empty());
  CHECK(built.flow.written_by(2).empty());
  CHECK_FALSE(built.flow.find(3, "L"));
}

TEST_CASE("a register of an inner scope is another register") {
  Built built(registers +
              "mov.b32 x, 1;\n{ .reg .b32 x;\nmov.b32 x, 2; }\nadd.s32 %r1, x, x;\nret;");
  CHECK(built.id(0, "x") == built.id(2, "x"));
  CHECK(built.id(0, "x") != built.id(1, "x"));
  CHECK(built.flow.outermost(0));
  CHECK_FALSE(built.flow.outermost(1));
  CHECK(built.flow.readers(built.id(0, "x")).size() == 2);
}

TEST_CASE("the write that an instruction sees is the last certain one") {
  Built built(registers +
              "mov.b32 %r1, 1;\nadd.s32 %r2, %r1, 1;\nmov.b32 %r1, 2;\nadd.s32 %r3, %r1, 1;\n@%p1 "
              "mov.b32 %r1, 3;\nadd.s32 %r4, %r1, 1;\nret;");
  RegisterId id = built.id(0, "%r1");
  CHECK(built.flow.reaching(id, 1) == Index{0});
  CHECK(built.flow.reaching(id, 3) == Index{2});
  CHECK_FALSE(built.flow.reaching(id, 5));
  CHECK(built.flow.written_between(id, 0, 3));
  CHECK_FALSE(built.flow.written_between(id, 0, 2));
  CHECK(built.flow.read_between(id, 0, 2));
  CHECK_FALSE(built.flow.read_between(id, 1, 3));
}

TEST_CASE("across blocks only a register's single write is certain") {
  Built built(registers +
              "mov.b32 %r1, 1;\nmov.b32 %r2, 1;\n@%p1 bra L;\nmov.b32 %r2, 2;\nL: add.s32 %r3, "
              "%r1, %r2;\nret;");
  CHECK(built.flow.reaching(built.id(4, "%r1"), 4) == Index{0});
  CHECK_FALSE(built.flow.reaching(built.id(4, "%r2"), 4));
}

TEST_CASE("one write and one read, unguarded, is a single use") {
  Built built(registers +
              "mov.b32 %r1, 1;\nadd.s32 %r2, %r1, 1;\nadd.s32 %r3, %r2, %r2;\n@%p1 mov.b32 %r4, "
              "%r3;\nmov.b32 %r5, %r4;\nret;");
  CHECK(built.flow.single_use(built.id(0, "%r1")));
  CHECK_FALSE(built.flow.single_use(built.id(1, "%r2")));
  CHECK(built.flow.single_use(built.id(2, "%r3")));
  CHECK_FALSE(built.flow.single_use(built.id(3, "%r4")));
}

TEST_CASE("blocks begin at labels that are used and behind branches, with all arrows") {
  Built built(
      registers +
      "$L__tmp1: mov.b32 %r1, 1;\n$L__tmp2:\nTOP: add.s32 %r1, %r1, 1;\n@%p1 bra TOP;\n@%p2 "
      "bra END;\nmov.b32 %r2, 1;\nEND: ret;");
  REQUIRE(built.flow.certain());
  REQUIRE(built.flow.blocks().size() == 5);
  CHECK(built.flow.blocks()[1].next == std::vector<std::uint32_t>{2, 1});
  CHECK(built.flow.blocks()[1].previous == std::vector<std::uint32_t>{0, 1});
  CHECK(built.flow.blocks()[2].next == std::vector<std::uint32_t>{3, 4});
  CHECK(built.flow.blocks()[4].next.empty());
}

TEST_CASE("a branch goes to the label of its own braces, or of those around") {
  Built built(registers +
              "{\nW: mov.b32 %r1, 1;\n@%p1 bra W;\n}\n{\nW: mov.b32 %r2, 2;\n@%p1 bra W;\n"
              "{ @%p2 bra OUT; }\n}\nmov.b32 %r3, 3;\nOUT: ret;");
  REQUIRE(built.flow.certain());
  auto goes = [&](Index from, Index to) {
    const std::vector<std::uint32_t>& next = built.flow.blocks()[built.flow.block_of(from)].next;
    return std::find(next.begin(), next.end(), built.flow.block_of(to)) != next.end();
  };
  CHECK(goes(1, 0));
  CHECK_FALSE(goes(1, 4));
  CHECK(goes(3, 2));
  CHECK_FALSE(goes(3, 0));
  CHECK(goes(4, 6));
  // A label inside of braces is none outside of them.
  CHECK_FALSE(Built(registers + "{ D: mov.b32 %r1, 1; }\nbra D;\nret;").flow.certain());
}

TEST_CASE("an indirect branch or a label twice in the same braces is not certain") {
  CHECK_FALSE(Built(registers + "ts: .branchtargets A, B;\nbrx.idx %r1, ts;\nA: ret;\nB: ret;")
                  .flow.certain());
  CHECK_FALSE(Built(registers + "D: bra D;\nD: bra D;\nret;").flow.certain());
  CHECK(Built(registers + "{ D: bra D; }\n{ D: bra D; }\nret;").flow.certain());
  CHECK_FALSE(Built(registers + "bra ELSEWHERE;").flow.certain());
}

TEST_CASE("what an instruction touches") {
  auto touch = [](const std::string& instruction) {
    Built built(registers + instruction + "\nret;");
    return touch_of(built.flow.at(0));
  };
  CHECK(touch("ld.shared.b32 %r1, [%r2];").shared);
  CHECK(touch("ld.global.nc.b32 %r1, [%rd2];").global);
  CHECK_FALSE(touch("ld.b32 %r1, [%rd2];").global);
  CHECK(touch("ld.volatile.global.b32 %r1, [%rd2];").orders);
  CHECK_FALSE(touch("ld.param.b64 %rd1, [a];").reads);
  CHECK(touch("st.shared::cta.b32 [%r2], %r1;").shared);
  CHECK(touch("st.global.b32 [%rd2], %r1;").writes);
  CHECK(touch("bar.sync 0;").orders);
  CHECK(touch("cp.async.cg.shared.global [%r1], [%rd1], 16;").orders);
  CHECK(touch("atom.shared.add.u32 %r1, [%r2], 1;").writes);
  CHECK_FALSE(touch("add.s32 %r1, %r2, %r3;").orders);
}

unsigned zeros(const std::string& body, const std::string& parameter) {
  Built built(registers + body + "\nst.global.b32 [%rd1], %r1;\nret;", parameter);
  Site site{built.parsed.module, built.flow, "sm_90a", nullptr};
  Index store = built.flow.size() - 2;
  return Alignment(site).zeros_of(built.id(store, "%rd1"), store);
}

TEST_CASE("low zero bits of an address follow from parameters, shifts, masks and products") {
  std::string aligned = ".param .u64 .ptr .global .align 64 a", plain = ".param .u64 a";
  CHECK(zeros("ld.param.b64 %rd1, [a];", aligned) == 6);
  CHECK(zeros("ld.param.b64 %rd1, [a];", plain) == 0);
  CHECK(zeros("ld.param.b64 %rd2, [a];\nadd.s64 %rd1, %rd2, 48;", aligned) == 4);
  CHECK(zeros("ld.param.b64 %rd2, [a];\nmul.wide.u32 %rd3, %r2, 32;\nadd.s64 %rd1, %rd2, %rd3;",
              aligned) == 5);
  CHECK(zeros("ld.param.b64 %rd2, [a];\nshl.b64 %rd3, %rd4, 3;\nadd.s64 %rd1, %rd2, %rd3;",
              aligned) == 3);
  CHECK(zeros("ld.param.b64 %rd2, [a];\nmad.wide.s32 %rd1, %r2, 8, %rd2;", aligned) == 3);
  CHECK(zeros("ld.param.b64 %rd2, [a];\nand.b64 %rd1, %rd2, -128;", plain) == 7);
  CHECK(zeros("ld.param.b64 %rd2, [a];\n@%p1 add.s64 %rd1, %rd2, 48;", aligned) == 0);
}

}  // namespace
}  // namespace lathe::planner
