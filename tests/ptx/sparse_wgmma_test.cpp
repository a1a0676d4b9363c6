// wgmma of a sparse A and of single bits, on small integers that every type holds exactly. Which
// columns are kept is computed here from the manual's figures (9.7.15.6.2).

#include <bit>

#include "ptx/bits_value.h"
#include "tests/ptx/launch.h"

namespace lathe::ptx {
namespace {

struct Operands {
  std::string name;  // Of the type in PTX.
  unsigned bytes;    // Of an element.
  std::string d = "f32";
  unsigned chunk = 4;  // Columns of A of which half is stored.

  unsigned stored() const { return 32 / bytes; }
  unsigned k() const { return 2 * stored(); }
};

std::uint32_t bits_of(const std::string& type, int value) {
  double x = value;
  if (type == "f16") return rounded<Type::f16>(x, 0, Rounding::rn).held;
  if (type == "bf16") return rounded<Type::bf16>(x, 0, Rounding::rn).held;
  if (type == "e4m3") return rounded<Type::e4m3>(x, 0, Rounding::rn).held;
  if (type == "tf32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<std::uint32_t>(value);
}

int a_value(unsigned row, unsigned stored) {
  return static_cast<int>((row * 5 + stored * 3) % 7) - 3;
}
int b_value(unsigned k, unsigned column) { return static_cast<int>((k * 2 + column * 3) % 5) - 2; }

/// The code of a chunk: two different indices, in any order.
unsigned code_of(const Operands& type, unsigned row, unsigned chunk) {
  unsigned mixed = row * 7 + chunk * 3;
  if (type.chunk == 2) return mixed % 2 == 0 ? 0b1110 : 0b0100;
  unsigned first = mixed % 4, second = (first + 1 + mixed / 4 % 3) % 4;
  return first | second << 2;
}

/// Of a stored element.
unsigned column_of(const Operands& type, unsigned row, unsigned stored) {
  unsigned half = type.chunk / 2, code = code_of(type, row, stored / half);
  if (type.chunk == 2) return 2 * stored + (code == 0b1110 ? 1 : 0);
  return 4 * (stored / 2) + (stored % 2 == 0 ? code & 3 : code >> 2);
}

/// Which lane of a warp, and where in its word, has a chunk's code. Of 16 bits and more selector s
/// means lanes 2 s and 2 s + 1 of each four.
struct Place {
  unsigned lane, shift;
};
Place place_of(const Operands& type, unsigned row, unsigned chunk, unsigned selector) {
  unsigned g = row % 8, low = row % 16 / 8;
  if (type.bytes == 1) return {4 * g + 2 * (chunk / 8) + low, 4 * (chunk % 8)};
  return {4 * g + 2 * selector + chunk / 4, 16 * low + 4 * (chunk % 4)};
}

std::vector<std::uint32_t> metadata(const Operands& type, unsigned selector) {
  std::vector<std::uint32_t> words(128);
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned chunk = 0; chunk < type.k() / type.chunk; ++chunk) {
      Place at = place_of(type, row, chunk, selector);
      words[row / 16 * 32 + at.lane] |= code_of(type, row, chunk) << at.shift;
    }
  return words;
}

int expected(const Operands& type, unsigned row, unsigned column) {
  int sum = 0;
  for (unsigned i = 0; i < type.stored(); ++i)
    sum += a_value(row, i) * b_value(column_of(type, row, i), column);
  return sum;
}

/// Rows in cores of 8 x 16 bytes: the next core along K is 128 on, the next eight rows behind it.
void put(std::vector<std::uint8_t>& bytes, std::size_t begin, unsigned row, unsigned byte,
         unsigned row_bytes, std::uint32_t bits, unsigned count) {
  std::size_t at = begin + row / 8 * 8 * row_bytes + byte / 16 * 128 + row % 8 * 16 + byte % 16;
  std::memcpy(&bytes[at], &bits, count);
}

constexpr unsigned a_bytes = 64 * 32, b_bytes = 8 * 64, image_bytes = a_bytes + b_bytes;

/// A, B, then a word of metadata for each thread, then A as four registers a thread.
std::vector<std::uint8_t> image(const Operands& type, unsigned selector) {
  std::vector<std::uint8_t> bytes(image_bytes + 512 + 128 * 16);
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned i = 0; i < type.stored(); ++i)
      put(bytes, 0, row, i * type.bytes, 32, bits_of(type.name, a_value(row, i)), type.bytes);
  for (unsigned column = 0; column < 8; ++column)
    for (unsigned k = 0; k < type.k(); ++k)
      put(bytes, a_bytes, column, k * type.bytes, 64, bits_of(type.name, b_value(k, column)),
          type.bytes);
  std::memcpy(&bytes[image_bytes], metadata(type, selector).data(), 512);
  // Registers alternate between the upper and the lower eight rows.
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned byte = 0; byte < 4; byte += type.bytes) {
        unsigned lane = thread % 32, row = thread / 32 * 16 + lane / 4 + 8 * (r % 2);
        unsigned stored = (4 * (lane % 4) + 16 * (r / 2) + byte) / type.bytes;
        std::uint32_t bits = bits_of(type.name, a_value(row, stored));
        std::memcpy(&bytes[image_bytes + 512 + thread * 16 + 4 * r + byte], &bits, type.bytes);
      }
  return bytes;
}

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string descriptor(const std::string& d, unsigned offset, unsigned row_bytes) {
  return "add.u32 %at, %s, " + number(offset) + ";\nbfe.u32 %at, %at, 4, 14;\ncvt.u64.u32 " + d +
         ", %at;\nor.b64 " + d + ", " + d + ", " +
         number(std::uint64_t{row_bytes * 8 / 16} << 32 | 8u << 16) + ";\n";
}

/// Shared memory filled from behind %base, %meta and A's registers loaded, then `product`.
std::string text_of(const std::string& product, unsigned results) {
  std::string text =
      ".shared .align 1024 .b8 data[" + number(image_bytes) +
      "];\nmov.u32 %s, data;\nmov.u32 %i, %tid;\n"
      "LOAD: mul.wide.u32 %offset, %i, 4;\nadd.s64 %in, %base, %offset;\n"
      "ld.global.u32 %v, [%in];\nmad.lo.u32 %at, %i, 4, %s;\nst.shared.u32 [%at], %v;\n"
      "add.u32 %i, %i, 128;\nsetp.lt.u32 %p, %i, " +
      number(image_bytes / 4) +
      ";\n@%p bra LOAD;\nfence.proxy.async.shared::cta;\nbar.sync 0;\n"
      "mul.wide.u32 %offset, %tid, 4;\nadd.s64 %in, %base, %offset;\nld.global.u32 %meta, [%in + " +
      number(image_bytes) +
      "];\nmul.wide.u32 %offset, %tid, 16;\nadd.s64 %in, %base, %offset;\n"
      "ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%in + " +
      number(image_bytes + 512) + "];\n" + descriptor("%da", 0, 32) +
      descriptor("%db", a_bytes, 64) + "wgmma.fence.sync.aligned;\n" + product +
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
      "ld.param.u64 %base, [p0];\n";
  for (unsigned i = 0; i < results; ++i)
    text += "mad.lo.u32 %v, %tid, " + number(results) + ", " + number(i) +
            ";\nmul.wide.u32 %offset, %v, 4;\nadd.s64 %out, %base, %offset;\n"
            "st.global.u32 [%out], %d" +
            number(i) + ";\n";
  return body_text(
      ".reg .b32 %s, %i, %v, %at, %meta, %a<4>, %d<4>; .reg .b64 %da, %db; .reg .pred %p;\n", text,
      "sm_90a", "8.7");
}

std::string list_of(const char* name, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += (i == 0 ? "{" : ", ") + (name + number(i));
  return text + "}";
}

struct Variant {
  unsigned selector = 0;
  bool registers = false;  // A lies there.
  std::string more;        // Operands behind the scale of D.
};

std::string sparse_text(const Operands& type, const Variant& variant) {
  unsigned results = type.d == "f16" ? 2 : 4;
  return text_of("wgmma.mma_async.sp.sync.aligned.m64n8k" + number(type.k()) + "." + type.d + "." +
                     type.name + "." + type.name + " " + list_of("%d", results) + ", " +
                     (variant.registers ? list_of("%a", 4) : "%da") + ", %db, %meta, " +
                     number(variant.selector) + ", 0" + variant.more + ";\n",
                 results);
}

Launched launched(const std::vector<std::uint8_t>& bytes) {
  Launched launch;
  launch.add(std::vector<std::uint32_t>(128 * 4));
  launch.add(bytes);
  launch.shape = {{1, 1, 1}, {128, 1, 1}, 0};
  return launch;
}

/// The elements of D, by rows.
std::vector<double> results(const Launched& launch, const std::string& d) {
  INFO((launch.result.trap ? print(*launch.result.trap) : ""));
  REQUIRE_FALSE(launch.result.trap);
  CHECK(launch.findings.empty());
  auto words = launch.get<std::uint32_t>(0);
  std::vector<double> out(64 * 8);
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned i = 0; i < 4; ++i) {
      unsigned lane = thread % 32, row = thread / 32 * 16 + lane / 4 + 8 * (i / 2);
      std::uint32_t bits = words[d == "f16" ? thread * 2 + i / 2 : thread * 4 + i];
      out[row * 8 + 2 * (lane % 4) + i % 2] =
          d == "f32"   ? static_cast<double>(std::bit_cast<float>(bits))
          : d == "s32" ? static_cast<std::int32_t>(bits)
                       : to_double(BitsOf<Type::f16>::wrapped(bits >> 16 * (i % 2) & 0xFFFF));
    }
  return out;
}

/// Rows of D that are not what the metadata say.
std::vector<unsigned> wrong_rows(const Operands& type, const std::vector<double>& out, int sign) {
  std::vector<unsigned> rows;
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned column = 0; column < 8; ++column)
      if (out[row * 8 + column] != sign * expected(type, row, column)) {
        rows.push_back(row);
        break;
      }
  return rows;
}

void check_sparse(const Operands& type, const Variant& variant, int sign = 1) {
  Launched launch = launched(image(type, variant.selector));
  launch.watch(sparse_text(type, variant));
  INFO(type.name << " selector " << variant.selector << variant.more);
  CHECK(wrong_rows(type, results(launch, type.d), sign).empty());
}

const Operands f16{"f16", 2}, tf32{"tf32", 4, "f32", 2}, s8{"s8", 1, "s32"};

TEST_CASE("a sparse wgmma takes the rows of B that its metadata name, whoever holds them") {
  for (unsigned selector : {0u, 1u})
    for (bool registers : {false, true}) {
      std::string trans = registers ? ", 1, 1, 0" : ", 1, 1, 0, 0";
      check_sparse(f16, {selector, registers, trans});
      check_sparse({"bf16", 2}, {selector, registers, trans});
      check_sparse({"f16", 2, "f16"}, {selector, registers, trans});
      check_sparse(tf32, {selector, registers, ", 1, 1"});
    }
  for (bool registers : {false, true}) {
    check_sparse({"e4m3", 1}, {0, registers, ", 1, 1"});
    check_sparse({"e4m3", 1, "f16"}, {0, registers, ", 1, 1"});
    check_sparse(s8, {0, registers, ""});
  }
  check_sparse(f16, {0, false, ", -1, 1, 0, 0"}, -1);
}

TEST_CASE("another code of one chunk changes one row of a sparse wgmma") {
  auto bytes = image(f16, 0);
  Place at = place_of(f16, 37, 5, 0);
  // Indices 2 and 3 for what the code was.
  REQUIRE(code_of(f16, 37, 5) != 0b1110);
  std::uint32_t word = 0;
  std::size_t place = image_bytes + 4 * (37 / 16 * 32 + at.lane);
  std::memcpy(&word, &bytes[place], 4);
  word = (word & ~(15u << at.shift)) | 0b1110u << at.shift;
  std::memcpy(&bytes[place], &word, 4);
  Launched launch = launched(bytes);
  launch.watch(sparse_text(f16, {0, false, ", 1, 1, 0, 0"}));
  CHECK(wrong_rows(f16, results(launch, "f32"), 1) == std::vector<unsigned>{37});
}

TEST_CASE(
    "the other selector reads the other lanes, and metadata that are no indices are a fault") {
  Launched launch = launched(image(f16, 1));
  launch.watch(sparse_text(f16, {0, false, ", 1, 1, 0, 0"}));  // Zeros there: twice the column 0.
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::bad_operand);
  launch = launched(image(s8, 0));
  launch.watch(sparse_text(s8, {1, false, ""}));
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::bad_operand);
}

/// 64 rows of A and 8 columns of B, 256 bits each, from one seed.
std::uint32_t word_of_bits(unsigned row, unsigned word) {
  return (row * 2654435761u + word * 0x9E3779B9u) ^ (row << 9 | word);
}

TEST_CASE("wgmma of single bits counts those that both matrices have") {
  std::vector<std::uint8_t> bytes = image(s8, 0);
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned word = 0; word < 8; ++word)
      put(bytes, 0, row, 4 * word, 32, word_of_bits(row, word), 4);
  for (unsigned column = 0; column < 8; ++column)
    for (unsigned word = 0; word < 8; ++word)
      put(bytes, a_bytes, column, 4 * word, 64, word_of_bits(column + 100, word), 4);
  for (unsigned thread = 0; thread < 128; ++thread)
    for (unsigned r = 0; r < 4; ++r) {
      unsigned row = thread / 32 * 16 + thread % 32 / 4 + 8 * (r % 2);
      std::uint32_t word = word_of_bits(row, thread % 4 + 4 * (r / 2));
      std::memcpy(&bytes[image_bytes + 512 + thread * 16 + 4 * r], &word, 4);
    }
  for (const char* a : {"%da", "{%a0, %a1, %a2, %a3}"}) {
    Launched launch = launched(bytes);
    launch.watch(
        text_of("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%d0, %d1, "
                "%d2, %d3}, " +
                    std::string(a) + ", %db, 0;\n",
                4));
    std::vector<double> out = results(launch, "s32");
    for (unsigned row = 0; row < 64; ++row)
      for (unsigned column = 0; column < 8; ++column) {
        int both = 0, either = 0;
        for (unsigned word = 0; word < 8; ++word) {
          std::uint32_t x = word_of_bits(row, word), y = word_of_bits(column + 100, word);
          both += std::popcount(x & y), either += std::popcount(x ^ y);
        }
        CHECK(out[row * 8 + column] == both);
        if (row == 0 && column == 0) CHECK(out[0] != either);
      }
  }
}

TEST_CASE("a row of B that leaves what is swizzled by 32 bytes is not carried out") {
  std::string text = sparse_text(f16, {0, false, ", 1, 1, 0, 0"});
  const std::string before = "wgmma.fence.sync.aligned;\n";
  text.replace(text.find(before), before.size(), "or.b64 %db, %db, 0xC000000000000000;\n" + before);
  Launched launch = launched(image(f16, 0));
  launch.watch(text);
  REQUIRE(launch.result.trap);
  CHECK(launch.result.trap->kind == TrapKind::unsupported);
}

}  // namespace
}  // namespace lathe::ptx
