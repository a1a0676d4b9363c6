// Rules of operands: what a row's notation cannot say of them.

#include <algorithm>

#include "ptx/isa_rules.h"

namespace lathe::ptx {
namespace {

bool has(const Instruction& instruction, std::string_view word) {
  const auto& words = instruction.modifiers;
  return std::find(words.begin(), words.end(), word) != words.end();
}
bool has_any(const Instruction& instruction, std::string_view list) {
  return std::any_of(instruction.modifiers.begin(), instruction.modifiers.end(),
                     [&](std::string_view word) { return has_word(list, word); });
}

/// Bulk copies and copies of tensors: one operand for each word that brings one.
std::size_t copy_operands(const Instruction& instruction, const RowText& row) {
  bool tensor = has(instruction, "tensor"), load = has(instruction, "mbarrier::complete_tx::bytes");
  bool reads = load || has(instruction, "prefetch");
  bool image = has_any(instruction, "im2col im2col::w im2col::w::128");
  return row.signature.operands_min + (tensor && reads && image) +
         has(instruction, "multicast::cluster") + has(instruction, "L2::cache_hint") +
         has(instruction, "cp_mask");
}

/// A policy is there exactly where .L2::cache_hint names it.
std::string policy_operand(const Instruction& instruction, const RowText& row) {
  std::size_t count = instruction.operands.size();
  bool hint = has(instruction, "L2::cache_hint");
  if (instruction.opcode == "cp") {
    if (has(instruction, "bulk") && !has_any(instruction, "commit_group wait_group") &&
        count != copy_operands(instruction, row))
      return "operands for its modifiers";
    bool plain = has_any(instruction, "ca cg");
    if (plain && (hint ? count < 4 : count > 4)) return "a policy goes with `.L2::cache_hint`";
    return "";
  }
  if (!has_word("ld st atom red", instruction.opcode) || has_any(instruction, "async bulk"))
    return "";
  bool policy = count > row.signature.operands_min;
  if (policy != hint) return "a policy goes with `.L2::cache_hint`";
  return "";
}

/// The largest value of a field of a tensor map.
std::uint64_t field_value_max(const Instruction& instruction) {
  if (has(instruction, "fill_mode")) return 1;
  if (has(instruction, "interleave_layout")) return 2;
  if (has_any(instruction, "swizzle_mode swizzle_atomicity")) return 3;
  return ~std::uint64_t{0};
}

/// Numbers that stand for counts, sizes and choices.
std::string number_rule(const Instruction& instruction) {
  const std::vector<Operand>& operands = instruction.operands;
  std::string_view opcode = instruction.opcode;
  auto number = [&](std::size_t i) {
    return i < operands.size() && operands[i].kind == Operand::Kind::integer;
  };
  if (opcode == "setmaxnreg" && number(0) &&
      (operands[0].bits < 24 || operands[0].bits > 256 || operands[0].bits % 8 != 0))
    return "registers are a multiple of 8 from 24 to 256";
  if (has_word("bar barrier", opcode) && !has_any(instruction, "warp cluster")) {
    std::size_t at = has(instruction, "red") ? 1 : 0;
    bool counted = operands.size() > at + 1 + at;
    if (number(at) && operands[at].bits > 15) return "there are sixteen barriers";
    if (counted && number(at + 1) &&
        (operands[at + 1].bits % 32 != 0 || operands[at + 1].bits == 0))
      return "whole warps take part in a barrier";
  }
  if (opcode == "st" && has(instruction, "bulk") && number(1) && operands[1].bits % 8 != 0)
    return "whole eights of bytes";
  if (opcode == "st" && has(instruction, "bulk") && number(2) && operands[2].bits != 0)
    return "zeros alone are stored so";
  bool bulk = opcode == "cp" && has(instruction, "bulk") && !has(instruction, "tensor");
  std::size_t size = has(instruction, "prefetch") ? 1 : 2;
  if (bulk && number(size) && operands[size].bits % 16 != 0) return "whole sixteens of bytes";
  if (opcode == "tensormap" && number(1) && operands[1].bits > field_value_max(instruction))
    return "one of the field's values";
  if (has_word("discard applypriority", opcode) && number(1) && operands[1].bits != 128)
    return "a line has 128 bytes";
  if (opcode == "fence" && number(1) && operands[1].bits != 128)
    return "a tensor map has 128 bytes";
  bool logical = has_word("set setp", opcode) && has_any(instruction, "bf16 bf16x2");
  if (logical && number(3)) return "a predicate, not a number";
  if (opcode == "cvt" && has(instruction, "rs") && number(operands.size() - 1))
    return "random bits are a register";
  if (opcode == "tcgen05" && has(instruction, "multicast::cluster") && number(1))
    return "a mask of blocks is a register";
  if (opcode == "tensormap" && has(instruction, "replace") && operands.size() == 3 && number(1) &&
      operands[1].bits > 4)
    return "a tensor has five dimensions at most";
  return "";
}

/// Of 16-bit types either matrix in shared memory may be transposed, and says so.
std::string transposition_rule(const Instruction& instruction) {
  if (instruction.opcode != "wgmma" || !has(instruction, "mma_async")) return "";
  const std::vector<Operand>& operands = instruction.operands;
  std::size_t first = has(instruction, "sp") ? 8 : 6;
  bool half = !has_any(instruction, "tf32 e4m3 e5m2 s8 u8 b1");
  bool registers = operands.size() > 1 && operands[1].kind == Operand::Kind::vector;
  if (half && operands.size() != first + (registers ? 1 : 2))
    return "one transposition for each matrix in shared memory";
  for (std::size_t i = first; i < operands.size(); ++i)
    if (operands[i].kind != Operand::Kind::integer || operands[i].bits > 1)
      return "a transposition is 0 or 1";
  const Operand& scale = operands[first - 3];
  if (scale.kind == Operand::Kind::integer && scale.bits > 1) return "the scale of D is 0 or 1";
  return "";
}

std::string result_rule(const Instruction& instruction, const RowText& row) {
  const std::vector<Operand>& operands = instruction.operands;
  std::string_view opcode = instruction.opcode;
  if (operands.empty()) return "";
  bool pair = operands[0].kind == Operand::Kind::pair, sink = operands[0].text == "_";
  if (opcode == "lop3" && has_any(instruction, "or and") && !pair)
    return "it gives a predicate too: `d|p`";
  if (opcode == "elect" && !pair) return "it gives a predicate too: `d|p`";
  if (has_word("redux activemask call brx prmt", opcode) && pair) return "it gives no predicate";
  if (opcode == "match" && has(instruction, "any") && pair) return "it gives no predicate";
  if (opcode == "setp" && has_any(instruction, "f16 bf16") && pair) return "one predicate, not two";
  bool computes =
      row.effect == Effect::none || row.effect == Effect::convert || row.effect == Effect::reduce ||
      row.effect == Effect::transpose_matrix || row.effect == Effect::unmodelled ||
      row.effect == Effect::stack || row.effect == Effect::launch_control ||
      (row.effect == Effect::expand && opcode != "setp") || row.effect == Effect::barrier ||
      row.effect == Effect::active_mask || row.effect == Effect::policy ||
      row.effect == Effect::map_address || row.effect == Effect::load_matrix ||
      row.effect == Effect::move || row.effect == Effect::permute ||
      has_word("vote multimem ld ldu", opcode) || (opcode == "match" && has(instruction, "any")) ||
      has_any(instruction, "pending_count test_wait try_wait");
  bool remote = opcode == "mbarrier" && has_any(instruction, "arrive arrive_drop") &&
                has(instruction, "shared::cluster");
  if (remote && !sink) return "a barrier of another block gives no state: `_`";
  return computes && sink && opcode != "lop3" ? "its result has a register" : "";
}

}  // namespace

std::string broken_operands(const Instruction& instruction, const RowText& row) {
  const std::vector<Operand>& operands = instruction.operands;
  if (std::string rule = result_rule(instruction, row); !rule.empty()) return rule;
  if (std::string rule = policy_operand(instruction, row); !rule.empty()) return rule;
  if (std::string rule = number_rule(instruction); !rule.empty()) return rule;
  if (std::string rule = transposition_rule(instruction); !rule.empty()) return rule;
  std::string_view text = row.signature.text;
  text.remove_prefix(std::min(text.find(' '), text.size()));
  for (std::size_t i = 0; i < row.signature.operands_min && i < operands.size(); ++i) {
    std::size_t end = std::min(text.find(',', 1), text.size());
    std::string_view one = text.substr(0, end);
    bool address = one.find('[') != std::string_view::npos;
    bool either = instruction.opcode == "tcgen05" && one == " a";  // A matrix: descriptor or there.
    if (!either && address != (operands[i].kind == Operand::Kind::address))
      return address ? "`[..]` is an address" : "`[..]` is no address here";
    if ((one == " n" || one == "n") && operands[i].kind != Operand::Kind::integer)
      return "`" + std::string(operands[i].text) + "` is no number";
    text.remove_prefix(end);
    if (!text.empty()) text.remove_prefix(1);
  }
  return "";
}

}  // namespace lathe::ptx
