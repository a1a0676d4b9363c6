// The table: what it takes, what it refuses and how it says so.

#include <catch2/catch.hpp>
#include <set>

#include "ptx/fragment.h"
#include "ptx/isa.h"

namespace lathe::ptx {
namespace {

struct Asked {
  Module module;
  Result<FormMatch> match = Error{};
};

Asked ask(const std::string& line, unsigned isa = 87, const char* target = "sm_90a") {
  Parsed parsed = parse(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.entry t()\n{\n" + line + ";\n}\n", "t.ptx");
  for (const Error& error : parsed.errors) FAIL_CHECK(line << ": " << error.what);
  REQUIRE(parsed.errors.empty());
  Asked asked{std::move(parsed.module), Error{}};
  asked.match = match(asked.module.functions[0].instructions[0], isa, *parse_target(target));
  return asked;
}

bool takes(const std::string& line, unsigned isa = 87, const char* target = "sm_90a") {
  Asked asked = ask(line, isa, target);
  if (!asked.match)
    UNSCOPED_INFO(line << ": " << asked.match.error().what << "; " << asked.match.error().remedy);
  return asked.match.has_value();
}

std::string complaint(const std::string& line, unsigned isa = 87, const char* target = "sm_90a") {
  Asked asked = ask(line, isa, target);
  REQUIRE_FALSE(asked.match);
  return asked.match.error().what + " | " + asked.match.error().remedy;
}

TEST_CASE("arithmetic forms are found with their types and modifiers") {
  CHECK(takes("add.s32 a, b, c"));
  CHECK(takes("add.sat.s32 a, b, c"));
  CHECK(takes("add.rn.ftz.sat.f32 a, b, c"));
  CHECK(takes("mad.lo.s64 a, b, c, d"));
  CHECK(takes("fma.rn.f16x2 a, b, c, d"));
  CHECK(takes("fma.rn.relu.bf16x2 a, b, c, d"));
  CHECK(takes("min.NaN.xorsign.abs.f32 a, b, c"));
  CHECK(takes("mul.f32x2 a, b, c", 88, "sm_100a"));
  CHECK(takes("add.rn.f32.f16 a, b, c", 86, "sm_100a"));
}

TEST_CASE("what arithmetic has not is refused") {
  CHECK_FALSE(takes("add.sat.u32 a, b, c"));
  CHECK_FALSE(takes("mul.sat.s32 a, b, c"));
  CHECK_FALSE(takes("mul.wide.s64 a, b, c"));
  CHECK_FALSE(takes("add.rn.ftz.f64 a, b, c"));
  CHECK_FALSE(takes("mul.s32 a, b, c"));
  CHECK_FALSE(takes("shl.s32 a, b, c"));
  CHECK_FALSE(takes("and.u32 a, b, c"));
}

TEST_CASE("memory forms of Triton are found") {
  CHECK(takes("ld.global.v4.b32 {a, b, c, d}, [p]"));
  CHECK(takes("ld.global.L1::evict_last.L2::cache_hint.v2.b32 {a, b}, [p], q"));
  CHECK(takes("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {a, b, c, d}, [p]"));
  CHECK(takes("ld.relaxed.gpu.global.u32 a, [p]"));
  CHECK(takes("st.global.v4.b32 [p], {a, b, c, d}"));
  CHECK(takes("st.shared::cta.b16 [p], a"));
  CHECK(takes("cp.async.cg.shared.global [p], [q], 16, r"));
  CHECK(takes("cp.async.wait_group 2"));
  CHECK(takes("atom.global.gpu.acq_rel.add.f32 a, [p], b"));
  CHECK(takes("red.global.add.noftz.f16x2 [p], b"));
  CHECK_FALSE(takes("red.global.add.f16x2 [p], b"));
}

TEST_CASE("matrix forms are found by shape and types") {
  CHECK(takes("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {a}, {b}, {c}, {d}"));
  CHECK(takes("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {a}, {b}, {c}, {d}"));
  CHECK(takes("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {a}, {b}, {c}, {d}"));
  CHECK(takes("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {a, b, c, d}, [p]"));
  CHECK_FALSE(takes("mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {a}, {b}, {c}, {d}"));
  CHECK_FALSE(takes("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {a}, {b}, {c}, {d}"));
}

TEST_CASE("Hopper's and Blackwell's own forms are known, and gated by their chips") {
  const std::string wgmma =
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {a}, d, e, p, 1, 1, 0, 0";
  CHECK(takes(wgmma));
  CHECK_FALSE(takes(wgmma, 87, "sm_89"));
  CHECK_FALSE(takes(wgmma, 87, "sm_100a"));
  CHECK_FALSE(takes(wgmma, 87, "sm_90"));
  CHECK(takes("tcgen05.wait::ld.sync.aligned", 88, "sm_100a"));
  CHECK_FALSE(takes("tcgen05.wait::ld.sync.aligned", 88, "sm_90a"));
  CHECK(takes("redux.sync.max.f32 a, b, m", 88, "sm_100a"));
  CHECK_FALSE(takes("redux.sync.max.f32 a, b, m", 88, "sm_90a"));
  CHECK(takes("redux.sync.max.s32 a, b, m"));
}

TEST_CASE("PTX that has no row is told from mistakes") {
  CHECK(takes("multimem.ld_reduce.acquire.gpu.global.add.f32 a, [p]"));
  CHECK(takes("mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f32 {a}, {b}, {c}, {d}"));
  CHECK(takes("cvt.rz.satfinite.ue8m0x2.f32 a, b, c", 87, "sm_100a"));
  CHECK_FALSE(takes("cvt.rz.satfinite.ue8m0x2.f32 a, b, c", 87, "sm_90a"));
  CHECK_FALSE(takes("multimem.foo.global.f32 a, [p]"));
  CHECK_FALSE(takes("cvt.satfinite.relu.s32.f32 a, b"));
}

TEST_CASE("a complaint names the modifier that does not fit, and the nearest form") {
  std::string text = complaint("add.foo.s32 a, b, c");
  CHECK(text.find(".foo") != std::string::npos);
  CHECK(text.find("add") != std::string::npos);
}

TEST_CASE("a modifier that is misspelt is told from one that is none") {
  std::string text = complaint("add.f33 a, b, c");
  CHECK(text.find("did you mean .f32? nearest form: add{.rnd}") != std::string::npos);
  CHECK(complaint("add.s33 a, b, c").find("did you mean .s32?") != std::string::npos);
  CHECK(complaint("add.foo.s32 a, b, c").find("did you mean") == std::string::npos);
}

TEST_CASE("a complaint names the type that does not fit, and those that would") {
  std::string text = complaint("popc.s32 a, b");
  CHECK(text.find(".s32") != std::string::npos);
  CHECK(text.find("b32, b64") != std::string::npos);
}

TEST_CASE("a complaint names the version or target that is needed") {
  CHECK(complaint("cvt.rn.satfinite.e4m3x2.f32 a, b, c", 87, "sm_80").find("sm_89") !=
        std::string::npos);
  CHECK(complaint("elect.sync a|p, m", 78).find("8.0") != std::string::npos);
}

TEST_CASE("a complaint counts operands") {
  CHECK(complaint("add.s32 a, b").find("2 operands") != std::string::npos);
}

TEST_CASE("an unknown instruction is unsupported, with the nearest name") {
  Asked asked = ask("addd.s32 a, b, c");
  REQUIRE_FALSE(asked.match);
  CHECK(asked.match.error().fault == Fault::unsupported);
  CHECK(asked.match.error().remedy.find("`add`") != std::string::npos);
}

TEST_CASE("internal rows are not instructions") {
  for (const RowText& row : rows())
    if (row.signature.opcode.starts_with('$')) CHECK(row.signature.opcode.size() > 1);
  CHECK(forms_of("add").size() > 5);
}

TEST_CASE("targets and versions are read strictly") {
  CHECK(parse_target("sm_100a")->number == 100);
  CHECK(parse_target("sm_100a")->suffix == 'a');
  CHECK_FALSE(parse_target("sm_"));
  CHECK_FALSE(parse_target("sm_90ab"));
  CHECK_FALSE(parse_target("compute_90"));
  CHECK(parse_target("sm_89").has_value());
  CHECK_FALSE(parse_target("sm_89a"));
  CHECK_FALSE(parse_target("sm_90f"));
  CHECK(parse_target("sm_100f").has_value());
  for (const char* none : {"sm_12", "sm_77", "sm_9", "sm_1000"}) CHECK_FALSE(parse_target(none));
  CHECK(*parse_isa_version("8.7") == 87);
  CHECK_FALSE(parse_isa_version("8"));
  CHECK_FALSE(parse_isa_version("8.x"));
}

void check_map(const char* name, Type d, Type ab, Type c) {
  auto shape = fragment_shape(name, d, ab, ab, c);
  REQUIRE(shape);
  FragmentMap map = make_fragment_map(*shape);
  auto distinct = [](const std::vector<FragmentPlace>& places, unsigned registers) {
    std::set<std::array<unsigned, 3>> seen;
    for (FragmentPlace at : places) {
      CHECK(at.slot < registers);
      seen.insert({at.slot, at.byte, at.lane});
    }
    return seen.size() == places.size();
  };
  CHECK(distinct(map.a, shape->a_registers));
  CHECK(distinct(map.b, shape->b_registers));
  CHECK(distinct(map.d, shape->d_registers));
}

TEST_CASE("every fragment map is a bijection: f16 m16n8k16") {
  check_map("m16n8k16", Type::f32, Type::f16, Type::f32);
  check_map("m16n8k16", Type::f16, Type::f16, Type::f16);
}
TEST_CASE("every fragment map is a bijection: f16 m16n8k8") {
  check_map("m16n8k8", Type::f32, Type::bf16, Type::f32);
}
TEST_CASE("every fragment map is a bijection: tf32") {
  check_map("m16n8k4", Type::f32, Type::tf32, Type::f32);
  check_map("m16n8k8", Type::f32, Type::tf32, Type::f32);
}
TEST_CASE("every fragment map is a bijection: bytes") {
  check_map("m16n8k16", Type::s32, Type::s8, Type::s32);
  check_map("m16n8k32", Type::f32, Type::e4m3, Type::f32);
}
TEST_CASE("every fragment map is a bijection: f64") {
  check_map("m8n8k4", Type::f64, Type::f64, Type::f64);
  check_map("m16n8k16", Type::f64, Type::f64, Type::f64);
}

}  // namespace
}  // namespace lathe::ptx
