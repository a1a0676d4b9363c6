// The laws of the field domain's numbers: primes, chains, powers of two, logarithms, literals.

#include <bit>
#include <catch2/catch.hpp>
#include <set>

#include "ptx/field_chain.h"
#include "ptx/field_literal.h"

namespace lathe::ptx::field {
namespace {

Chain a_chain(std::uint64_t point = 0) { return *Chain::draw(7, point); }

double f32(std::uint32_t bits) { return std::bit_cast<float>(bits); }

TEST_CASE("reduction agrees with division for any 64-bit number") {
  for (std::uint32_t p : {3u, 1889247359u, 2147483647u}) {
    Prime prime(p);
    for (std::uint64_t i = 0; i < 2000; ++i) {
      std::uint64_t x = mix(p, i);
      CHECK(prime.reduce(x) == x % p);
    }
    CHECK(prime.reduce(~std::uint64_t{0}) == ~std::uint64_t{0} % p);
  }
}

TEST_CASE("an inverse times its number is one") {
  Prime prime(1889247359);
  for (std::uint32_t i = 1; i < 500; ++i)
    CHECK(prime.mul(i * 77777, prime.inverse(i * 77777)) == 1);
}

TEST_CASE("the primality test knows strong pseudoprimes from primes") {
  CHECK(is_prime(2147483647u));
  CHECK(is_prime(1889247359u));
  CHECK_FALSE(is_prime(3215031751u));
  CHECK_FALSE(is_prime(25326001u));
  CHECK_FALSE(is_prime(1));
}

TEST_CASE("a chain is linked, of 31 bits, and has the small primes as squares but not -1") {
  for (std::uint64_t point = 0; point < 8; ++point) {
    Chain chain = a_chain(point);
    for (unsigned i = 0; i < levels; ++i) {
      const Prime& prime = chain.primes[i];
      CHECK(is_prime(prime.p));
      CHECK_FALSE(prime.is_square(prime.p - 1));
      for (std::uint32_t small : {2u, 3u, 5u, 7u}) CHECK(prime.is_square(small));
      if (i + 1 < levels) CHECK(prime.p == 2 * chain.primes[i + 1].p + 1);
    }
  }
}

TEST_CASE("chains differ between points and between seeds") {
  std::set<std::uint32_t> firsts;
  for (std::uint64_t point = 0; point < 12; ++point) firsts.insert(a_chain(point).primes[0].p);
  firsts.insert(Chain::draw(8, 0)->primes[0].p);
  CHECK(firsts.size() >= 12);
}

TEST_CASE("a chain makes further primes squares where it can") {
  Chain chain = *Chain::draw(3, 0, {127});
  for (const Prime& prime : chain.primes) CHECK(prime.is_square(127));
}

TEST_CASE("independent primes are three different ones") {
  Chain chain = Chain::draw_independent(5, 2);
  CHECK(chain.primes[0].p != chain.primes[1].p);
  CHECK(chain.primes[1].p != chain.primes[2].p);
  CHECK_FALSE(chain.linked);
}

TEST_CASE("powers of two by tables agree with powers, and the order is the next prime") {
  Chain chain = a_chain();
  const Prime& prime = chain.primes[0];
  PowersOfTwo exp2(prime);
  for (std::uint64_t i = 0; i < 500; ++i) {
    std::uint32_t e = chain.primes[1].reduce(mix(1, i));
    CHECK(exp2(e) == prime.pow(2, e));
  }
  CHECK(exp2(chain.primes[1].p) == 1);
}

TEST_CASE("exp2 of a sum is the product, of an integer the integer power") {
  Chain chain = a_chain();
  const Prime &top = chain.primes[0], &below = chain.primes[1];
  PowersOfTwo exp2(top);
  std::uint32_t a = below.reduce(mix(2, 1)), b = below.reduce(mix(2, 2));
  CHECK(exp2(below.add(a, b)) == top.mul(exp2(a), exp2(b)));
  CHECK(exp2(10) == 1024);
  CHECK(top.mul(exp2(below.negate(3)), 8) == 1);
  CHECK(exp2(below.mul(2, a)) != exp2(a));
}

TEST_CASE("2 to the one half is the root of two") {
  Chain chain = a_chain();
  std::uint32_t half = chain.primes[1].inverse(2);
  CHECK(PowersOfTwo(chain.primes[0])(half) == chain.primes[0].root(2));
}

TEST_CASE("the logarithm undoes exp2 and says where it lost a sign") {
  Chain chain = a_chain();
  const Prime &top = chain.primes[0], &below = chain.primes[1];
  PowersOfTwo exp2(top);
  DiscreteLog log2(top, below.p);
  for (std::uint64_t i = 0; i < 20; ++i) {
    std::uint32_t e = below.reduce(mix(3, i));
    DiscreteLog::Answer plain = log2(exp2(e)), negated = log2(top.negate(exp2(e)));
    CHECK(plain.exponent == e);
    CHECK_FALSE(plain.negated);
    CHECK(negated.exponent == e);
    CHECK(negated.negated);
  }
}

TEST_CASE("roots are multiplicative, and of squares they are the square one") {
  Prime prime = a_chain().primes[0];
  std::uint32_t a = prime.reduce(mix(4, 1)), b = prime.reduce(mix(4, 2));
  CHECK(prime.root(prime.mul(a, b)) == prime.mul(prime.root(a), prime.root(b)));
  CHECK(prime.root(prime.mul(4, a)) == prime.mul(2, prime.root(a)));
  std::uint32_t root = prime.root(prime.mul(a, a));
  CHECK((root == a || root == prime.negate(a)));
  CHECK(prime.is_square(root));
}

TEST_CASE("log2 e is read as itself, also scaled, and its neighbour is not") {
  CHECK(read_literal(f32(0x3FB8AA3B), 24).named == Named::log2_e);
  CHECK(read_literal(f32(0x3FB8AA3C), 24).named != Named::log2_e);
  Reading scaled = read_literal(f32(0x3E38AA3B), 24);
  CHECK(scaled.named == Named::log2_e);
  CHECK(scaled.exponent == -3);
  CHECK(read_literal(-f32(0x3FB8AA3B), 24).negative);
}

TEST_CASE("integers and short dyadics are themselves before any name") {
  CHECK(read_literal(12582913.0, 24).named == Named::one);
  CHECK(read_literal(12582913.0, 24).exact);
  CHECK(read_literal(0.5, 24).text() == "1 * 2^-1");
  CHECK(read_literal(0, 24).numerator == 0);
}

TEST_CASE("fractions and decimals are read as written") {
  CHECK(read_literal(static_cast<double>(1.0f / 127.0f), 24).text() == "1 / 127");
  CHECK(read_literal(static_cast<double>(0.1f), 24).text() == "1 / 10");
  CHECK(read_literal(static_cast<double>(1e-5f), 24).denominator == 100000);
  CHECK(read_literal(static_cast<double>(0.044715f), 24).text() == "44715 / 1000000");
}

TEST_CASE("a reading lies within half an ulp and different bits read differently") {
  std::set<double> seen;
  for (std::uint32_t i = 0; i < 400; ++i) {
    auto bits = static_cast<std::uint32_t>(0x3F800000u + mix(9, i) % 0x1000000u);
    Reading reading = read_literal(f32(bits), 24);
    CHECK(static_cast<float>(reading.value()) == std::bit_cast<float>(bits));
    seen.insert(reading.value());
  }
  CHECK(seen.size() >= 399);
  CHECK(read_literal(f32(0x3FB8AA3B), 24).value() != read_literal(f32(0x3FB8AA3A), 24).value());
}

TEST_CASE("named residues keep their relations at every level") {
  Chain chain = a_chain();
  Names names(chain, 7, 0);
  for (unsigned level = 0; level < levels; ++level) {
    const Prime& prime = chain.primes[level];
    auto at = [&](Named named) { return names.residue({false, 1, 1, 0, named, false}, level); };
    CHECK(prime.mul(at(Named::log2_e), at(Named::ln_2)) == 1);
    CHECK(prime.mul(at(Named::root_2), at(Named::root_2)) == 2);
    CHECK(prime.mul(at(Named::root_pi), at(Named::root_pi)) == at(Named::pi));
    CHECK(prime.is_square(at(Named::log2_e)));
    CHECK(names.residue({true, 3, 4, 2, Named::one, true}, level) == prime.p - 3);
  }
}

TEST_CASE("factors beyond seven are asked for, smaller ones are not") {
  CHECK(factors_of({false, 1, 127, 0, Named::one, false}) == std::vector<std::uint32_t>{127});
  CHECK(factors_of({false, 35, 64, 0, Named::one, false}).empty());
}

}  // namespace
}  // namespace lathe::ptx::field
