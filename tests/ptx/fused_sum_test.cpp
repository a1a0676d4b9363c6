// The dot-add of eight columns at once gives the bits of the one that goes element by element, or
// says that it does not answer.

#include "ptx/fused_sum_lanes.h"

#include <catch2/catch.hpp>
#include <random>
#include <string>

namespace lathe::ptx::dot {
namespace {

enum class Inputs { ordinary, raw, subnormal, cancelling, zeros, huge_c, tiny_c, spread };

/// A float of about this size in the bits of a type.
template <Type T>
std::uint32_t element(double x) {
  auto bits = static_cast<std::uint32_t>(rounded<T>(x, 0, Rounding::rn).bits());
  if (format_of<T>().has_infinity) return bits;
  std::uint32_t sign = 1u << (format_of<T>().width - 1);
  return (bits & ~sign) > format_of<T>().max_bits ? (bits & sign) : bits;
}

struct Case {
  Product how;
  Factors factors{};
  Rows rows{};
};

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  Case make(const Product& how, Inputs inputs) {
    Case made{how, {}, {}};
    for (unsigned i = 0; i < how.m * how.k; ++i) made.factors.a[i] = factor(how.a_type, inputs, i);
    for (unsigned i = 0; i < how.k * columns; ++i)
      made.factors.b[i] = factor(how.b_type, inputs, i / columns);
    for (Row& row : made.rows)
      for (float& c : row.c) c = accumulator(how.half, inputs);
    if (inputs == Inputs::cancelling)
      for (unsigned i = 0; i < how.m; ++i)
        for (unsigned q = 1; q < how.k; q += 2)  // Each odd column takes an even one away.
          made.factors.a[i * how.k + q] =
              made.factors.a[i * how.k + q - 1] ^ (random_() % 8 != 0 ? sign(how.a_type) : 0);
    return made;
  }

 private:
  static std::uint32_t sign(Type type) {
    return with_factor_type(type, []<Type T>() {
      return T == Type::tf32 ? 0x80000000u : 1u << (format_of<T>().width - 1);
    });
  }
  std::uint32_t factor(Type type, Inputs inputs, unsigned k) {
    return with_factor_type(type, [&]<Type T>() -> std::uint32_t {
      constexpr FloatFormat format = format_of<T>();
      constexpr unsigned shift = T == Type::tf32 ? 13 : 0;
      auto bits = static_cast<std::uint32_t>(random_()) & ((1u << format.width) - 1);
      std::uint32_t negative = bits & (1u << (format.width - 1));
      if (inputs == Inputs::raw) return bits << shift;
      if (inputs == Inputs::zeros) return negative << shift;
      if (inputs == Inputs::subnormal && k % 4 != 0)
        return (bits & (negative | ((1u << (format.precision - 1)) - 1))) << shift;
      if (inputs == Inputs::spread)  // Products of some are below the normal numbers.
        return element<T>(normal_(random_) * std::ldexp(1.0, -static_cast<int>(random_() % 130)));
      return element<T>(normal_(random_) * std::ldexp(1.0, static_cast<int>(random_() % 5)));
    });
  }
  float accumulator(bool half, Inputs inputs) {
    double c = normal_(random_) * 4;
    if (inputs == Inputs::raw && random_() % 4 == 0)
      return std::bit_cast<float>(static_cast<std::uint32_t>(random_()));
    if (random_() % 5 == 0) c = random_() % 2 == 0 ? 0.0 : -0.0;
    if (half) return static_cast<float>(to_double(rounded<Type::f16>(c, 0, Rounding::rn)));
    if (inputs == Inputs::huge_c) c = std::ldexp(c, static_cast<int>(random_() % 130));
    if (inputs == Inputs::tiny_c || inputs == Inputs::zeros || inputs == Inputs::spread)
      c = std::ldexp(c, -static_cast<int>(random_() % 150));
    return static_cast<float>(c);
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

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
    for (Inputs inputs : {Inputs::ordinary, Inputs::raw, Inputs::subnormal, Inputs::cancelling,
                          Inputs::zeros, Inputs::huge_c, Inputs::tiny_c, Inputs::spread})
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(how.k, static_cast<int>(how.a_type), static_cast<int>(how.b_type), how.half,
                how.steps.fraction_bits, static_cast<int>(inputs), seed);
        bool fast = agrees(Maker(seed).make(how, inputs));
        if (inputs == Inputs::ordinary || inputs == Inputs::cancelling) {
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
