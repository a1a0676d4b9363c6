// Matrix products of the field domain beside those of whole floats: four bits and single bits,
// which are exact or undecided, and block scales, which are known or undecided.

#include <catch2/catch.hpp>
#include <cmath>

#include "ptx/field.h"

namespace lathe::ptx::field {
namespace {

struct World {
  std::shared_ptr<const Point> point;
  Field field{point};
  Field::Lanes lanes = field.make_lanes(1 << 16);
  World() : point(make()) {}

  static std::shared_ptr<const Point> make() {
    Recipe in{"x", Type::e4m3, false, true, "", -10, 10, 1, 0, 0, 1 << 20};
    PointOptions options;
    options.points = 4;
    return *Point::make(options, {in});
  }
};

/// A product whose elements of `bits` bits lie side by side, behind one another in the file.
struct Packed {
  unsigned m, n, k, bits;
  std::vector<Cell> a, b, c;

  Packed(unsigned rows, unsigned columns, unsigned depth, unsigned width)
      : m(rows), n(columns), k(depth), bits(width) {
    auto cells = [&](unsigned count, Spot first, unsigned each) {
      std::vector<Cell> list;
      for (unsigned i = 0; i < count; ++i) {
        unsigned at = i * each;
        list.push_back({first + at / 128 * 16, 16, static_cast<std::uint8_t>(at / 8 % 16), 0,
                        static_cast<std::uint8_t>(at % 8)});
      }
      return list;
    };
    a = cells(m * k, 0, bits), b = cells(k * n, 16384, bits), c = cells(m * n, 32768, 32);
  }
  Mma mma(Type a_type, Type b_type, Type sum) const {
    Mma product;
    product.m = m, product.n = n, product.k = k;
    product.a_type = a_type, product.b_type = b_type;
    product.c_type = product.d_type = sum;
    product.a = a.data(), product.b = b.data(), product.c = product.d = c.data();
    return product;
  }
};

std::uint8_t byte_of(unsigned i, unsigned salt) {
  return static_cast<std::uint8_t>((i * 2654435761u + salt * 40503u) >> 13);
}
int nibble(unsigned byte, unsigned bit, bool sign) {
  int value = static_cast<int>(byte >> bit & 15);
  return sign && value >= 8 ? value - 16 : value;
}

TEST_CASE("a product of four bits takes each half of a byte for itself, signed or not") {
  World w;
  Packed p(16, 8, 32, 4);
  std::vector<std::uint8_t> a(16 * 16), b(32 * 4);
  auto fill = [&](const std::vector<Cell>& cells, std::vector<std::uint8_t>& bytes, unsigned salt) {
    for (unsigned i = 0; i < bytes.size(); ++i) {
      bytes[i] = byte_of(i, salt);
      Cell cell = cells[2 * i];
      w.field.put(w.lanes, cell, 1, bytes[i]);
    }
  };
  fill(p.a, a, 1), fill(p.b, b, 2);
  for (const Cell& cell : p.c) w.field.put(w.lanes, cell, 4, 5);
  w.field.multiply(w.lanes, p.mma(Type::s4, Type::u4, Type::s32));
  REQUIRE(w.field.complaint() == nullptr);
  bool differs = false;
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned column = 0; column < 8; ++column) {
      int sum = 5, swapped = 5;
      for (unsigned k = 0; k < 32; ++k) {
        unsigned x = row * 32 + k, y = k * 8 + column;
        int factor = nibble(b[y / 2], y % 2 * 4, false);
        sum += nibble(a[x / 2], x % 2 * 4, true) * factor;
        swapped += nibble(a[x / 2], 4 - x % 2 * 4, true) * factor;
      }
      auto got = w.field.exact(w.lanes, p.c[row * 8 + column], 4);
      REQUIRE(got);
      CHECK(static_cast<std::int32_t>(*got) == sum);
      differs = differs || sum != swapped;
    }
  CHECK(differs);
}

TEST_CASE("single bits are counted after and, or after xor") {
  for (bool exclusive : {false, true}) {
    World w;
    Packed p(8, 8, 128, 1);
    for (unsigned i = 0; i < p.a.size(); i += 8) w.field.put(w.lanes, p.a[i], 1, byte_of(i, 3));
    for (unsigned i = 0; i < p.b.size(); i += 8) w.field.put(w.lanes, p.b[i], 1, byte_of(i, 4));
    for (const Cell& cell : p.c) w.field.put(w.lanes, cell, 4, 0);
    Mma mma = p.mma(Type::b1, Type::b1, Type::s32);
    mma.exclusive = exclusive;
    w.field.multiply(w.lanes, mma);
    REQUIRE(w.field.complaint() == nullptr);
    for (unsigned row = 0; row < 8; ++row)
      for (unsigned column = 0; column < 8; ++column) {
        unsigned sum = 0;
        for (unsigned k = 0; k < 128; ++k) {
          unsigned i = row * 128 + k, j = k * 8 + column;
          unsigned x = byte_of(i / 8 * 8, 3) >> i % 8 & 1, y = byte_of(j / 8 * 8, 4) >> j % 8 & 1;
          sum += exclusive ? x ^ y : x & y;
        }
        CHECK(*w.field.exact(w.lanes, p.c[row * 8 + column], 4) == sum);
      }
  }
}

/// A product of bytes of input x with a scale for its 32 columns.
struct Scaled {
  World w;
  Packed p{16, 8, 32, 8};
  std::vector<Cell> a, b;
  BlockScales scales;

  Scaled() {
    for (unsigned i = 0; i < p.a.size(); ++i)
      w.field.read(w.field.buffer(0), i, w.lanes, p.a[i], 1);
    for (unsigned i = 0; i < p.b.size(); ++i)
      w.field.read(w.field.buffer(0), 5000 + i, w.lanes, p.b[i], 1);
    for (const Cell& cell : p.c) w.field.put(w.lanes, cell, 4, 0);
    for (unsigned i = 0; i < 24; ++i) {
      Cell cell{49152 + i / 16 * 16, 16, static_cast<std::uint8_t>(i % 16), 0};
      w.field.put(w.lanes, cell, 1, 120 + i);
      (i < 16 ? a : b).push_back(cell);
    }
    scales = {Type::ue8m0, 1, a.data(), b.data()};
  }
  void multiply() {
    Mma mma = p.mma(Type::e4m3, Type::e4m3, Type::f32);
    mma.scales = &scales;
    w.field.multiply(w.lanes, mma);
  }
};

TEST_CASE("known block scales multiply the elements of their row and of their column") {
  Scaled s;
  Arithmetic& arithmetic = s.w.field.arithmetic();
  Number sum = arithmetic.literal(0, Type::f32);
  for (unsigned k = 0; k < 32; ++k)
    sum = arithmetic.add(
        sum, arithmetic.mul(s.w.field.load<Type::e4m3>(s.w.lanes, s.p.a[3 * 32 + k]).get(),
                            s.w.field.load<Type::e4m3>(s.w.lanes, s.p.b[k * 8 + 5]).get()));
  s.multiply();
  REQUIRE(s.w.field.complaint() == nullptr);
  Number got = s.w.field.load<Type::f32>(s.w.lanes, s.p.c[3 * 8 + 5]).get();
  auto scaled = [&](int exponent) {
    return arithmetic.mul(sum, arithmetic.literal(std::ldexp(1.0, exponent), Type::f32));
  };
  CHECK(got.r == scaled(120 + 3 - 127 + 136 + 5 - 127).r);
  CHECK(got.r != scaled(120 + 4 - 127 + 136 + 5 - 127).r);  // The row beside.
  CHECK(got.shadow == Approx(scaled(10).shadow));
}

TEST_CASE("block scales that are data, or NaN, are not decided") {
  Scaled data, nan;
  data.w.field.read(data.w.field.buffer(0), 9000, data.w.lanes, data.a[15], 1);
  nan.w.field.put(nan.w.lanes, nan.b[7], 1, 0xFF);
  for (Scaled* s : {&data, &nan}) {
    s->multiply();
    REQUIRE(s->w.field.complaint() != nullptr);
    CHECK(s->w.field.complaint()->kind == ComplaintKind::unsupported);
  }
}

}  // namespace
}  // namespace lathe::ptx::field
