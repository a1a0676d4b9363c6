// Fewer barriers: only where what every thread does is known and nothing is left unordered.

#include "planner/thread_values.h"
#include "rewriting.h"

namespace lathe::planner {
namespace {

using namespace rewriting;

/// A sum over the block as Triton writes it, with pieces that a test may change.
struct Pieces {
  std::string lane = "and.b32 %r2, %r1, 31;\n";
  std::string slot = "and.b32 %r4, %r3, 12;\n";
  std::string first = "setp.lt.u32 %p2, %r1, 4;\n";
  std::string loaded = "shl.b32 %r7, %r1, 2;\n";
  std::string far = "2";
  std::string second = "add.f32 %r13, %r11, %r12;\n";
  std::string writer = "and.b32 %r14, %r1, 3;\n";
  std::string result = "ld.shared.b32 %r16, [smem];\n";
  std::string before = "bar.sync 0;\n";
  std::string middle = "";
  std::string after = "";
};

std::string text(const Pieces& p) {
  return ".reg .pred %p<9>;\n.reg .b32 %r<99>;\n.reg .b64 %rd<9>;\nld.param.b64 %rd1, [a];\n"
         "ld.global.b32 %r6, [%rd1];\nmov.u32 %r1, %tid.x;\n" +
         p.lane + "setp.eq.b32 %p1, %r2, 0;\nshr.u32 %r3, %r1, 3;\n" + p.slot +
         "mov.b32 %r5, smem;\nadd.s32 %r8, %r5, %r4;\n@%p1 st.shared.b32 [%r8+0], %r6;\n" +
         p.before + p.first + p.loaded +
         "add.s32 %r9, %r5, %r7;\n@%p2 ld.shared.b32 %r10, [%r9+0];\nshfl.sync.bfly.b32 %r17, "
         "%r10, " +
         p.far +
         ", 31, -1;\nadd.f32 %r11, %r10, %r17;\nshfl.sync.bfly.b32 %r12, %r11, 1, 31, -1;\n" +
         p.second + p.writer + "setp.eq.b32 %p3, %r14, 0;\nand.pred %p4, %p2, %p3;\n" + p.middle +
         "@%p4 st.shared.b32 [%r9+0], %r13;\nbar.sync 0;\n" + p.result +
         "st.global.b32 [%rd1], %r16;\n" + p.after + "ret;";
}

std::vector<std::string> fewer(const Pieces& pieces) {
  return of_body(text(pieces), family::fewer_barriers);
}

TEST_CASE("every thread joins the words of all warps itself") {
  std::vector<std::string> made = fewer({});
  REQUIRE(made.size() == 1);
  CHECK(count(made[0], "bar.sync") == 1);
  CHECK(count(made[0], "shfl") == 0);
  CHECK(count(made[0], "st.shared") == 1);
  CHECK(count(made[0], "ld.shared.v4.b32") == 1);
  CHECK(count(made[0], "add.f32") == 3);
}

TEST_CASE("the words are joined in the order in which the shuffles did") {
  std::string made = fewer({}).at(0);
  std::size_t begin = made.find("ld.shared.v4.b32");
  std::string tail = made.substr(begin, made.find("st.global") - begin);
  // Lane 0 adds word 2 to its own, lane 1 word 3; then lane 0 adds lane 1's.
  CHECK(count(tail, "%x0_b32_0, %x0_b32_2;") == 1);
  CHECK(count(tail, "%x0_b32_1, %x0_b32_3;") == 1);
}

Pieces with(std::string Pieces::*piece, const std::string& changed) {
  Pieces pieces;
  pieces.*piece = changed;
  return pieces;
}

TEST_CASE("an exchange in which any thread does something else stays") {
  // Two lanes of a warp store; a warp's word is elsewhere; five lanes or three load; a lane loads
  // another word; a distance is missing or doubled; two threads store; another word is read back.
  for (const Pieces& pieces :
       {with(&Pieces::lane, "and.b32 %r2, %r1, 15;\n"),
        with(&Pieces::slot, "and.b32 %r4, %r3, 4;\n"),
        with(&Pieces::slot, "and.b32 %r4, %r3, 28;\nshl.b32 %r4, %r4, 1;\n"),
        with(&Pieces::first, "setp.lt.u32 %p2, %r1, 3;\n"),
        with(&Pieces::first, "setp.gt.u32 %p2, %r1, 4;\n"),
        with(&Pieces::loaded, "shl.b32 %r7, %r1, 3;\n"), with(&Pieces::far, "1"),
        with(&Pieces::far, "4"), with(&Pieces::writer, "and.b32 %r14, %r1, 1;\n"),
        with(&Pieces::result, "ld.shared.b32 %r16, [smem+4];\n"),
        with(&Pieces::second, "max.f32 %r13, %r11, %r12;\n"),
        with(&Pieces::second, "add.f32 %r13, %r11, %r11;\n"),
        with(&Pieces::before, "bar.arrive 0, 128;\n")}) {
    INFO(text(pieces));
    CHECK(fewer(pieces).empty());
  }
}

TEST_CASE("an exchange with another access inside, or a later write without a barrier, stays") {
  CHECK(fewer(with(&Pieces::middle, "st.global.b32 [%rd1+8], %r11;\n")).empty());
  CHECK(fewer(with(&Pieces::middle, "ld.shared.b32 %r30, [smem+4];\n")).empty());
  CHECK(fewer(with(&Pieces::after, "st.shared.b32 [smem+4], %r16;\n")).empty());
  CHECK(fewer(with(&Pieces::after, "@%p1 st.b32 [%rd1], %r16;\n")).empty());
  CHECK(fewer(with(&Pieces::after, "bar.sync 0;\nst.shared.b32 [smem+4], %r16;\n")).size() == 1);
}

TEST_CASE("a value of the exchange that is read elsewhere keeps the exchange") {
  CHECK(fewer(with(&Pieces::after, "st.global.b32 [%rd1+8], %r11;\n")).empty());
  CHECK(fewer(with(&Pieces::after, "st.global.b32 [%rd1+8], %r13;\n")).empty());
}

TEST_CASE("without a required number of threads nothing is known of an exchange") {
  ptx::Parsed parsed = ptx::parse(
      ".version 8.7\n.target sm_90a\n.extern .shared .align 16 .b8 smem[];\n.visible .entry "
      "k(.param .u64 a)\n{\n" +
          text({}) + "\n}\n",
      "k.ptx");
  CHECK(of_family(parsed.module, family::fewer_barriers).empty());
}

std::string between(const std::string& before, const std::string& after) {
  return ".reg .b32 %r<9>;\n.reg .pred %p<9>;\n.reg .b64 %rd<9>;\nld.param.b64 %rd1, [a];\n" +
         before + "bar.sync 0;\n" + after + "ret;";
}

TEST_CASE("a barrier goes where no access before it may meet one behind it") {
  auto idle = [](const std::string& before, const std::string& after) {
    return of_body(between(before, after), family::fewer_barriers).size() == 1;
  };
  std::string read = "ld.shared.b32 %r1, [smem];\n", write = "st.shared.b32 [smem], %r2;\n",
              global = "st.global.b32 [%rd1], %r2;\n",
              atomic = "atom.shared.add.u32 %r1, [smem], 1;\n";
  CHECK(idle("", ""));
  CHECK(idle(read, read));
  CHECK_FALSE(idle(read, read + "bar.sync 0;\nbar.arrive 1, 128;\n"));
  CHECK(idle(write, global));
  CHECK(idle("", write));
  CHECK_FALSE(idle(write, read));
  CHECK_FALSE(idle(read, write));
  CHECK_FALSE(idle(write, write));
  CHECK_FALSE(idle(global, global));
  CHECK_FALSE(idle(read, atomic));
  CHECK_FALSE(idle(write, "ld.b32 %r1, [%rd1];\n"));
}

TEST_CASE("a barrier in a loop separates one round from the next") {
  std::string loop =
      ".reg .b32 %r<9>;\n.reg .pred %p<9>;\nL: bar.sync 0;\nld.shared.b32 %r1, "
      "[smem];\nsetp.eq.s32 %p1, %r1, 0;\nst.shared.b32 [smem+4], %r1;\n@%p1 bra "
      "L;\nret;";
  CHECK(of_body(loop, family::fewer_barriers).empty());
}

TEST_CASE("a second exchange gets memory of its own once all its addresses are known") {
  for (const std::filesystem::path& path : untuned_references()) {
    if (path.string().find("softmax") == std::string::npos) continue;
    ptx::Parsed parsed = reference(path);
    std::vector<std::string> joined = of_family(parsed.module, family::fewer_barriers);
    REQUIRE(joined.size() == 1);
    CHECK(count(joined[0], "bar.sync") == 3);
    std::vector<std::string> own =
        of_family(ptx::parse(joined[0], "joined.ptx").module, family::fewer_barriers);
    REQUIRE(own.size() == 1);
    CHECK(count(own[0], "bar.sync") == 2);
    CHECK(count(own[0], "[own_words0_") == 1);
    CHECK(count(own[0], "ld.shared.v4.b32") == 2);
    CHECK(of_family(ptx::parse(own[0], "own.ptx").module, family::fewer_barriers).empty());
    if (!assembler().empty()) CHECK(complaint(own[0], parsed.module.target[0]) == "");
  }
}

TEST_CASE("what a register holds in each thread follows from the thread's number") {
  ptx::Parsed parsed = kernel(
      ".reg .b32 %r<9>;\n.reg .b64 %rd<3>;\n.reg .pred %p<3>;\nmov.u32 %r1, %tid.x;\nshr.u32 %r2, "
      "%r1, "
      "5;\nmad.lo.s32 %r3, %r1, 2, 3;\nmov.u32 %r4, %ctaid.x;\nadd.s32 %r5, %r1, %r4;\nmov.b32 "
      "%r6, smem;\nadd.s32 %r7, %r6, %r2;\nsetp.ge.s32 %p1, %r1, 100;\nret;");
  Flow flow(parsed.module.functions[0]);
  Threads threads(flow);
  REQUIRE(threads.count() == 128);
  Index last = flow.size() - 1;
  auto of = [&](Index writer) { return threads.of_register(flow.written_by(writer)[0], last); };
  REQUIRE(of(1));
  CHECK((*of(1))[127].bits == 3);
  CHECK_FALSE(of(3));
  CHECK_FALSE(of(4));
  REQUIRE(of(6));
  CHECK((*of(6))[64].variable == "smem");
  CHECK((*of(6))[64].bits == 2);
  REQUIRE(of(7));
  CHECK((*of(7))[99].bits == 0);
  CHECK((*of(7))[100].bits == 1);
}

}  // namespace
}  // namespace lathe::planner
