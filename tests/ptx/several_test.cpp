// Several runs at once give bit for bit what each gives alone, and part where control is not the
// same in all of them. Every launch of these tests is compared so (launch.h); here are the ones
// that must go at once, and those that must not.

#include "tests/ptx/run_lines.h"

namespace lathe::ptx {
namespace {

/// Whether runs on different words went at once; what they gave is checked by the launch.
bool at_once(const std::string& lines, unsigned threads = 32) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(256, 7));
  std::vector<std::uint32_t> words = iota(256);
  for (std::uint32_t& word : words) word = word * 0x9E3779B1u & 0x3FFFFFFFu;
  launch.add(words);
  launch.shape.block[0] = threads;
  launch.run(body_text(usual, lines));
  if (launch.result.trap) FAIL_CHECK(print(*launch.result.trap));
  return launch.went_at_once || engine_variant() != "avx2";
}
const std::string load = "ld.global.u32 %r1, [%in];\n", store = "\nst.global.u32 [%out], %r1;";

}  // namespace

TEST_CASE("runs whose control does not ask for data go at once") {
  const std::string lines[] = {
      // Words, and floats of words, with what is the same in all.
      "mad.lo.u32 %r1, %r1, %tid, 5;\ncvt.rn.f32.u32 %f1, %r1;\nfma.rn.f32 %f1, %f1, %f1, %f1;\n"
      "mov.b32 %r1, %f1;",
      // A register that is the same in all becomes different, lane by lane and as a whole.
      "mov.u32 %r2, 9;\nsetp.lt.u32 %p1, %tid, 7;\n@%p1 mov.u32 %r2, %r1;\nadd.u32 %r1, %r2, 1;",
      "mov.u32 %r2, %r1;\nsetp.lt.u32 %p1, %tid, 7;\n@%p1 mov.u32 %r2, 9;\nadd.u32 %r1, %r2, 1;",
      "mov.u32 %r2, %r1;\nmov.u32 %r2, 9;\nadd.u32 %r2, %r2, 1;\nadd.u32 %r1, %r1, %r2;",
      // Data choose values, not instructions.
      "setp.lt.u32 %p1, %r1, 99999;\nselp.u32 %r1, %r1, %tid, %p1;",
      // Bytes, halves and lanes.
      "prmt.b32 %r1, %r1, %tid, 0x5140;",
      "prmt.b32 %r1, %r1, %r1, 0xBA98;",
      "shfl.sync.bfly.b32 %r1, %r1, 3, 31, -1;",
      "shfl.sync.idx.b32 %r2, %tid, 3, 31, -1;\nadd.u32 %r1, %r1, %r2;",
      "redux.sync.add.s32 %r1, %r1, -1;",
      "redux.sync.add.s32 %r2, %tid, -1;\nadd.u32 %r1, %r1, %r2;",
      // Atomics, on data and on what was the same in all.
      "atom.global.add.u32 %r1, [%in], %tid;",
      "atom.global.max.u32 %r2, [%out], %r1;\nadd.u32 %r1, %r1, %r2;",
      "red.global.add.f32 [%out], 0f3F800000;\nadd.u32 %r1, %r1, %tid;",
      // Shared memory.
      ".shared .align 16 .b8 buffer[128];\nmov.u32 %r2, buffer;\nshl.b32 %r3, %tid, 2;\n"
      "add.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2], %tid;\nld.shared.u32 %r4, [%r2];\n"
      "st.shared.u32 [%r2], %r1;\nld.shared.u32 %r3, [%r2];\nadd.u32 %r1, %r3, %r4;",
      ".shared .align 16 .b8 buffer[128];\nmov.u32 %r2, buffer;\nshl.b32 %r3, %tid, 2;\n"
      "add.u32 %r2, %r2, %r3;\ncp.async.ca.shared.global [%r2], [%in], 4;\n"
      "cp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.u32 %r1, [%r2];",
  };
  for (const std::string& each : lines) {
    INFO(each);
    CHECK(at_once(load + each + store));
  }
}

TEST_CASE("tensor cores and ldmatrix go at once") {
  CHECK(at_once(load +
                "mov.f32 %f1, 0f00000000;\n"
                "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f2, %f3, %f4, %f5}, "
                "{%r1, %r1, %r1, %r1}, {%r1, %r1}, {%f1, %f1, %f1, %f1};\n"
                "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f2, %f3, %f4, %f5}, "
                "{%r1, %r1, %tid, %r1}, {%r1, %r1}, {%f2, %f3, %f4, %f1};\n"
                "mov.b32 %r1, %f2;" +
                store));
  CHECK(at_once(load +
                ".shared .align 16 .b8 buffer[128];\nmov.u32 %r2, buffer;\nshl.b32 %r3, %tid, 2;\n"
                "add.u32 %r2, %r2, %r3;\nst.shared.u32 [%r2], %r1;\nand.b32 %r3, %tid, 7;\n"
                "shl.b32 %r3, %r3, 4;\nmov.u32 %r2, buffer;\nadd.u32 %r2, %r2, %r3;\n"
                "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r2];" +
                store));
}

TEST_CASE("runs part where data guard, branch, or say where") {
  const std::string lines[] = {
      "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 add.u32 %r1, %r1, 3;",
      "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra L;\nadd.u32 %r1, %r1, 3;\nL:",
      "and.b32 %r2, %r1, 31;\nmul.wide.u32 %offset, %r2, 4;\nadd.s64 %offset, %offset, %base;\n"
      "ld.global.u32 %r1, [%offset];",
      "and.b32 %r2, %r1, 7;\nprmt.b32 %r1, %tid, %r1, %r2;",
      "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n"
      "vote.sync.ballot.b32 %r1, %p1, -1;",
  };
  if (engine_variant() != "avx2") return;
  for (const std::string& each : lines) {
    INFO(each);
    CHECK_FALSE(at_once(load + each + store));
  }
}

}  // namespace lathe::ptx
