// The generator: every modifier is reached, edges come first, and the same table gives the same
// kernels.

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

std::uint16_t row_of(std::string_view text) {
  for (std::size_t i = 0; i < rows().size(); ++i)
    if (rows()[i].signature.text.starts_with(text)) return static_cast<std::uint16_t>(i);
  FAIL("no row begins with " << text);
  return 0;
}

TEST_CASE("a small row gives each of its choices once") {
  auto list = instances_of(row_of("fma.rnd{.ftz}{.sat}.type"), 1000, 1);
  std::set<std::string> names;
  for (const Instance& each : list) names.insert(each.mnemonic());
  CHECK(list.size() == 4 * 2 * 2);
  CHECK(names.size() == list.size());
  CHECK(names.contains("fma.rz.ftz.sat.f32"));
  CHECK(names.contains("fma.rn.f32"));
}

TEST_CASE("a large row's sample has every modifier and every type") {
  std::uint16_t row = row_of("ld{.sem}");
  auto list = instances_of(row, 300, 1);
  CHECK(list.size() <= 300);
  const Signature& s = rows()[row].signature;
  for (std::size_t i = 0; i < s.element_count; ++i)
    for (std::string_view word : choices(rows()[row], s.elements[i])) {
      if (word.empty()) continue;
      INFO(word);
      CHECK(std::any_of(list.begin(), list.end(),
                        [&](const Instance& each) { return each.has(word); }));
    }
}

TEST_CASE("the same seed gives the same instances and vectors") {
  auto a = instances_of(row_of("ld{.sem}"), 50, 3), b = instances_of(row_of("ld{.sem}"), 50, 3);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i].mnemonic() == b[i].mnemonic());
  const Column columns[] = {{Type::f32, Use::value}, {Type::f32, Use::value}};
  CHECK(operand_vectors(columns, 64, 5) == operand_vectors(columns, 64, 5));
  CHECK(operand_vectors(columns, 64, 5) != operand_vectors(columns, 64, 6));
}

TEST_CASE("the edges of a float are zeros, subnormals, infinities and NaN with payloads") {
  auto list = edges(Type::f32);
  auto has = [&](std::uint64_t bits) {
    return std::find(list.begin(), list.end(), bits) != list.end();
  };
  for (std::uint64_t bits :
       {0x00000000u, 0x80000000u, 0x00000001u, 0x807FFFFFu, 0x00800000u, 0x7F7FFFFFu, 0x7F800000u,
        0xFF800000u, 0x7F800001u, 0x7FC00005u, 0x3F800000u, 0x4B800000u, 0x477FF000u})
    CHECK(has(bits));
}

TEST_CASE("the edges of an integer are its extremes and the widths of shifts") {
  auto list = edges(Type::s32);
  auto has = [&](std::uint64_t bits) {
    return std::find(list.begin(), list.end(), bits) != list.end();
  };
  for (std::uint64_t bits : {0u, 1u, 31u, 32u, 33u, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu})
    CHECK(has(bits));
}

TEST_CASE("a single operand meets every edge of its type") {
  const Column columns[] = {{Type::f16, Use::value}};
  auto all = operand_vectors(columns, 256, 5);
  std::set<std::uint64_t> seen(all[0].begin(), all[0].end());
  auto list = edges(Type::f16);
  std::size_t met = static_cast<std::size_t>(
      std::count_if(list.begin(), list.end(), [&](std::uint64_t e) { return seen.contains(e); }));
  CHECK(met >= 100);
}

TEST_CASE("kernels of a row hold its instruction once and no other form's name") {
  auto kernels = all_kernels("lop3");
  REQUIRE_FALSE(kernels.empty());
  std::set<std::string> names;
  for (const Kernel& kernel : kernels) {
    CHECK(kernel.body.find("  " + kernel.mnemonic + " ") != std::string::npos);
    CHECK(names.insert(kernel.name).second);
    CHECK(kernel.output_bytes > 0);
  }
}

}  // namespace
}  // namespace lathe::ptx::witness
