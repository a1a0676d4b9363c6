// The laws of arithmetic at a point: what must meet meets, and every near miss differs.

#include <catch2/catch.hpp>
#include <cmath>

#include "ptx/field_arithmetic.h"

namespace lathe::ptx::field {
namespace {

struct World {
  std::shared_ptr<const Point> point;
  Arithmetic a;
  explicit World(bool strict = true, unsigned levels_used = 3)
      : point(make(strict, levels_used)), a(*point) {}
  static std::shared_ptr<const Point> make(bool strict, unsigned levels_used) {
    Recipe recipe;
    recipe.computed = true;
    recipe.low = -100;
    recipe.high = 100;
    PointOptions options;
    options.seed = 11;
    options.levels = levels_used;
    options.points = slots_max / levels_used;
    options.strict_maximum = strict;
    return *Point::make(options, {recipe, recipe});
  }
  Number x(std::uint64_t i) { return point->input(0, i); }
  Number l(double v) { return a.literal(v, Type::f32); }
  Number max_of(std::initializer_list<Number> list) {
    Number m = *list.begin();
    for (const Number& n : list) m = a.maximum(m, n, false);
    return m;
  }
  bool equal(const Number& left, const Number& right) {
    Number x = a.settled(left), y = a.settled(right);
    Slots both = x.valid & y.valid;
    REQUIRE(both != 0);
    bool same = x.special == y.special;
    for (unsigned i = 0; i < slots_max; ++i)
      if ((both & ~(x.taint | y.taint)) >> i & 1) same &= x.r[i] == y.r[i];
    return same && (x.special != Special::finite ||
                    std::fabs(x.shadow - y.shadow) <= 1e-9 * (1 + std::fabs(x.shadow)));
  }
};

const double log2_e = static_cast<double>(1.44269502f);

TEST_CASE("sums and products meet in any order, and a swapped difference does not") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0), y = w.x(1), z = w.x(2);
  CHECK(w.equal(a.add(a.add(x, y), z), a.add(x, a.add(z, y))));
  CHECK(w.equal(a.mul(x, a.add(y, z)), a.add(a.mul(x, y), a.mul(x, z))));
  CHECK_FALSE(w.equal(a.sub(x, y), a.sub(y, x)));
}

TEST_CASE("a quotient is the product with the reciprocal, not with the divisor") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0), y = w.x(1);
  CHECK(w.equal(a.divide(x, y), a.mul(x, a.divide(w.l(1), y))));
  CHECK_FALSE(w.equal(a.divide(x, y), a.divide(y, x)));
}

TEST_CASE("a maximum that grew in steps is that of all at once, and bounds its parts alone") {
  World w;
  Arithmetic& a = w.a;
  Number grown = w.x(0);
  std::vector<Number> parts;
  for (std::uint64_t i = 1; i < 40; ++i) {
    grown = a.settled(a.maximum(grown, w.x(i), false));
    parts.push_back(grown);
  }
  Number other = w.x(39);
  for (std::uint64_t i = 39; i-- > 0;) other = a.maximum(w.x(i), other, false);
  CHECK(w.equal(grown, other));
  // Two that went on from one part, each its own way.
  Number left = a.settled(a.maximum(parts[9], w.x(50), false));
  Number right = a.settled(a.maximum(parts[9], w.x(51), false));
  CHECK(w.equal(left, a.maximum(w.x(50), parts[9], false)));
  CHECK_FALSE(w.equal(left, right));
  CHECK_FALSE(w.equal(left, grown));
  a.summary() = {};
  for (const Number& part : parts) a.exp2(a.sub(part, grown));
  a.exp2(a.sub(parts[9], left));
  a.exp2(a.sub(w.x(51), right));
  CHECK(a.summary().unguarded == 0);
  a.exp2(a.sub(left, right));
  a.exp2(a.sub(w.x(51), left));
  a.exp2(a.sub(grown, parts[9]));
  CHECK(a.summary().unguarded == 3);
}

TEST_CASE("exp2 of x + 1 is twice exp2 of x; of x + 1.001 it is not") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0);
  CHECK(w.equal(a.exp2(a.add(x, w.l(1))), a.mul(w.l(2), a.exp2(x))));
  CHECK_FALSE(w.equal(a.exp2(a.add(x, w.l(1.001))), a.mul(w.l(2), a.exp2(x))));
}

TEST_CASE("a constant wrong by one ulp is seen") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0);
  Number right = a.exp2(a.mul(x, w.l(log2_e)));
  Number wrong = a.exp2(a.mul(x, w.l(static_cast<double>(1.44269514f))));
  CHECK(w.equal(right, a.exp2(a.mul(w.l(log2_e), x))));
  CHECK_FALSE(w.equal(right, wrong));
}

TEST_CASE("nested exponentials are exact as deep as the chain") {
  World w;
  Arithmetic& a = w.a;
  Number inner = a.exp2(w.x(0));
  CHECK(w.equal(a.exp2(a.negate(inner)), a.divide(w.l(1), a.exp2(inner))));
  CHECK(a.exp2(a.exp2(inner)).valid == 0);
}

TEST_CASE("the logarithm of a product is the sum of logarithms") {
  World w;
  Arithmetic& a = w.a;
  Number x = a.exp2(w.x(0)), y = a.exp2(w.x(1));
  CHECK(w.equal(a.log2(a.mul(x, y)), a.add(a.log2(x), a.log2(y))));
  CHECK(w.equal(a.log2(x), w.x(0)));
  CHECK_FALSE(w.equal(a.log2(a.add(x, y)), a.add(a.log2(x), a.log2(y))));
}

TEST_CASE("logarithm of a sum of exponentials, with and without the maximum taken out") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0), y = w.x(1), m = w.max_of({x, y, w.x(2)});
  Number plain = a.log2(a.add(a.exp2(x), a.exp2(y)));
  Number shifted = a.add(m, a.log2(a.add(a.exp2(a.sub(x, m)), a.exp2(a.sub(y, m)))));
  CHECK(w.equal(plain, shifted));
}

TEST_CASE("roots are multiplicative and undo squares up to what is tainted") {
  World w;
  Arithmetic& a = w.a;
  Number x = a.mul(w.x(0), w.x(0));
  CHECK(w.equal(a.square_root(a.mul(w.l(4), x)), a.mul(w.l(2), a.square_root(x))));
  Number y = a.add(x, w.l(1));
  Number root = a.square_root(y);
  CHECK(w.equal(a.mul(root, root), y));
}

TEST_CASE("a maximum does not depend on the order, but on every element") {
  World w;
  Number x = w.x(0), y = w.x(1), z = w.x(2), v = w.x(3);
  CHECK(w.equal(w.max_of({x, y, z, v}), w.max_of({v, z, x, y})));
  CHECK(w.equal(w.max_of({x, y, z, v}), w.a.maximum(w.max_of({x, z}), w.max_of({y, v}), false)));
  CHECK(w.equal(w.max_of({x, y, z, z, y}), w.max_of({x, y, z})));
  CHECK_FALSE(w.equal(w.max_of({x, y, z, v}), w.max_of({x, y, z})));
}

TEST_CASE("a maximum moves with a shift and with a positive factor, not with a negative one") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0), y = w.x(1), z = w.x(2), c = w.x(5), s = w.l(3);
  auto shift = [&](const Number& n) { return a.add(n, c); };
  auto scale = [&](const Number& n) { return a.mul(n, s); };
  auto turn = [&](const Number& n) { return a.negate(n); };
  CHECK(w.equal(w.max_of({shift(x), shift(y), shift(z)}), shift(w.max_of({x, y, z}))));
  CHECK(w.equal(w.max_of({scale(x), scale(y), scale(z)}), scale(w.max_of({x, y, z}))));
  CHECK_FALSE(w.equal(w.max_of({turn(x), turn(y), turn(z)}), turn(w.max_of({x, y, z}))));
}

TEST_CASE("a minimum is the negated maximum of the negated") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0), y = w.x(1), z = w.x(2);
  Number least = a.minimum(a.minimum(x, y, false), z, false);
  Number turned = w.max_of({a.negate(x), a.negate(y), a.negate(z)});
  CHECK(w.equal(least, a.negate(turned)));
  CHECK_FALSE(w.equal(least, w.max_of({x, y, z})));
}

TEST_CASE("minus infinity is no element, NaN loses unless it is to win") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0), low = w.l(-INFINITY), nan = w.l(NAN);
  CHECK(w.equal(a.maximum(low, x, false), x));
  CHECK(w.equal(a.maximum(nan, x, false), x));
  CHECK(a.maximum(nan, x, true).special == Special::nan);
}

TEST_CASE("of two the larger shadow wins, so relu meets a selection") {
  World w;
  Number x = w.x(0), zero = w.l(0);
  Number chosen = *w.a.order(x, zero, Question::above) > 0 ? x : zero;
  CHECK(w.equal(w.a.maximum(x, zero, false), chosen));
}

TEST_CASE("the weak mode takes the winner of many") {
  World w(false);
  Number x = w.x(0), y = w.x(1), z = w.x(2);
  Number m = w.a.settled(w.max_of({x, y, z}));
  Number best = x.shadow > y.shadow ? x : y;
  if (z.shadow > best.shadow) best = z;
  CHECK(m.r == best.r);
}

TEST_CASE("an exponential of an element less the maximum is guarded, scaled or not") {
  World w;
  Arithmetic& a = w.a;
  Number m = w.max_of({w.x(0), w.x(1), w.x(2), w.x(3)}), c = w.l(log2_e);
  a.exp2(a.mul(a.sub(w.x(1), m), c));
  a.exp2(a.sub(a.mul(w.x(2), c), a.mul(m, c)));
  CHECK(a.summary().exponentials == 2);
  CHECK(a.summary().unguarded == 0);
}

TEST_CASE("an exponential without maximum, or with one that lacks the element, is not") {
  World w;
  Arithmetic& a = w.a;
  Number m = w.max_of({w.x(0), w.x(1), w.x(2)});
  a.exp2(w.x(0));
  CHECK(a.summary().unguarded == 1);
  a.exp2(a.sub(w.x(3), m));
  CHECK(a.summary().unguarded == 2);
  a.exp2(a.sub(m, w.x(0)));
  CHECK(a.summary().unguarded == 3);
}

TEST_CASE("signs are proved by structure, never by a shadow") {
  World w;
  Arithmetic& a = w.a;
  Number e = a.exp2(w.x(0)), x = w.x(1);
  CHECK(a.add(w.l(1), e).is(positive));
  CHECK(a.mul(x, x).is(not_negative));
  CHECK(a.add(a.mul(x, x), w.l(1e-5)).is(positive));
  CHECK(a.maximum(x, w.l(1), false).is(positive));
  CHECK_FALSE(x.is(positive));
  CHECK_FALSE(a.sub(e, w.l(1)).is(positive));
}

TEST_CASE("a divisor without a sign is noted, one with a sign is not") {
  World w;
  Arithmetic& a = w.a;
  a.divide(w.x(0), a.exp2(w.x(1)));
  CHECK(a.summary().unsigned_divisors == 0);
  a.divide(w.x(0), w.x(1));
  CHECK(a.summary().unsigned_divisors == 1);
}

TEST_CASE("roundings add up along the longest path") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0);
  CHECK(Arithmetic::in_format(x, Type::f32, true).rounds == Rounds{});
  Number sum = Arithmetic::in_format(a.add(x, w.x(1)), Type::f32, false);
  Number once = Arithmetic::in_format(sum, Type::f16, true);
  CHECK(once.rounds.count[1] == 1);
  CHECK(Arithmetic::in_format(once, Type::f16, true).rounds.count[1] == 1);
  Number again = Arithmetic::in_format(a.add(once, once), Type::f16, false);
  CHECK(again.rounds.count[1] == 2);
}

TEST_CASE("floor meets rint of a shift, and differs from what is off by a little") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0);
  CHECK(w.equal(a.floor(a.add(x, w.l(1))), a.add(a.floor(x), w.l(1))));
  CHECK_FALSE(w.equal(a.floor(a.mul(x, w.l(1.0000001))), a.floor(x)));
  CHECK(w.equal(a.floor(a.floor(x)), a.floor(x)));
}

TEST_CASE("infinities follow IEEE, and poison stays poison") {
  World w;
  Arithmetic& a = w.a;
  Number inf = w.l(INFINITY), zero = w.l(0), x = w.x(0);
  CHECK(a.sub(inf, inf).special == Special::nan);
  CHECK(a.mul(inf, zero).special == Special::nan);
  CHECK(a.exp2(a.negate(inf)).zero());
  CHECK(a.divide(x, inf).zero());
  CHECK(a.add(x, a.poison()).special == Special::poison);
  CHECK(a.maximum(x, a.poison(), false).special == Special::poison);
}

TEST_CASE("tanh is its exponential form, scaled or not") {
  World w;
  Arithmetic& a = w.a;
  Number x = a.divide(w.x(0), w.l(128));
  Number e = a.exp2(a.mul(x, w.l(-2 * log2_e)));
  CHECK(w.equal(a.tanh(x), a.divide(a.sub(w.l(1), e), a.add(w.l(1), e))));
}

TEST_CASE("where ties are asked for, some elements are 0 in every tensor") {
  Recipe recipe;
  recipe.computed = true;
  for (bool ties : {true, false})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      PointOptions options;
      options.seed = seed;
      options.ties = ties;
      auto point = *Point::make(options, {recipe, recipe, recipe});
      unsigned zeros = 0;
      for (std::uint64_t i = 0; i < 1024; ++i)
        zeros += point->input(0, i).shadow == 0 && point->input(1, i).shadow == 0 &&
                 point->input(2, i).shadow == 0;
      INFO(seed);
      CHECK((ties ? zeros >= 4 && zeros <= 64 : zeros == 0));
    }
}

TEST_CASE("exponentials that their sign bounds are noted by their arguments, others are not") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0), y = w.x(1);
  Number falling = a.negate(a.mul(x, x));
  a.exp2(w.l(-3));
  CHECK(a.summary().falling_keys.empty());
  CHECK(a.summary().exponential_instruction < 0);
  Number m = w.max_of({x, y, w.x(2)});
  a.set_instruction(7);
  a.exp2(a.sub(x, m));
  CHECK(a.summary().falling_keys.empty());
  CHECK(a.summary().exponential_instruction == 7);
  a.exp2(falling);
  CHECK(a.summary().falling_keys == std::unordered_set{a.key_of(falling)});
  // The same real by another way.
  a.exp2(a.mul(a.negate(x), x));
  CHECK(a.summary().falling_keys.size() == 1);
  a.exp2(a.negate(a.mul(y, y)));
  CHECK(a.summary().falling_keys.size() == 2);
}

TEST_CASE("a divisor that a square keeps from 0 is told from a sum of exponentials") {
  World w;
  Arithmetic& a = w.a;
  Number x = w.x(0), one = w.l(1), e = a.exp2(w.x(1)), f = a.exp2(w.x(2));
  a.set_instruction(3);
  a.divide(x, a.add(e, f));
  a.divide(x, a.add(a.mul(e, e), one));
  CHECK(a.summary().unsigned_divisors == 0);
  CHECK(a.summary().square_instruction < 0);
  a.set_instruction(5);
  a.divide(one, a.add(a.mul(x, x), one));
  CHECK(a.summary().unsigned_divisors == 0);
  CHECK(a.summary().square_instruction == 5);
}

TEST_CASE("three independent primes serve rational programs") {
  PointOptions options;
  options.linked = false;
  options.levels = 3;
  Recipe recipe;
  recipe.computed = true;
  auto point = *Point::make(options, {recipe});
  Arithmetic a(*point);
  Number x = point->input(0, 1), y = point->input(0, 2);
  CHECK(a.mul(a.add(x, y), a.sub(x, y)).r == a.sub(a.mul(x, x), a.mul(y, y)).r);
  CHECK(a.exp2(x).valid == 0);
}

}  // namespace
}  // namespace lathe::ptx::field
