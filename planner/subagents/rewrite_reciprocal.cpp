// Divisions by one divisor become one reciprocal and multiplications; a division of one becomes the
// reciprocal itself.

#include <map>
#include <optional>
#include <utility>

#include "planner/subagents/draft.h"

namespace lathe::planner {
namespace {

constexpr std::uint64_t one_f32 = 0x3F800000;

struct Division {
  Index index = 0;
  bool of_one = false;  // The numerator is 1.0.
};

/// Divisions of one block that see the same value of their divisor and round alike.
struct Group {
  std::string divisor;
  std::vector<Division> divisions;
  std::size_t of_one = 0;
};

bool is_division(const ptx::Instruction& instruction) {
  if (instruction.opcode != "div" || instruction.guard || instruction.operands.size() != 3)
    return false;
  if (instruction.modifiers.size() < 2 || instruction.modifiers.back() != "f32") return false;
  std::string_view mode = instruction.modifiers.front();
  return (mode == "full" || mode == "approx" || mode == "rn") &&
         instruction.operands[2].kind == ptx::Operand::Kind::name;
}

bool is_one(const Flow& flow, Index index, const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::float_bits)
    return operand.bits == (operand.width == 32 ? one_f32 : 0x3FF0000000000000);
  auto id = flow.find(index, operand.text);
  if (operand.kind != ptx::Operand::Kind::name || !id) return false;
  auto maker = flow.reaching(*id, index);
  if (!maker) return false;
  const ptx::Instruction& mov = flow.at(*maker);
  return mov.opcode == "mov" && mov.operands.size() == 2 &&
         ((mov.operands[1].kind == ptx::Operand::Kind::float_bits &&
           mov.operands[1].bits == one_f32 && mov.operands[1].width == 32) ||
          (mov.operands[1].kind == ptx::Operand::Kind::integer && mov.operands[1].bits == one_f32));
}

std::vector<Group> find_groups(const Flow& flow) {
  // One group a block, divisor, rounding and write of the divisor.
  std::map<std::tuple<std::uint32_t, RegisterId, std::string, Index>, std::size_t> known;
  std::vector<Group> groups;
  for (Index i = 0; i < flow.size(); ++i) {
    const ptx::Instruction& div = flow.at(i);
    if (!is_division(div)) continue;
    auto id = flow.find(i, div.operands[2].text);
    if (!id) continue;
    Index last_write = 0;
    for (Index writer : flow.writers(*id))
      if (writer < i) last_write = writer + 1;
    auto key = std::tuple{flow.block_of(i), *id, opcode_of(div), last_write};
    auto [entry, added] = known.try_emplace(key, groups.size());
    if (added) groups.push_back({std::string(div.operands[2].text), {}, 0});
    Group& group = groups[entry->second];
    group.divisions.push_back({i, is_one(flow, i, div.operands[1])});
    group.of_one += group.divisions.back().of_one;
  }
  std::erase_if(groups,
                [](const Group& group) { return group.divisions.size() < 2 && group.of_one == 0; });
  return groups;
}

std::string flush(const ptx::Instruction& div) { return has_modifier(div, "ftz") ? ".ftz" : ""; }

/// A correctly rounded division keeps a correctly rounded reciprocal.
std::string reciprocal_opcode(const ptx::Instruction& div, bool flushing) {
  if (has_modifier(div, "rn")) return "rcp.rn" + flush(div) + ".f32";
  return flushing ? "rcp.approx.ftz.f32" : "rcp.approx" + flush(div) + ".f32";
}

void write_group(const Site& site, Draft& draft, const Group& group, bool flushing) {
  const Flow& flow = site.flow;
  const ptx::Instruction& first = flow.at(group.divisions.front().index);
  std::string rcp = reciprocal_opcode(first, flushing);
  if (group.divisions.size() == 1) {
    draft.replace(group.divisions[0].index,
                  rcp + " \t" + operand_text(first, 0) + ", " + group.divisor + ";");
    return;
  }
  auto id = flow.find(group.divisions.front().index, group.divisor);
  std::string inverse = draft.fresh(id ? flow.type_of(*id) : "b32");
  draft.insert_before(group.divisions.front().index,
                      rcp + " \t" + inverse + ", " + group.divisor + ";");
  for (const Division& division : group.divisions) {
    const ptx::Instruction& div = flow.at(division.index);
    std::string text = division.of_one ? "mov.b32 \t" + operand_text(div, 0) + ", " + inverse + ";"
                                       : "mul" + flush(div) + ".f32 \t" + operand_text(div, 0) +
                                             ", " + operand_text(div, 1) + ", " + inverse + ";";
    draft.replace(division.index, std::move(text));
  }
}

Rewrite rewrite(const Site& site, const std::vector<Group>& groups, bool flushing) {
  Draft draft(site);
  std::size_t divisions = 0;
  for (const Group& group : groups) {
    write_group(site, draft, group, flushing);
    divisions += group.divisions.size();
  }
  Rewrite out;
  out.family = family::reciprocal;
  out.condition = "the divisor holds one value over all the divisions of its block" +
                  std::string(flushing ? ", and neither it nor its reciprocal is subnormal" : "");
  out.effect = std::to_string(divisions) + " divisions become " + std::to_string(groups.size()) +
               " reciprocals" + (divisions > groups.size() ? " and one multiplication each" : "");
  out.edits = draft.take();
  return out;
}

}  // namespace

void reciprocals(const Site& site, std::vector<Rewrite>& out) {
  std::vector<Group> groups = find_groups(site.flow);
  std::erase_if(groups, [&](const Group& group) {
    return !site.flow.outermost(group.divisions.front().index);
  });
  if (groups.empty()) return;
  out.push_back(rewrite(site, groups, false));
  out.push_back(rewrite(site, groups, true));
}

}  // namespace lathe::planner
