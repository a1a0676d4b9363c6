// Multiplications joined with the sums around them: (a - b) * c with one b for many a becomes
// a * c + t; (0 - b) * c becomes b * -c; a product that only a sum reads becomes part of it.

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "planner/subagents/draft.h"

namespace lathe::planner {
namespace {

constexpr std::uint32_t sign_f32 = 0x80000000;
constexpr std::size_t shared_subtrahend_min = 3;

/// A float constant of 32 bits that an operand is.
std::optional<std::uint32_t> constant(const Flow& flow, Index index, const ptx::Operand& operand) {
  const ptx::Operand* value = &operand;
  if (operand.kind == ptx::Operand::Kind::name) {
    auto id = flow.find(index, operand.text);
    auto maker = id ? flow.reaching(*id, index) : std::nullopt;
    if (!maker || flow.at(*maker).opcode != "mov" || flow.at(*maker).operands.size() != 2)
      return std::nullopt;
    value = &flow.at(*maker).operands[1];
  }
  if (value->kind == ptx::Operand::Kind::float_bits && value->width == 32)
    return static_cast<std::uint32_t>(value->bits);
  return std::nullopt;
}

std::string float_text(std::uint32_t bits) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out = "0f";
  for (int shift = 28; shift >= 0; shift -= 4) out += digits[bits >> shift & 15];
  return out;
}

bool is_plain(const ptx::Instruction& instruction, std::string_view opcode) {
  if (instruction.opcode != opcode || instruction.guard || instruction.operands.size() != 3)
    return false;
  return opcode_of(instruction) == std::string(opcode) + ".f32";
}

/// `mul d, s, C` whose s is `sub s, a, b` that nobody else reads.
struct Scaled {
  Index sub = 0, mul = 0;
  std::uint32_t factor = 0;
  bool from_zero = false;  // a is 0.
};

std::optional<Scaled> find_scaled(const Flow& flow, Index index) {
  const ptx::Instruction& mul = flow.at(index);
  if (!is_plain(mul, "mul") || !flow.outermost(index)) return std::nullopt;
  for (std::size_t side : {1u, 2u}) {
    auto factor = constant(flow, index, mul.operands[3 - side]);
    auto id = flow.find(index, mul.operands[side].text);
    if (!factor || !id || !flow.single_use(*id)) continue;
    Index maker = flow.writers(*id).front();
    if (maker >= index || flow.block_of(maker) != flow.block_of(index) ||
        !is_plain(flow.at(maker), "sub"))
      continue;
    bool kept = true;  // What the difference reads is still there when the product is made.
    for (RegisterId read : flow.read_by(maker)) kept &= !flow.written_between(read, maker, index);
    if (!kept) continue;
    auto minuend = constant(flow, maker, flow.at(maker).operands[1]);
    return Scaled{maker, index, *factor, minuend && *minuend == 0};
  }
  return std::nullopt;
}

/// Products by one constant of differences with one subtrahend, in one block.
using Groups = std::map<std::tuple<std::uint32_t, RegisterId, std::uint32_t>, std::vector<Scaled>>;

void write_negated(const Flow& flow, Draft& draft, const Scaled& scaled) {
  draft.remove(scaled.sub);
  draft.replace(scaled.mul, "mul.f32 \t" + operand_text(flow.at(scaled.mul), 0) + ", " +
                                operand_text(flow.at(scaled.sub), 2) + ", " +
                                float_text(scaled.factor ^ sign_f32) + ";");
}

void write_group(const Flow& flow, Draft& draft, const std::vector<Scaled>& group) {
  Index first = group.front().sub;
  for (const Scaled& scaled : group) first = std::min(first, scaled.sub);
  const ptx::Instruction& sub = flow.at(first);
  auto id = flow.find(first, sub.operands[2].text);
  std::string shift = draft.fresh(flow.type_of(*id));
  draft.insert_before(first, "mul.f32 \t" + shift + ", " + operand_text(sub, 2) + ", " +
                                 float_text(group.front().factor ^ sign_f32) + ";");
  for (const Scaled& scaled : group) {
    draft.remove(scaled.sub);
    draft.replace(scaled.mul, "fma.rn.f32 \t" + operand_text(flow.at(scaled.mul), 0) + ", " +
                                  operand_text(flow.at(scaled.sub), 1) + ", " +
                                  float_text(scaled.factor) + ", " + shift + ";");
  }
}

/// Every difference of the group subtracts the same value: no write of it lies among them.
bool one_subtrahend(const Flow& flow, const std::vector<Scaled>& group) {
  Index first = group.front().sub, last = group.front().sub;
  for (const Scaled& scaled : group) {
    first = std::min(first, scaled.sub);
    last = std::max(last, scaled.sub);
  }
  auto id = flow.find(first, flow.at(first).operands[2].text);
  return id && !flow.written_between(*id, first, last);
}

void scaled_differences(const Site& site, std::vector<Rewrite>& out) {
  const Flow& flow = site.flow;
  Groups groups;
  std::vector<Scaled> negated;
  for (Index i = 0; i < flow.size(); ++i) {
    auto scaled = find_scaled(flow, i);
    if (!scaled) continue;
    if (scaled->from_zero) {
      negated.push_back(*scaled);
      continue;
    }
    const ptx::Instruction& sub = flow.at(scaled->sub);
    auto id = flow.find(scaled->sub, sub.operands[2].text);
    if (id) groups[{flow.block_of(i), *id, scaled->factor}].push_back(*scaled);
  }
  std::erase_if(groups, [&](const auto& entry) {
    return entry.second.size() < shared_subtrahend_min || !one_subtrahend(flow, entry.second);
  });
  if (groups.empty() && negated.empty()) return;
  Draft draft(site);
  std::size_t saved = negated.size();
  for (const auto& [key, group] : groups) {
    write_group(flow, draft, group);
    saved += group.size() - 1;
  }
  for (const Scaled& scaled : negated) write_negated(flow, draft, scaled);
  out.push_back(
      {std::string(family::fma),
       "each difference is read by its product alone, and the product's factor is a "
       "constant; rounding changes by less than the last place of the larger term",
       std::to_string(saved) +
           " floating-point instructions fewer: the subtraction is part of a multiply-add "
           "or of the constant",
       draft.take()});
}

/// `add d, p, c` (or `sub d, p, c`'s sum form) whose p is a product that nobody else reads.
bool contract_sum(const Flow& flow, Draft& draft, Index index) {
  const ptx::Instruction& add = flow.at(index);
  if (!is_plain(add, "add") || !flow.outermost(index)) return false;
  for (std::size_t side : {1u, 2u}) {
    auto id = flow.find(index, add.operands[side].text);
    if (!id || !flow.single_use(*id)) continue;
    Index maker = flow.writers(*id).front();
    if (maker >= index || flow.block_of(maker) != flow.block_of(index) ||
        !is_plain(flow.at(maker), "mul"))
      continue;
    bool kept = true;
    for (RegisterId read : flow.read_by(maker)) kept &= !flow.written_between(read, maker, index);
    if (!kept) continue;
    const ptx::Instruction& mul = flow.at(maker);
    draft.remove(maker);
    draft.replace(index, "fma.rn.f32 \t" + operand_text(add, 0) + ", " + operand_text(mul, 1) +
                             ", " + operand_text(mul, 2) + ", " + operand_text(add, 3 - side) +
                             ";");
    return true;
  }
  return false;
}

void contracted_sums(const Site& site, std::vector<Rewrite>& out) {
  Draft draft(site);
  std::size_t count = 0;
  for (Index i = 0; i < site.flow.size(); ++i) count += contract_sum(site.flow, draft, i);
  if (count == 0) return;
  out.push_back({std::string(family::fma),
                 "each product is read by its sum alone, and neither asks for a rounding of its "
                 "own",
                 std::to_string(count) + " multiplications become part of a multiply-add",
                 draft.take()});
}

}  // namespace

void fused(const Site& site, std::vector<Rewrite>& out) {
  scaled_differences(site, out);
  contracted_sums(site, out);
}

}  // namespace lathe::planner
