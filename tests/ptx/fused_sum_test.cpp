// The dot-add of eight columns at once gives the bits of the one that goes element by element, or
// says that it does not answer.

#include "ptx/fused_sum_lanes.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/ptx/fused_inputs.h"

namespace lathe::ptx::dot {
namespace {

/// Whether the fast one answered; where it did, every bit is compared.
bool agrees(const Case& given) {
  SideA a;
  SideB b;
  read_side(given.how.a_type, given.factors.a.data(), given.how.m * given.how.k, a);
  read_side(given.how.b_type, given.factors.b.data(), given.how.k * columns, b);
  Rows fast = given.rows, each = given.rows;
  if (!multiply_lanes(given.how, a, b, fast)) return false;
  multiply_each(given.how, given.factors, each);
  for (unsigned i = 0; i < given.how.m; ++i)
    for (unsigned j = 0; j < columns; ++j)
      if (std::bit_cast<std::uint32_t>(fast[i].c[j]) != std::bit_cast<std::uint32_t>(each[i].c[j]))
        FAIL_CHECK("row " << i << ", column " << j << ": " << fast[i].c[j] << ", not "
                          << each[i].c[j]);
  return true;
}

std::vector<Product> products() {
  std::vector<Product> list;
  auto add = [&](unsigned architecture, bool warpgroup, unsigned k, Type a, Type b) {
    for (Type d : {Type::f32, Type::f16}) {
      Mma mma;
      mma.m = 16, mma.n = 8, mma.k = k;
      mma.a_type = a, mma.b_type = b, mma.c_type = mma.d_type = d;
      mma.architecture = architecture, mma.warpgroup = warpgroup;
      for (bool without_c : {false, true}) {
        mma.without_c = without_c;
        list.push_back(product_of(mma));
      }
    }
  };
  for (unsigned architecture : {89u, 90u, 100u})
    for (bool warpgroup : {false, true}) {
      if (warpgroup && architecture != 90) continue;
      for (Type type : {Type::f16, Type::bf16}) {
        add(architecture, warpgroup, 16, type, type);
        if (!warpgroup) add(architecture, warpgroup, 8, type, type);
      }
      add(architecture, warpgroup, 8, Type::tf32, Type::tf32);
      for (Type a : {Type::e4m3, Type::e5m2})
        for (Type b : {Type::e4m3, Type::e5m2}) add(architecture, warpgroup, 32, a, b);
    }
  add(100, false, 32, Type::e2m3, Type::e3m2);
  return list;
}

}  // namespace

TEST_CASE("eight columns at once give the bits of one element after another") {
  unsigned answered = 0, asked = 0;
  for (const Product& how : products())
    for (Inputs inputs : all_inputs)
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(how.k, static_cast<int>(how.a_type), static_cast<int>(how.b_type), how.half,
                how.steps.fraction_bits, static_cast<int>(inputs), seed);
        bool fast = agrees(Maker(seed).make(how, inputs));
        if (inputs == Inputs::ordinary || inputs == Inputs::cancelling || inputs == Inputs::great) {
          ++asked;
          answered += fast;
          CHECK((fast || how.by_halves));
        }
      }
  CHECK(answered > asked / 2);
}

TEST_CASE("what is not finite, or too small for f32, is left to one element after another") {
  Mma mma;
  mma.m = 16, mma.n = 8, mma.k = 16;
  mma.a_type = mma.b_type = Type::bf16;
  mma.c_type = mma.d_type = Type::f32;
  mma.architecture = 90;
  Case plain = Maker(1).make(product_of(mma), Inputs::ordinary);
  REQUIRE(agrees(plain));
  auto refuses = [&](auto change) {
    Case changed = plain;
    change(changed);
    return !agrees(changed);
  };
  CHECK(refuses([](Case& c) { c.factors.a[17] = 0x7F80; }));  // Infinity.
  CHECK(refuses([](Case& c) { c.factors.b[3] = 0x7FC0; }));   // NaN.
  CHECK(refuses([](Case& c) { c.rows[2].c[5] = INFINITY; }));
  // The smallest subnormal is cut to nothing beside the others, but not where it is the largest.
  CHECK_FALSE(refuses([](Case& c) { c.factors.a[0] = 0x0001; }));
  auto alone = [](Case& c) {
    c.factors.a = {}, c.factors.b = {}, c.rows = {};
    c.factors.a[0] = 0x0001, c.factors.b[0] = 0x3F80;
  };
  CHECK(refuses(alone));
  CHECK(refuses([](Case& c) { c.factors.a[0] = c.factors.b[0] = 0x7F00; }));  // 2^127, squared.
  CHECK_FALSE(refuses([](Case& c) { c.factors.a[0] = 0x8000; }));             // -0 is ordinary.
  CHECK_FALSE(refuses([](Case& c) { c.rows[0].c[0] = 3e38f; }));
}

}  // namespace lathe::ptx::dot
