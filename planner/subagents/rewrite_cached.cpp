// Hints to the caches on accesses of global memory that touch each line once. A hint never changes
// a value.

#include "planner/subagents/draft.h"

namespace lathe::planner {
namespace {

bool has_hint(const ptx::Instruction& instruction) {
  for (std::string_view modifier : instruction.modifiers)
    if (modifier.find("::") != std::string_view::npos || modifier == "nc" || modifier == "ca" ||
        modifier == "cg" || modifier == "cs" || modifier == "lu" || modifier == "cv" ||
        modifier == "wb" || modifier == "wt" || modifier == "volatile" || modifier == "relaxed" ||
        modifier == "acquire" || modifier == "release" || modifier == "async" || modifier == "mmio")
      return true;
  return false;
}

/// In a block that may run again, what is read may be wanted again.
bool in_loop(const Flow& flow, Index index) {
  std::vector<std::uint32_t> open = flow.blocks()[flow.block_of(index)].next;
  std::vector<bool> seen(flow.blocks().size(), false);
  while (!open.empty()) {
    std::uint32_t block = open.back();
    open.pop_back();
    if (block == flow.block_of(index)) return true;
    if (seen[block]) continue;
    seen[block] = true;
    for (std::uint32_t next : flow.blocks()[block].next) open.push_back(next);
  }
  return false;
}

std::string with_hint(const Site& site, Index index, std::string_view hint) {
  const ptx::Instruction& instruction = site.flow.at(index);
  std::string text(site.module.text->substr(instruction.span.begin,
                                            instruction.span.end - instruction.span.begin));
  std::size_t space = text.find(".global");
  return text.insert(space + 7, hint);
}

void hinted(const Site& site, std::string_view opcode, std::string_view hint,
            std::string_view effect, std::vector<Rewrite>& out) {
  Draft draft(site);
  std::size_t count = 0;
  for (Index i = 0; i < site.flow.size(); ++i) {
    const ptx::Instruction& instruction = site.flow.at(i);
    if (instruction.opcode != opcode || instruction.modifiers.empty() ||
        instruction.modifiers.front() != "global" || has_hint(instruction) || in_loop(site.flow, i))
      continue;
    draft.replace(i, with_hint(site, i, hint));
    ++count;
  }
  if (count == 0) return;
  out.push_back({std::string(family::cached_access),
                 "the access is outside loops and carries no hint yet",
                 std::to_string(count) + " " + std::string(effect), draft.take()});
}

/// cp.async of whole lines: the next lines of a tile are asked for together.
void prefetched(const Site& site, std::vector<Rewrite>& out) {
  Draft draft(site);
  std::size_t count = 0;
  for (Index i = 0; i < site.flow.size(); ++i) {
    const ptx::Instruction& instruction = site.flow.at(i);
    if (instruction.opcode != "cp" || opcode_of(instruction) != "cp.async.cg.shared.global")
      continue;
    draft.replace(i, with_hint(site, i, ".L2::128B"));
    ++count;
  }
  if (count == 0) return;
  out.push_back({std::string(family::cached_access),
                 "the copies carry no hint yet; a hint changes no value",
                 std::to_string(count) + " asynchronous copies bring whole lines into the L2 cache",
                 draft.take()});
}

}  // namespace

void cached_accesses(const Site& site, std::vector<Rewrite>& out) {
  hinted(site, "ld", ".L1::no_allocate", "streaming loads leave the L1 cache to others", out);
  hinted(site, "st", ".L1::no_allocate", "streaming stores leave the L1 cache to others", out);
  prefetched(site, out);
}

}  // namespace lathe::planner
