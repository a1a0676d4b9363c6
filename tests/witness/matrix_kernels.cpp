// Products of matrices by a warp, and the instructions that bring matrices to registers.

#include <charconv>

#include "base/random.h"
#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::uint32_t threads = 256, blocks = 2;

struct ElementType {
  std::string_view name;
  unsigned bits;
};
/// Also those that no register has a type for.
constexpr ElementType element_types[] = {
    {"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"f32", 32}, {"f64", 64}, {"s32", 32}, {"s8", 8},
    {"u8", 8},   {"e4m3", 8},  {"e5m2", 8},  {"s4", 4},   {"u4", 4},   {"b1", 1}};

unsigned bits_of(std::string_view name) {
  for (const ElementType& each : element_types)
    if (each.name == name) return each.bits;
  return 0;
}

struct Shape3 {
  unsigned m = 0, n = 0, k = 0;
};

Shape3 shape_of(const Instance& instance) {
  for (std::string_view word : instance.words) {
    Shape3 s;
    if (!word.starts_with('m')) continue;
    const char* end = word.data() + word.size();
    auto at = std::from_chars(word.data() + 1, end, s.m).ptr;
    if (at == end || *at != 'n') continue;
    at = std::from_chars(at + 1, end, s.n).ptr;
    if (at == end || *at != 'k') continue;
    std::from_chars(at + 1, end, s.k);
    if (s.k != 0) return s;
  }
  return {};
}

/// One register of elements for each thread; the manner changes from warp to warp.
std::vector<std::uint64_t> packed(std::string_view name, unsigned register_bits, bool is_b,
                                  std::uint64_t seed, std::uint32_t count) {
  std::vector<std::uint64_t> list(count);
  unsigned bits = bits_of(name), each = register_bits / bits;
  for (std::uint32_t i = 0; i < count; ++i) {
    unsigned kind = i / 32 % (matrix_kinds + 2);
    if (kind == 4 && is_b) kind = 0;
    if (kind == 6) kind = is_b ? 2 : 1;
    if (kind == 7) kind = is_b ? 1 : 3;
    for (unsigned e = 0; e < each; ++e) {
      std::uint64_t index = std::uint64_t{i} * each + e;
      std::uint64_t bit = bits < 8 ? philox64(seed, 3, index) & ((1u << bits) - 1)
                                   : matrix_element(*type_named(name), kind, seed, index);
      list[i] |= bit << (e * bits);
    }
  }
  return list;
}

std::string vector_text(const std::vector<std::string>& names) {
  std::string text = "{";
  for (const std::string& name : names) text += (text.size() > 1 ? ", " : "") + name;
  return text + "}";
}

std::vector<Kernel> products(const Instance& instance) {
  std::vector<std::string_view> types;
  for (std::string_view word : instance.words)
    if (bits_of(word) != 0) types.push_back(word);
  Shape3 s = shape_of(instance);
  if (types.size() != 4 || s.m == 0 || instance.has("block_scale")) return {};
  bool sparse = !instance.word_with("sp").empty();
  bool quads = s.m == 8 && s.k == 4 && types[1] == "f16";
  // The indices of tf32 are of another form than those drawn.
  if (bits_of(types[1]) != bits_of(types[2]) || (sparse && types[1] == "tf32")) return {};
  unsigned held = bits_of(types[1]) == 64 ? 64 : 32, d_held = types[0] == "f64" ? 64 : 32;
  unsigned a_count = s.m * s.k * bits_of(types[1]) / held / 32 / (sparse ? 2 : 1);
  unsigned b_count = s.k * s.n * bits_of(types[2]) / held / 32;
  unsigned d_count = s.m * s.n * bits_of(types[0]) / d_held / 32;
  unsigned c_count = s.m * s.n * bits_of(types[3]) / d_held / 32;
  if (quads) a_count = b_count = 2, d_count = types[0] == "f32" ? 8 : 4;
  if (quads) c_count = types[3] == "f32" ? 8 : 4;
  Writer w(instance.mnemonic(), instance.mnemonic(), blocks, threads);
  Type ab = held == 64 ? Type::b64 : Type::b32, cd = d_held == 64 ? Type::b64 : Type::b32;
  std::vector<std::string> a, b, c, d;
  for (unsigned i = 0; i < a_count; ++i)
    a.push_back(w.load_given(ab, packed(types[1], held, false, 10 + i, w.count())));
  for (unsigned i = 0; i < b_count; ++i)
    b.push_back(w.load_given(ab, packed(types[2], held, true, 30 + i, w.count())));
  for (unsigned i = 0; i < c_count; ++i)
    c.push_back(w.load_given(cd, packed(types[3], d_held, false, 50 + i, w.count())));
  for (unsigned i = 0; i < d_count; ++i) d.push_back(w.declare(cd));
  std::string text = instance.mnemonic() + " " + vector_text(d) + ", " + vector_text(a) + ", " +
                     vector_text(b) + ", " + vector_text(c);
  if (sparse) text += ", " + w.load(Type::b32, Use::sparse) + ", 0x0";
  w.line(text + ";");
  for (const std::string& name : d) w.store(name, cd);
  return {w.finish(5, w.count())};
}

/// ldmatrix and stmatrix of rows of 16 bytes, one a lane, in an order that is not theirs.
std::vector<Kernel> matrix_moves(const Instance& instance) {
  bool load = instance.opcode() == "ldmatrix";
  unsigned count = instance.has("x4") ? 4 : instance.has("x2") ? 2 : 1;
  if (!instance.has("m8n8")) return {};
  Writer w(instance.mnemonic(), instance.mnemonic(), 1, threads);
  std::string contents(16 * w.count(), '\0');
  for (std::size_t i = 0; i < contents.size(); ++i)
    contents[i] = static_cast<char>(philox64(8, 1, i));
  std::string in = w.input_area(16, contents), at = w.declare(Type::b32),
              row = w.declare(Type::b32);
  std::vector<std::string> words;
  for (unsigned i = 0; i < 4; ++i) words.push_back(w.declare(Type::b32));
  w.variable(".shared .align 128 .b8 tile[4096];");
  w.line("mov.u32 " + at + ", tile;");
  w.line("xor.b32 " + row + ", %t, 5;");
  w.line("mad.lo.u32 " + row + ", " + row + ", 16, " + at + ";");
  w.line("mad.lo.u32 " + at + ", %t, 16, " + at + ";");
  w.line("ld.global.v4.b32 " + vector_text(words) + ", [" + in + "];");
  w.line("st.shared.v4.b32 [" + at + "], " + vector_text(words) + ";");
  w.line("bar.sync 0;");
  std::vector<std::string> moved;
  for (unsigned i = 0; i < count; ++i)
    moved.push_back(load ? w.declare(Type::b32) : w.load(Type::b32));
  if (load) {
    w.line(instance.mnemonic() + " " + vector_text(moved) + ", [" + row + "];");
    for (const std::string& name : moved) w.store(name, Type::b32);
  } else {
    w.line(instance.mnemonic() + " [" + row + "], " + vector_text(moved) + ";");
    w.line("bar.sync 0;");
    w.line("ld.shared.v4.b32 " + vector_text(words) + ", [" + at + "];");
    for (const std::string& name : words) w.store(name, Type::b32);
  }
  return {w.finish(6, w.count())};
}

}  // namespace

std::vector<Kernel> matrix_kernels(const Instance& instance) {
  if (instance.opcode() == "mma") return products(instance);
  if (instance.opcode() == "ldmatrix" || instance.opcode() == "stmatrix")
    return matrix_moves(instance);
  return {};
}

}  // namespace lathe::ptx::witness
