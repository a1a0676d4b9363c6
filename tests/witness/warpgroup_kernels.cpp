// wgmma: a tile of each operand in shared memory, one product, and all of its registers.

#include "tests/witness/warpgroup_parts.h"

namespace lathe::ptx::witness {
namespace {

struct Layout {
  std::string variant;
  bool a_in_registers = false, wide_swizzle = false, transposed = false, negated = false;
  bool accumulate = true;

  std::uint64_t bits() const {
    return wide_swizzle ? descriptor_bits(16, 1024, 1)
                        : descriptor_bits(128, transposed ? 2048 : 256, 0);
  }
  /// The second step of sixteen bytes twice, as a loop over K takes it, where rows are swizzled.
  unsigned offset() const { return wide_swizzle ? 32 : 0; }
};

std::string operand_tail(const WarpgroupProduct& product, const Layout& layout) {
  if (product.integer()) return "";
  std::string tail = layout.negated ? ", -1, 1" : ", 1, 1";
  if (layout.negated && layout.transposed) tail = ", -1, -1";
  if (!product.half()) return tail;
  std::string trans = layout.transposed ? ", 1" : ", 0";
  return tail + (layout.a_in_registers ? "" : trans) + trans;
}

Kernel product_kernel(const Instance& instance, const WarpgroupProduct& product,
                      const Layout& layout) {
  Writer w(instance.mnemonic() + " " + layout.variant, instance.mnemonic(), 1, warpgroup_threads);
  unsigned rows_a = 64, span = layout.wide_swizzle ? 128 : 32;
  unsigned a_bytes = std::max(rows_a * span, tile_bytes),
           b_bytes = (product.n * span + 2047) / 2048 * 2048;
  if (layout.transposed) b_bytes = std::max(product.n / 8 * 2048u, 4096u), a_bytes = 8 * 2048;
  w.variable(".shared .align 1024 .b8 tiles[" + std::to_string(a_bytes + b_bytes) + "];");
  std::string a_base = w.declare(Type::b32), b_base = w.declare(Type::b32);
  w.line("mov.u32 " + a_base + ", tiles;");
  w.line("add.u32 " + b_base + ", " + a_base + ", " + std::to_string(a_bytes) + ";");
  fill(w, a_base, a_bytes, tile(product.a, false));
  fill(w, b_base, b_bytes, tile(product.b, true));
  std::vector<std::string> seeds = accumulator_seeds(w, product.d);
  std::vector<std::string> d = accumulators(w, seeds, product.registers());
  std::string a = layout.a_in_registers ? factor_in_registers(w, product.a)
                                        : descriptor(w, a_base, layout.offset(), layout.bits());
  std::string b = descriptor(w, b_base, layout.offset(), layout.bits());
  std::string p = w.declare(Type::pred);
  w.line("setp.eq.u32 " + p + (layout.accumulate ? ", 0, 0;" : ", 0, 1;"));
  w.line("fence.proxy.async;");
  w.line("bar.sync 0;");
  w.line("wgmma.fence.sync.aligned;");
  w.line(instance.mnemonic() + " " + braced(d) + ", " + a + ", " + b + ", " + p +
         operand_tail(product, layout) + ";");
  w.line("wgmma.commit_group.sync.aligned;");
  w.line("wgmma.wait_group.sync.aligned 0;");
  for (const std::string& name : d) w.store(name, Type::b32);
  return w.finish(19, warpgroup_threads);
}

/// Two products in groups of their own: the first is stored while the second may be under way.
Kernel wait_kernel(const Instance& instance) {
  const std::string multiply = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 ";
  const std::string commit = "wgmma.commit_group.sync.aligned;";
  Writer w(instance.mnemonic(), instance.mnemonic(), 1, warpgroup_threads);
  w.variable(".shared .align 1024 .b8 tiles[" + std::to_string(2 * tile_bytes) + "];");
  std::string a_base = w.declare(Type::b32), b_base = w.declare(Type::b32);
  w.line("mov.u32 " + a_base + ", tiles;");
  w.line("add.u32 " + b_base + ", " + a_base + ", " + std::to_string(tile_bytes) + ";");
  fill(w, a_base, tile_bytes, tile("f16", false));
  fill(w, b_base, tile_bytes, tile("f16", true));
  std::vector<std::string> seeds = accumulator_seeds(w, "f32");
  std::vector<std::string> first = accumulators(w, seeds, 4), second = accumulators(w, seeds, 4);
  std::uint64_t bits = Layout{}.bits();
  std::string factors =
      ", " + descriptor(w, a_base, 0, bits) + ", " + descriptor(w, b_base, 0, bits);
  for (const char* line : {"fence.proxy.async;", "bar.sync 0;", "wgmma.fence.sync.aligned;"})
    w.line(line);
  w.line(multiply + braced(first) + factors + ", 1, 1, 1, 0, 0;");
  w.line(commit);
  w.line(multiply + braced(second) + factors + ", 1, -1, 1, 0, 0;");
  w.line(commit);
  w.line(instance.mnemonic() + " 1;");
  for (const std::string& name : first) w.store(name, Type::b32);
  w.line(instance.mnemonic() + " 0;");
  for (const std::string& name : second) w.store(name, Type::b32);
  return w.finish(19, warpgroup_threads);
}

}  // namespace

std::vector<Kernel> warpgroup_kernels(const Instance& instance) {
  if (instance.opcode() != "wgmma" || instance.has("sp")) return {};
  if (instance.has("wait_group")) return {wait_kernel(instance)};
  auto product = WarpgroupProduct::of(instance);
  if (!product) return {};
  unsigned bits = product->a == "b1" ? 1 : 8 * product->element_bytes();
  if (product->k * bits != 256) return {};
  std::vector<Kernel> all;
  auto add = [&](const Layout& layout) {
    all.push_back(product_kernel(instance, *product, layout));
  };
  unsigned n = product->n;
  if (!instance.has("aligned")) {  // Another spelling of the same.
    if (n == 8) add({"plain"});
    return all;
  }
  bool main = product->a == "f16" && product->d == "f32";
  if (n == 8 || n == 24 || (main && (n % 64 == 0 || n < 64)) || n == 64) add({"plain"});
  if (n == 24 || (main && n == 128)) {
    add({"A in registers", true});
    add({"swizzled", false, true});
    add({"D is not added", false, false, false, false, false});
    if (!product->integer()) add({"negated", false, false, false, true});
    if (product->half()) add({"transposed", false, false, true});
  }
  return all;
}

}  // namespace lathe::ptx::witness
