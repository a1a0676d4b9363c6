// Registers and memory of the field domain: bytes move, floats are numbers, bits stay bits.

#include <bit>
#include <catch2/catch.hpp>

#include "ptx/field.h"

namespace lathe::ptx::field {
namespace {

struct World {
  std::shared_ptr<const Point> point;
  Field field{point};
  Field::Lanes lanes = field.make_lanes(4096);
  explicit World(unsigned prime_bits = 31) : point(make(prime_bits)) {}

  static std::shared_ptr<const Point> make(unsigned prime_bits = 31) {
    Recipe in{"x", Type::f16, false, true, "", -10, 10, 1, 0, 0, 1 << 20};
    Recipe out{"y", Type::f16, true, false, "", -10, 10, 1, 0, 0, 1 << 20};
    Recipe exact{"n", Type::s32, false, false, std::string("\1\0\0\0\2\0\0\0", 8), 0, 9,
                 1,   0,         0,     2};
    PointOptions options;
    options.prime_bits = prime_bits;
    options.points = 4;
    return *Point::make(options, {in, out, exact});
  }
  static Cell word(unsigned i) { return {i * 128, 4, 0, 0}; }
  static Cell half(unsigned i, unsigned byte = 0) {
    return {i * 128, 4, static_cast<std::uint8_t>(byte), 0};
  }
};

TEST_CASE("two halves of a word are two elements, and come back to their places") {
  World w;
  w.field.read(w.field.buffer(0), 8, w.lanes, World::word(0), 4);
  auto low = w.field.load<Type::f16>(w.lanes, World::half(0));
  auto high = w.field.load<Type::f16>(w.lanes, World::half(0, 2));
  CHECK(low.get().r == w.point->input(0, 4).r);
  CHECK(high.get().r == w.point->input(0, 5).r);
  CHECK(w.field.complaint() == nullptr);
}

TEST_CASE("a float read across two numbers is undecided, not a value") {
  World w;
  w.field.read(w.field.buffer(0), 8, w.lanes, World::word(0), 4);
  w.field.load<Type::f32>(w.lanes, World::word(0)).get();
  REQUIRE(w.field.complaint() != nullptr);
  CHECK(w.field.complaint()->kind == ComplaintKind::undecided);
}

TEST_CASE("exact bits are a literal where a float is read, and integers elsewhere") {
  World w;
  w.field.put(w.lanes, World::word(0), 4, 0x40400000);
  CHECK(w.field.load<Type::f32>(w.lanes, World::word(0)).get().shadow == 3);
  CHECK(w.field.load<Type::u32>(w.lanes, World::word(0)).bits == 0x40400000);
  CHECK(*w.field.exact(w.lanes, World::word(0), 4) == 0x40400000);
}

TEST_CASE("a float's bytes are no address and no operand of integer sums") {
  World w;
  w.field.read(w.field.buffer(0), 0, w.lanes, World::word(0), 4);
  CHECK_FALSE(w.field.exact(w.lanes, World::word(0), 4));
  auto bits = w.field.load<Type::u32>(w.lanes, World::word(0));
  CHECK(w.field.complaint() == nullptr);
  (void)(bits + literal(bits, 1));
  CHECK(w.field.complaint() != nullptr);
}

TEST_CASE("clearing, setting and flipping the sign bit are abs, -abs and neg") {
  World w;
  w.field.read(w.field.buffer(0), 0, w.lanes, World::word(0), 4);
  auto x = w.field.load<Type::f16>(w.lanes, World::half(0));
  w.field.store<Type::f32>(w.lanes, World::word(1), convert<Type::f32>(Form{}, x));
  auto bits = w.field.load<Type::b32>(w.lanes, World::word(1));
  auto number = [](const auto& v) { return recast<Type::f32>(v).get(); };
  CHECK(number(bits ^ literal(bits, 0x80000000u)).shadow == -x.get().shadow);
  CHECK(number(bits & literal(bits, 0x7FFFFFFFu)).shadow == std::fabs(x.get().shadow));
  CHECK(number(bits | literal(bits, 0x80000000u)).shadow == -std::fabs(x.get().shadow));
  CHECK(w.field.complaint() == nullptr);
  (void)number(bits & literal(bits, 0x7FFFFFFEu));
  CHECK(w.field.complaint() != nullptr);
}

TEST_CASE("the sign bits of a pair flip both halves") {
  World w;
  w.field.read(w.field.buffer(0), 0, w.lanes, World::word(0), 4);
  auto bits = w.field.load<Type::b32>(w.lanes, World::word(0));
  w.field.store<Type::b32>(w.lanes, World::word(1), bits ^ literal(bits, 0x80008000u));
  auto high = w.field.load<Type::f16>(w.lanes, World::half(1, 2));
  CHECK(high.get().shadow == -w.point->input(0, 1).shadow);
}

TEST_CASE("shifts by whole bytes and masks move fragments, other shifts are opaque") {
  World w;
  w.field.read(w.field.buffer(0), 0, w.lanes, World::word(0), 4);
  auto bits = w.field.load<Type::u32>(w.lanes, World::word(0));
  auto upper = shift_right(bits, BitsValue<Type::u32>(&w.field, 16));
  w.field.store<Type::u32>(w.lanes, World::word(1), upper);
  CHECK(w.field.load<Type::f16>(w.lanes, World::half(1)).get().r == w.point->input(0, 1).r);
  CHECK(w.field.complaint() == nullptr);
  shift_right(bits, BitsValue<Type::u32>(&w.field, 13));
  CHECK(w.field.complaint() != nullptr);
}

TEST_CASE("halves packed by or of a shifted part are a pair again") {
  World w;
  w.field.read(w.field.buffer(0), 0, w.lanes, World::word(0), 4);
  auto bits = w.field.load<Type::u32>(w.lanes, World::word(0));
  auto low = bits & literal(bits, 0xFFFF);
  auto high = shift_left(shift_right(bits, BitsValue<Type::u32>(&w.field, 16)),
                         BitsValue<Type::u32>(&w.field, 16));
  auto whole = low | high;
  CHECK(whole.tags == bits.tags);
}

TEST_CASE("a register that nothing set is poison: it moves, but decides nothing") {
  World w;
  w.field.copy(w.lanes, World::word(1), w.lanes, World::word(0), 4);
  CHECK_FALSE(w.field.exact(w.lanes, World::word(1), 4));
  auto poison = w.field.load<Type::f32>(w.lanes, World::word(1));
  auto sum = add(Form{}, poison, poison);
  CHECK(sum.get().special == Special::poison);
  CHECK(w.field.complaint() == nullptr);
  compare(Form{}, poison, poison);
  REQUIRE(w.field.complaint() != nullptr);
  CHECK(w.field.complaint()->kind == ComplaintKind::undefined);
}

TEST_CASE("what a block wrote is handed over in order, and forgotten") {
  World w;
  w.field.read(w.field.buffer(0), 0, w.lanes, World::word(0), 4);
  w.field.write(w.field.buffer(1), 20, w.lanes, World::word(0), 4);
  w.field.write(w.field.buffer(1), 4, w.lanes, World::half(0, 2), 2);
  std::vector<Written> written = w.field.finish_block();
  REQUIRE(written.size() == 3);
  CHECK(written[0].element == 2);
  CHECK(written[0].number.r == w.point->input(0, 1).r);
  CHECK(written[2].element == 11);
  CHECK(w.field.finish_block().empty());
}

TEST_CASE("an output that the block did not write cannot be read") {
  World w;
  w.field.read(w.field.buffer(1), 0, w.lanes, World::word(0), 4);
  CHECK(w.field.complaint() != nullptr);
}

TEST_CASE("integer tensors are exact") {
  World w;
  w.field.read(w.field.buffer(2), 4, w.lanes, World::word(0), 4);
  CHECK(*w.field.exact(w.lanes, World::word(0), 4) == 2);
}

TEST_CASE("equal values are the same write, different ones are not") {
  World w;
  Field::Region shared = w.field.make_region(64);
  w.field.read(w.field.buffer(0), 0, w.lanes, World::word(0), 4);
  w.field.read(w.field.buffer(0), 0, w.lanes, World::word(1), 4);
  w.field.read(w.field.buffer(0), 4, w.lanes, World::word(2), 4);
  w.field.write(shared, 0, w.lanes, World::word(0), 4);
  CHECK(w.field.same(shared, 0, w.lanes, World::word(1), 4));
  CHECK_FALSE(w.field.same(shared, 0, w.lanes, World::word(2), 4));
}

TEST_CASE("a matrix product agrees with sums of products, zeros from bits included") {
  World w(GENERATE(23u, 31u));
  std::vector<Cell> a(16 * 16), b(16 * 8), c(16 * 8);
  w.lanes = w.field.make_lanes(8192);
  for (unsigned i = 0; i < a.size(); ++i) {
    a[i] = {0, 2, 0, 0};
    a[i].place = i * 2;
    w.field.read(w.field.buffer(0), i * 2, w.lanes, a[i], 2);
  }
  for (unsigned i = 0; i < b.size(); ++i) {
    b[i] = {1024 + i * 2, 2, 0, 0};
    w.field.read(w.field.buffer(0), 2000 + i * 2, w.lanes, b[i], 2);
    c[i] = {2048 + i * 4, 4, 0, 0};
    w.field.put(w.lanes, c[i], 4, 0);
  }
  w.field.put(w.lanes, a[3], 2, 0);
  Mma mma;
  mma.m = 16, mma.n = 8, mma.k = 16;
  mma.a_type = mma.b_type = Type::f16;
  mma.c_type = mma.d_type = Type::f32;
  mma.a = a.data(), mma.b = b.data(), mma.c = mma.d = c.data();
  Arithmetic& arithmetic = w.field.arithmetic();
  Number sum = arithmetic.literal(0, Type::f32);
  for (unsigned q = 0; q < 16; ++q) {
    Number x = w.field.load<Type::f16>(w.lanes, a[q]).get();
    Number y = w.field.load<Type::f16>(w.lanes, b[q * 8 + 5]).get();
    sum = arithmetic.add(sum, arithmetic.mul(x, y));
  }
  w.field.multiply(w.lanes, mma);
  Number product = w.field.load<Type::f32>(w.lanes, c[5]).get();
  CHECK(product.r == sum.r);
  CHECK(product.shadow == Approx(sum.shadow));
  CHECK(product.valid == sum.valid);
  CHECK(product.numerator == 2);
  CHECK(product.r != w.field.load<Type::f32>(w.lanes, c[6]).get().r);
  for (unsigned again = 0; again < 40; ++again) w.field.multiply(w.lanes, mma);
  Number forty = arithmetic.literal(41, Type::f32);
  product = w.field.load<Type::f32>(w.lanes, c[5]).get();
  CHECK(product.r == arithmetic.mul(sum, forty).r);
}

TEST_CASE("a product of sixteen columns is that of its elements, wherever it is written") {
  World w(GENERATE(23u, 31u));
  unsigned moved = GENERATE(0u, 8u, 16u * 16u);  // D beside C: in the other half's place, or apart.
  w.lanes = w.field.make_lanes(16384);
  std::vector<Cell> a(16 * 16), b(16 * 16), c(16 * 16), d(16 * 16);
  for (std::uint32_t i = 0; i < a.size(); ++i) {
    // Registers of two or four bytes of one lane, 64 apart as registers are.
    a[i] = {i * 2, 2, 0, 0};
    b[i] = {1024 + i * 2, 2, 0, 0};
    c[i] = {2048 + i * 4, 4, 0, 0};
    d[i] = {2048 + (i + moved) % (2 * 16 * 16) * 4, 4, 0, 0};
    w.field.read(w.field.buffer(0), i * 2, w.lanes, a[i], 2);
    w.field.read(w.field.buffer(0), 2000 + i * 2, w.lanes, b[i], 2);
    auto x = w.field.load<Type::f16>(w.lanes, a[i]);
    w.field.store<Type::f32>(w.lanes, c[i], convert<Type::f32>(Form{}, x));
  }
  Mma mma;
  mma.m = mma.n = mma.k = 16;
  mma.a_type = mma.b_type = Type::f16;
  mma.c_type = mma.d_type = Type::f32;
  mma.a = a.data(), mma.b = b.data(), mma.c = c.data(), mma.d = d.data();
  Arithmetic& arithmetic = w.field.arithmetic();
  std::vector<Number> sums;
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      Number sum = w.field.load<Type::f32>(w.lanes, c[i * 16 + j]).get();
      for (unsigned q = 0; q < 16; ++q)
        sum = arithmetic.add(sum,
                             arithmetic.mul(w.field.load<Type::f16>(w.lanes, a[i * 16 + q]).get(),
                                            w.field.load<Type::f16>(w.lanes, b[q * 16 + j]).get()));
      sums.push_back(sum);
    }
  w.field.multiply(w.lanes, mma);
  for (unsigned i = 0; i < sums.size(); ++i)
    CHECK(w.field.load<Type::f32>(w.lanes, d[i]).get().r == sums[i].r);
  CHECK(w.field.complaint() == nullptr);
}

TEST_CASE("a collection keeps what registers and memory hold") {
  World w;
  w.field.read(w.field.buffer(0), 0, w.lanes, World::word(0), 4);
  auto one = w.field.load<Type::f16>(w.lanes, World::half(0));
  w.field.store<Type::f16>(w.lanes, World::half(0), add(Form{}, one, one));
  auto before = w.field.load<Type::f16>(w.lanes, World::half(0)).get().r;
  for (unsigned i = 0; i < (3u << 20); ++i) {
    w.field.read(w.field.buffer(0), 64, w.lanes, World::half(1), 2);
    w.field.store<Type::f16>(w.lanes, World::half(1), add(Form{}, one, one));
  }
  CHECK(w.field.load<Type::f16>(w.lanes, World::half(0)).get().r == before);
  CHECK(w.field.peak_numbers() < (3u << 20));
}

}  // namespace
}  // namespace lathe::ptx::field
