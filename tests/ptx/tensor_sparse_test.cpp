// A sparse A of tcgen05, rows that are shifted, and copies that unpack. Where metadata lie is
// computed here from the manual's figures; sums are exact.

#include <cmath>

#include "tests/ptx/tensor_lab.h"

namespace lathe::ptx::tensor_lab {

namespace {

struct Sparse {
  std::string kind;
  unsigned bytes, chunk, kind_bits;
  unsigned selector = 0;

  unsigned stored() const { return 32 / bytes; }
};

int a_value(unsigned row, unsigned i) { return static_cast<int>((row * 5 + i * 3) % 7) - 3; }
int b_value(unsigned k, unsigned column) { return static_cast<int>((k * 2 + column * 3) % 5) - 2; }

unsigned code_of(const Sparse& s, unsigned row, unsigned chunk) {
  constexpr std::array<unsigned, 7> codes{0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110};
  unsigned any = mixed(row, chunk, 7);
  if (s.chunk == 2) return any % 2 == 0 ? 0b1110 : 0b0100;
  return codes[any % codes.size()];
}
unsigned column_of(const Sparse& s, unsigned row, unsigned i) {
  unsigned code = code_of(s, row, i / (s.chunk / 2));
  if (s.chunk == 2) return 2 * i + (code == 0b1110 ? 1 : 0);
  return 4 * (i / 2) + (i % 2 == 0 ? code & 3 : code >> 2);
}

std::uint32_t encoded(const Sparse& s, int value) {
  if (s.kind == "f16") return rounded<Type::f16>(value, 0, Rounding::rn).held;
  if (s.kind == "tf32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (s.kind == "f8f6f4") return rounded<Type::e4m3>(value, 0, Rounding::rn).held;
  return static_cast<std::uint8_t>(value);
}

/// Of 128 rows. Bytes: the row's lane, four bits a chunk over two columns. Else chunks 0 to 3 and 4
/// to 7 lie eight lanes apart, rows eight apart in the two halves of a word.
struct Place {
  unsigned lane, column, shift;
};
Place place_of(const Sparse& s, unsigned row, unsigned c) {
  if (s.bytes == 1) return {row, c / 8, 4 * (c % 8)};
  return {row / 16 * 16 + row % 8 + 8 * (c / 4), s.selector, 16 * (row % 16 / 8) + 4 * (c % 4)};
}

Memory sparse_memory(const Sparse& s) {
  Memory memory(64);
  for (unsigned row = 0; row < rows; ++row) {
    for (unsigned i = 0; i < s.stored(); ++i)
      memory.put(true, row, 8 * i * s.bytes, encoded(s, a_value(row, i)));
    for (unsigned c = 0; c < s.stored() / (s.chunk / 2); ++c) {
      Place at = place_of(s, row, c);
      memory.tensor[at.lane * extra_columns + at.column] |= code_of(s, row, c) << at.shift;
    }
  }
  for (unsigned column = 0; column < columns; ++column)
    for (unsigned k = 0; k < 2 * s.stored(); ++k)
      memory.put(false, column, 8 * k * s.bytes, encoded(s, b_value(k, column)));
  return memory;
}

std::string sparse_text(const Sparse& s, const Memory& memory, unsigned m = rows) {
  std::uint32_t idesc = shape_bits | s.kind_bits | s.selector | 1u << 2 | m / 16 << 24;
  return text_of(
      memory, idesc,
      "@%p tcgen05.mma.sp.cta_group::1.kind::" + s.kind + " [%t], %da, %db, [%x], %n" + once);
}

double sparse_product(const Sparse& s, unsigned row, unsigned column) {
  int sum = 0;
  for (unsigned i = 0; i < s.stored(); ++i)
    sum += a_value(row, i) * b_value(column_of(s, row, i), column);
  return sum;
}

const Sparse half{"f16", 2, 4, 1u << 4}, signed_bytes{"i8", 1, 4, 2u << 4 | 1u << 7 | 1u << 10};

template <class T>
void check_sparse(const Sparse& s) {
  INFO(s.kind << s.selector);
  Memory memory = sparse_memory(s);
  CHECK(wrong_rows<T>(run<T>(memory, sparse_text(s, memory)), [&](unsigned row, unsigned column) {
          return sparse_product(s, row, column);
        }).empty());
}

}  // namespace

TEST_CASE("a sparse product takes the rows of B that metadata in tensor memory name") {
  for (unsigned selector = 0; selector < 4; ++selector) {
    check_sparse<float>({"f16", 2, 4, 1u << 4, selector});
    check_sparse<float>({"tf32", 4, 2, 1u << 4 | 2u << 7 | 2u << 10, selector});
  }
  check_sparse<float>({"f8f6f4", 1, 4, 1u << 4});
  check_sparse<std::int32_t>(signed_bytes);
}

TEST_CASE("of 64 rows, sixteen lie in each quarter of the lanes, and so do their metadata") {
  for (const Sparse& s : {half, signed_bytes}) {
    Memory whole = sparse_memory(s), memory = whole;
    for (std::uint32_t& word : memory.tensor) word = 0;
    for (unsigned lane = 0; lane < 64; ++lane)  // Rows lie as D's, sixteen and sixteen.
      for (unsigned c = 0; c < extra_columns; ++c)
        memory.tensor[(lane % 16 + 32 * (lane / 16)) * extra_columns + c] =
            whole.tensor[lane * extra_columns + c];
    std::string text = sparse_text(s, memory, 64);
    auto out = run<std::uint32_t>(memory, text);
    for (unsigned row = 0; row < 64; ++row)
      for (unsigned column = 0; column < columns; ++column) {
        std::uint32_t bits = out[(row % 16 + 32 * (row / 16)) * columns + column];
        double got = s.bytes == 1 ? static_cast<std::int32_t>(bits)
                                  : static_cast<double>(std::bit_cast<float>(bits));
        CHECK(got == sparse_product(s, row, column));
      }
    CHECK(out[16 * columns] == 0);
  }
}

TEST_CASE("another pair of one chunk changes one row, and what is no pair is a fault") {
  for (const Sparse& s : {half, signed_bytes}) {
    Memory memory = sparse_memory(s);
    Place at = place_of(s, 77, 5);
    std::uint32_t& word = memory.tensor[at.lane * extra_columns + at.column];
    unsigned other = code_of(s, 77, 5) == 0b1110 ? 0b0100 : 0b1110;
    word = (word & ~(15u << at.shift)) | other << at.shift;
    auto wanted = [&](unsigned row, unsigned column) { return sparse_product(s, row, column); };
    std::string text = sparse_text(s, memory);
    if (s.bytes == 1)
      CHECK(wrong_rows<std::int32_t>(run<std::int32_t>(memory, text), wanted) ==
            std::vector<unsigned>{77});
    else
      CHECK(wrong_rows<float>(run<float>(memory, text), wanted) == std::vector<unsigned>{77});
    for (unsigned none : {0b0101u, 0b0001u, 0b1011u}) {  // Twice one column; two that descend.
      word = (word & ~(15u << at.shift)) | none << at.shift;
      CHECK(trap_of(memory, text) == TrapKind::bad_operand);
    }
  }
}

namespace {

/// 100 l + c in column c of lane l.
Memory numbered_memory() {
  Memory memory;
  for (unsigned lane = 0; lane < rows; ++lane)
    for (unsigned c = 0; c < extra_columns; ++c)
      memory.tensor[lane * extra_columns + c] = lane * 100 + c;
  return memory;
}

/// A lies in tensor memory, row r all r % 50 bytes; B is one.
Memory counted_rows() {
  Memory memory;
  for (unsigned lane = 0; lane < rows; ++lane)
    for (unsigned c = 0; c < 8; ++c)
      memory.tensor[lane * extra_columns + c] = lane % 50 * 0x01010101u;
  for (unsigned column = 0; column < columns; ++column)
    for (unsigned k = 0; k < 32; ++k) memory.put(false, column, 8 * k, 1);
  return memory;
}

}  // namespace

TEST_CASE("a shift moves eight columns of 32 lanes one row down, and nothing else") {
  Memory memory = numbered_memory();
  std::string line = "add.u32 %x, %x, 4194305;\n@%p tcgen05.shift.cta_group::1.down [%x];\n";
  auto out = run<std::uint32_t>(memory, text_of(memory, 0, line, 32));  // Lane 64, column 33.
  for (unsigned lane = 0; lane < rows; ++lane)
    for (unsigned c = 0; c < 16; ++c) {
      bool moves = lane > 64 && lane < 96 && c >= 1 && c < 9;
      CHECK(out[lane * 16 + c] == (moves ? lane - 1 : lane) * 100 + c);
    }
  line.replace(line.find("4194305"), 7, "1048576");  // Lane 16.
  CHECK(trap_of(memory, text_of(memory, 0, line, 32)) == TrapKind::bad_operand);
}

TEST_CASE("a shift comes after the product before it, and before the one behind it") {
  Memory memory = counted_rows();
  const std::string mma = "@%p tcgen05.mma.cta_group::1.kind::i8 [%t], [%x], %db, %n, ";
  std::string lines = mma + "0;\n@%p tcgen05.shift.cta_group::1.down [%x];\n" + mma + "1;\n";
  std::uint32_t idesc = shape_bits | 2u << 4 | 1u << 7 | 1u << 10 | rows / 16 << 24;
  auto out = run<std::int32_t>(memory, text_of(memory, idesc, lines));
  CHECK(wrong_rows<std::int32_t>(out, [](unsigned row, unsigned) {
          unsigned from = row > 0 && row < 32 ? row - 1 : row;
          return 32.0 * (row % 50 + from % 50);
        }).empty());
}

TEST_CASE("rows of A that are shifted are those one lane before, and the first stays") {
  Memory memory = counted_rows();
  std::uint32_t idesc = shape_bits | 2u << 4 | 1u << 7 | 1u << 10;
  const std::string mma = "@%p tcgen05.mma.cta_group::1.kind::i8.ashift [%t], [%x], %db, %n, 0;\n";
  auto out = run<std::int32_t>(memory, text_of(memory, idesc | rows / 16 << 24, mma));
  CHECK(wrong_rows<std::int32_t>(out, [](unsigned row, unsigned) {
          return 32.0 * ((row == 0 ? 0 : row - 1) % 50);
        }).empty());
  CHECK(trap_of(memory, text_of(memory, idesc | 64 / 16 << 24, mma)) == TrapKind::bad_operand);
}

TEST_CASE("a copy unpacks elements of 4 and 6 bits into bytes") {
  for (unsigned bits : {4u, 6u}) {
    Memory memory;
    auto element = [&](unsigned row, unsigned i) { return mixed(row, i, 9) & ((1u << bits) - 1); };
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned i = 0; i < 16; ++i) memory.put(true, row, i * bits, element(row, i));
    std::string line = "@%p tcgen05.cp.cta_group::1.128x128b.b8x16." +
                       std::string(bits == 4 ? "b4x16_p64" : "b6x16_p32") + " [%x], %da;\n";
    auto out = run<std::uint32_t>(memory, text_of(memory, 0, line, 32));
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned i = 0; i < 16; ++i) {
        unsigned byte = out[row * 16 + i / 4] >> 8 * (i % 4) & 0xFF;
        CHECK(byte == (bits == 4 ? element(row, i) << 2 : element(row, i)));
      }
  }
}

}  // namespace lathe::ptx::tensor_lab
