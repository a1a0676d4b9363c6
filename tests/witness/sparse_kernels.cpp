// wgmma of a sparse A: half of its columns in shared memory or in registers, and metadata that say
// which half. B is twice as deep as that of a dense product: rows of 64 bytes.

#include "base/random.h"
#include "tests/witness/metadata.h"
#include "tests/witness/warpgroup_parts.h"

namespace lathe::ptx::witness {
namespace {

constexpr unsigned a_row = 32, b_row = 64, wide_row = 128;

enum class Memory : std::uint8_t { plain, rows_of_64, rows_of_128, transposed };

struct Variant {
  std::string name;
  unsigned selector = 0;
  Memory memory = Memory::plain;
  Codes codes = Codes::ascending;
  bool a_in_registers = false, negated = false, accumulate = true, at_extremes = false;

  bool swizzled() const { return memory == Memory::rows_of_64 || memory == Memory::rows_of_128; }
  /// Bytes between one row of a matrix and the next, all of eight rows side by side.
  unsigned span(unsigned row) const {
    return memory == Memory::rows_of_64 ? 64 : memory == Memory::rows_of_128 ? wide_row : row;
  }
  std::uint64_t descriptor(unsigned row) const {
    if (memory == Memory::transposed) return descriptor_bits(128, 2048, 0);
    if (memory == Memory::plain) return descriptor_bits(128, 8 * row, 0);
    return descriptor_bits(16, 8 * span(row), memory == Memory::rows_of_64 ? 2 : 1);
  }
  /// Where rows are wider than an operand, it is their second part.
  unsigned offset(unsigned row) const { return swizzled() && span(row) > row ? row : 0; }
};

/// Columns of B, each of another manner than its neighbours: eight rows of 16 bytes lie side by
/// side.
std::string tile_of_b(std::string_view type_name) {
  static constexpr unsigned kinds[] = {1, 0, 2, 1, 5, 0, 3, 4};
  Type type = drawn_type(type_name);
  unsigned width = width_of(type) / 8;
  std::string bytes(tile_bytes, '\0');
  for (unsigned at = 0; at < tile_bytes; at += width) {
    std::uint64_t bits = matrix_element(type, kinds[at / 16 % 8], 23, at / width);
    for (unsigned i = 0; i < width; ++i) bytes[at + i] = static_cast<char>(bits >> (8 * i));
  }
  return bytes;
}

std::vector<std::string> seeds_at_extremes(Writer& w) {
  std::vector<std::string> seeds;
  for (unsigned i = 0; i < 4; ++i) {
    std::vector<std::uint64_t> elements(warpgroup_threads);
    for (unsigned t = 0; t < warpgroup_threads; ++t) elements[t] = near_extreme(philox64(43, i, t));
    seeds.push_back(w.load_given(Type::b32, elements));
  }
  return seeds;
}

std::string operand_tail(const WarpgroupProduct& product, const Variant& variant) {
  if (product.integer()) return "";
  std::string tail = variant.negated ? ", -1, 1" : ", 1, 1";
  if (!product.half()) return tail;
  std::string trans = variant.memory == Memory::transposed ? ", 1" : ", 0";
  return tail + (variant.a_in_registers ? "" : trans) + trans;
}

/// Both tiles in shared memory; registers with where each begins.
std::pair<std::string, std::string> tiles(Writer& w, const WarpgroupProduct& product,
                                          const Variant& variant) {
  bool transposed = variant.memory == Memory::transposed;
  unsigned a_bytes = transposed ? 8 * 2048 : std::max(64 * variant.span(a_row), tile_bytes);
  unsigned b_bytes = transposed ? std::max(product.n / 8 * 2048u, 4096u)
                                : (product.n * variant.span(b_row) + 2047) / 2048 * 2048;
  w.variable(".shared .align 1024 .b8 tiles[" + std::to_string(a_bytes + b_bytes) + "];");
  std::string a = w.declare(Type::b32), b = w.declare(Type::b32);
  w.line("mov.u32 " + a + ", tiles;");
  w.line("add.u32 " + b + ", " + a + ", " + std::to_string(a_bytes) + ";");
  fill(w, a, a_bytes, tile(product.a, false));
  fill(w, b, b_bytes, tile_of_b(product.b));
  return {a, b};
}

Kernel sparse_kernel(const Instance& instance, const WarpgroupProduct& product,
                     const Variant& variant) {
  Writer w(instance.mnemonic() + " " + variant.name, instance.mnemonic(), 1, warpgroup_threads);
  auto [a_base, b_base] = tiles(w, product, variant);
  std::vector<std::string> d =
      accumulators(w, variant.at_extremes ? seeds_at_extremes(w) : accumulator_seeds(w, product.d),
                   product.registers());
  std::string metadata =
      w.load_given(Type::b32, metadata_words(variant.codes, warpgroup_threads, 41));
  std::string a = variant.a_in_registers
                      ? factor_in_registers(w, product.a)
                      : descriptor(w, a_base, variant.offset(a_row), variant.descriptor(a_row));
  std::string b = descriptor(w, b_base, variant.offset(b_row), variant.descriptor(b_row));
  std::string p = w.declare(Type::pred);
  w.line("setp.eq.u32 " + p + (variant.accumulate ? ", 0, 0;" : ", 0, 1;"));
  w.line("fence.proxy.async;");
  w.line("bar.sync 0;");
  w.line("wgmma.fence.sync.aligned;");
  w.line(instance.mnemonic() + " " + braced(d) + ", " + a + ", " + b + ", " + metadata + ", " +
         std::to_string(variant.selector) + ", " + p + operand_tail(product, variant) + ";");
  w.line("wgmma.commit_group.sync.aligned;");
  w.line("wgmma.wait_group.sync.aligned 0;");
  for (const std::string& name : d) w.store(name, Type::b32);
  return w.finish(19, warpgroup_threads);
}

/// What is tried with eight columns, whose manners are all there are.
std::vector<Variant> narrow_variants(const Instance& instance, const WarpgroupProduct& product) {
  Codes codes = product.a == "tf32" ? Codes::one_of_two : Codes::ascending;
  std::vector<Variant> all;
  for (unsigned s = 0; s < 4 / metadata_threads(product.k, chunk_of(product.a)); ++s) {
    std::string at = ", selector " + std::to_string(s);
    all.push_back({"sparse" + at, s, Memory::plain, codes});
    all.push_back({"A in registers" + at, s, Memory::plain, codes, true});
  }
  if (codes == Codes::ascending)
    all.push_back({"indices in any order", 0, Memory::plain, Codes::any_order});
  all.push_back({"D is not added", 0, Memory::plain, codes, false, false, false});
  if (!product.integer()) all.push_back({"negated", 0, Memory::plain, codes, false, true});
  if (instance.has("satfinite"))
    all.push_back({"at the extremes", 0, Memory::plain, codes, false, false, true, true});
  return all;
}

/// What is tried with more: other places of B's columns.
std::vector<Variant> broad_variants(const WarpgroupProduct& product) {
  Codes codes = product.a == "tf32" ? Codes::one_of_two : Codes::any_order;
  std::vector<Variant> all{{"sparse", 0, Memory::plain, codes},
                           {"swizzled", 0, Memory::rows_of_128, codes},
                           {"swizzled by 64", 0, Memory::rows_of_64, codes}};
  if (product.half()) {
    all.push_back({"transposed", 0, Memory::transposed, codes});
    all.push_back({"B transposed", 1, Memory::transposed, codes, true});
  }
  return all;
}

}  // namespace

std::vector<Kernel> sparse_kernels(const Instance& instance) {
  if (instance.opcode() != "wgmma" || !instance.has("sp")) return {};
  auto product = WarpgroupProduct::of(instance);
  if (!product) return {};
  bool main = product->a == "f16" && product->d == "f32";
  std::vector<Variant> variants;
  if (product->n == 8) variants = narrow_variants(instance, *product);
  if (product->n == 24) variants = broad_variants(*product);
  if (main && (product->n % 64 == 0 || (product->n < 64 && variants.empty())))
    variants.push_back({"sparse", 1, Memory::plain, Codes::any_order});
  if (!instance.has("aligned"))  // Another spelling of the same.
    variants.resize(product->n == 8 ? 1 : 0);
  std::vector<Kernel> all;
  for (const Variant& variant : variants) all.push_back(sparse_kernel(instance, *product, variant));
  return all;
}

}  // namespace lathe::ptx::witness
