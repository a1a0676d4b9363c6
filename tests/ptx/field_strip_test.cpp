// What a whole warp computes at once is what its lanes compute one by one: residues, shadows, and
// all that is known of a number.

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "ptx/field_run.h"

namespace lathe::ptx::field {
namespace {

struct Done {
  std::vector<Written> written;
  Summary summary;
};

constexpr std::uint64_t elements = 64;

/// y[tid] = `body` of %f1 = x[tid] and %f2 = z[tid], by so many threads; x may be of 16 bits.
Done run(const std::string& body, std::uint32_t threads, std::uint64_t seed = 1,
         Type x = Type::f32) {
  std::string load =
      "shl.b32 %r5, %r1, 2; cvt.u64.u32 %rd5, %r5; add.s64 %rd1, %rd1, %rd5;"
      "ld.global.f32 %f1, [%rd1];";
  if (x != Type::f32)
    load =
        "shl.b32 %r5, %r1, 1; cvt.u64.u32 %rd5, %r5; add.s64 %rd1, %rd1, %rd5;"
        "ld.global.b16 %h1, [%rd1]; cvt.f32." +
        std::string(name_of(x)) + " %f1, %h1;";
  const std::string text =
      ".version 8.7\n.target sm_89\n.address_size 64\n"
      ".visible .entry k(.param .u64 x, .param .u64 z, .param .u64 y) {\n"
      ".reg .b64 %rd<9>; .reg .f32 %f<20>; .reg .b32 %r<9>; .reg .pred %p<5>; .reg .b16 %h<9>;\n"
      ".shared .align 16 .b8 shared[512];\n"
      "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [z]; ld.param.u64 %rd3, [y];\n"
      "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4;\n"
      "add.s64 %rd2, %rd2, %rd4; add.s64 %rd3, %rd3, %rd4;\n" +
      load + "ld.global.f32 %f2, [%rd2]; mov.f32 %f3, 0f3F800000;\n" + body +
      "\nst.global.f32 [%rd3], %f9; ret; }\n";
  Parsed parsed = parse(text, "strip.ptx");
  REQUIRE(parsed.errors.empty());
  Result<Program> program = decode(parsed.module, "k");
  REQUIRE(program);
  std::vector<Recipe> recipes;
  FieldLaunch launch;
  for (const char* name : {"x", "z", "y"}) {
    Recipe recipe{name, Type::f32, false, true, "", -10, 10, 1, 0, 0, elements};
    if (name[0] == 'x') recipe.type = x;
    if (name[0] == 'y') recipe.computed = false, recipe.output = true;
    recipes.push_back(recipe);
    std::uint64_t address = recipes.size() << 20;
    launch.buffers.push_back({name, address, 4 * elements, name[0] == 'y', false});
    for (unsigned i = 0; i < 8; ++i)
      launch.parameters.push_back(static_cast<char>(address >> (8 * i)));
  }
  PointOptions options;
  options.seed = seed;
  options.points = 2;
  launch.program = &*program;
  launch.shape.block = {threads, 1, 1};
  FieldRunner runner(*Point::make(options, recipes), launch);
  FieldRunner::Outcome outcome = runner.run(0);
  INFO(body);
  if (outcome.trap) FAIL(outcome.trap->what);
  return {outcome.written, runner.summary()};
}

void check_same(const Number& a, const Number& b) {
  CHECK(a.r == b.r);
  CHECK(std::bit_cast<std::uint64_t>(a.shadow) == std::bit_cast<std::uint64_t>(b.shadow));
  CHECK(a.numerator == b.numerator);
  CHECK(a.denominator == b.denominator);
  CHECK(a.valid == b.valid);
  CHECK(a.taint == b.taint);
  CHECK(a.signs == b.signs);
  CHECK(a.rounds == b.rounds);
  CHECK(a.fits == b.fits);
  CHECK(a.special == b.special);
}

const char* const bodies[] = {
    "add.f32 %f9, %f1, %f2;",
    "sub.f32 %f9, %f1, %f2;",
    "mul.f32 %f9, %f1, %f2;",
    "fma.rn.f32 %f9, %f1, %f2, %f1;",
    "neg.f32 %f9, %f1;",
    "mul.f32 %f9, %f1, %f1;",
    "mul.f32 %f4, %f1, 0f3F000000; mul.f32 %f9, %f4, 0f40400000;",
    "mov.f32 %f4, 0f00000000; fma.rn.f32 %f5, %f1, %f2, %f4; fma.rn.f32 %f9, %f2, %f2, %f5;",
    "add.f32 %f4, %f1, 0f3F800000; sub.f32 %f5, %f4, %f2; mul.f32 %f9, %f5, %f4;",
    "ex2.approx.f32 %f4, %f1; fma.rn.f32 %f9, %f4, %f2, %f1;",
    "add.f32 %f4, %f1, %f2; ex2.approx.f32 %f5, %f4; add.f32 %f9, %f5, %f5;",
    // Lanes with another instruction's result, a literal, or a number of another degree among them.
    "setp.eq.u32 %p1, %r1, 0; @%p1 add.f32 %f1, %f1, %f2; mul.f32 %f9, %f1, %f2;",
    "setp.eq.u32 %p1, %r1, 1; @%p1 mov.f32 %f1, 0f3F000000; mul.f32 %f9, %f1, %f2;",
    "setp.eq.u32 %p1, %r1, 1; @%p1 mov.f32 %f1, 0f00000000; fma.rn.f32 %f9, %f1, %f2, %f2;",
    "setp.lt.u32 %p1, %r1, 2; @%p1 mul.f32 %f1, %f1, %f2; add.f32 %f9, %f1, %f2;",
    // Through shared memory, where lanes read one another's.
    "mov.u32 %r2, shared; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3; st.shared.f32 [%r2], %f2;"
    "bar.sync 0; ld.shared.f32 %f4, [shared]; fma.rn.f32 %f5, %f4, %f1, %f2;"
    "add.f32 %f9, %f5, %f4;",
    "div.approx.f32 %f4, %f1, %f2; add.f32 %f9, %f4, %f2;",
    // One element of an input for all lanes, and every second one.
    "ld.param.u64 %rd6, [z]; ld.global.f32 %f4, [%rd6+8]; fma.rn.f32 %f9, %f1, %f4, %f2;",
    "ld.param.u64 %rd6, [z]; mul.wide.u32 %rd7, %r1, 8; add.s64 %rd6, %rd6, %rd7;"
    "ld.global.f32 %f4, [%rd6]; fma.rn.f32 %f9, %f1, %f4, %f2;",
    // Two elements a lane, and a literal's bits by an integer instruction.
    "ld.param.u64 %rd6, [z]; mul.wide.u32 %rd7, %r1, 8; add.s64 %rd6, %rd6, %rd7;"
    "ld.global.v2.f32 {%f4, %f5}, [%rd6]; fma.rn.f32 %f9, %f5, %f4, %f2;",
    "mov.u32 %r2, 0x3F000000; mov.b32 %f4, %r2; fma.rn.f32 %f5, %f4, %f1, %f2;"
    "fma.rn.f32 %f9, %f4, %f4, %f5;",
    // A register that was copied, stored, shuffled or chosen is written again.
    "mul.f32 %f4, %f1, %f2; mov.f32 %f5, %f4; add.f32 %f4, %f1, %f2; mul.f32 %f6, %f2, %f2;"
    "fma.rn.f32 %f7, %f5, %f6, %f4; add.f32 %f9, %f7, %f5;",
    "mul.f32 %f4, %f1, %f2; mov.u32 %r2, shared; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;"
    "st.shared.f32 [%r2], %f4; add.f32 %f4, %f1, %f2; mul.f32 %f6, %f2, %f2;"
    "ld.shared.f32 %f5, [%r2]; fma.rn.f32 %f7, %f5, %f6, %f4; add.f32 %f9, %f7, %f5;",
    "mul.f32 %f4, %f1, %f2; mov.b32 %r2, %f4; and.b32 %r3, %r1, 28;"
    "shfl.sync.idx.b32 %r4, %r2, 1, 0x1C1F, 0xFFFFFFFF; add.f32 %f4, %f1, %f2;"
    "mul.f32 %f6, %f2, %f2; mov.b32 %f5, %r4; fma.rn.f32 %f9, %f5, %f6, %f4;",
    "mul.f32 %f4, %f1, %f2; setp.eq.u32 %p1, %r1, 2; selp.f32 %f5, %f4, %f1, %p1;"
    "add.f32 %f4, %f1, %f2; mul.f32 %f6, %f2, %f2; fma.rn.f32 %f9, %f5, %f6, %f4;",
    // Sums and products of sixteen bits.
    "cvt.rn.f16.f32 %h4, %f1; cvt.rn.f16.f32 %h5, %f2; mul.f16 %h6, %h4, %h5; neg.f16 %h7, %h6;"
    "fma.rn.f16 %h8, %h4, %h5, %h7; add.f16 %h6, %h8, %h4; sub.f16 %h6, %h6, %h5;"
    "cvt.f32.f16 %f4, %h6; mul.f32 %f9, %f4, %f1;",
    "cvt.rn.bf16.f32 %h4, %f1; cvt.rn.bf16.f32 %h5, %f2; fma.rn.bf16 %h6, %h4, %h5, %h4;"
    "neg.bf16 %h7, %h6; fma.rn.bf16 %h8, %h4, %h6, %h7; cvt.f32.bf16 %f9, %h8;",
    "mov.b16 %h4, 0x3C00; cvt.rn.f16.f32 %h5, %f2; mul.f16 %h6, %h4, %h5;"
    "setp.eq.u32 %p1, %r1, 1; @%p1 mul.f16 %h6, %h6, %h5; cvt.f32.f16 %f9, %h6;",
};

TEST_CASE("a warp's sums and products are those of its lanes") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    for (const char* body : bodies) {
      INFO(body << " seed " << seed);
      // Few lanes go one by one.
      Done whole = run(body, 32, seed), lanes = run(body, 4, seed);
      REQUIRE(whole.written.size() == 32);
      REQUIRE(lanes.written.size() == 4);
      for (unsigned i = 0; i < 4; ++i) check_same(whole.written[i].number, lanes.written[i].number);
    }
}

TEST_CASE("a part of a warp that computes leaves the other lanes' numbers alone") {
  Done part = run("mov.f32 %f9, %f2; setp.lt.u32 %p1, %r1, 20; @%p1 add.f32 %f9, %f1, %f2;", 32);
  Done sums = run("add.f32 %f9, %f1, %f2;", 32), others = run("mov.f32 %f9, %f2;", 32);
  for (unsigned i = 0; i < 32; ++i)
    check_same(part.written[i].number, (i < 20 ? sums : others).written[i].number);
}

TEST_CASE("one lane's square is not every lane's") {
  // 1 + x * y is known to be positive where y is x: in the first lane, and in no other.
  const char* mixed =
      "setp.eq.u32 %p1, %r1, 0; @%p1 mov.f32 %f2, %f1; fma.rn.f32 %f4, %f1, %f2, %f3;"
      "rcp.approx.f32 %f9, %f4;";
  const char* squares = "fma.rn.f32 %f4, %f1, %f1, %f3; rcp.approx.f32 %f9, %f4;";
  CHECK(run(mixed, 32).summary.unsigned_divisors == 31);
  CHECK(run(squares, 32).summary.unsigned_divisors == 0);
}

TEST_CASE("the largest and smallest magnitudes are of lanes that computed") {
  const char* body =
      "mul.f32 %f9, %f1, 0f44800000; setp.lt.u32 %p1, %r1, 10;"
      "@%p1 mul.f32 %f9, %f9, 0f44800000;";
  Done done = run(body, 32);
  double largest = 0;
  for (unsigned i = 0; i < 32; ++i)
    largest = std::max(largest, std::fabs(done.written[i].number.shadow));
  CHECK(done.summary.largest == largest);
}

TEST_CASE("of magnitudes a warp's 0 is none") {
  Done done = run("setp.eq.u32 %p1, %r1, 7; @%p1 mov.f32 %f2, %f1; sub.f32 %f9, %f1, %f2;", 32);
  double largest = 0, smallest = INFINITY;
  for (const Written& written : done.written) {
    double magnitude = std::fabs(written.number.shadow);
    largest = std::max(largest, magnitude);
    if (magnitude != 0) smallest = std::min(smallest, magnitude);
  }
  REQUIRE(done.written[7].number.shadow == 0);
  CHECK(done.summary.largest == largest);
  CHECK(done.summary.smallest == smallest);
}

/// The last instruction by all lanes at once, and by four after four.
struct Notes {
  std::int64_t bits = 0;
  std::uint64_t count = 0;
  bool leaves = false;
};
Notes notes_of(const std::string& body, const std::string& last, bool at_once, std::uint64_t seed) {
  std::string text = body;
  for (unsigned four = 0; four < 8 && !at_once; ++four)
    text += "shr.u32 %r6, %r1, 2; setp.eq.u32 %p2, %r6, " + std::to_string(four) + "; @%p2 " + last;
  Cancellation done = run(at_once ? body + last : text, 32, seed).summary.cancellation;
  Cancellation before = run(body + "mov.f32 %f9, %f1;", 32, seed).summary.cancellation;
  Notes out;
  out.leaves = done.leftover >= 0;
  for (const auto& sums : done.by_instruction) out.bits += sums.bits, out.count += sums.count;
  for (const auto& sums : before.by_instruction) out.bits -= sums.bits, out.count -= sums.count;
  return out;
}

TEST_CASE("a warp's sums lose what those of its lanes lose") {
  const std::string product = "mul.f32 %f4, %f1, %f2;";
  const std::string whole = product + "add.f32 %f4, %f4, 0f42700000; cvt.rmi.f32.f32 %f5, %f4;";
  struct Case {
    std::string body, last;
    bool leaves;
  };
  unsigned much = 0, kept = 0;
  for (const Case& one : std::vector<Case>{
           {product, "add.f32 %f9, %f4, %f1;", false},
           {product, "sub.f32 %f9, %f4, %f2;", false},
           {product, "fma.rn.f32 %f9, %f4, %f1, %f2;", false},
           {product + "mul.f32 %f5, %f4, 0f3F800001;", "sub.f32 %f9, %f5, %f4;", false},
           // Of a number less its integer everything is kept, and less what is near it not.
           {whole, "sub.f32 %f9, %f4, %f5;", false},
           {whole + "mul.f32 %f5, %f5, 0f3F800001;", "sub.f32 %f9, %f4, %f5;", false},
           // What is 0 over the reals leaves its roundings.
           {product + "mul.f32 %f5, %f4, 0f40400000; mul.f32 %f6, %f1, 0f40400000;"
                      "mul.f32 %f6, %f6, %f2;",
            "sub.f32 %f9, %f5, %f6;", true},
           {product + "neg.f32 %f5, %f4;", "fma.rn.f32 %f9, %f1, %f2, %f5;", true},
           {product + "neg.f32 %f5, %f4;", "fma.rn.f32 %f9, %f1, %f1, %f5;", false}})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      INFO(one.body << one.last << " seed " << seed);
      Notes all = notes_of(one.body, one.last, true, seed);
      Notes lanes = notes_of(one.body, one.last, false, seed);
      CHECK(all.bits == lanes.bits);
      CHECK(all.leaves == one.leaves);
      CHECK(lanes.leaves == one.leaves);
      // A lane whose sum is 0 counts where the others are beside it.
      if (!one.leaves) CHECK(all.count == lanes.count);
      much += all.bits > 8 * 32;
      kept += all.count < 32;
    }
  CHECK(much != 0);
  CHECK(kept != 0);
}

TEST_CASE("names of strips are used again and numbers stay what they are") {
  // More results than are kept before names are collected: each is copied, so that no register is
  // known to be the only one that holds it. Two of the first are still needed, of which one is in
  // memory alone.
  std::string body =
      "add.f32 %f6, %f1, %f2; mul.f32 %f7, %f6, %f2; mov.u32 %r4, 0; mov.u32 %r2, shared;\n"
      "shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3; sub.f32 %f4, %f1, %f2;\n"
      "st.shared.f32 [%r2], %f4; mov.f32 %f4, %f1;\n"
      "loop: fma.rn.f32 %f8, %f1, %f2, %f8; mul.f32 %f5, %f1, %f2;\n"
      "mov.f32 %f8, %f5; add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 12000;\n"
      "@%p1 bra loop; ld.shared.f32 %f4, [%r2]; fma.rn.f32 %f9, %f6, %f7, %f8;\n"
      "fma.rn.f32 %f9, %f9, %f4, %f8;";
  std::string first = "mov.f32 %f8, 0f00000000;";
  Done whole = run(first + body, 32), lanes = run(first + body, 4);
  for (unsigned i = 0; i < 4; ++i) check_same(whole.written[i].number, lanes.written[i].number);
}

TEST_CASE("what was gathered of inputs is gathered anew once names are used again") {
  // Each round loads the same elements, and makes results in the names of earlier rounds.
  std::string body =
      "mov.f32 %f8, 0f00000000; mov.u32 %r4, 0;\n"
      "loop: ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd2];\n"
      "mul.f32 %f6, %f3, %f8; mov.f32 %f7, %f6; mul.f32 %f6, %f3, %f8; mov.f32 %f7, %f6;"
      "mul.f32 %f6, %f3, %f8; mov.f32 %f7, %f6; mul.f32 %f6, %f3, %f8; mov.f32 %f7, %f6;"
      "mul.f32 %f5, %f1, %f2; mov.f32 %f6, %f5; add.f32 %f8, %f6, %f1; add.u32 %r4, %r4, 1;\n"
      "setp.lt.u32 %p1, %r4, 12000; @%p1 bra loop;\n"
      "ld.global.f32 %f4, [%rd1]; fma.rn.f32 %f9, %f4, %f8, %f5;";
  Done whole = run(body, 32), lanes = run(body, 4);
  for (unsigned i = 0; i < 4; ++i) check_same(whole.written[i].number, lanes.written[i].number);
}

TEST_CASE("a register that a part of a warp has copied is nobody's alone") {
  // The copy is of the last lanes, and what is written afterwards may take the names of the first
  // product if nobody seems to use them.
  for (const char* lanes :
       {"lt.u32 %p1, %r1, 8;", "ge.u32 %p1, %r1, 24;", "ge.u32 %p1, %r1, 12;"}) {
    std::string begin = "mul.f32 %f4, %f1, %f2; mov.f32 %f5, %f1; setp." + std::string(lanes) +
                        "@%p1 mov.f32 %f5, %f4;";
    std::string end = "mul.f32 %f6, %f2, %f2; fma.rn.f32 %f9, %f5, %f6, %f1;";
    Done again = run(begin + "add.f32 %f4, %f1, %f2; add.f32 %f7, %f1, %f1;" + end, 32);
    Done once = run(begin + end, 32);
    for (unsigned i = 0; i < 32; ++i) check_same(again.written[i].number, once.written[i].number);
  }
}

TEST_CASE("numbers of sixteen bits are widened as lane by lane") {
  for (Type type : {Type::f16, Type::bf16})
    for (const char* body : bodies) {
      INFO(body << " of " << name_of(type));
      Done whole = run(body, 32, 1, type), lanes = run(body, 4, 1, type);
      REQUIRE(whole.written.size() == 32);
      for (unsigned i = 0; i < 4; ++i) check_same(whole.written[i].number, lanes.written[i].number);
      CHECK(whole.summary.smallest <= lanes.summary.smallest);
    }
}

TEST_CASE("integers of a warp are exact, and those that are not go lane by lane") {
  const char* body =
      "mul.lo.u32 %r2, %r1, 2654435761; shr.s32 %r3, %r2, 7; xor.b32 %r3, %r3, %r2;"
      "setp.gt.s32 %p1, %r3, 0; selp.b32 %r4, %r3, %r2, %p1; and.b32 %r4, %r4, 7;"
      "cvt.rn.f32.u32 %f4, %r4; mul.f32 %f9, %f1, %f4;";
  Done whole = run(body, 32), lanes = run(body, 4);
  for (unsigned i = 0; i < 4; ++i) check_same(whole.written[i].number, lanes.written[i].number);
  // The bits of a float in an integer's place: its sign is cleared.
  const char* bits = "mov.b32 %r2, %f1; and.b32 %r3, %r2, 0x7FFFFFFF; mov.b32 %f9, %r3;";
  for (unsigned i = 0; i < 4; ++i)
    check_same(run(bits, 32).written[i].number, run(bits, 4).written[i].number);
}

}  // namespace
}  // namespace lathe::ptx::field
