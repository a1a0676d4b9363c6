// Products of matrices by a warp, and the instructions that bring matrices to registers.

#include <charconv>
#include <optional>

#include "base/random.h"
#include "tests/witness/kernel.h"
#include "tests/witness/metadata.h"

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

/// What tells the kernels of one product apart.
struct Variant {
  std::string name;
  unsigned selector = 0;
  std::optional<Codes> codes;  // None: those that are drawn with the operands.
  bool at_extremes = false;
};

/// A product with the bits and the registers of each matrix.
struct Product {
  std::vector<std::string_view> types;  // D, A, B, C.
  Shape3 shape;
  bool sparse = false;
  unsigned held = 32, d_held = 32;
  unsigned a = 0, b = 0, c = 0, d = 0;

  static std::optional<Product> of(const Instance& instance);
};

std::optional<Product> Product::of(const Instance& instance) {
  Product p;
  for (std::string_view word : instance.words)
    if (bits_of(word) != 0) p.types.push_back(word);
  Shape3 s = p.shape = shape_of(instance);
  if (p.types.size() != 4 || s.m == 0 || instance.has("block_scale")) return std::nullopt;
  if (bits_of(p.types[1]) != bits_of(p.types[2])) return std::nullopt;
  p.sparse = !instance.word_with("sp").empty();
  p.held = bits_of(p.types[1]) == 64 ? 64 : 32, p.d_held = p.types[0] == "f64" ? 64 : 32;
  p.a = s.m * s.k * bits_of(p.types[1]) / p.held / 32 / (p.sparse ? 2 : 1);
  p.b = s.k * s.n * bits_of(p.types[2]) / p.held / 32;
  p.d = s.m * s.n * bits_of(p.types[0]) / p.d_held / 32;
  p.c = s.m * s.n * bits_of(p.types[3]) / p.d_held / 32;
  if (s.m == 8 && s.k == 4 && p.types[1] == "f16") {  // Four products at once.
    p.a = p.b = 2, p.d = p.types[0] == "f32" ? 8 : 4;
    p.c = p.types[3] == "f32" ? 8 : 4;
  }
  return p;
}

std::vector<std::uint64_t> near_extremes(std::uint64_t seed, std::uint32_t count) {
  std::vector<std::uint64_t> list(count);
  for (std::uint32_t i = 0; i < count; ++i) list[i] = near_extreme(philox64(seed, 4, i));
  return list;
}

Kernel product_kernel(const Instance& instance, const Product& p, const Variant& variant) {
  std::string name = instance.mnemonic() + (variant.name.empty() ? "" : " " + variant.name);
  Writer w(name, instance.mnemonic(), blocks, threads);
  Type ab = p.held == 64 ? Type::b64 : Type::b32, cd = p.d_held == 64 ? Type::b64 : Type::b32;
  std::vector<std::string> a, b, c, d;
  for (unsigned i = 0; i < p.a; ++i)
    a.push_back(w.load_given(ab, packed(p.types[1], p.held, false, 10 + i, w.count())));
  for (unsigned i = 0; i < p.b; ++i)
    b.push_back(w.load_given(ab, packed(p.types[2], p.held, true, 30 + i, w.count())));
  for (unsigned i = 0; i < p.c; ++i)
    c.push_back(w.load_given(cd, variant.at_extremes
                                     ? near_extremes(50 + i, w.count())
                                     : packed(p.types[3], p.d_held, false, 50 + i, w.count())));
  for (unsigned i = 0; i < p.d; ++i) d.push_back(w.declare(cd));
  std::string text = instance.mnemonic() + " " + braced(d) + ", " + braced(a) + ", " + braced(b) +
                     ", " + braced(c);
  if (p.sparse) {
    std::string metadata =
        variant.codes ? w.load_given(Type::b32, metadata_words(*variant.codes, w.count(), 42))
                      : w.load(Type::b32, Use::sparse);
    text += ", " + metadata + ", 0x" + std::to_string(variant.selector);
  }
  w.line(text + ";");
  for (const std::string& each : d) w.store(each, cd);
  return w.finish(5, w.count());
}

/// Each selector, and the codes that only a product without ordered metadata takes.
std::vector<Variant> sparse_variants(const Instance& instance, const Product& p) {
  bool pairs = p.types[1] == "tf32", small = p.types[1] == "e4m3" || p.types[1] == "e5m2";
  Codes codes = pairs ? Codes::one_of_two : Codes::ascending;
  std::vector<Variant> all;
  if (pairs) all.push_back({"", 0, codes});
  unsigned selectors = 4 / metadata_threads(p.shape.k, chunk_of(p.types[1]));
  for (unsigned s = 1; s < selectors; ++s)
    all.push_back({"selector " + std::to_string(s), s, codes});
  if (!pairs && !small && !instance.has("sp::ordered_metadata"))
    all.push_back({"indices in any order", 0, Codes::any_order});
  return all;
}

std::vector<Kernel> products(const Instance& instance) {
  auto product = Product::of(instance);
  if (!product) return {};
  std::vector<Variant> variants;
  // The places that metadata of 32-bit elements name are others than those drawn.
  if (!product->sparse || product->types[1] != "tf32") variants.push_back({});
  if (product->sparse)
    for (Variant& each : sparse_variants(instance, *product)) variants.push_back(std::move(each));
  if (instance.has("satfinite")) variants.push_back({"at the extremes", 0, {}, true});
  std::vector<Kernel> all;
  for (const Variant& each : variants) all.push_back(product_kernel(instance, *product, each));
  return all;
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
  w.line("ld.global.v4.b32 " + braced(words) + ", [" + in + "];");
  w.line("st.shared.v4.b32 [" + at + "], " + braced(words) + ";");
  w.line("bar.sync 0;");
  std::vector<std::string> moved;
  for (unsigned i = 0; i < count; ++i)
    moved.push_back(load ? w.declare(Type::b32) : w.load(Type::b32));
  if (load) {
    w.line(instance.mnemonic() + " " + braced(moved) + ", [" + row + "];");
    for (const std::string& name : moved) w.store(name, Type::b32);
  } else {
    w.line(instance.mnemonic() + " [" + row + "], " + braced(moved) + ";");
    w.line("bar.sync 0;");
    w.line("ld.shared.v4.b32 " + braced(words) + ", [" + at + "];");
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
