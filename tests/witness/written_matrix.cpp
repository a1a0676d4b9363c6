// How the operands of matrix products are written, and of what brings matrices to registers.

#include <array>

#include "ptx/fragment.h"
#include "tests/witness/written_parts.h"

namespace lathe::ptx::witness {
namespace {

struct Product {
  std::string_view shape;
  std::vector<Type> types;
};

Product product_of(const Instance& instance) {
  Product product;
  for (std::string_view word : instance.words) {
    if (auto type = type_named(word))
      product.types.push_back(*type);
    else if (word.starts_with('m') && word.find('k') != std::string_view::npos)
      product.shape = word;
  }
  return product;
}

std::optional<Texts> mma(const Instance& instance, Draw& draw) {
  auto [shape, types] = product_of(instance);
  if (types.size() < 4) return std::nullopt;
  auto found = fragment_shape(shape, types[0], types[1], types[2], types[3]);
  if (!found) return std::nullopt;
  bool sparse = !instance.word_with("sp").empty(), scaled = instance.has("block_scale");
  // Four bits of a scaled product are packed, elsewhere they lie in bytes.
  bool packed = scaled && shape == "m16n8k64";
  unsigned a = found->a_registers / (sparse || packed ? 2 : 1);
  unsigned b = found->b_registers / (packed ? 2 : 1);
  Type ab = found->ab_register(), cd = found->c_register();
  Texts texts{vector_of(cd, found->d_registers, draw), vector_of(ab, a, draw),
              vector_of(ab, b, draw), vector_of(cd, found->c_registers, draw)};
  if (sparse) texts.insert(texts.end(), {reg(Type::b32, draw), "0"});
  if (scaled)
    texts.insert(texts.end(), {reg(Type::b32, draw), "{0, 0}", reg(Type::b32, draw), "{0, 0}"});
  return texts;
}

/// Registers of a fragment: A, B, or with a blank C and D.
std::size_t fragment_registers(const Product& product, Type type, char which) {
  if (type == Type::f16 && which != ' ') return 8;
  std::array<std::size_t, 3> extents{};  // m, n, k
  std::size_t i = 0;
  for (char c : product.shape)
    if (c >= '0' && c <= '9')
      extents[i - 1] = extents[i - 1] * 10 + static_cast<std::size_t>(c - '0');
    else
      ++i;
  auto [m, n, k] = extents;
  std::size_t elements = which == 'a' ? m * k : which == 'b' ? k * n : m * n;
  return elements * element_bits(type) / (type == Type::f64 ? 2048 : 1024);
}

std::optional<Texts> wmma(const Instance& instance, Draw& draw) {
  Product product = product_of(instance);
  const std::vector<Type>& types = product.types;
  if (types.empty()) return std::nullopt;
  auto vector = [&](Type type, char which) {
    return vector_of(type == Type::f64 ? type : Type::b32, fragment_registers(product, type, which),
                     draw);
  };
  if (instance.has("mma")) {
    Type factor = types.size() == 4 ? types[1] : Type::f16;
    return Texts{vector(types[0], ' '), vector(factor, 'a'), vector(factor, 'b'),
                 vector(types.back(), ' ')};
  }
  bool shared = !instance.word_with("shared").empty();
  std::string moved = vector(types[0], instance.has("a") ? 'a' : instance.has("b") ? 'b' : ' ');
  std::string at = shared ? shared_address(draw) : global_address(draw);
  Texts texts = instance.has("load") ? Texts{moved, at} : Texts{at, moved};
  std::string stride = is_float(types[0]) ? "16" : "128";
  if (draw.one_in(2)) texts.push_back(draw.one_in(2) ? stride : reg(Type::b32, draw));
  return texts;
}

std::optional<Texts> matrix_move(const Instance& instance, Draw& draw) {
  std::size_t count = instance.has("x4") ? 4 : instance.has("x2") ? 2 : 1;
  if (instance.has("m16n16")) count *= 2;
  std::string vector = vector_of(Type::b32, count, draw), at = shared_address(draw);
  return instance.opcode() == "ldmatrix" ? Texts{vector, at} : Texts{at, vector};
}

/// m64nNkK: N columns of D, A in registers or in shared memory.
Texts wgmma(const Instance& instance, Draw& draw) {
  std::string_view shape = instance.word_with("m64n");
  std::size_t n = std::stoul(std::string(shape.substr(4)));
  bool sparse = instance.has("sp"), bits = instance.has("b1");
  std::vector<std::string_view> of_types;
  for (std::string_view word : instance.words)
    if (type_named(word)) of_types.push_back(word);
  bool half_result = of_types[0] == "f16";
  std::size_t count = half_result ? n / 4 : n / 2;
  bool registers = draw.one_in(2);
  Texts texts{vector_of(Type::b32, count, draw),
              registers ? vector_of(Type::b32, 4, draw) : reg(Type::b64, draw),
              reg(Type::b64, draw)};
  if (sparse) texts.insert(texts.end(), {reg(Type::b32, draw), "0"});
  texts.push_back(reg(Type::pred, draw));
  bool integer = bits || instance.has("s8") || instance.has("u8");
  if (!integer) texts.insert(texts.end(), {"1", "1"});
  if (of_types[1] == "f16" || of_types[1] == "bf16")
    texts.insert(texts.end(), registers ? 1 : 2, "0");
  return texts;
}

}  // namespace

std::optional<Texts> matrix_texts(const Instance& instance, Draw& draw) {
  std::string_view opcode = instance.opcode();
  const Signature& s = instance.row->signature;
  if (s.operands_max == 0) return Texts{};
  if (s.operands_max == 1) return Texts{"0"};
  if (opcode == "mma") return mma(instance, draw);
  if (opcode == "wmma") return wmma(instance, draw);
  if (opcode == "wgmma") return wgmma(instance, draw);
  return matrix_move(instance, draw);
}

std::optional<Texts> tensor_texts(const Instance& instance, Draw& draw) {
  std::string t = "[" + reg(Type::b32, draw) + "]";
  if (instance.has("alloc"))
    return Texts{shared_address(draw), draw.one_in(2) ? "64" : reg(Type::b32, draw)};
  if (instance.has("dealloc")) return Texts{reg(Type::b32, draw), "64"};
  if (instance.has("ld") || instance.has("st")) {
    auto count =
        static_cast<std::size_t>(std::stoul(std::string(instance.word_with("x").substr(1))));
    if (instance.has("16x128b")) count *= 2;
    if (instance.has("16x256b")) count *= 4;
    if (count > 128) count = 128;
    std::string vector = vector_of(Type::b32, count, draw);
    Texts texts = instance.has("ld") ? Texts{vector, t} : Texts{t, vector};
    if (instance.has("16x32bx2")) texts.insert(texts.begin() + (instance.has("ld") ? 2 : 1), "16");
    return texts;
  }
  if (instance.has("commit")) {
    Texts texts{shared_address(draw)};
    if (instance.has("multicast::cluster")) texts.push_back(reg(Type::b16, draw));
    return texts;
  }
  if (instance.has("cp")) return Texts{t, reg(Type::b64, draw)};
  if (instance.has("shift")) return Texts{t};
  if (instance.has("mma")) {
    bool in_tensor = instance.has("ashift") || draw.one_in(2);
    Texts texts{t, in_tensor ? t : reg(Type::b64, draw), reg(Type::b64, draw)};
    if (instance.has("sp")) texts.push_back(t);
    texts.push_back(reg(Type::b32, draw));
    if (instance.has("block_scale")) texts.insert(texts.end(), {t, t});
    texts.push_back(reg(Type::pred, draw));
    return texts;
  }
  if (instance.row->signature.operands_max == 0) return Texts{};
  return std::nullopt;
}

}  // namespace lathe::ptx::witness
