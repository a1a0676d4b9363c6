// wmma of floats: every shape, type and order of rows and columns against the sums of the tensor
// cores, from memory to memory, and in the field domain against single multiplications.

#include <algorithm>
#include <cfenv>
#include <cmath>

#include "ptx/bits_value.h"
#include "ptx/field_run.h"
#include "ptx/fused_sum.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

struct Product {
  unsigned m, n, k;
  std::string factor, c = "f32", d = "f32";
  bool a_columns = false, b_columns = false, d_columns = false;
  std::string rounding = {};  // With its dot.

  std::string shape() const {
    return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k);
  }
  std::string mnemonic() const {
    auto order = [](bool by_columns) { return by_columns ? ".col" : ".row"; };
    std::string text = std::string("wmma.mma.sync.aligned") + order(a_columns) + order(b_columns) +
                       "." + shape() + rounding + "." + d;
    return text + (factor == "f16" ? "" : "." + factor + "." + factor) + "." + c;
  }
};

unsigned bits_of(const std::string& type) { return width_of(*type_named(type)); }

/// Numbers of seven exponents and any fraction, so that sums lose digits.
std::uint64_t element(const std::string& type, unsigned row, unsigned column, unsigned salt) {
  std::uint64_t mixed = (row * 64 + column + salt * 4096 + 1) * 0x9E3779B97F4A7C15u;
  mixed ^= mixed >> 29, mixed *= 0xBF58476D1CE4E5B9u, mixed ^= mixed >> 32;
  unsigned bits = bits_of(type), digits = type == "f16" ? 10 : type == "bf16" ? 7 : 23;
  if (type == "f64") digits = 52;
  std::uint64_t bias = (std::uint64_t{1} << (bits - digits - 2)) - 1;
  std::uint64_t exponent = bias - 3 + mixed % 7, fraction = mixed >> (64 - digits);
  return (mixed >> 3 & 1) << (bits - 1) | exponent << digits | fraction;
}

std::vector<std::uint8_t> image(const std::string& type, unsigned rows, unsigned columns,
                                bool by_columns, unsigned salt) {
  unsigned bytes = bits_of(type) / 8;
  std::vector<std::uint8_t> out(std::size_t{rows} * columns * bytes);
  for (unsigned row = 0; row < rows; ++row)
    for (unsigned column = 0; column < columns; ++column) {
      std::uint64_t value = element(type, row, column, salt);
      unsigned at = by_columns ? column * rows + row : row * columns + column;
      std::memcpy(&out[std::size_t{at} * bytes], &value, bytes);
    }
  return out;
}

std::string list(const char* name, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += (i == 0 ? "{%" : ", %") + std::string(name) + std::to_string(i);
  return text + "}";
}

/// A fragment's vector: those of f16 factors are eight registers, of which some may be idle.
std::string vector(const char* name, const std::string& type, unsigned elements) {
  if (type == "f16" && name[0] != 'c') return list(name, 8);
  return list(name, elements * bits_of(type) / (type == "f64" ? 2048 : 1024));
}

std::string kernel(const std::string& lines) {
  return module_text(
      ".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n{\n"
      ".reg .b64 %p<9>;\n.reg .b32 %r<9>, %a<8>, %b<8>, %c<8>;\n.reg .b16 %h<3>;\n"
      ".reg .f32 %f<4>;\n.reg .f64 %d<4>;\nld.param.u64 %p0, [p0];\nld.param.u64 %p1, [p1];\n"
      "ld.param.u64 %p2, [p2];\nld.param.u64 %p3, [p3];\n" +
      lines + "\nret;\n}\n");
}

/// C and D lie by rows, D as the product says. `a_as`: the order by which A is loaded.
std::string fragments(const Product& p, const std::string& a_as) {
  const char* registers = p.factor == "f64" ? ".reg .f64 %a<1>, %b<1>, %c<2>;\n" : "";
  auto order = [](bool by_columns) { return std::string(by_columns ? "col." : "row."); };
  const std::string a = vector("a", p.factor, p.m * p.k), b = vector("b", p.factor, p.k * p.n);
  const std::string c = vector("c", p.c, p.m * p.n), d = vector("c", p.d, p.m * p.n);
  const std::string behind = p.shape() + ".global.";
  return std::string("{\n") + registers + "wmma.load.a.sync.aligned." + a_as + "." + behind +
         p.factor + " " + a + ", [%p1];\nwmma.load.b.sync.aligned." + order(p.b_columns) + behind +
         p.factor + " " + b + ", [%p2];\nwmma.load.c.sync.aligned.row." + behind + p.c + " " + c +
         ", [%p3];\n" + p.mnemonic() + " " + d + ", " + a + ", " + b + ", " + c +
         ";\nwmma.store.d.sync.aligned." + order(p.d_columns) + behind + p.d + " [%p0], " + d +
         ";\n}\n";
}

std::string order_of_a(const Product& p) { return p.a_columns ? "col" : "row"; }

/// D by rows.
std::vector<std::uint64_t> run(const Product& p, const std::string& a_as) {
  Launched launch;
  unsigned bytes = bits_of(p.d) / 8;
  launch.add(std::vector<std::uint8_t>(std::size_t{p.m} * p.n * bytes));
  launch.add(image(p.factor, p.m, p.k, p.a_columns, 1));
  launch.add(image(p.factor, p.k, p.n, p.b_columns, 2));
  launch.add(image(p.c, p.m, p.n, false, 3));
  launch.shape.block[0] = 32;
  launch.watch(kernel(fragments(p, a_as)));
  INFO(p.mnemonic());
  no_fault(launch);
  auto out = launch.get<std::uint8_t>(0);
  std::vector<std::uint64_t> d(std::size_t{p.m} * p.n);
  for (unsigned i = 0; i < d.size(); ++i) {
    unsigned at = p.d_columns ? i % p.n * p.m + i / p.n : i;
    std::memcpy(&d[i], &out[std::size_t{at} * bytes], bytes);
  }
  return d;
}

/// An element of D as a chain of fused sums of `each` products.
std::uint64_t summed(const Product& p, unsigned each, unsigned row, unsigned column) {
  dot::Product how;
  how.m = 1, how.k = each;
  how.a_type = how.b_type = *type_named(p.factor);
  how.half = p.c == "f16" && p.d == "f16";
  how.steps = {25, each, 23};
  auto bits = static_cast<std::uint32_t>(element(p.c, row, column, 3));
  dot::Rows rows{};
  rows[0].c[0] =
      p.c == "f16" ? single_of_half(static_cast<std::uint16_t>(bits)) : std::bit_cast<float>(bits);
  for (unsigned begin = 0; begin < p.k; begin += each) {
    dot::Factors factors{};
    for (unsigned q = 0; q < each; ++q) {
      factors.a[q] = static_cast<std::uint32_t>(element(p.factor, row, begin + q, 1));
      factors.b[q * dot::columns] =
          static_cast<std::uint32_t>(element(p.factor, begin + q, column, 2));
    }
    dot::multiply_each(how, factors, rows);
  }
  float sum = rows[0].c[0];
  return p.d == "f16" ? half_of_single(sum) : std::bit_cast<std::uint32_t>(sum);
}

/// How many elements of D are not such chains.
unsigned wrong(const Product& p, const std::vector<std::uint64_t>& out, unsigned each) {
  unsigned count = 0;
  for (unsigned i = 0; i < p.m * p.n; ++i) count += out[i] != summed(p, each, i / p.n, i % p.n);
  return count;
}

void check_orders(Product p, unsigned each) {
  for (unsigned orders = 0; orders < 8; ++orders) {
    p.a_columns = (orders & 1) != 0, p.b_columns = (orders & 2) != 0;
    p.d_columns = (orders & 4) != 0;
    CHECK(wrong(p, run(p, order_of_a(p)), each) == 0);
  }
}

constexpr std::array shapes{std::pair{16u, 16u}, std::pair{8u, 32u}, std::pair{32u, 8u}};

TEST_CASE("wmma of f16 sums sixteen products at once in every shape, type and order") {
  for (auto [m, n] : shapes)
    for (std::string c : {"f16", "f32"})
      for (std::string d : {"f16", "f32"}) check_orders({m, n, 16, "f16", c, d}, 16);
}

TEST_CASE("wmma of bf16 sums sixteen products at once, and of tf32 four and then four") {
  for (auto [m, n] : shapes) check_orders({m, n, 16, "bf16"}, 16);
  check_orders({16, 16, 8, "tf32"}, 4);
}

TEST_CASE(
    "wmma of floats in steps of another depth, or loaded by another order, gives other sums") {
  for (auto [m, n] : shapes)
    for (std::string factor : {"f16", "bf16"}) {
      Product p{m, n, 16, factor};
      CHECK(wrong(p, run(p, "row"), 8) > 0);
      CHECK(wrong(p, run(p, "col"), 16) > m * n / 2);
    }
  Product p{16, 16, 8, "tf32"};
  CHECK(wrong(p, run(p, "row"), 8) > 0);
  CHECK(wrong(p, run(p, "col"), 4) > 128);
}

/// How many elements of a D of f64 are not chains of fused products, rounded so.
unsigned wrong_doubles(const std::vector<std::uint64_t>& out, int rounding) {
  unsigned count = 0;
  int before = std::fegetround();
  std::fesetround(rounding);
  for (unsigned i = 0; i < 64; ++i) {
    volatile double sum = std::bit_cast<double>(element("f64", i / 8, i % 8, 3));
    for (unsigned q = 0; q < 4; ++q) {
      volatile double x = std::bit_cast<double>(element("f64", i / 8, q, 1));
      volatile double y = std::bit_cast<double>(element("f64", q, i % 8, 2));
      sum = std::fma(x, y, sum);
    }
    double end = sum;
    count += out[i] != std::bit_cast<std::uint64_t>(end);
  }
  std::fesetround(before);
  return count;
}

TEST_CASE("wmma of f64 is a chain of fused products, rounded as it says") {
  const std::array modes{std::pair{".rn", FE_TONEAREST}, std::pair{".rz", FE_TOWARDZERO},
                         std::pair{".rm", FE_DOWNWARD}, std::pair{".rp", FE_UPWARD}};
  for (unsigned orders = 0; orders < 8; ++orders) {
    Product p{8, 8, 4, "f64", "f64", "f64", (orders & 1) != 0, (orders & 2) != 0, (orders & 4) != 0,
              ""};
    CHECK(wrong_doubles(run(p, order_of_a(p)), FE_TONEAREST) == 0);
    for (auto [name, mode] : modes) {
      p.rounding = name;
      std::vector<std::uint64_t> out = run(p, order_of_a(p));
      for (auto [other, another] : modes)
        CHECK((wrong_doubles(out, another) == 0) == (another == mode));
    }
  }
}

/// Each thread makes elements of D one multiplication after the other.
std::string single_products(const Product& p) {
  std::string text = "mov.u32 %r0, %tid.x;\n", f = p.factor;
  unsigned width = bits_of(f) / 8;
  auto number = [](unsigned value) { return std::to_string(value); };
  for (unsigned i = 0; i < p.m * p.n / 32; ++i) {
    text += "add.u32 %r1, %r0, " + number(32 * i) + ";\ndiv.u32 %r2, %r1, " + number(p.n) +
            ";\nrem.u32 %r3, %r1, " + number(p.n) + ";\nmul.wide.u32 %p4, %r1, 4;\n" +
            "add.s64 %p5, %p3, %p4;\nld.global.f32 %f0, [%p5];\nadd.s64 %p4, %p0, %p4;\n" +
            "mul.wide.u32 %p6, %r2, " + number(p.k * width) + ";\nadd.s64 %p6, %p6, %p1;\n" +
            "mul.wide.u32 %p7, %r3, " + number(width) + ";\nadd.s64 %p7, %p7, %p2;\n";
    for (unsigned q = 0; q < p.k; ++q) {
      std::string a = "[%p6+" + number(q * width) + "]",
                  b = "[%p7+" + number(q * p.n * width) + "]";
      text += width == 4 ? "ld.global.f32 %f1, " + a + ";\nld.global.f32 %f2, " + b + ";\n"
                         : "ld.global.b16 %h1, " + a + ";\nld.global.b16 %h2, " + b +
                               ";\ncvt.f32." + f + " %f1, %h1;\ncvt.f32." + f + " %f2, %h2;\n";
      text += "fma.rn.f32 %f0, %f1, %f2, %f0;\n";
    }
    text += "st.global.f32 [%p4], %f0;\n";
  }
  return text;
}

/// What a kernel writes at a secret point.
std::vector<field::Written> in_the_field(const Product& p, const std::string& lines) {
  Program program = Launched::decoded(kernel(lines));
  std::vector<field::Recipe> recipes;
  field::FieldLaunch launch;
  // Memory holds no tf32, only f32 that a product cuts.
  const std::string factor = p.factor == "tf32" ? "f32" : p.factor;
  const std::array types{p.d, factor, factor, p.c};
  const std::array<unsigned, 4> elements{p.m * p.n, p.m * p.k, p.k * p.n, p.m * p.n};
  for (std::size_t i = 0; i < 4; ++i) {
    std::string name(1, "dabc"[i]);
    field::Recipe recipe{name,       *type_named(types[i]), false, true, "", -10, 10, 1, 0, 0,
                         elements[i]};
    if (i == 0) recipe.computed = false, recipe.output = true;
    recipes.push_back(recipe);
    std::uint64_t address = recipes.size() << 20;
    launch.buffers.push_back({name, address, elements[i] * bits_of(types[i]) / 8, i == 0, false});
    for (unsigned byte = 0; byte < 8; ++byte)
      launch.parameters.push_back(static_cast<char>(address >> (8 * byte)));
  }
  field::PointOptions options;
  options.seed = 7;
  options.points = 2;
  launch.program = &program;
  launch.shape.block = {32, 1, 1};
  field::FieldRunner runner(*field::Point::make(options, recipes), launch);
  field::FieldRunner::Outcome outcome = runner.run(0);
  if (outcome.trap) FAIL(p.mnemonic() << ": " << outcome.trap->what);
  std::sort(outcome.written.begin(), outcome.written.end(),
            [](const auto& x, const auto& y) { return x.element < y.element; });
  return outcome.written;
}

unsigned differing(const std::vector<field::Written>& x, const std::vector<field::Written>& y) {
  REQUIRE(x.size() == y.size());
  unsigned count = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    REQUIRE(x[i].element == y[i].element);
    count += !(x[i].number.r == y[i].number.r);
  }
  return count;
}

TEST_CASE("in the field domain wmma of floats is the sum of its products") {
  for (const Product& p :
       {Product{16, 16, 16, "f16"}, Product{8, 32, 16, "f16"}, Product{32, 8, 16, "f16"},
        Product{8, 32, 16, "bf16"}, Product{32, 8, 16, "bf16"}, Product{16, 16, 8, "tf32"}}) {
    INFO(p.mnemonic());
    std::vector<field::Written> single = in_the_field(p, single_products(p));
    REQUIRE(single.size() == std::size_t{p.m} * p.n);
    CHECK(differing(in_the_field(p, fragments(p, "row")), single) == 0);
    CHECK(differing(in_the_field(p, fragments(p, "col")), single) > p.m * p.n / 2);
  }
}

bool taken(const std::string& line, const std::string& target = "sm_90a") {
  std::string text = body_text(".reg .b32 %r<20>;\n.reg .f64 %d<9>;", line, target, "8.0");
  Parsed parsed = parse(text, "test.ptx");
  return parsed.errors.empty() && decode(parsed.module, "test");
}

TEST_CASE("each shape of wmma has its types, its vectors and its targets") {
  const std::string eight = list("r", 8), four = list("r", 4), two = list("r", 2);
  const std::string mma = "wmma.mma.sync.aligned.row.col.";
  auto product = [&](const std::string& words, const std::string& a, const std::string& b) {
    return mma + words + " " + eight + ", " + a + ", " + b + ", " + eight + ";";
  };
  CHECK(taken(product("m8n32k16.f32.bf16.bf16.f32", two, eight)));
  CHECK_FALSE(taken(product("m8n32k16.f32.bf16.bf16.f32", eight, two)));  // Of m32n8k16.
  CHECK_FALSE(taken(product("m8n32k16.f32.bf16.bf16.f32", two, eight), "sm_75"));
  CHECK_FALSE(taken(product("m8n32k16.f32.bf16.f16.f32", two, eight)));
  CHECK_FALSE(taken(product("m8n32k16.rn.f32.bf16.bf16.f32", two, eight)));
  CHECK(taken(product("m8n32k16.f32.f32", eight, eight), "sm_75"));
  CHECK_FALSE(taken(product("m8n32k16.f32.f32", two, eight)));
  CHECK_FALSE(taken(product("m8n32k16.f32.f16.f16.f32", eight, eight)));
  CHECK(taken(product("m16n16k8.f32.tf32.tf32.f32", four, four)));
  CHECK_FALSE(taken(product("m16n16k16.f32.tf32.tf32.f32", four, four)));
  CHECK_FALSE(taken(product("m16n16k8.f32.bf16.bf16.f32", four, four)));
  CHECK_FALSE(taken(product("m16n16k8.rz.f32.tf32.tf32.f32", four, four)));
  const std::string doubles = " {%d0, %d1}, {%d2}, {%d3}, {%d4, %d5};";
  CHECK(taken(mma + "m8n8k4.rm.f64.f64.f64.f64" + doubles));
  CHECK_FALSE(taken(mma + "m8n8k4.rna.f64.f64.f64.f64" + doubles));
  CHECK_FALSE(taken(mma + "m8n8k4.f64.f64.f64.f64" + doubles, "sm_75"));
  CHECK_FALSE(taken(mma + "m8n8k4.f64.f64.f64.f64 {%d0}, {%d2}, {%d3}, {%d4};"));
  CHECK_FALSE(taken(mma + "m16n8k4.f64.f64.f64.f64" + doubles));
  CHECK(taken("wmma.load.c.sync.aligned.col.m16n16k8.global.f32 " + eight + ", [%in];"));
  CHECK_FALSE(taken("wmma.load.c.sync.aligned.col.m16n16k8.global.f16 " + four + ", [%in];"));
  CHECK_FALSE(taken("wmma.load.a.sync.aligned.m16n16k8.global.tf32 " + four + ", [%in];"));
  CHECK_FALSE(taken("wmma.store.d.sync.aligned.row.m8n8k4.global.f64 [%in], {%d0};"));
}

}  // namespace
}  // namespace lathe::ptx
