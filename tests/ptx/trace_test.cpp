// What makes two blocks one kind, and what tells them apart.

#include "ptx/trace.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "ptx/module.h"
#include "ptx/parser.h"

namespace lathe::ptx {
namespace {

constexpr std::uint64_t input = 1u << 20, table = 2u << 20, output = 3u << 20;
constexpr std::uint32_t blocks = 8;

/// Blocks of 32 threads with an f32 each: %x of the input, %n of a known table, %y to the output.
Traces traced(const std::string& body, std::uint64_t key = 1,
              const std::string& target = "sm_90a") {
  std::string text =
      ".version 9.0\n.target " + target +
      "\n.address_size 64\n"
      ".visible .entry traced(.param .u64 px, .param .u64 pn, .param .u64 py)\n{\n"
      ".reg .b32 %c, %t, %i, %x, %n, %y, %r<9>;\n.reg .b64 %px, %pn, %py, %d<9>;\n"
      ".reg .b16 %h<9>;\n.reg .pred %p<9>;\n"
      "mov.u32 %c, %ctaid.x;\nmov.u32 %t, %tid.x;\nmad.lo.u32 %i, %c, 32, %t;\n"
      "ld.param.u64 %px, [px];\nld.param.u64 %pn, [pn];\nld.param.u64 %py, [py];\n"
      "mad.wide.u32 %px, %i, 4, %px;\nmad.wide.u32 %pn, %c, 4, %pn;\n"
      "mad.wide.u32 %py, %i, 4, %py;\nld.global.b32 %x, [%px];\nld.global.b32 %n, [%pn];\n" +
      body + "st.global.b32 [%py], %y;\nret;\n}\n";
  Parsed parsed = parse(text, "traced.ptx");
  REQUIRE(parsed.errors.empty());
  Result<Program> program = decode(parsed.module, "traced");
  if (!program) FAIL(program.error().what);
  std::array<std::uint32_t, blocks> numbers{0, 0, 0, 0, 0, 1, 0, 0};
  std::array<std::uint64_t, 3> parameters{input, table, output};
  std::vector<Buffer> buffers{{"x", input, blocks * 128, false},
                              {"n", table, sizeof numbers, false},
                              {"y", output, blocks * 128, true}};
  TraceRequest request;
  request.program = &*program;
  request.shape = {{blocks, 1, 1}, {32, 1, 1}};
  request.buffers = buffers;
  request.parameters = std::as_bytes(std::span(parameters));
  request.contents = {nullptr, reinterpret_cast<const std::byte*>(numbers.data()), nullptr};
  request.element_bytes = {4, 4, 4};
  request.changes = {false, false, false};
  request.key = key;
  request.steps_max = 10'000;
  request.end = blocks;
  return trace_blocks(request);
}

std::size_t kinds(const std::string& body, const std::string& target = "sm_90a") {
  Traces traces = traced(body, 1, target);
  INFO(body);
  if (traces.trap) FAIL(print(*traces.trap));
  return traces.kinds.size();
}

TEST_CASE("blocks that do the same at other places are of one kind, and say where they are") {
  Traces traces = traced("add.f32 %y, %x, %x;\n");
  REQUIRE(traces.kinds.size() == 1);
  CHECK(traces.kinds[0].written == std::vector<TraceRange>{{2, 0, 128}});
  REQUIRE(traces.bases.size() == 3 * blocks);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    CHECK(traces.kind_of[block] == 0);
    CHECK(traces.bases[3 * block] == 128 * block);
    CHECK(traces.bases[3 * block + 2] == 128 * block);
  }
}

TEST_CASE("what is known and meets data tells blocks apart, and what only says where does not") {
  CHECK(kinds("add.s32 %r1, %c, 7;\nmul.lo.s32 %r1, %r1, %r1;\nmov.b32 %y, %x;\n") == 1);
  CHECK(kinds("add.s32 %y, %x, %c;\n") == blocks);
  CHECK(kinds("add.s32 %y, %x, %n;\n") == 2);
  CHECK(kinds("setp.eq.u32 %p1, %n, 1;\nselp.b32 %y, %x, 0, %p1;\n") == 2);
  CHECK(kinds("setp.eq.u32 %p1, %n, 1;\nmov.b32 %y, %x;\n@%p1 mov.b32 %y, 0;\n") == 2);
  CHECK(kinds("prmt.b32 %y, %x, %x, %n;\n") == 2);
  CHECK(kinds("shfl.sync.idx.b32 %y, %x, %n, 31, -1;\n") == 2);
  CHECK(kinds("and.b32 %y, %x, %n;\n") == 2);
  CHECK(kinds("mov.b32 {%h1, %h2}, %n;\nmov.b32 {%h3, %h4}, %x;\nmov.b32 %r1, {%h1, %h4};\n"
              "add.f32 %y, %r1, %r1;\n") == 2);
}

TEST_CASE("a known value that is stored for all to see tells blocks apart") {
  CHECK(kinds("mov.b32 %y, %n;\n") == 2);
  CHECK(kinds("mov.b32 %y, 5;\n") == 1);
}

TEST_CASE("floats of known operands are data, made of what they are made of") {
  CHECK(kinds("cvt.rn.f32.u32 %r1, %c;\nadd.f32 %y, %x, 0f3F800000;\n") == blocks);
  CHECK(kinds("cvt.rn.f32.u32 %r1, %n;\nadd.f32 %y, %x, %r1;\n") == 2);
  CHECK(kinds("mov.b32 %r1, 0f40000000;\nmul.f32 %y, %x, %r1;\n") == 1);
}

TEST_CASE("a place is told by its distance from the first in its buffer") {
  CHECK(kinds("mul.wide.u32 %d1, %n, 4;\nxor.b64 %d1, %d1, %px;\nld.global.b32 %y, [%d1];\n") == 2);
  CHECK(kinds("ld.global.b32 %y, [%px];\n") == 1);
}

TEST_CASE("what data may skip is named by its guard, by what stands there and by what comes") {
  const std::string asked = "setp.lt.f32 %p1, %x, 0f00000000;\n";
  auto over = [&](const std::string& before, const std::string& skipped) {
    return kinds(asked + before + "@%p1 bra out;\n" + skipped + "out:\n");
  };
  CHECK(over("mov.b32 %y, 7;\n", "mov.b32 %y, 5;\n") == 1);
  CHECK(over("mov.b32 %y, 7;\n", "mov.b32 %y, %n;\n") == 2);
  CHECK(over("mov.b32 %y, %n;\n", "mov.b32 %y, 5;\n") == 2);
  CHECK(over("mov.b32 %y, 7;\n", "mul.lo.s32 %y, %n, 3;\n") == 2);
  CHECK(kinds(asked + "mov.b32 %y, 7;\n@%p1 add.s32 %y, %n, 1;\n") == 2);
  CHECK(kinds(asked + "mov.b32 %y, 7;\n@!%p1 add.s32 %y, %y, 1;\n") == 1);
  // A predicate that is known in one block, and data in the others.
  CHECK(kinds(asked + "setp.eq.u32 %p2, %n, 1;\nmov.b32 %y, 7;\n@%p2 setp.eq.u32 %p1, %n, 1;\n"
                      "@%p1 add.s32 %y, %y, 1;\n") == 2);
}

TEST_CASE("control that asks for data ends the trace, and so does reading what was written") {
  Traces traces = traced(
      "setp.lt.f32 %p1, %x, 0f00000000;\nmov.b32 %y, %x;\n@%p1 bra out;\n"
      "st.global.b32 [%py], %x;\nout:\n");
  REQUIRE(traces.trap);
  CHECK(traces.trap->kind == TrapKind::undefined_value);
  CHECK(traces.kind_of.empty());
  traces = traced("st.global.b32 [%py], %x;\nld.global.b32 %y, [%py];\n");
  REQUIRE(traces.trap);
  CHECK(traces.trap->kind == TrapKind::unsupported);
}

/// One tcgen05.mma of matrices that nobody knows, with scales from %r1, and its first column.
std::string tensor_product(const std::string& kind, const std::string& behind,
                           std::uint32_t idesc) {
  return ".shared .align 1024 .b8 data[8192];\n.shared .align 8 .b64 bar;\n"
         ".shared .align 4 .b32 base;\nmov.u32 %r2, base;\n"
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 64;\n"
         "setp.eq.u32 %p1, %t, 0;\n@%p1 mbarrier.init.shared::cta.b64 [bar], 1;\nbar.sync 0;\n"
         "ld.shared.b32 %r3, [base];\nadd.u32 %r4, %r3, 32;\n"
         "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r4], {%r1, %r1};\n"
         "tcgen05.wait::st.sync.aligned;\nmov.u32 %r5, data;\nbfe.u32 %r5, %r5, 4, 14;\n"
         "cvt.u64.u32 %d1, %r5;\nor.b64 %d1, %d1, " +
         std::to_string(std::uint64_t{1} << 46 | std::uint64_t{16} << 32 | 8u << 16) +
         ";\nmov.u32 %r6, " + std::to_string(idesc) + ";\n@%p1 tcgen05.mma" + kind +
         " [%r3], %d1, %d1" + behind +
         ", 0;\nmov.u32 %r2, bar;\ncvt.u64.u32 %d2, %r2;\n"
         "@%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%d2];\n"
         "wait: mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;\n@!%p2 bra wait;\n"
         "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%y}, [%r3];\ntcgen05.wait::ld.sync.aligned;\n"
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 64;\n";
}

TEST_CASE("known scales of a product of data tell blocks apart") {
  const std::string scaled =
      tensor_product(".cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X",
                     ", %r6, [%r4], [%r4]", 8u / 8 << 17 | 1u << 23 | 1u << 27);
  CHECK(kinds("mov.b32 %r1, 127;\n" + scaled, "sm_100a") == 1);
  CHECK(kinds("add.u32 %r1, %n, 127;\n" + scaled, "sm_100a") == 2);
}

TEST_CASE("kinds do not depend on the key, and names do") {
  std::string body = "add.s32 %y, %x, %n;\n";
  Traces first = traced(body, 1);
  for (std::uint64_t key = 2; key < 12; ++key) {
    Traces other = traced(body, key);
    CHECK(other.kind_of == first.kind_of);
    CHECK(other.kinds[0].name != first.kinds[0].name);
  }
}

}  // namespace
}  // namespace lathe::ptx
