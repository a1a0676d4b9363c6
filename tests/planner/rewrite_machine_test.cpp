// The rewrites executed: what they make of the references gives the reference's outputs on the
// emulated device, bit for bit where only order, place or hints changed.

#include <cmath>
#include <set>

#include "ptx/bits_value.h"
#include "rewriting.h"
#include "tests/places.h"
#include "tests/ptx/launch.h"

namespace lathe::planner {
namespace {

using namespace rewriting;
using ptx::Launched;

constexpr std::size_t columns = 4096, rows = 2;

std::uint16_t half(double x) { return ptx::rounded<ptx::Type::f16>(x, 0, ptx::Rounding::rn).held; }
double value(std::uint16_t bits) { return ptx::to_double(ptx::BitsOf<ptx::Type::f16>{bits}); }

std::vector<std::uint16_t> inputs() {
  std::vector<std::uint16_t> values(rows * columns);
  unsigned seed = 9;
  for (std::uint16_t& one : values) {
    seed = seed * 1664525u + 1013904223u;
    one = half(static_cast<double>(static_cast<int>(seed >> 20) - 2048) / 700.0);
  }
  return values;
}

struct Outcome {
  std::vector<std::uint16_t> out;
  ptx::Counters counters;
};

/// The first blocks of a reference's launch.
Outcome run(const std::string& kind, const std::string& text) {
  Launched launch;
  bool silu = kind == "silu";
  launch.add(inputs());
  launch.add(std::vector<std::uint16_t>(kind == "sum" ? rows : rows * columns));
  launch.shape = {{silu ? 4u : 2u, 1, 1}, {128, 1, 1}, silu ? 0u : 16u};
  if (silu)
    launch.scalars = {{2, 0}, {3, 0}};
  else
    launch.scalars = {{2, columns}, {3, 0}, {4, 0}};
  launch.request.count = true;
  launch.run(text);
  INFO((launch.result.trap ? print(*launch.result.trap) : ""));
  REQUIRE(!launch.result.trap);
  return {launch.get<std::uint16_t>(1), launch.result.counters};
}

void close(const Outcome& got, const Outcome& want) {
  REQUIRE(got.out.size() == want.out.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.out.size(); ++i)
    worst = std::max(worst, std::fabs(value(got.out[i]) - value(want.out[i])) -
                                1.5e-3 * std::fabs(value(want.out[i])));
  CHECK(worst <= 1e-6);
}

/// Families that change no bit of any result.
bool keeps_bits(const std::string& family) {
  return family == family::fewer_barriers || family == family::hoisted_loads ||
         family == family::cached_access || family == family::wide_access;
}

void check(const std::string& kind, const std::string& target) {
  ptx::Parsed parsed = reference(std::filesystem::path(source_folder) / "suite" / "contracts" /
                                 (kind + "_fp16_" + target) / "reference.ptx");
  std::string entry(parsed.module.functions.front().name);
  Outcome want = run(kind, ptx::print(parsed.module));
  for (const Rewrite& rewrite : rewrites(parsed.module, entry, target)) {
    INFO(kind << " " << target << " " << rewrite.family << ": " << rewrite.effect);
    Outcome got = run(kind, *ptx::apply(parsed.module, rewrite.edits));
    if (keeps_bits(rewrite.family))
      CHECK(got.out == want.out);
    else
      close(got, want);
    if (rewrite.family == family::fewer_barriers)
      CHECK(got.counters.barriers < want.counters.barriers);
    if (rewrite.family == family::fma || rewrite.family == family::fewer_barriers)
      CHECK(got.counters.warp_instructions() < want.counters.warp_instructions());
  }
}

TEST_CASE("the rewritten sums sum") {
  for (const char* target : {"sm_89", "sm_90a", "sm_100a"}) check("sum", target);
}
TEST_CASE("the rewritten softmaxes are softmaxes") {
  for (const char* target : {"sm_89", "sm_90a", "sm_100a"}) check("softmax", target);
}
TEST_CASE("the rewritten silus are silus") {
  for (const char* target : {"sm_89", "sm_90a", "sm_100a"}) check("silu", target);
}

/// The first rewrite of each family, one after the other, until a family repeats its text.
std::string all_families(const std::string& text, const std::string& entry) {
  std::string now = text;
  for (std::string_view family :
       {family::hoisted_loads, family::tree_reduction, family::fewer_barriers,
        family::fewer_barriers, family::reciprocal, family::fma, family::cached_access}) {
    ptx::Parsed parsed = ptx::parse(now, "step.ptx");
    REQUIRE(parsed.errors.empty());
    for (const Rewrite& rewrite : rewrites(parsed.module, entry, parsed.module.target[0]))
      if (rewrite.family == family) {
        now = *ptx::apply(parsed.module, rewrite.edits);
        break;
      }
  }
  return now;
}

TEST_CASE("rewrites of all families one after the other keep the results") {
  for (const std::filesystem::path& path : untuned_references()) {
    std::string name = path.parent_path().filename();
    std::string kind = name.substr(0, name.find('_'));
    if (kind == "gemm") continue;
    INFO(name);
    ptx::Parsed parsed = reference(path);
    std::string text = ptx::print(parsed.module);
    std::string made = all_families(text, std::string(parsed.module.functions.front().name));
    CHECK(made != text);
    Outcome want = run(kind, text), got = run(kind, made);
    close(got, want);
    if (kind == "softmax") CHECK(got.counters.barriers * 5 == want.counters.barriers * 2);
    if (kind == "sum") CHECK(got.counters.barriers * 2 == want.counters.barriers);
    CHECK(got.counters.warp_instructions() < want.counters.warp_instructions());
  }
}

TEST_CASE("wider accesses move the same bytes in fewer instructions") {
  std::string text =
      ".version 8.7\n.target sm_90a\n.visible .entry k(.param .u64 .ptr .global .align 16 a, "
      ".param "
      ".u64 .ptr .global .align 16 b)\n.reqntid 32\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
      "ld.param.b64 %rd1, [a];\nld.param.b64 %rd2, [b];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, "
      "%r1, 16;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\nld.global.b32 %r2, [%rd4];\n"
      "ld.global.b32 %r3, [%rd4+4];\nld.global.v2.b32 {%r4, %r5}, [%rd4+8];\nxor.b32 %r4, %r4, "
      "%r2;\n"
      "st.global.v2.b32 [%rd5], {%r5, %r4};\nst.global.b32 [%rd5+8], %r3;\nst.global.b32 "
      "[%rd5+12], "
      "%r2;\nret;\n}\n";
  ptx::Parsed parsed = ptx::parse(text, "k.ptx");
  REQUIRE(parsed.errors.empty());
  std::vector<std::string> made = of_family(parsed.module, family::wide_access);
  REQUIRE(made.size() == 1);
  auto launched = [](const std::string& kernel) {
    Launched launch;
    std::vector<std::uint32_t> values(128);
    for (std::uint32_t i = 0; i < 128; ++i) values[i] = i * 2654435761u;
    launch.add(values);
    launch.add(std::vector<std::uint32_t>(128));
    launch.shape = {{1, 1, 1}, {32, 1, 1}, 0};
    launch.request.count = true;
    launch.run(kernel);
    REQUIRE(!launch.result.trap);
    return std::pair(launch.get<std::uint32_t>(1), launch.result.counters.warp_instructions());
  };
  auto before = launched(text), after = launched(made[0]);
  CHECK(after.first == before.first);
  CHECK(before.second - after.second == 4);
}

}  // namespace
}  // namespace lathe::planner
