// wgmma: a tile of each operand in shared memory, one product, and all of its registers.

#include <charconv>

#include "base/random.h"
#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::uint32_t threads = 128;
constexpr unsigned tile_bytes = 8192;

struct Layout {
  std::string variant;
  bool a_in_registers = false, wide_swizzle = false, transposed = false, negated = false;
  bool accumulate = true;
};

struct Task {
  const Instance& instance;
  unsigned n = 0, k = 0;
  std::string_view d, a, b;
  unsigned element_bytes() const { return a == "tf32" ? 4 : a == "f16" || a == "bf16" ? 2 : 1; }
  bool integer() const { return d == "s32"; }
  bool half() const { return element_bytes() == 2; }
  unsigned registers() const { return d == "f16" ? n / 4 : n / 2; }
};

/// A tile whose manner changes from eight rows to the next.
std::string tile(std::string_view type_name, bool is_b) {
  Type type = *type_named(type_name);
  unsigned width = width_of(type) / 8;
  std::string bytes(tile_bytes, '\0');
  for (unsigned at = 0; at < tile_bytes; at += width) {
    unsigned kind = at / 256 % matrix_kinds;
    if (is_b) kind = kind == 3 && at / 1536 % 2 == 0 ? 0 : kind == 4 ? 1 : kind == 5 ? 0 : kind;
    std::uint64_t bits = matrix_element(type, kind, is_b ? 21 : 20, at / width);
    for (unsigned i = 0; i < width; ++i) bytes[at + i] = static_cast<char>(bits >> (8 * i));
  }
  return bytes;
}

/// Copies the first `bytes` of a tile, over and over, to shared memory from `base` on.
void fill(Writer& w, const std::string& base, unsigned bytes, const std::string& contents) {
  std::string from = w.input_area(16, contents), to = w.declare(Type::b32);
  w.line("mad.lo.u32 " + to + ", %t, 16, " + base + ";");
  for (unsigned at = 0; at < bytes; at += 16 * threads) {
    std::string list;
    for (unsigned i = 0; i < 4; ++i) list += (i == 0 ? "" : ", ") + w.declare(Type::b32);
    w.line("ld.global.v4.b32 {" + list + "}, [" + from + "+" + std::to_string(at % tile_bytes) +
           "];");
    w.line("st.shared.v4.b32 [" + to + "+" + std::to_string(at) + "], {" + list + "};");
  }
}

/// A register with the descriptor of a tile that begins at the address in `base`.
std::string descriptor(Writer& w, const std::string& base, const Layout& layout, bool transposed) {
  std::string low = w.declare(Type::b32), d = w.declare(Type::b64), rest = w.declare(Type::b64);
  std::uint64_t leading = transposed ? 128 : 128, stride = transposed ? 2048 : 256, mode = 0;
  if (layout.wide_swizzle) leading = 16, stride = 1024, mode = 1;
  std::uint64_t bits = leading >> 4 << 16 | stride >> 4 << 32 | mode << 62;
  // The second step of sixteen bytes twice, as a loop over K takes it, where rows are swizzled.
  w.line("add.u32 " + low + ", " + base + ", " + (layout.wide_swizzle ? "32" : "0") + ";");
  w.line("shr.u32 " + low + ", " + low + ", 4;");
  w.line("and.b32 " + low + ", " + low + ", 0x3FFF;");
  w.line("cvt.u64.u32 " + d + ", " + low + ";");
  w.line("mov.u64 " + rest + ", " + std::to_string(bits) + ";");
  w.line("or.b64 " + d + ", " + d + ", " + rest + ";");
  return d;
}

std::string operand_tail(const Task& task, const Layout& layout) {
  if (task.integer()) return "";
  std::string tail = layout.negated ? ", -1, 1" : ", 1, 1";
  if (layout.negated && layout.transposed) tail = ", -1, -1";
  if (!task.half()) return tail;
  std::string trans = layout.transposed ? ", 1" : ", 0";
  return tail + (layout.a_in_registers ? "" : trans) + trans;
}

Kernel product(const Task& task, const Layout& layout) {
  const Instance& instance = task.instance;
  Writer w(instance.mnemonic() + " " + layout.variant, instance.mnemonic(), 1, threads);
  unsigned rows_a = 64, span = layout.wide_swizzle ? 128 : 32;
  unsigned a_bytes = std::max(rows_a * span, tile_bytes),
           b_bytes = (task.n * span + 2047) / 2048 * 2048;
  if (layout.transposed) b_bytes = std::max(task.n / 8 * 2048u, 4096u), a_bytes = 8 * 2048;
  w.variable(".shared .align 1024 .b8 tiles[" + std::to_string(a_bytes + b_bytes) + "];");
  std::string a_base = w.declare(Type::b32), b_base = w.declare(Type::b32);
  w.line("mov.u32 " + a_base + ", tiles;");
  w.line("add.u32 " + b_base + ", " + a_base + ", " + std::to_string(a_bytes) + ";");
  fill(w, a_base, a_bytes, tile(task.a, false));
  fill(w, b_base, b_bytes, tile(task.b, true));
  std::vector<std::string> seeds, d;
  std::string a, list;
  for (unsigned i = 0; i < 4; ++i) {
    std::vector<std::uint64_t> elements(threads);
    for (unsigned t = 0; t < threads; ++t)
      elements[t] = task.integer()    ? philox64(2, i, t) >> 32
                    : task.d == "f16" ? matrix_element(Type::f16, (t + i) % 6, 4, t) |
                                            matrix_element(Type::f16, t % 6, 5, t) << 16
                                      : matrix_element(Type::f32, (t + i) % 6, 4, t * 4 + i);
    seeds.push_back(w.load_given(Type::b32, elements));
  }
  for (unsigned i = 0; i < task.registers(); ++i) {
    d.push_back(w.declare(Type::b32));
    w.line("mov.b32 " + d.back() + ", " + seeds[i % 4] + ";");
    list += (i == 0 ? "" : ", ") + d.back();
  }
  if (layout.a_in_registers) {
    for (unsigned i = 0; i < 4; ++i) {
      std::vector<std::uint64_t> elements(threads);
      unsigned each = 4 / task.element_bytes();
      Type type = *type_named(task.a);
      for (unsigned t = 0; t < threads; ++t)
        for (unsigned e = 0; e < each; ++e)
          elements[t] |= matrix_element(type, (t / 16 + i) % 6, 9, (t * 4 + i) * each + e)
                         << (e * width_of(type));
      a += (i == 0 ? "" : ", ") + w.load_given(Type::b32, elements);
    }
    a = "{" + a + "}";
  } else {
    a = descriptor(w, a_base, layout, layout.transposed);
  }
  std::string b = descriptor(w, b_base, layout, layout.transposed), p = w.declare(Type::pred);
  w.line("setp.eq.u32 " + p + (layout.accumulate ? ", 0, 0;" : ", 0, 1;"));
  w.line("fence.proxy.async;");
  w.line("bar.sync 0;");
  w.line("wgmma.fence.sync.aligned;");
  w.line(instance.mnemonic() + " {" + list + "}, " + a + ", " + b + ", " + p +
         operand_tail(task, layout) + ";");
  w.line("wgmma.commit_group.sync.aligned;");
  w.line("wgmma.wait_group.sync.aligned 0;");
  for (const std::string& name : d) w.store(name, Type::b32);
  return w.finish(19, threads);
}

}  // namespace

std::vector<Kernel> warpgroup_kernels(const Instance& instance) {
  if (instance.opcode() != "wgmma" || !instance.has("mma_async")) return {};
  std::string_view shape = instance.word_with("m64n");
  Task task{instance, 0, 0, {}, {}, {}};
  if (shape.empty() || instance.has("b1") || !instance.word_with("sp").empty()) return {};
  const char* end = shape.data() + shape.size();
  auto at = std::from_chars(shape.data() + 4, end, task.n).ptr;
  std::from_chars(at + 1, end, task.k);
  std::vector<std::string_view> types;
  for (std::string_view word : instance.words)
    if (type_named(word)) types.push_back(word);
  if (types.size() != 3) return {};
  task.d = types[0], task.a = types[1], task.b = types[2];
  if (task.k * task.element_bytes() != 32) return {};
  std::vector<Kernel> all;
  bool main = task.a == "f16" && task.d == "f32";
  if (task.n == 8 || task.n == 24 || (main && (task.n % 64 == 0 || task.n < 64)) || task.n == 64)
    all.push_back(product(task, {"plain"}));
  if (task.n == 24 || (main && task.n == 128)) {
    all.push_back(product(task, {"A in registers", true}));
    all.push_back(product(task, {"swizzled", false, true}));
    all.push_back(product(task, {"D is not added", false, false, false, false, false}));
    if (!task.integer()) all.push_back(product(task, {"negated", false, false, false, true}));
    if (task.half()) all.push_back(product(task, {"transposed", false, false, true}));
  }
  return all;
}

}  // namespace lathe::ptx::witness
