// wmma of integers: every shape, type and order of rows and columns against plain sums, from memory
// to memory, since where a fragment's elements lie is nobody's business.

#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

struct Product {
  unsigned m, n, k;
  std::string type;  // Of A and of B.
  bool a_columns = false, b_columns = true, d_columns = false;
  std::string operation;  // "xor" or "and", of bits.
  bool saturate = false;

  std::string shape() const {
    return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k);
  }
  unsigned bits() const { return type == "b1" ? 1 : type == "s4" || type == "u4" ? 4 : 8; }
};

int element(const Product& p, unsigned row, unsigned column, unsigned salt) {
  unsigned mixed = (row * 2654435761u + column * 40503u + salt * 97u) >> 7;
  int value = static_cast<int>(mixed & ((1u << p.bits()) - 1));
  return p.type[0] == 's' && value >= 1 << (p.bits() - 1) ? value - (1 << p.bits()) : value;
}

/// A matrix in memory, packed along its rows or its columns, with room behind each of them.
std::vector<std::uint8_t> image(const Product& p, unsigned rows, unsigned columns, bool by_columns,
                                unsigned stride, unsigned salt) {
  std::vector<std::uint8_t> bytes((by_columns ? columns : rows) * stride * p.bits() / 8 + 32);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < columns; ++column) {
      unsigned at = (by_columns ? column * stride + row : row * stride + column) * p.bits();
      auto value = static_cast<unsigned>(element(p, row, column, salt)) & ((1u << p.bits()) - 1);
      bytes[at / 8] = static_cast<std::uint8_t>(bytes[at / 8] | value << at % 8);
    }
  return bytes;
}

std::string list(const char* name, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += (i == 0 ? "{%" : ", %") + std::string(name) + std::to_string(i);
  return text + "}";
}

/// Where A (at the first byte), B and C lie, and how far apart the rows or columns of A and B are.
struct Places {
  std::size_t b = 0, c = 0;
  unsigned a_stride, b_stride;
};

/// `a_as`: the order by which A is loaded.
std::string lines_of(const Product& p, const Places& at, const std::string& a_as) {
  const std::string a = list("a", p.m * p.k * p.bits() / 1024);
  const std::string b = list("b", p.n * p.k * p.bits() / 1024), c = list("c", p.m * p.n / 32);
  std::string words = p.operation.empty() ? "" : "." + p.operation + ".popc";
  auto order = [](bool by_columns) { return std::string(by_columns ? "col." : "row."); };
  auto load = [&](const std::string& which, const std::string& behind) {
    return "wmma.load." + which + p.shape() + ".global." + behind;
  };
  return "ld.param.u64 %base, [p1];\n" +
         load("a.sync.aligned." + a_as + ".",
              p.type + " " + a + ", [%base], " + std::to_string(at.a_stride) + ";\n") +
         load("b.sync.aligned." + order(p.b_columns), p.type + " " + b + ", [%base + " +
                                                          std::to_string(at.b) + "], " +
                                                          std::to_string(at.b_stride) + ";\n") +
         load("c.sync.aligned.row.", "s32 " + c + ", [%base + " + std::to_string(at.c) + "];\n") +
         "wmma.mma" + words + ".sync.aligned." + order(p.a_columns) + order(p.b_columns) +
         p.shape() + (p.saturate ? ".satfinite" : "") + ".s32." + p.type + "." + p.type + ".s32 " +
         c + ", " + a + ", " + b + ", " + c +
         ";\nld.param.u64 %base, [p0];\nwmma.store.d.sync.aligned." + order(p.d_columns) +
         p.shape() + ".global.s32 [%base], " + c + ";";
}

/// C holds 3 i - 1000 by rows.
std::vector<std::int32_t> run(const Product& p, const std::string& a_as) {
  Places at{0, 0, (p.a_columns ? p.m : p.k) + 32, (p.b_columns ? p.k : p.n) + 32};
  std::vector<std::uint8_t> in = image(p, p.m, p.k, p.a_columns, at.a_stride, 1);
  auto b = image(p, p.k, p.n, p.b_columns, at.b_stride, 2);
  std::vector<std::int32_t> c(p.m * p.n);
  for (unsigned i = 0; i < c.size(); ++i)
    c[i] = p.saturate ? INT32_MAX - 1 : static_cast<std::int32_t>(3 * i) - 1000;
  in.resize((in.size() + 31) / 32 * 32);
  at.b = in.size();
  in.insert(in.end(), b.begin(), b.end());
  in.resize((in.size() + 31) / 32 * 32);
  at.c = in.size();
  in.resize(at.c + 4 * c.size());
  std::memcpy(in.data() + at.c, c.data(), 4 * c.size());
  Launched launch;
  launch.add(std::vector<std::int32_t>(p.m * p.n));
  launch.add(in);
  launch.shape.block[0] = 32;
  launch.watch(body_text(".reg .b32 %a<8>, %b<8>, %c<8>;", lines_of(p, at, a_as), "sm_90a", "8.0"));
  INFO(p.shape() << " " << p.type << (launch.result.trap ? print(*launch.result.trap) : ""));
  REQUIRE_FALSE(launch.result.trap);
  REQUIRE(launch.findings.empty());
  return launch.get<std::int32_t>(0);
}

/// How many elements of D are not the plain sums.
unsigned wrong(const Product& p, const std::vector<std::int32_t>& out) {
  unsigned count = 0;
  for (unsigned row = 0; row < p.m; ++row)
    for (unsigned column = 0; column < p.n; ++column) {
      std::int64_t sum =
          p.saturate ? INT32_MAX - 1 : static_cast<std::int64_t>(3 * (row * p.n + column)) - 1000;
      for (unsigned k = 0; k < p.k; ++k) {
        int x = element(p, row, k, 1), y = element(p, k, column, 2);
        sum += p.operation == "xor" ? x ^ y : x * y;
      }
      if (p.saturate) sum = std::min<std::int64_t>(sum, INT32_MAX);
      unsigned at = p.d_columns ? column * p.m + row : row * p.n + column;
      count += out[at] != static_cast<std::int32_t>(sum);
    }
  return count;
}

std::string order_of_a(const Product& p) { return p.a_columns ? "col" : "row"; }

TEST_CASE("wmma of bytes is exact in every shape and order") {
  for (const char* type : {"s8", "u8"})
    for (auto [m, n] : {std::pair{16u, 16u}, {8u, 32u}, {32u, 8u}})
      for (unsigned orders = 0; orders < 8; ++orders) {
        Product p{m,  n,    16, type, (orders & 1) != 0, (orders & 2) != 0, (orders & 4) != 0,
                  "", false};
        CHECK(wrong(p, run(p, order_of_a(p))) == 0);
      }
}

TEST_CASE("wmma of four bits, and of single bits after and or xor, is exact") {
  for (const char* type : {"s4", "u4"}) {
    Product p{8, 8, 32, type, false, true, false, "", false};
    CHECK(wrong(p, run(p, "row")) == 0);
  }
  for (const char* operation : {"xor", "and"}) {
    Product p{8, 8, 128, "b1", false, true, true, operation, false};
    CHECK(wrong(p, run(p, "row")) == 0);
  }
}

TEST_CASE("wmma of another operation, sign or order gives other sums") {
  Product bits{8, 8, 128, "b1", false, true, false, "xor", false}, other = bits;
  other.operation = "and";
  CHECK(wrong(other, run(bits, "row")) > 0);
  Product nibbles{8, 8, 32, "s4", false, true, false, "", false};
  std::vector<std::int32_t> out = run(nibbles, "row");
  nibbles.type = "u4";
  CHECK(wrong(nibbles, out) > 0);
  Product bytes{16, 16, 16, "s8", false, true, false, "", false};
  CHECK(wrong(bytes, run(bytes, "col")) > 0);
}

TEST_CASE("wmma with satfinite stops at the largest integer") {
  Product p{16, 16, 16, "u8", false, true, false, "", true};
  std::vector<std::int32_t> out = run(p, "row");
  CHECK(wrong(p, out) == 0);
  CHECK(out[0] == INT32_MAX);
}

TEST_CASE("both matrices of wmma have one type, and vectors the shape's length") {
  auto taken = [](const std::string& line) {
    Parsed parsed = parse(body_text(".reg .b32 %r<20>;", line), "test.ptx");
    return parsed.errors.empty() && decode(parsed.module, "test");
  };
  const std::string d = "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}", a = "{%r8, %r9}";
  const std::string mma = "wmma.mma.sync.aligned.row.col.m16n16k16.s32.";
  CHECK(taken(mma + "s8.s8.s32 " + d + ", " + a + ", " + a + ", " + d + ";"));
  CHECK_FALSE(taken(mma + "s8.u8.s32 " + d + ", " + a + ", " + a + ", " + d + ";"));
  CHECK_FALSE(taken(mma + "s8.s8.s32 " + d + ", " + a + ", {%r8}, " + d + ";"));
  CHECK_FALSE(taken("wmma.load.a.sync.aligned.col.m8n8k32.global.s4 {%r0}, [%in];"));
}

}  // namespace
}  // namespace lathe::ptx
