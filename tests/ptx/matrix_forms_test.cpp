// The rarer matrix products, on small integers that every format holds exactly: four bits, single
// bits, four quads of a warp, sparse A; and ldmatrix and stmatrix of bytes.

#include <bit>
#include <functional>

#include "ptx/bits_value.h"
#include "ptx/fragment.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

using Words = std::vector<std::uint32_t>;

struct Ended {
  Words out;
  std::optional<Trap> trap;
};
/// One warp: %i0, %i1, .. come from `in`, %o0, .. go out; register r of lane l is word 32 r + l.
Ended warp(const Words& in, unsigned outputs, const std::string& lines,
           const std::string& target = "sm_90a") {
  Launched launch;
  launch.add(Words(32 * outputs));
  launch.add(in);
  launch.shape.block[0] = 32;
  std::string text;
  for (std::size_t r = 0; r < in.size() / 32; ++r)
    text += "ld.global.u32 %i" + std::to_string(r) + ", [%in+" + std::to_string(128 * r) + "];\n";
  text += lines + "\n";
  for (unsigned r = 0; r < outputs; ++r)
    text += "st.global.u32 [%out+" + std::to_string(128 * r) + "], %o" + std::to_string(r) + ";\n";
  launch.run(body_text(".reg .b32 %i<32>, %o<12>, %r<8>;\n.shared .align 128 .b8 s[1024];", text,
                       target, "8.8"));
  return {launch.get<std::uint32_t>(0), launch.result.trap};
}

/// `{%i4, %i5}`, and the next number.
std::string take(unsigned& next, unsigned count, char letter = 'i') {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i)
    text += (i == 0 ? "%" : ", %") + std::string(1, letter) + std::to_string(next++);
  return text + "}";
}

/// A dense product of small integers through the machine, against a plain one.
void check_product(const std::string& modifiers, const std::string& shape, Type d, Type a, Type b,
                   const std::function<int(int, int)>& times,
                   const std::function<std::uint32_t(Type, int)>& encoded,
                   const std::function<int(Type, std::uint32_t)>& decoded) {
  FragmentShape s = *fragment_shape(shape, d, a, b, d);
  s.a_columns = modifiers.find(".col.row") != std::string::npos ||
                modifiers.find(".col.col") != std::string::npos;
  s.b_rows = modifiers.find("row.row") != std::string::npos ||
             modifiers.find("col.row") != std::string::npos;
  unsigned a_at = 0, b_at = s.a_registers, c_at = b_at + s.b_registers;
  Words in(32 * (c_at + s.c_registers));
  std::vector<std::vector<int>> as, bs, cs;
  auto value = [](unsigned i, unsigned salt, Type type) {
    unsigned mixed = (i * 2654435761u + salt * 40503u) >> 13;
    return type == Type::b1 ? static_cast<int>(mixed & 1) : static_cast<int>(mixed % 5);
  };
  auto put = [&](const std::vector<FragmentPlace>& places, unsigned base, Type type,
                 unsigned salt) {
    std::vector<int> values;
    for (unsigned i = 0; i < places.size(); ++i) {
      FragmentPlace at = places[i];
      values.push_back(value(i, salt, type));
      in[32 * (base + at.slot) + at.lane] |= encoded(type, values.back()) << (8 * at.byte + at.bit);
    }
    return values;
  };
  std::vector<FragmentMap> maps;
  for (unsigned q = 0; q < s.products; ++q) {
    maps.push_back(s.products == 1 ? make_fragment_map(s) : make_quad_map(s, q));
    as.push_back(put(maps[q].a, a_at, a, 1 + q));
    bs.push_back(put(maps[q].b, b_at, b, 11 + q));
    cs.push_back(put(maps[q].c, c_at, d, 21 + q));
  }
  unsigned next = 0, out = 0;
  std::string operands = take(out, s.d_registers, 'o') + ", " + take(next, s.a_registers);
  operands += ", " + take(next, s.b_registers);
  operands += ", " + take(next, s.c_registers);
  Ended ended = warp(in, s.d_registers, "mma.sync.aligned." + modifiers + " " + operands + ";");
  if (ended.trap) FAIL(print(*ended.trap));
  for (unsigned q = 0; q < s.products; ++q)
    for (unsigned i = 0; i < s.m; ++i)
      for (unsigned j = 0; j < s.n; ++j) {
        int sum = cs[q][i * s.n + j];
        for (unsigned k = 0; k < s.k; ++k) sum += times(as[q][i * s.k + k], bs[q][k * s.n + j]);
        FragmentPlace at = maps[q].d[i * s.n + j];
        INFO(modifiers << ", product " << q << ", element " << i << ", " << j);
        CHECK(decoded(d, ended.out[32 * at.slot + at.lane] >> (8 * at.byte)) == sum);
      }
}

int product(int x, int y) { return x * y; }
std::uint32_t plain(Type, int x) { return static_cast<std::uint32_t>(x); }
int word_of(Type, std::uint32_t bits) { return static_cast<int>(bits); }

TEST_CASE("products of four bits sum exactly") {
  for (const char* shape : {"m8n8k32", "m16n8k32", "m16n8k64"})
    check_product(std::string(shape) + ".row.col.s32.s4.u4.s32", shape, Type::s32, Type::s4,
                  Type::u4, product, plain, word_of);
}

TEST_CASE("products of bytes in eight rows sum exactly") {
  check_product("m8n8k16.row.col.s32.u8.s8.s32", "m8n8k16", Type::s32, Type::u8, Type::s8, product,
                plain, word_of);
}

TEST_CASE("single bits are counted after and or xor") {
  for (const char* shape : {"m8n8k128", "m16n8k128", "m16n8k256"}) {
    check_product(
        std::string(shape) + ".row.col.s32.b1.b1.s32.and.popc", shape, Type::s32, Type::b1,
        Type::b1, [](int x, int y) { return x & y; }, plain, word_of);
    check_product(
        std::string(shape) + ".row.col.s32.b1.b1.s32.xor.popc", shape, Type::s32, Type::b1,
        Type::b1, [](int x, int y) { return x ^ y; }, plain, word_of);
  }
}

TEST_CASE("m8n8k4 is four products in every layout") {
  auto encoded = [](Type type, int x) -> std::uint32_t {
    if (type == Type::f16) return rounded<Type::f16>(x, 0, Rounding::rn).held;
    return std::bit_cast<std::uint32_t>(static_cast<float>(x));
  };
  auto decoded = [](Type type, std::uint32_t bits) {
    if (type == Type::f16)
      return static_cast<int>(to_double(BitsOf<Type::f16>::wrapped(bits & 0xFFFF)));
    return static_cast<int>(std::bit_cast<float>(bits));
  };
  for (const char* layout : {"row.col", "row.row", "col.col", "col.row"}) {
    check_product("m8n8k4." + std::string(layout) + ".f32.f16.f16.f32", "m8n8k4", Type::f32,
                  Type::f16, Type::f16, product, encoded, decoded);
    check_product("m8n8k4." + std::string(layout) + ".f16.f16.f16.f16", "m8n8k4", Type::f16,
                  Type::f16, Type::f16, product, encoded, decoded);
  }
}

/// m16n8k32 of bytes, 2:4: element j of a stored row is j + 1 mod 7, and every chunk keeps the
/// columns that `code` names.
Ended sparse_bytes(std::uint32_t code, const std::string& variant, Words& b) {
  FragmentShape stored = *fragment_shape("m16n8k16", Type::s32, Type::s8, Type::s8, Type::s32);
  FragmentShape wide = *fragment_shape("m16n8k32", Type::s32, Type::s8, Type::s8, Type::s32);
  FragmentMap a_map = make_fragment_map(stored), map = make_fragment_map(wide);
  Words in(32 * 9);
  for (unsigned i = 0; i < 16 * 16; ++i) {
    FragmentPlace at = a_map.a[i];
    in[32 * at.slot + at.lane] |= ((i % 16 + i / 16) % 7) << (8 * at.byte);
  }
  b.assign(32 * 8, 0);
  for (unsigned i = 0; i < 32 * 8; ++i) {
    FragmentPlace at = map.b[i];
    b[i] = (3 * (i / 8) + i % 8) % 11;
    in[32 * (2 + at.slot) + at.lane] |= b[i] << (8 * at.byte);
  }
  for (unsigned lane = 0; lane < 32; ++lane) in[32 * 8 + lane] = 0x11111111u * code;
  return warp(in, 4,
              "mma." + variant +
                  ".sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%o0, %o1, %o2, "
                  "%o3}, {%i0, %i1}, {%i2, %i3}, {%i4, %i5, %i6, %i7}, %i8, 0;");
}

TEST_CASE("a sparse product takes the rows of B that its metadata name") {
  Words b;
  Ended ended = sparse_bytes(0b1101, "sp", b);  // Columns 1 and 3 of each four.
  if (ended.trap) FAIL(print(*ended.trap));
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      std::uint32_t sum = 0;
      for (unsigned j = 0; j < 16; ++j) {
        unsigned k = 4 * (j / 2) + (j % 2 == 0 ? 1 : 3);
        sum += (j + row) % 7 * b[k * 8 + column];
      }
      CHECK(ended.out[32 * i + lane] == sum);
    }
}

TEST_CASE("metadata that are no two indices are a fault, ordered ones must ascend") {
  Words b;
  REQUIRE(sparse_bytes(0b0101, "sp", b).trap);
  CHECK(sparse_bytes(0b0101, "sp", b).trap->kind == TrapKind::bad_operand);
  CHECK_FALSE(sparse_bytes(0b0111, "sp", b).trap);
  CHECK(sparse_bytes(0b0111, "sp::ordered_metadata", b).trap);
  CHECK_FALSE(sparse_bytes(0b1101, "sp::ordered_metadata", b).trap);
}

TEST_CASE("the selector of a sparse product is below what its shape has") {
  for (auto [selector, good] : {std::pair{"1", true}, {"2", false}}) {
    Parsed parsed = parse(
        body_text(".reg .b32 %r<12>;",
                  "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r0, %r1, %r2, %r3}, {%r4, "
                  "%r5}, {%r6, %r7}, {%r0, %r1, %r2, %r3}, %r8, " +
                      std::string(selector) + ";"),
        "test.ptx");
    REQUIRE(parsed.errors.empty());
    CHECK(bool(decode(parsed.module, "test")) == good);
  }
}

/// Bytes 0 to 255 in shared memory, and %r1 the address of row `lane` of sixteen bytes.
const std::string fill =
    "mov.u32 %r1, s;\nshl.b32 %r2, %tid, 3;\nadd.u32 %r3, %r1, %r2;\nmul.lo.u32 %r4, %r2, "
    "0x01010101;\nadd.u32 %r5, %r4, 0x03020100;\nst.shared.u32 [%r3], %r5;\nadd.u32 %r5, %r4, "
    "0x07060504;\nst.shared.u32 [%r3+4], %r5;\nbar.sync 0;\nand.b32 %r2, %tid, 15;\nshl.b32 %r2, "
    "%r2, 4;\nadd.u32 %r1, %r1, %r2;\n";

TEST_CASE("ldmatrix of sixteen rows of bytes transposes") {
  Ended ended =
      warp({}, 2, fill + "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%o0, %o1}, [%r1];",
           "sm_100a");
  if (ended.trap) FAIL(print(*ended.trap));
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < 2; ++r)
      for (unsigned byte = 0; byte < 4; ++byte) {
        unsigned row = 4 * (lane % 4) + 2 * r + byte % 2, column = lane / 4 + 8 * (byte / 2);
        CHECK((ended.out[32 * r + lane] >> (8 * byte) & 0xFF) == 16 * row + column);
      }
}

TEST_CASE("ldmatrix unpacks four and six bits into bytes") {
  Ended four =
      warp({}, 1, fill + "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {%o0}, [%r1];",
           "sm_100a");
  Ended six =
      warp({}, 1, fill + "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%o0}, [%r1];",
           "sm_100a");
  REQUIRE_FALSE(four.trap);
  REQUIRE_FALSE(six.trap);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned byte = 0; byte < 4; ++byte) {
      unsigned row = lane / 4, column = 4 * (lane % 4) + byte;
      unsigned nibble = (16 * row + column / 2) >> (4 * (column % 2)) & 15;
      CHECK((four.out[lane] >> (8 * byte) & 0xFF) == nibble);
      unsigned at = 6 * column, low = 16 * row + at / 8, both = low | (low + 1) << 8;
      CHECK((six.out[lane] >> (8 * byte) & 0xFF) == (both >> at % 8 & 63));
    }
}

TEST_CASE("stmatrix of bytes is the way back") {
  Ended ended = warp({}, 1,
                     fill +
                         "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%o0, %o1}, [%r1];\n"
                         "bar.sync 0;\nmov.u32 %r3, s;\nand.b32 %r2, %tid, 7;\nshl.b32 %r2, %r2, "
                         "4;\nadd.u32 %r3, %r3, %r2;\n"
                         "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [%r3+512], {%o0};\n"
                         "bar.sync 0;\nmov.u32 %r3, s;\nshl.b32 %r2, %tid, 2;\nadd.u32 %r3, %r3, "
                         "%r2;\nld.shared.u32 %o0, [%r3+512];",
                     "sm_100a");
  if (ended.trap) FAIL(print(*ended.trap));
  // Register 0 holds rows 4 t and 4 t + 1 of sixteen: they become rows 2 t and 2 t + 1 of eight.
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned byte = 0; byte < 4; ++byte) {
      unsigned row = lane / 4, column = 4 * (lane % 4) + byte;
      CHECK((ended.out[lane] >> (8 * byte) & 0xFF) == 16 * (4 * (row / 2) + row % 2) + column);
    }
}

TEST_CASE("wmma loads, multiplies and stores a matrix of sixteen rows") {
  // A is 1 to 16 in each row, in f16; B the same by columns; every element of D is 2 + 1496.
  std::string text = "mov.u32 %r1, s;\n";
  Words in(32 * 4);
  for (unsigned i = 0; i < 128; ++i) {
    auto half = [](unsigned x) { return rounded<Type::f16>(x, 0, Rounding::rn).held; };
    in[i] = std::uint32_t{half(2 * (i % 8) + 1)} | std::uint32_t{half(2 * (i % 8) + 2)} << 16;
  }
  for (unsigned r = 0; r < 4; ++r)
    text += "shl.b32 %r2, %tid, 2;\nadd.u32 %r3, %r1, %r2;\nst.shared.u32 [%r3+" +
            std::to_string(128 * r) + "], %i" + std::to_string(r) + ";\n";
  text += "bar.sync 0;\n";
  auto regs = [](const char* name, unsigned from) {
    std::string list;
    for (unsigned i = 0; i < 8; ++i)
      list += (i == 0 ? "%" : ", %") + std::string(name) + std::to_string(from + i);
    return "{" + list + "}";
  };
  text += "mov.b32 %i20, 0f40000000;\n";
  for (unsigned i = 21; i < 28; ++i) text += "mov.b32 %i" + std::to_string(i) + ", %i20;\n";
  text += "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 " + regs("i", 4) + ", [%r1], 16;\n" +
          "wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 " + regs("i", 12) + ", [%r1], 16;\n" +
          "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 " + regs("o", 0) + ", " + regs("i", 4) +
          ", " + regs("i", 12) + ", " + regs("i", 20) + ";\n" +
          "bar.sync 0;\nwmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r1], " + regs("o", 0) +
          ", 16;\nbar.sync 0;\nld.shared.u32 %o0, [%r3];";
  Ended ended = warp(in, 8, text);
  if (ended.trap) FAIL(print(*ended.trap));
  for (std::uint32_t word : ended.out) CHECK(std::bit_cast<float>(word) == 1498.0f);
}

}  // namespace
}  // namespace lathe::ptx
