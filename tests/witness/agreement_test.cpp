// A seeded sample of what the table and the assembler take; `scripts/agreement` asks of 50,000.

#include <catch2/catch.hpp>
#include <set>

#include "tests/witness/agreement.h"
#include "tests/witness/written.h"

namespace lathe::ptx::witness {
namespace {

bool is_taken(const std::string& line, const char* target = "sm_90a", unsigned version = 90) {
  return table_takes({line, target, version, 0, EditKind::none}).takes;
}

TEST_CASE("a line that fits its row is taken, its neighbour by one edit is not") {
  CHECK(is_taken("add.rn.f32 %r1, %r2, %r3;"));
  CHECK_FALSE(is_taken("add.rn.f32 %r1, %l2, %r3;"));
  CHECK_FALSE(is_taken("add.rn.f32 %r1, %r2;"));
  CHECK_FALSE(is_taken("add.rn.sat.f64 %l1, %l2, %l3;"));
  CHECK_FALSE(is_taken("elect.sync %r1|%p1, %r2;", "sm_89"));
}

TEST_CASE("what the assembler takes is taken, its neighbour that it refuses is not") {
  struct Pair {
    std::string legal, neighbour;
    const char* target = "sm_90a";
  };
  for (const Pair& pair : std::initializer_list<Pair>{
           {"atom.add.L2::cache_hint.u32 %r1, [%l1], %r2, %l2;",
            "atom.shared.add.L2::cache_hint.u32 %r1, [%r3], %r2, %l2;"},
           {"red.release.gpu.add.u32 [%l1], %r2;", "red.acquire.gpu.add.u32 [%l1], %r2;"},
           {"multimem.red.relaxed.gpu.add.u32 [%l1], %r2;", "multimem.red.gpu.add.u32 [%l1], %r2;"},
           {"ld.global.L2::cache_hint.b32 %r1, [%l1], %l2;",
            "ld.global.L2::cache_hint.b32 %r1, [%l1];"},
           {"setmaxnreg.inc.sync.aligned.u32 232;", "setmaxnreg.inc.sync.aligned.u32 7;"},
           {"barrier.sync 1, 64;", "barrier.sync 1, 7;"},
           {"bar.cta.sync 1;", "bar.sync.cta 1;"},
           {"elect.sync %r1|%p1, %r2;", "elect.sync %r1, %r2;"},
           {"stackrestore.u64 %l1;", "stackrestore.u64 7;"},
           {"cp.async.bulk.prefetch.L2.global [%l1], 128;",
            "cp.async.bulk.prefetch.L2.global [%l1], 7;"},
           {"tensormap.replace.tile.rank.b1024.b32 [%l1], %r1;",
            "tensormap.replace.tile.rank.b1024.b64 [%l1], %l2;"},
           {"tcgen05.mma.cta_group::1.kind::f16 [%r1], %l1, %l2, %r2, %p1;",
            "tcgen05.mma.cta_group::1.kind::f16 [%l3], %l1, %l2, %r2, %p1;", "sm_100a"},
           {"tcgen05.mma.cta_group::1.kind::f16.ashift [%r1], [%r3], %l2, %r2, %p1;",
            "tcgen05.mma.cta_group::1.kind::f16.ashift [%r1], %l1, %l2, %r2, %p1;", "sm_100a"},
           {"multimem.st.v8.e5m2 [%l1], {%b1, %b2, %b3, %b4, %b5, %b6, %b7, %b8};",
            "multimem.st.v8.e5m2 [%l1], {%h1, %h2, %h3, %h4, %h5, %h6, %h7, %h8};", "sm_100a"},
           {"cvt.rn.f16x2.e2m1x2 %r1, %b1;", "cvt.rn.f16x2.e2m1x2 %r1, %h1;", "sm_100a"},
           {"cvt.rn.f16.u64 %r1, %l1;", "cvt.rz.tf32.f32 %l1, %r1;"}}) {
    INFO(pair.legal << "  " << pair.neighbour);
    CHECK(is_taken(pair.legal, pair.target));
    CHECK_FALSE(is_taken(pair.neighbour, pair.target));
  }
}

TEST_CASE("a scope of clusters and the copies of images begin with their chips") {
  CHECK(is_taken("red.relaxed.cluster.add.u32 [%l1], %r1;"));
  CHECK_FALSE(is_taken("red.relaxed.cluster.add.u32 [%l1], %r1;", "sm_89"));
  CHECK(is_taken("fence.sc.cta;", "sm_89"));
  CHECK_FALSE(is_taken("fence.sc.cluster;", "sm_89"));
  CHECK(is_taken("cvt.rn.satfinite.e4m3x2.f32 %h1, %r1, %r2;", "sm_90a", 80));
  CHECK_FALSE(is_taken("cvt.rn.satfinite.e4m3x2.f32 %h1, %r1, %r2;", "sm_89", 80));
}

TEST_CASE("an edit changes one thing, and another seed changes another") {
  for (std::uint16_t row : {std::uint16_t{0}, std::uint16_t{5}}) {
    auto lines = written_lines(row, 40, 3);
    REQUIRE(lines.size() == 40);
    std::set<std::string> texts;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Draw draw(seed);
      Written changed = edited(lines[0], draw);
      CHECK(changed.edit != EditKind::none);
      bool moved = changed.target != lines[0].target || changed.version != lines[0].version;
      CHECK((changed.line != lines[0].line || moved));
      texts.insert(changed.line);
    }
    CHECK(texts.size() > 10);
  }
}

TEST_CASE("table and assembler take the same lines") {
  Result<Tally> tally = compare_with_assembler(12, 1);
  if (!tally) {
    WARN("LATHE-SKIP: " << tally.error().what);
    return;
  }
  WARN(print(*tally));
  CHECK(tally->rows_without_lines == 0);
  CHECK(tally->fewest >= 4);
  CHECK(tally->illegal * 5 >= 2 * tally->lines);
  // What is left is said in docs/AGREEMENT.md, class by class; these only go up.
  CHECK(tally->table_share() >= 0.985);
  CHECK(tally->assembler_share() >= 0.985);
}

}  // namespace
}  // namespace lathe::ptx::witness
