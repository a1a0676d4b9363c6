#include "tests/witness/warpgroup_parts.h"

#include <charconv>

#include "base/random.h"

namespace lathe::ptx::witness {

std::optional<WarpgroupProduct> WarpgroupProduct::of(const Instance& instance) {
  std::string_view shape = instance.word_with("m64n");
  if (!instance.has("mma_async") || shape.empty()) return std::nullopt;
  WarpgroupProduct product;
  const char* end = shape.data() + shape.size();
  auto at = std::from_chars(shape.data() + 4, end, product.n).ptr;
  std::from_chars(at + 1, end, product.k);
  std::vector<std::string_view> types;
  for (std::string_view word : instance.words)
    if (type_named(word)) types.push_back(word);
  if (types.size() != 3) return std::nullopt;
  product.d = types[0], product.a = types[1], product.b = types[2];
  return product;
}

Type drawn_type(std::string_view type_name) {
  Type type = *type_named(type_name);
  return type == Type::b1 ? Type::u8 : type;
}

std::string tile(std::string_view type_name, bool is_b) {
  Type type = drawn_type(type_name);
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

void fill(Writer& w, const std::string& base, unsigned bytes, const std::string& contents) {
  std::string from = w.input_area(16, contents), to = w.declare(Type::b32);
  w.line("mad.lo.u32 " + to + ", %t, 16, " + base + ";");
  for (unsigned at = 0; at < bytes; at += 16 * warpgroup_threads) {
    std::vector<std::string> words;
    for (unsigned i = 0; i < 4; ++i) words.push_back(w.declare(Type::b32));
    w.line("ld.global.v4.b32 " + braced(words) + ", [" + from + "+" +
           std::to_string(at % tile_bytes) + "];");
    w.line("st.shared.v4.b32 [" + to + "+" + std::to_string(at) + "], " + braced(words) + ";");
  }
}

std::string descriptor(Writer& w, const std::string& base, unsigned offset, std::uint64_t bits) {
  std::string low = w.declare(Type::b32), d = w.declare(Type::b64), rest = w.declare(Type::b64);
  w.line("add.u32 " + low + ", " + base + ", " + std::to_string(offset) + ";");
  w.line("shr.u32 " + low + ", " + low + ", 4;");
  w.line("and.b32 " + low + ", " + low + ", 0x3FFF;");
  w.line("cvt.u64.u32 " + d + ", " + low + ";");
  w.line("mov.u64 " + rest + ", " + std::to_string(bits) + ";");
  w.line("or.b64 " + d + ", " + d + ", " + rest + ";");
  return d;
}

std::vector<std::string> accumulator_seeds(Writer& w, std::string_view type_name) {
  std::vector<std::string> seeds;
  for (unsigned i = 0; i < 4; ++i) {
    std::vector<std::uint64_t> elements(warpgroup_threads);
    for (unsigned t = 0; t < warpgroup_threads; ++t)
      elements[t] = type_name == "s32"   ? philox64(2, i, t) >> 32
                    : type_name == "f16" ? matrix_element(Type::f16, (t + i) % 6, 4, t) |
                                               matrix_element(Type::f16, t % 6, 5, t) << 16
                                         : matrix_element(Type::f32, (t + i) % 6, 4, t * 4 + i);
    seeds.push_back(w.load_given(Type::b32, elements));
  }
  return seeds;
}

std::vector<std::string> accumulators(Writer& w, const std::vector<std::string>& seeds,
                                      unsigned count) {
  std::vector<std::string> d;
  for (unsigned i = 0; i < count; ++i) {
    d.push_back(w.declare(Type::b32));
    w.line("mov.b32 " + d.back() + ", " + seeds[i % seeds.size()] + ";");
  }
  return d;
}

std::string factor_in_registers(Writer& w, std::string_view type_name) {
  Type type = drawn_type(type_name);
  unsigned each = 32 / width_of(type);
  std::vector<std::string> names;
  for (unsigned i = 0; i < 4; ++i) {
    std::vector<std::uint64_t> elements(warpgroup_threads);
    for (unsigned t = 0; t < warpgroup_threads; ++t)
      for (unsigned e = 0; e < each; ++e)
        elements[t] |= matrix_element(type, (t / 16 + i) % 6, 9, (t * 4 + i) * each + e)
                       << (e * width_of(type));
    names.push_back(w.load_given(Type::b32, elements));
  }
  return braced(names);
}

}  // namespace lathe::ptx::witness
