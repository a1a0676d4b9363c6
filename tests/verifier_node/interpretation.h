#pragma once

// A kernel with its float functions replaced by random ones: of two kernels that give the same
// outputs under several such interpretations, each output is the same term, whatever the functions
// mean. Sums and products stay commutative, maxima become maxima of bits; nothing else is known of
// them. Matrix products stay what they are. With `Sums::of_a_group` sums become sums of integers:
// the same terms are then equal up to the order of sums, and -0 is 0.

#include <optional>
#include <string>
#include <vector>

#include "ptx/module.h"
#include "tests/verifier_node/mutation.h"

namespace lathe::verifier_node::mutation {

enum class Sums : std::uint8_t { commutative, of_a_group };

class Interpretation {
 public:
  explicit Interpretation(std::uint64_t seed, Sums sums = Sums::commutative)
      : seed_(seed), sums_(sums) {}

  /// Nothing where the kernel has a float function that is not known here.
  std::optional<std::string> of(const ptx::Module& module) const {
    std::string text = *module.text;
    const auto& instructions = module.functions.back().instructions;
    for (auto at = instructions.rbegin(); at != instructions.rend(); ++at) {
      std::optional<std::string> other = replaced(Parts(*at));
      if (!other) return std::nullopt;
      if (!other->empty()) text.replace(at->span.begin, at->span.end - at->span.begin, *other);
    }
    return text;
  }

 private:
  using Words = std::vector<std::string>;

  static bool has(const std::string& op, const char* part) {
    std::size_t at = op.find(part), end = at + std::string(part).size();
    return at != std::string::npos && (end == op.size() || op[end] == '.');
  }
  static bool begins(const std::string& op, std::initializer_list<const char*> with) {
    return std::any_of(with.begin(), with.end(),
                       [&](const char* start) { return op.starts_with(start); });
  }
  std::string word(std::uint64_t stream, std::uint64_t index) const {
    return std::to_string(static_cast<std::uint32_t>(philox64(seed_, stream, index)) | 1);
  }
  static std::uint64_t name_of(const std::string& op) {
    std::uint64_t name = 14695981039346656037ull;
    for (char c : op) name = (name ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    return name;
  }
  std::string bits_of_literal(const std::string& operand) const {
    if (sums_ == Sums::of_a_group && operand == "0f80000000") return "0x00000000";
    return operand.starts_with("0f") ? "0x" + operand.substr(2) : operand;
  }
  /// `to` becomes a random function of `from`.
  std::string mixed(const std::string& to, const std::string& from, std::uint64_t stream,
                    std::uint64_t number) const {
    return "xor.b32 " + to + ", " + from + ", " + word(stream, 3 * number) + ";\nmul.lo.u32 " + to +
           ", " + to + ", " + word(stream, 3 * number + 1) + ";\nshr.u32 %in_s, " + to +
           ", 15;\nxor.b32 " + to + ", " + to + ", %in_s;\nmul.lo.u32 " + to + ", " + to + ", " +
           word(stream, 3 * number + 2) + ";\nshr.u32 %in_s, " + to + ", 13;\nxor.b32 " + to +
           ", " + to + ", %in_s;\n";
  }
  /// Into %in_0, of operands 1 and on; the first `alike` of them in any order.
  std::string function(const Parts& parts, std::size_t alike) const {
    std::uint64_t stream = name_of(parts.op);
    std::string text = "mov.b32 %in_0, 0;\n";
    for (std::size_t i = 1; i < parts.operands.size(); ++i)
      text += mixed("%in_1", bits_of_literal(parts.operands[i]), stream, i <= alike ? 1 : i) +
              "add.u32 %in_0, %in_0, %in_1;\n";
    return text + mixed("%in_0", "%in_0", stream, 9);
  }
  static std::string scope(const std::string& body, const std::string& more = "") {
    return "{\n.reg .b32 %in_0, %in_1, %in_s;\n" + more + body + "}\n";
  }

  std::optional<std::string> replaced(const Parts& parts) const {
    const std::string& op = parts.op;
    bool single = has(op, ".f32") || has(op, ".f16") || has(op, ".bf16") || has(op, ".f16x2") ||
                  has(op, ".bf16x2") || has(op, ".f64") || has(op, ".f32x2");
    bool moved = op.starts_with("mov") && parts.operands.size() == 2;
    if (moved && bits_of_literal(parts.operands[1]) != parts.operands[1]) {
      Parts of_bits = parts;
      of_bits.operands[1] = bits_of_literal(parts.operands[1]);
      return of_bits.print();
    }
    if (!single || begins(op, {"ld", "st", "mma", "wgmma", "mov", "tcgen05"})) return "";
    if (op == "selp.f32") {
      Parts moved = parts;
      moved.op = "selp.b32";
      for (std::string& operand : moved.operands) operand = bits_of_literal(operand);
      return moved.print();
    }
    if (op.starts_with("cvt")) return converted(parts);
    if (op.starts_with("redux.sync.max") || op.starts_with("redux.sync.min")) {
      Parts of_bits = parts;
      of_bits.op = op.substr(0, 14) + ".u32";
      return of_bits.print();
    }
    if (!has(op, ".f32") || has(op, ".f16") || parts.operands.empty()) return std::nullopt;
    const std::string keep = parts.guard + "mov.b32 " + parts.operands[0] + ", %in_0;\n";
    if (begins(op, {"max", "min"}) && parts.operands.size() == 3 && !has(op, ".xorsign"))
      return parts.guard + op.substr(0, 3) + ".u32 " + parts.operands[0] + ", " +
             bits_of_literal(parts.operands[1]) + ", " + bits_of_literal(parts.operands[2]) + ";";
    if (sums_ == Sums::of_a_group) {
      if (std::optional<std::string> sum = summed(parts)) return sum;
    }
    if (begins(op, {"add", "mul", "fma", "mad"})) return scope(function(parts, 2) + keep);
    if (begins(op, {"sub", "div", "neg", "abs", "ex2", "lg2", "rcp", "sqrt", "rsqrt", "tanh"}))
      return scope(function(parts, 1) + keep);
    if (op.starts_with("setp") && parts.operands.size() == 3)
      return scope(function(parts, 1) + "and.b32 %in_0, %in_0, 64;\n" + parts.guard +
                   "setp.ne.b32 " + parts.operands[0] + ", %in_0, 0;\n");
    return std::nullopt;
  }

  /// Where the function is a sum: of integers, and a product within it is a function.
  std::optional<std::string> summed(const Parts& parts) const {
    const std::string& to = parts.operands[0];
    auto operand = [&](std::size_t i) { return bits_of_literal(parts.operands[i]); };
    if (begins(parts.op, {"add", "sub"}) && parts.operands.size() == 3)
      return parts.guard + parts.op.substr(0, 3) + ".u32 " + to + ", " + operand(1) + ", " +
             operand(2) + ";";
    if (!begins(parts.op, {"fma", "mad"}) || parts.operands.size() != 4) return std::nullopt;
    Parts product = parts;
    product.op = "mul.f32";
    product.operands.pop_back();
    return scope(function(product, 2) + parts.guard + "add.u32 " + to + ", %in_0, " + operand(3) +
                 ";\n");
  }

  std::optional<std::string> converted(const Parts& parts) const {
    const std::string& op = parts.op;
    std::uint64_t stream = name_of(op);
    const std::string& d = parts.operands[0];
    const std::string half = ".reg .b16 %in_h;\n";
    if (op == "cvt.f32.f16" || op == "cvt.f32.bf16")
      return scope("cvt.u32.u16 %in_0, " + parts.operands[1] + ";\n" +
                       mixed("%in_0", "%in_0", stream, 1) + parts.guard + "mov.b32 " + d +
                       ", %in_0;\n",
                   half);
    if (op == "cvt.rn.f16.f32" || op == "cvt.rn.bf16.f32")
      return scope(mixed("%in_0", parts.operands[1], stream, 1) + parts.guard + "cvt.u16.u32 " + d +
                       ", %in_0;\n",
                   half);
    if (op == "cvt.rn.f16x2.f32" || op == "cvt.rn.bf16x2.f32")
      return scope(mixed("%in_0", bits_of_literal(parts.operands[1]), stream, 1) +
                   mixed("%in_1", bits_of_literal(parts.operands[2]), stream, 1) + parts.guard +
                   "prmt.b32 " + d + ", %in_1, %in_0, 0x5410;\n");
    if (op == "cvt.rn.satfinite.e4m3x2.f32")
      return scope(mixed("%in_0", bits_of_literal(parts.operands[1]), stream, 1) +
                       mixed("%in_1", bits_of_literal(parts.operands[2]), stream, 1) +
                       "prmt.b32 %in_0, %in_1, %in_0, 0x7740;\nand.b32 %in_0, %in_0, 65535;\n" +
                       parts.guard + "cvt.u16.u32 " + d + ", %in_0;\n",
                   half);
    // Each value of eight bits is one of sixteen: what the function is loses nothing.
    if (op == "cvt.rn.f16x2.e4m3x2") return "";
    // Between integers and floats: a function too, where the integer is 32 bits wide.
    if (begins(op, {"cvt.rn.f32.s32", "cvt.rn.f32.u32", "cvt.rzi.s32.f32"}))
      return scope(function(parts, 1) + parts.guard + "mov.b32 " + d + ", %in_0;\n");
    return std::nullopt;
  }

  std::uint64_t seed_;
  Sums sums_;
};

}  // namespace lathe::verifier_node::mutation
