// mma.sync of f16 and bf16 on the engine, whose registers are read eight elements at a time, gives
// the bits of one element after another.

#include <catch2/catch.hpp>

#include "ptx/fragment.h"
#include "tests/ptx/fused_inputs.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx::dot {
namespace {

struct Kind {
  unsigned architecture = 0, k = 0;
  Type factor{}, sum{};

  std::string name(Type type) const {
    return type == Type::f16 ? "f16" : type == Type::bf16 ? "bf16" : "f32";
  }
  FragmentShape shape() const {
    return *fragment_shape("m16n8k" + std::to_string(k), sum, factor, factor, sum);
  }
  Product product() const {
    Mma mma;
    mma.m = 16, mma.n = 8, mma.k = k;
    mma.a_type = mma.b_type = factor, mma.c_type = mma.d_type = sum;
    mma.architecture = architecture;
    return product_of(mma);
  }
};

/// Each block loads the registers of its own product, lane after lane.
std::string kernel(const Kind& kind) {
  FragmentShape shape = kind.shape();
  std::string lines, lists[4];
  const char* names = "dabc";
  unsigned counts[] = {shape.d_registers, shape.a_registers, shape.b_registers, shape.c_registers};
  for (unsigned operand = 0; operand < 4; ++operand) {
    std::string o(1, names[operand]), place = "%p" + o;
    std::string size = std::to_string(counts[operand] * 128);
    lines += "ld.param.u64 " + place + ", [p" + o + "];\nmad.wide.u32 " + place + ", %block, " +
             size + ", " + place + ";\nmad.wide.u32 " + place + ", %lane, 4, " + place + ";\n";
    for (unsigned i = 0; i < counts[operand]; ++i) {
      std::string name = "%" + o + std::to_string(i);
      lists[operand] += (i == 0 ? "" : ", ") + name;
      if (operand != 0)
        lines += "ld.global.u32 " + name + ", [" + place + "+" + std::to_string(128 * i) + "];\n";
    }
  }
  std::string factor = kind.name(kind.factor), sum = kind.name(kind.sum);
  lines += "mma.sync.aligned.m16n8k" + std::to_string(kind.k) + ".row.col." + sum + "." + factor +
           "." + factor + "." + sum + " {" + lists[0] + "}, {" + lists[1] + "}, {" + lists[2] +
           "}, {" + lists[3] + "};\n";
  for (unsigned i = 0; i < shape.d_registers; ++i)
    lines += "st.global.u32 [%pd+" + std::to_string(128 * i) + "], %d" + std::to_string(i) + ";\n";
  return ".version 8.7\n.target sm_" + std::to_string(kind.architecture) +
         "\n.address_size 64\n.visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 pb, "
         ".param .u64 pc)\n{\n.reg .b64 %pd, %pa, %pb, %pc;\n.reg .b32 %a<4>, %b<2>, %c<4>, %d<4>, "
         "%lane, %block;\nmov.u32 %lane, %tid.x;\nmov.u32 %block, %ctaid.x;\n" +
         lines + "ret;\n}\n";
}

void lay(std::vector<std::uint8_t>& image, const std::vector<std::uint16_t>& offsets,
         std::size_t begin, unsigned i, std::uint32_t bits, Type type) {
  std::memcpy(&image[begin + offsets[i]], &bits, width_of(type) / 8);
}

std::uint32_t sum_bits(float c, Type type) {
  return type == Type::f16 ? half_of_single(c) : std::bit_cast<std::uint32_t>(c);
}

void compare(const Kind& kind) {
  FragmentShape shape = kind.shape();
  FragmentOrder order = *make_fragment_order(shape);
  std::vector<Case> cases;
  for (Inputs inputs : all_inputs)
    for (std::uint64_t seed = 0; seed < 8; ++seed)
      cases.push_back(Maker(seed + 100).make(kind.product(), inputs));
  std::size_t d_size = shape.d_registers * register_stride;
  std::vector<std::uint8_t> d(cases.size() * d_size), a, b, c;
  for (const Case& each : cases) {
    std::size_t a_begin = a.size(), b_begin = b.size(), c_begin = c.size();
    a.resize(a_begin + shape.a_registers * register_stride);
    b.resize(b_begin + shape.b_registers * register_stride);
    c.resize(c_begin + shape.c_registers * register_stride);
    for (unsigned i = 0; i < order.a.size(); ++i)
      lay(a, order.a, a_begin, i, each.factors.a[i], kind.factor);
    for (unsigned i = 0; i < order.b.size(); ++i)
      lay(b, order.b, b_begin, i, each.factors.b[i], kind.factor);
    for (unsigned i = 0; i < order.c.size(); ++i)
      lay(c, order.c, c_begin, i, sum_bits(each.rows[i / columns].c[i % columns], kind.sum),
          kind.sum);
  }
  Launched launch;
  for (const auto& image : {d, a, b, c}) launch.add(image);
  launch.shape.grid[0] = static_cast<std::uint32_t>(cases.size());
  launch.shape.block[0] = 32;
  REQUIRE_FALSE(launch.run(kernel(kind)).trap);
  auto out = launch.get<std::uint8_t>(0);
  for (std::size_t n = 0; n < cases.size(); ++n) {
    Rows rows = cases[n].rows;
    if (kind.sum == Type::f16)  // Which may hold less than was asked for.
      for (Row& row : rows)
        for (float& each : row.c) each = single_of_half(half_of_single(each));
    multiply_each(kind.product(), cases[n].factors, rows);
    unsigned wrong = 0;
    for (unsigned i = 0; i < order.d.size(); ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &out[n * d_size + order.d[i]], width_of(kind.sum) / 8);
      wrong += bits != sum_bits(rows[i / columns].c[i % columns], kind.sum);
    }
    CAPTURE(kind.architecture, kind.k, kind.name(kind.factor), kind.name(kind.sum), n);
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("mma.sync on whole registers gives the bits of one element after another") {
  for (unsigned architecture : {89u, 90u})
    for (unsigned k : {8u, 16u}) {
      compare({architecture, k, Type::f16, Type::f32});
      compare({architecture, k, Type::f16, Type::f16});
      compare({architecture, k, Type::bf16, Type::f32});
    }
}

}  // namespace lathe::ptx::dot
