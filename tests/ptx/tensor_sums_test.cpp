// tcgen05.mma of f16 and bf16, whose tiles are multiplied by columns of many rows, gives the bits
// of one element after another.

#include <catch2/catch.hpp>

#include "tests/ptx/fused_inputs.h"
#include "tests/ptx/tensor_lab.h"

namespace lathe::ptx {
namespace {

constexpr unsigned depth = 16;

/// Of each sixteen rows of A and each eight columns of B, inputs of some kind: of a kind of their
/// own, so that a tile of ordinary inputs has others beside it.
struct Sides {
  std::array<dot::Case, 8> a;
  std::array<dot::Case, 2> b;
};

Sides sides(const dot::Product& how, std::uint64_t seed) {
  Sides made;
  auto kind = [&](std::uint64_t i) { return dot::all_inputs[i % dot::all_inputs.size()]; };
  for (unsigned i = 0; i < 8; ++i)
    made.a[i] = dot::Maker(seed * 16 + i).make(how, i % 3 == 0 ? kind(seed + i) : kind(0));
  for (unsigned j = 0; j < 2; ++j)
    made.b[j] = dot::Maker(seed * 16 + 8 + j).make(how, j == 0 ? kind(seed) : kind(0));
  return made;
}

/// D of two products, the second added to the first.
std::vector<std::uint32_t> expected(const Mma& mma, const Sides& given) {
  std::vector<std::uint32_t> out(tensor_lab::rows * tensor_lab::columns);
  for (unsigned i = 0; i < 8; ++i)
    for (unsigned j = 0; j < 2; ++j) {
      dot::Factors factors{given.a[i].factors.a, given.b[j].factors.b};
      dot::Rows rows{};
      for (bool without_c : {true, false}) {
        Mma now = mma;
        now.without_c = without_c;
        dot::multiply_each(dot::product_of(now), factors, rows);
      }
      for (unsigned r = 0; r < 16; ++r)
        for (unsigned c = 0; c < 8; ++c)
          out[(16 * i + r) * tensor_lab::columns + 8 * j + c] =
              std::bit_cast<std::uint32_t>(rows[r].c[c]);
    }
  return out;
}

void compare(Type type, std::uint64_t seed) {
  Mma mma;
  mma.m = 16, mma.n = 8, mma.k = depth;
  mma.a_type = mma.b_type = type, mma.c_type = mma.d_type = Type::f32;
  mma.architecture = 100;
  Sides given = sides(dot::product_of(mma), seed);
  tensor_lab::Memory memory;
  for (unsigned row = 0; row < tensor_lab::rows; ++row)
    for (unsigned k = 0; k < depth; ++k)
      memory.put(true, row, 16 * k, given.a[row / 16].factors.a[row % 16 * depth + k]);
  for (unsigned column = 0; column < tensor_lab::columns; ++column)
    for (unsigned k = 0; k < depth; ++k)
      memory.put(false, column, 16 * k, given.b[column / 8].factors.b[k * 8 + column % 8]);
  std::uint32_t code = type == Type::bf16 ? 1 : 0;
  std::uint32_t idesc = tensor_lab::shape_bits | 8u << 24 | 1u << 4 | code << 7 | code << 10;
  std::string mma_text = "@%p tcgen05.mma.cta_group::1.kind::f16 [%t], %da, %db, %n, ";
  auto out = tensor_lab::run<std::uint32_t>(
      memory, tensor_lab::text_of(memory, idesc, mma_text + "0;\n" + mma_text + "1;\n"));
  auto wanted = expected(mma, given);
  unsigned wrong = 0;
  for (std::size_t i = 0; i < out.size(); ++i) wrong += out[i] != wanted[i];
  CAPTURE(static_cast<int>(type), seed);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("tcgen05.mma gives the bits of one element after another") {
  for (std::uint64_t seed = 0; seed < 18; ++seed) {
    compare(Type::f16, seed);
    compare(Type::bf16, seed);
  }
}

}  // namespace lathe::ptx
