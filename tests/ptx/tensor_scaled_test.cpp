// Block scales of tcgen05, and elements of 4 and 6 bits. Where scales lie is computed here from the
// manual's figures; the sum of a tensor core from its formula, in doubles.

#include <algorithm>
#include <cmath>

#include "ptx/scaled_sum.h"
#include "tests/ptx/tensor_lab.h"

namespace lathe::ptx::tensor_lab {
namespace {

/// A number of a small type, by its bits.
double value_of(Type type, std::uint32_t bits) {
  double value = 0;
  dot::with_factor_type(type, [&]<Type T>() { value = to_double(BitsOf<T>::wrapped(bits)); });
  return value;
}
struct Scaled {
  std::string kind;  // With the words behind it.
  Type a_type, b_type, scale_type;
  unsigned k, blocks, a_id, b_id;
};

/// The bits of an element; of bytes small numbers, so that sums are exact.
std::uint32_t element(const Scaled& s, bool of_a, unsigned row, unsigned k) {
  std::uint32_t any = mixed(row, k, of_a ? 1 : 2);
  switch (of_a ? s.a_type : s.b_type) {
    case Type::e2m1:
      return any & 15;
    case Type::e2m3:
    case Type::e3m2:
      return any & 63;
    default:
      return (any & 0x80) | 0x38 | (any & 7);  // 1 to 1.875 of e4m3.
  }
}
/// 2^-2 to 2^1, of ue4m3 also 1.125 and others.
unsigned scale(const Scaled& s, bool of_a, unsigned row, unsigned block) {
  unsigned any = mixed(row, block, of_a ? 3 : 4);
  return s.scale_type == Type::ue8m0 ? 125 + any % 4 : 0x30 + any % 16;
}
double scale_value(const Scaled& s, bool of_a, unsigned row, unsigned block) {
  unsigned bits = scale(s, of_a, row, block);
  return s.scale_type == Type::ue8m0 ? std::ldexp(1.0, static_cast<int>(bits) - 127)
                                     : value_of(Type::e4m3, bits);
}

double scaled_product(const Scaled& s, unsigned row, unsigned column) {
  double sum = 0;
  for (unsigned k = 0; k < s.k; ++k) {
    unsigned block = k / (s.k / s.blocks);
    sum += value_of(s.a_type, element(s, true, row, k)) * scale_value(s, true, row, block) *
           value_of(s.b_type, element(s, false, column, k)) * scale_value(s, false, column, block);
  }
  return sum;
}

/// Scales of row m: lane m % 32 of each quarter, a column for each 32 rows, the bytes from the
/// number in the descriptor on. All other bytes are NaN.
Memory scaled_memory(const Scaled& s) {
  Memory memory;
  for (std::uint32_t& word : memory.tensor) word = 0xFFFFFFFF;
  for (bool of_a : {true, false})
    for (unsigned row = 0; row < (of_a ? rows : columns); ++row) {
      for (unsigned block = 0; block < s.blocks; ++block)
        for (unsigned quarter = 0; quarter < 4; ++quarter)
          memory.put_tensor(row % 32 + 32 * quarter, (of_a ? 0 : 8) + row / 32,
                            (of_a ? s.a_id : s.b_id) + block, scale(s, of_a, row, block));
      Type type = of_a ? s.a_type : s.b_type;
      unsigned bits = type == Type::e2m1 ? 4 : type == Type::e4m3 ? 8 : 6;
      for (unsigned k = 0; k < s.k; ++k) {
        // Bytes have room for sixteen elements in sixteen bytes; 64 elements of four bits have not.
        unsigned at = s.k == 64 ? 4 * k : k / 16 * 128 + k % 16 * bits;
        memory.put(of_a, row, at, element(s, of_a, row, k));
      }
    }
  return memory;
}

std::uint32_t scaled_descriptor(const Scaled& s) {
  auto code = [&](Type type) {
    if (s.k == 64) return 1u;
    return type == Type::e4m3 ? 0u : type == Type::e2m3 ? 3u : type == Type::e3m2 ? 4u : 5u;
  };
  return shape_bits | s.b_id << 4 | code(s.a_type) << 7 | code(s.b_type) << 10 |
         (s.scale_type == Type::ue8m0 ? 1u : 0u) << 23 | 1u << 27 | s.a_id << 29;
}
std::string scaled_line(const Scaled& s) {
  return "@%p tcgen05.mma.cta_group::1.kind::" + s.kind + " [%t], %da, %db, %n, [%x], [%y]" + once;
}

const Scaled bytes_scaled{
    "mxf8f6f4.block_scale.scale_vec::1X", Type::e4m3, Type::e4m3, Type::ue8m0, 32, 1, 2, 1};
const Scaled fours_scaled{
    "mxf4.block_scale.scale_vec::2X", Type::e2m1, Type::e2m1, Type::ue8m0, 64, 2, 2, 0};

void check_scaled(const Scaled& s) {
  INFO(s.kind);
  std::vector<float> out =
      run<float>(scaled_memory(s), text_of(Memory(), scaled_descriptor(s), scaled_line(s)));
  CHECK(wrong_rows<float>(out, [&](unsigned row, unsigned column) {
          return scaled_product(s, row, column);
        }).empty());
}

}  // namespace

TEST_CASE("a block-scaled product of bytes takes the scales that its descriptor names") {
  check_scaled(bytes_scaled);
  Scaled other = bytes_scaled;
  other.a_id = 0, other.b_id = 3;
  other.kind = "mxf8f6f4.block_scale.block32";
  check_scaled(other);
}

TEST_CASE("elements of 4 and 6 bits lie sixteen in sixteen bytes beside bytes") {
  Scaled s = bytes_scaled;
  for (Type type : {Type::e2m1, Type::e2m3, Type::e3m2}) {
    s.a_type = type;
    check_scaled(s);
    std::swap(s.a_type, s.b_type);
    check_scaled(s);
    std::swap(s.a_type, s.b_type);
  }
}

TEST_CASE("a block-scaled product of four bits has a scale for each 32 or each 16 of 64 columns") {
  check_scaled(fours_scaled);
  Scaled s = fours_scaled;
  s.kind = "mxf4nvf4.block_scale.block32", s.a_id = 0, s.b_id = 2;
  check_scaled(s);
  s.a_id = s.b_id = 0, s.blocks = 4;
  s.kind = "mxf4nvf4.block_scale.scale_vec::4X";
  check_scaled(s);
  s.scale_type = Type::ue4m3, s.kind = "mxf4nvf4.block_scale.block16";
  check_scaled(s);
}

TEST_CASE("a wrong scale changes its row, in the quarter of the lanes where the row lies") {
  Memory memory = scaled_memory(bytes_scaled);
  std::string text = text_of(memory, scaled_descriptor(bytes_scaled), scaled_line(bytes_scaled));
  auto wanted = [](unsigned row, unsigned column) {
    return scaled_product(bytes_scaled, row, column);
  };
  memory.put_tensor(32 + 5, 1, 2, 140);  // Row 37, and its copy in the second quarter.
  CHECK(wrong_rows<float>(run<float>(memory, text), wanted) == std::vector<unsigned>{37});
  memory = scaled_memory(bytes_scaled);
  memory.put_tensor(5, 1, 2, 140);  // The copy in the first quarter, where row 37 is not.
  CHECK(wrong_rows<float>(run<float>(memory, text), wanted).empty());
  std::uint32_t other = scaled_descriptor(bytes_scaled) ^ 1u << 29;  // The byte beside: NaN.
  CHECK(std::isnan(run<float>(memory, text_of(memory, other, scaled_line(bytes_scaled)))[0]));
}

TEST_CASE("a scaled product is added to D, and a negated operand changes its sign") {
  Memory memory = scaled_memory(fours_scaled);
  std::string line = scaled_line(fours_scaled), again = line;
  again.replace(again.rfind(", 0;"), 4, ", 1;");
  std::uint32_t negated = scaled_descriptor(fours_scaled) | 1u << 13;
  std::vector<float> out = run<float>(memory, text_of(memory, negated, line + again));
  CHECK(wrong_rows<float>(out, [&](unsigned row, unsigned column) {
          return -2 * scaled_product(fours_scaled, row, column);
        }).empty());
}

TEST_CASE("a descriptor that no scaled kind has is a fault") {
  Memory memory = scaled_memory(fours_scaled);
  auto kind_of = [&](std::uint32_t bits) {
    return trap_of(memory, text_of(memory, bits, scaled_line(fours_scaled)));
  };
  std::uint32_t good = scaled_descriptor(fours_scaled);
  CHECK(kind_of(good ^ 1u << 23) == TrapKind::bad_operand);  // mxf4 has no ue4m3.
  CHECK(kind_of(good ^ 1u << 4) == TrapKind::bad_operand);   // Two bytes from the second on.
  CHECK(kind_of(good | 1u << 2) == TrapKind::bad_operand);   // Sparse, as the instruction is not.
  CHECK(kind_of(good | 1u << 31) == TrapKind::bad_operand);  // 96 columns.
  CHECK(kind_of(good ^ 3u << 27) == TrapKind::bad_operand);  // 256 rows of one block.
}

TEST_CASE("a sparse product with scales has one for each half of what is stored") {
  // A holds 1 and B 2 in every column of four bits; every chunk keeps its first four columns.
  Scaled s = fours_scaled;
  Memory memory(64);
  for (unsigned row = 0; row < rows; ++row) {
    for (unsigned k = 0; k < 64; ++k) memory.put(true, row, 4 * k, 2);
    for (unsigned quarter = 0; quarter < 4; ++quarter)
      for (unsigned block = 0; block < 2; ++block) {
        memory.put_tensor(row % 32 + 32 * quarter, 4 + row / 32, 2 + block,
                          scale(s, true, row, block));
        if (row < columns)
          memory.put_tensor(row % 32 + 32 * quarter, 8, block, scale(s, false, row, block));
      }
    memory.tensor[row * extra_columns] = memory.tensor[row * extra_columns + 1] = 0x44444444;
  }
  for (unsigned column = 0; column < columns; ++column)
    for (unsigned k = 0; k < 128; ++k) memory.put(false, column, 4 * k, k % 8 < 4 ? 4 : 7);
  std::string line = "add.u32 %v, %t, 36;\n@%p tcgen05.mma.sp.cta_group::1.kind::" + s.kind +
                     " [%t], %da, %db, [%x], %n, [%v], [%y]" + once;
  std::vector<float> out =
      run<float>(memory, text_of(memory, scaled_descriptor(s) | 1u << 2, line));
  CHECK(wrong_rows<float>(out, [&](unsigned row, unsigned column) {
          double sum = 0;
          for (unsigned block = 0; block < 2; ++block)
            sum += 64 * scale_value(s, true, row, block) * scale_value(s, false, column, block);
          return sum;
        }).empty());
}

namespace {

/// As the formula of the truncated sum says, in doubles, whose 53 bits hold every term; or with
/// fewer fraction bits than the tensor core has.
float plain_sum(const dot::ScaledFactors& in, float c, int fewer = 0) {
  auto exponent_of = [](double x, int least) {
    return x == 0 ? -126 : std::max(std::ilogb(x), least);
  };
  auto scale_of = [&](std::uint8_t bits) {
    return in.scale_type == Type::ue8m0 ? std::ldexp(1.0, bits - 127)
                                        : value_of(Type::e4m3, bits & 0x7F);
  };
  int least = in.scale_type == Type::ue8m0 ? -127 : -6, fraction = (in.k == 64 ? 35 : 25) - fewer;
  std::vector<int> exponents{exponent_of(static_cast<double>(c), -126)};
  std::vector<double> significands{std::ldexp(static_cast<double>(c), -exponents[0])};
  unsigned each = in.k == 64 ? 16 : 1;
  for (unsigned k = 0; k < in.k; k += each) {
    unsigned block = k / (in.k / in.blocks);
    double sum = 0, a = scale_of(in.a_scale[block]), b = scale_of(in.b_scale[block]);
    int e = exponent_of(a, least) + exponent_of(b, least);
    double by = std::ldexp(a, -exponent_of(a, least)) * std::ldexp(b, -exponent_of(b, least));
    for (unsigned i = k; i < k + each; ++i)
      sum += value_of(in.a_type, in.a[i]) * value_of(in.b_type, in.b[i]);
    if (each == 1) {
      if (sum == 0) continue;
      double x = value_of(in.a_type, in.a[k]), y = value_of(in.b_type, in.b[k]);
      int own = exponent_of(x, -6) + exponent_of(y, -6);
      e += own, by = std::ldexp(by, -own);
    }
    significands.push_back(sum * by);
    exponents.push_back(e);
  }
  int top = *std::max_element(exponents.begin(), exponents.end());
  double whole = 0;
  for (std::size_t i = 0; i < exponents.size(); ++i)
    whole += std::trunc(std::ldexp(significands[i], fraction + exponents[i] - top));
  double exact = std::ldexp(whole, top - fraction);
  auto near = static_cast<float>(exact);
  return std::abs(static_cast<double>(near)) > std::abs(exact) ? std::nextafter(near, 0.0f) : near;
}

}  // namespace

TEST_CASE("scaled sums are cut as the formula says, on random factors and scales") {
  std::uint64_t state = 1;
  auto draw = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state >> 33);
  };
  unsigned narrower = 0;
  for (unsigned turn = 0; turn < 4000; ++turn) {
    bool fours = turn % 2 == 0, wide = turn % 4 == 2;
    dot::ScaledFactors in{fours ? Type::e2m1 : Type::e4m3,
                          fours ? Type::e2m1 : Type::e4m3,
                          wide ? Type::ue4m3 : Type::ue8m0,
                          fours ? 64u : 32u,
                          wide    ? 4u
                          : fours ? 2u
                                  : 1u,
                          {},
                          {},
                          {},
                          {}};
    for (unsigned k = 0; k < in.k; ++k) {
      in.a[k] = fours ? draw() & 15 : (draw() & 0x80) | draw() % 0x7F;
      in.b[k] = fours ? draw() & 15 : (draw() & 0x80) | draw() % 0x7F;
    }
    for (unsigned i = 0; i < in.blocks; ++i)
      for (auto* scale : {&in.a_scale[i], &in.b_scale[i]})
        *scale = static_cast<std::uint8_t>(wide ? draw() % 0x7F : 115 + draw() % 24);
    float c = std::ldexp(static_cast<float>(draw() % 0x1000000) - 0x800000,
                         static_cast<int>(draw() % 40) - 30);
    float got = dot::scaled_sum(in, c, false), wanted = plain_sum(in, c);
    INFO(turn << ": " << got << " and " << wanted);
    CHECK(std::bit_cast<std::uint32_t>(got) == std::bit_cast<std::uint32_t>(wanted));
    narrower +=
        std::bit_cast<std::uint32_t>(plain_sum(in, c, 1)) != std::bit_cast<std::uint32_t>(got);
    in.a_scale[0] = 0xFF;
    CHECK(std::bit_cast<std::uint32_t>(dot::scaled_sum(in, c, false)) == 0x7FFFFFFF);
  }
  CHECK(narrower > 100);
}

}  // namespace lathe::ptx::tensor_lab
