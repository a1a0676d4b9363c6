// An exchange is recognised by what every thread does, computed thread by thread, and not by how
// its addresses are spelt.

#include "planner/subagents/exchange.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

namespace lathe::planner {
namespace {

using ptx::Instruction;
using ptx::Operand;

constexpr std::uint32_t warps_max = 16;

/// A scalar access of 4 bytes of shared memory; `value` is the place of its data operand.
bool is_word_access(const Instruction& instruction, std::string_view opcode, std::size_t value) {
  if (instruction.opcode != opcode || instruction.operands.size() != 2) return false;
  if (instruction.modifiers.size() != 2 || instruction.modifiers[0] != "shared") return false;
  std::string_view type = instruction.modifiers[1];
  if (type != "b32" && type != "f32" && type != "u32" && type != "s32") return false;
  return instruction.operands[value].kind == Operand::Kind::name &&
         instruction.operands[1 - value].kind == Operand::Kind::address;
}

bool touches(const Flow& flow, Index index) {
  Touch touch = touch_of(flow.at(index));
  return touch.reads || touch.writes || touch.orders;
}

/// The next instruction of the block, from `index` on, that touches memory or waits.
std::optional<Index> next_touch(const Flow& flow, Index index) {
  Index end = flow.blocks()[flow.block_of(index)].end;
  for (Index i = index + 1; i < end; ++i)
    if (touches(flow, i)) return i;
  return std::nullopt;
}

std::optional<Index> previous_touch(const Flow& flow, Index index) {
  Index begin = flow.blocks()[flow.block_of(index)].begin;
  for (Index i = index; i-- > begin;)
    if (touches(flow, i)) return i;
  return std::nullopt;
}

class Matcher {
 public:
  Matcher(const Flow& flow, Threads& threads) : flow_(flow), threads_(threads) {}

  std::optional<Exchange> match(Index barrier) {
    Exchange found;
    found.barrier = barrier;
    if (!places(found) || !stored_by_warps(found) || !loaded_by_first(found) || !steps(found) ||
        !result(found))
      return std::nullopt;
    return found;
  }

 private:
  bool places(Exchange& found) {
    auto store = previous_touch(flow_, found.barrier);
    auto load = next_touch(flow_, found.barrier);
    auto result_store = load ? next_touch(flow_, *load) : std::nullopt;
    auto result_barrier = result_store ? next_touch(flow_, *result_store) : std::nullopt;
    auto result_load = result_barrier ? next_touch(flow_, *result_barrier) : std::nullopt;
    if (!store || !result_load) return false;
    found.store = *store;
    found.load = *load;
    found.result_store = *result_store;
    found.result_barrier = *result_barrier;
    found.result_load = *result_load;
    for (Index index :
         {found.store, found.load, found.result_store, found.result_barrier, found.result_load})
      if (!flow_.outermost(index)) return false;
    return is_word_access(flow_.at(found.store), "st", 1) &&
           is_word_access(flow_.at(found.load), "ld", 0) &&
           is_word_access(flow_.at(found.result_store), "st", 1) &&
           is_block_barrier(flow_.at(found.result_barrier)) &&
           is_word_access(flow_.at(found.result_load), "ld", 0) &&
           !flow_.at(found.result_load).guard;
  }

  std::optional<ThreadValues> address(Index index, std::size_t operand) {
    return threads_.of_address(flow_.at(index).operands[operand], index);
  }

  /// One lane of each warp stores, and the words lie side by side.
  bool stored_by_warps(Exchange& found) {
    auto stores = threads_.executes(found.store);
    auto where = address(found.store, 0);
    if (!stores || !where || threads_.count() % 32 != 0) return false;
    found.warps = threads_.count() / 32;
    if (found.warps < 2 || found.warps > warps_max || !std::has_single_bit(found.warps))
      return false;
    std::vector<std::uint64_t> words;
    for (std::uint32_t thread = 0; thread < threads_.count(); ++thread) {
      if (!(*stores)[thread]) continue;
      if (words.size() != thread / 32) return false;  // A second lane of a warp, or none.
      const ThreadValue& word = (*where)[thread];
      if (word.variable.empty()) return false;
      if (words.empty()) {
        found.variable = word.variable;
        found.offset = static_cast<std::int32_t>(static_cast<std::uint32_t>(word.bits));
      }
      auto expected = static_cast<std::uint32_t>(found.offset) + 4 * (thread / 32);
      if (word.variable != found.variable || static_cast<std::uint32_t>(word.bits) != expected)
        return false;
      words.push_back(word.bits);
    }
    return words.size() == found.warps;
  }

  bool is_word(const ThreadValue& value, const Exchange& found, std::uint32_t word) const {
    return value.variable == found.variable &&
           static_cast<std::uint32_t>(value.bits) ==
               static_cast<std::uint32_t>(found.offset) + 4 * word;
  }

  /// The first lanes, one a warp, load the words in order.
  bool loaded_by_first(const Exchange& found) {
    auto loads = threads_.executes(found.load);
    auto where = address(found.load, 1);
    if (!loads || !where) return false;
    for (std::uint32_t lane = 0; lane < found.warps; ++lane)
      if (!(*loads)[lane] || !is_word((*where)[lane], found, lane)) return false;
    return true;
  }

  bool is_full_butterfly(const Instruction& shuffle) const {
    if (shuffle.opcode != "shfl" || shuffle.guard || !has_modifier(shuffle, "bfly") ||
        shuffle.operands.size() != 5 || shuffle.operands[0].kind != Operand::Kind::name)
      return false;
    for (std::size_t i : {2u, 3u, 4u})
      if (shuffle.operands[i].kind != Operand::Kind::integer) return false;
    return shuffle.operands[3].bits == 31 &&
           static_cast<std::uint32_t>(shuffle.operands[4].bits) == ~0u;
  }

  /// The shuffle and the join that alone read `own`.
  std::optional<ReductionStep> step(RegisterId own) {
    const std::vector<Index>& readers = flow_.readers(own);
    if (readers.size() != 2 || flow_.writers(own).size() != 1) return std::nullopt;
    ReductionStep out{readers[0], readers[1], 0, true};
    if (out.shuffle >= out.join || !is_full_butterfly(flow_.at(out.shuffle))) return std::nullopt;
    out.distance = flow_.at(out.shuffle).operands[2].bits;
    const Instruction& join = flow_.at(out.join);
    auto other = flow_.find(out.shuffle, flow_.at(out.shuffle).operands[0].text);
    if (!other || !flow_.single_use(*other) || flow_.readers(*other).front() != out.join ||
        join.guard || join.operands.size() != 3 || !writes_first_operand(join) ||
        !flow_.outermost(out.join) || !flow_.outermost(out.shuffle))
      return std::nullopt;
    auto first = flow_.find(out.join, join.operands[1].text);
    out.own_first = first == own;
    return out;
  }

  /// From the loaded value to the one that is stored, by every distance once.
  bool steps(Exchange& found) {
    auto value = flow_.find(found.load, flow_.at(found.load).operands[0].text);
    auto last = flow_.find(found.result_store, flow_.at(found.result_store).operands[1].text);
    if (!value || !last) return false;
    std::set<std::uint64_t> distances;
    while (value != last) {
      auto next = step(*value);
      if (!next || next->join >= found.result_store || next->shuffle <= found.load) return false;
      if (!std::has_single_bit(next->distance) || next->distance >= found.warps) return false;
      if (!distances.insert(next->distance).second) return false;
      if (!found.steps.empty() &&
          opcode_of(flow_.at(next->join)) != opcode_of(flow_.at(found.steps.front().join)))
        return false;
      found.steps.push_back(*next);
      value = flow_.find(next->join, flow_.at(next->join).operands[0].text);
      if (!value) return false;
    }
    return (1u << distances.size()) == found.warps && flow_.single_use(*last);
  }

  /// The first thread alone stores the result where the first word was, and all load it.
  bool result(const Exchange& found) {
    auto stores = threads_.executes(found.result_store);
    auto where = address(found.result_store, 0);
    auto from = address(found.result_load, 1);
    if (!stores || !where || !from) return false;
    for (std::uint32_t thread = 0; thread < threads_.count(); ++thread) {
      if ((*stores)[thread] != (thread == 0)) return false;
      if (!is_word((*from)[thread], found, 0)) return false;
    }
    return is_word((*where)[0], found, 0);
  }

  const Flow& flow_;
  Threads& threads_;
};

}  // namespace

std::vector<Exchange> find_exchanges(const Flow& flow, Threads& threads) {
  std::vector<Exchange> out;
  if (threads.count() == 0) return out;
  Matcher matcher(flow, threads);
  for (Index i = 0; i < flow.size(); ++i) {
    if (!is_block_barrier(flow.at(i)) || !flow.outermost(i)) continue;
    if (auto found = matcher.match(i)) out.push_back(*found);
  }
  return out;
}

}  // namespace lathe::planner
