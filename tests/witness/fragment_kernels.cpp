// wmma: from memory to memory, since where the elements of a fragment lie is left open. What moves
// A or B is seen through a product with a matrix that has a single one in each row or column, so
// that each element of D is one element of what was moved; what moves C or D goes straight through.

#include <array>
#include <charconv>

#include "base/random.h"
#include "tests/witness/kernel.h"

namespace lathe::ptx::witness {
namespace {

constexpr std::uint32_t warp_lanes = 32, warps_most = 4;
constexpr unsigned area_step = 128;

struct Extents {
  unsigned m = 0, n = 0, k = 0;
};

/// A matrix of a product: as it lies in memory, and the instruction that moves it.
struct Moved {
  char which = 'a';  // a, b, c or d.
  std::string_view type;
  bool by_columns = false, strided = false;
  std::string_view space = "global";
  unsigned rows = 0, columns = 0;

  unsigned bits() const {
    return type == "b1" ? 1 : type == "s4" || type == "u4" ? 4 : width_of(*type_named(type));
  }
  bool shared() const { return space.starts_with("shared"); }
  unsigned lines() const { return by_columns ? columns : rows; }
  /// Elements from one row, or column, to the next.
  unsigned stride() const { return (by_columns ? rows : columns) + (strided ? 128 / bits() : 0); }
  unsigned area() const {
    unsigned bytes = lines() * stride() * bits() / 8;
    return (bytes + area_step - 1) / area_step * area_step;
  }
  unsigned each() const { return area() / warp_lanes; }
  unsigned registers() const {
    if (type == "f16" && (which == 'a' || which == 'b')) return 8;
    return rows * columns * bits() / warp_lanes / width_of(register_type());
  }
  Type register_type() const { return type == "f64" ? Type::b64 : Type::b32; }
  std::string mnemonic(std::string_view shape) const {
    std::string text = which == 'd' ? "wmma.store." : "wmma.load.";
    text += std::string(1, which) + ".sync.aligned" + (by_columns ? ".col." : ".row.");
    text += std::string(shape);
    return text + (space.empty() ? "" : "." + std::string(space)) + "." + std::string(type);
  }
};

/// What an instance of wmma is tried with.
struct Plan {
  std::string_view shape;
  Extents extents;
  std::string product;         // Its mnemonic; none where C goes to D.
  std::array<Moved, 4> moved;  // A, B, C and D; without rows where there is none.
  unsigned warps = 8;
  bool one_of_a = false, one_of_b = false;  // A single one in each row of A, or column of B.
  bool at_extremes = false, halfway = false;

  Plan(std::string_view name, std::string_view factor, std::string_view sum) : shape(name) {
    const char* end = name.data() + name.size();
    auto at = std::from_chars(name.data() + 1, end, extents.m).ptr;
    at = std::from_chars(at + 1, end, extents.n).ptr;
    std::from_chars(at + 1, end, extents.k);
    auto [m, n, k] = extents;
    moved = {Moved{'a', factor, false, false, "global", m, k},
             Moved{'b', factor, true, false, "global", k, n},
             Moved{'c', sum, false, false, "global", m, n},
             Moved{'d', sum, false, false, "global", m, n}};
  }
  Moved& of(char which) { return moved[static_cast<std::size_t>(which - 'a')]; }
  const Moved& of(char which) const { return moved[static_cast<std::size_t>(which - 'a')]; }
  void set_product() {
    auto order = [&](char which) { return of(which).by_columns ? ".col" : ".row"; };
    std::string factor(of('a').type), c(of('c').type), d(of('d').type);
    product = std::string("wmma.mma") + (factor == "b1" ? ".and.popc" : "") + ".sync.aligned" +
              order('a') + order('b') + "." + std::string(shape);
    product += "." + d + (factor == "f16" ? "" : "." + factor + "." + factor) + "." + c;
  }
};

std::uint64_t one_of(std::string_view type) {
  if (type == "f16") return 0x3C00;
  if (type == "bf16") return 0x3F80;
  return type == "tf32" ? 0x3F800000 : type == "f64" ? 0x3FF0000000000000 : 1;
}

/// Any bits that are a number.
std::uint64_t finite(std::string_view type, std::uint64_t bits) {
  std::uint64_t exponent = type == "f16"    ? 0x7C00
                           : type == "bf16" ? 0x7F80
                           : type == "tf32" ? 0x7F800000
                           : type == "f64"  ? 0x7FF0000000000000
                                            : 0;
  bool number = exponent == 0 || (bits & exponent) != exponent;
  return number ? bits : bits ^ (exponent & ~(exponent >> 1));
}

/// C lies halfway between two numbers of f16, and one product is too small for f32 to tell: whether
/// the sum becomes f32 first is seen.
std::uint64_t halfway_element(char which, unsigned row, unsigned column, unsigned columns) {
  constexpr std::uint64_t tiny = 0x0C00, sign = 0x8000;  // 2^-12
  if (which == 'a') return column != 0 ? 0 : row % 2 == 0 ? tiny : tiny | sign;
  if (which == 'b') return row == 0 ? tiny : 0;
  return 0x3F800000 | (2 * (row * columns + column) + 1) << 12;
}

/// The bits of an element; the manner changes from warp to warp.
std::uint64_t element(const Plan& plan, char which, unsigned warp, unsigned row, unsigned column) {
  static constexpr unsigned kinds[][3] = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 1, 1},
                                          {4, 0, 4}, {5, 5, 5}, {1, 2, 1}, {1, 3, 3}};
  const Moved& moved = plan.of(which);
  auto [m, n, k] = plan.extents;
  std::uint64_t one = one_of(moved.type);
  if (which == 'a' && plan.one_of_a) return column == (row + m * warp) % k ? one : 0;
  if (which == 'b' && plan.one_of_b) return row == (column + n * warp) % k ? one : 0;
  std::uint64_t index = (std::uint64_t{warp} * 64 + row) * 256 + column;
  std::uint64_t seed = 60 + static_cast<std::uint64_t>(which - 'a'), r = philox64(seed, 1, index);
  if (plan.one_of_a || plan.one_of_b) return finite(moved.type, r);
  if (plan.product.empty()) return r;
  if (plan.halfway) return halfway_element(which, row, column, n);
  if (which == 'c' && plan.at_extremes) return near_extreme(r);
  if (moved.bits() < 8) return r;
  return matrix_element(*type_named(moved.type), kinds[warp % 8][which - 'a'], seed, index);
}

/// The matrices of all warps, one after the other.
std::string image(const Plan& plan, char which) {
  const Moved& moved = plan.of(which);
  unsigned bits = moved.bits();
  std::string bytes(std::size_t{moved.area()} * plan.warps, '\0');
  for (unsigned warp = 0; warp < plan.warps; ++warp)
    for (unsigned row = 0; row < moved.rows; ++row)
      for (unsigned column = 0; column < moved.columns; ++column) {
        unsigned line = moved.by_columns ? column : row, along = moved.by_columns ? row : column;
        std::size_t at =
            std::size_t{warp} * moved.area() * 8 + (line * moved.stride() + along) * bits;
        std::uint64_t value = element(plan, which, warp, row, column);
        if (bits < 64) value &= (std::uint64_t{1} << bits) - 1;
        for (unsigned i = 0; i < (bits + 7) / 8; ++i)
          bytes[at / 8 + i] = static_cast<char>(static_cast<unsigned char>(bytes[at / 8 + i]) |
                                                value >> (8 * i) << at % 8);
      }
  return bytes;
}

/// The address of the warp's part of an area in which each thread has `each` bytes.
std::string warp_begin(Writer& w, const std::string& own, unsigned each) {
  std::string lane = w.declare(Type::b32), behind = w.declare(Type::b64);
  std::string begin = w.declare(Type::b64);
  w.line("and.b32 " + lane + ", %t, 31;");
  w.line("mul.wide.u32 " + behind + ", " + lane + ", " + std::to_string(each) + ";");
  w.line("sub.s64 " + begin + ", " + own + ", " + behind + ";");
  return begin;
}

/// Room in shared memory like such an area: this thread's part and the warp's.
std::pair<std::string, std::string> shared_area(Writer& w, const Moved& moved, unsigned warps) {
  std::string name(1, moved.which), own = w.declare(Type::b32), begin = w.declare(Type::b32);
  std::string each = std::to_string(moved.each());
  name += "_tile";
  w.variable(".shared .align 128 .b8 " + name + "[" +
             std::to_string(moved.area() * std::min(warps, warps_most)) + "];");
  w.line("mov.u32 " + begin + ", " + name + ";");
  w.line("mad.lo.u32 " + own + ", %t, " + each + ", " + begin + ";");
  std::string first = w.declare(Type::b32);
  w.line("and.b32 " + first + ", %t, 224;");
  w.line("mad.lo.u32 " + begin + ", " + first + ", " + each + ", " + begin + ";");
  return {own, begin};
}

/// Copies this thread's part word by word; "0" stands for a source of zeros.
void copy_words(Writer& w, const std::string& to, const std::string& from, unsigned bytes) {
  std::string word = w.declare(Type::b32);
  for (unsigned at = 0; at < bytes; at += 4) {
    std::string offset = "+" + std::to_string(at) + "]";
    w.line(from == "0" ? "mov.b32 " + word + ", 0;"
                       : "ld." + from.substr(0, from.find('[')) + ".b32 " + word + ", " +
                             from.substr(from.find('[')) + offset + ";");
    w.line("st." + to.substr(0, to.find('[')) + ".b32 " + to.substr(to.find('[')) + offset + ", " +
           word + ";");
  }
}

std::string with_stride(Writer& w, const Moved& moved) {
  if (!moved.strided) return "";
  std::string stride = w.declare(Type::b32);
  w.line("mov.u32 " + stride + ", " + std::to_string(moved.stride()) + ";");
  return ", " + stride;
}

std::vector<std::string> declared(Writer& w, const Moved& moved) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < moved.registers(); ++i)
    names.push_back(w.declare(moved.register_type()));
  return names;
}

/// The fragment of a matrix that is loaded; of zeros where C is none.
std::vector<std::string> loaded(Writer& w, const Plan& plan, char which) {
  const Moved& moved = plan.of(which);
  std::vector<std::string> names = declared(w, moved);
  if (which == 'c' && (plan.one_of_a || plan.one_of_b)) {
    std::string type(name_of(moved.register_type()));
    for (const std::string& name : names) w.line("mov." + type + " " + name + ", 0;");
    return names;
  }
  std::string own = w.input_area(moved.each(), image(plan, which)), begin;
  if (moved.shared()) {
    auto [place, first] = shared_area(w, moved, plan.warps);
    copy_words(w, "shared[" + place, "global[" + own, moved.each());
    w.line("bar.sync 0;");
    begin = first;
  } else {
    begin = warp_begin(w, own, moved.each());
  }
  std::string stride = with_stride(w, moved);
  w.line(moved.mnemonic(plan.shape) + " " + braced(names) + ", [" + begin + "]" + stride + ";");
  return names;
}

void store(Writer& w, const Plan& plan, const std::vector<std::string>& names) {
  const Moved& moved = plan.of('d');
  std::string own = w.output_area(moved.each()), stride = with_stride(w, moved);
  auto line = [&](const std::string& begin) {
    w.line(moved.mnemonic(plan.shape) + " [" + begin + "], " + braced(names) + stride + ";");
  };
  if (!moved.shared()) return line(warp_begin(w, own, moved.each()));
  auto [place, first] = shared_area(w, moved, plan.warps);
  copy_words(w, "shared[" + place, "0", moved.each());
  w.line("bar.sync 0;");
  line(first);
  w.line("bar.sync 0;");
  copy_words(w, "global[" + own, "shared[" + place, moved.each());
}

Kernel kernel_of(const Instance& instance, const std::string& variant, const Plan& plan) {
  std::uint32_t warps = std::min(plan.warps, warps_most);
  Writer w(instance.mnemonic() + (variant.empty() ? "" : " " + variant), instance.mnemonic(),
           plan.warps / warps, warps * warp_lanes);
  if (plan.product.empty()) {
    store(w, plan, loaded(w, plan, 'c'));
    return w.finish(7, w.count());
  }
  std::vector<std::string> a = loaded(w, plan, 'a'), b = loaded(w, plan, 'b'),
                           c = loaded(w, plan, 'c'), d = declared(w, plan.of('d'));
  w.line(plan.product + " " + braced(d) + ", " + braced(a) + ", " + braced(b) + ", " + braced(c) +
         ";");
  store(w, plan, d);
  return w.finish(7, w.count());
}

/// The orders of rows and columns that an instruction names.
std::vector<bool> orders_of(const Instance& instance) {
  std::vector<bool> by_columns;
  for (std::string_view word : instance.words)
    if (word == "row" || word == "col") by_columns.push_back(word == "col");
  return by_columns;
}

std::vector<Kernel> products(const Instance& instance, std::string_view shape) {
  std::vector<std::string_view> types;
  for (std::string_view word : instance.words)
    if (type_named(word)) types.push_back(word);
  Plan plan(shape, types.size() == 4 ? types[1] : "f16", types[0]);
  plan.of('c').type = types.back();
  std::vector<bool> orders = orders_of(instance);
  plan.of('a').by_columns = orders[0], plan.of('b').by_columns = orders[1];
  plan.product = instance.mnemonic();
  std::vector<Kernel> all{kernel_of(instance, "", plan)};
  plan.at_extremes = true;
  if (types[0] == "s32") all.push_back(kernel_of(instance, "at the extremes", plan));
  plan.halfway = true, plan.warps = 1;
  if (types[0] == "f16" && types[1] == "f32") all.push_back(kernel_of(instance, "halfway", plan));
  return all;
}

std::vector<Kernel> moves(const Instance& instance, std::string_view shape) {
  std::string_view type = instance.words.back();
  char which = instance.has("a") ? 'a' : instance.has("b") ? 'b' : instance.has("c") ? 'c' : 'd';
  bool factor = which == 'a' || which == 'b';
  bool wide = type == "f16" || type == "bf16" || type == "tf32";
  std::string_view sum = !factor || type == "f64" ? type : wide ? "f32" : "s32";
  Plan plan(shape, factor ? type : "s8", sum);
  Moved& moved = plan.of(which);
  moved.by_columns = orders_of(instance)[0];
  moved.space = instance.word_with("global");
  if (moved.space.empty()) moved.space = instance.word_with("shared");
  plan.warps = 2;
  if (factor) {
    plan.set_product();
    plan.one_of_a = which == 'b', plan.one_of_b = which == 'a';
    unsigned shown = which == 'a' ? plan.extents.n : plan.extents.m;
    plan.warps = std::max(2u, plan.extents.k / shown);
  }
  std::vector<Kernel> all{kernel_of(instance, "", plan)};
  moved.strided = true;
  all.push_back(kernel_of(instance, "with a stride", plan));
  return all;
}

}  // namespace

std::vector<Kernel> fragment_kernels(const Instance& instance) {
  if (instance.opcode() != "wmma") return {};
  std::string_view shape;
  for (std::string_view word : instance.words)
    if (word.starts_with('m') && word.find('k') != std::string_view::npos) shape = word;
  if (shape.empty()) return {};
  return instance.has("mma") ? products(instance, shape) : moves(instance, shape);
}

}  // namespace lathe::ptx::witness
