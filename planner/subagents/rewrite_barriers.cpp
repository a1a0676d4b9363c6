// Fewer waits of a whole block: every thread joins the warps' words itself instead of waiting for
// the first lanes to do it; a barrier that separates nothing goes; a second exchange gets memory of
// its own, so that nobody waits for the first one's readers.

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "planner/subagents/exchange.h"
#include "planner/subagents/intervals.h"

namespace lathe::planner {
namespace {

std::uint32_t alignment_of(const Site& site, std::string_view variable) {
  for (const ptx::Variable& known : site.module.variables)
    if (known.name == variable && known.space == "shared") return known.align;
  for (const ptx::Variable& known : site.flow.function().variables)
    if (known.name == variable && known.space == "shared") return known.align;
  return 1;
}

std::string place(std::string_view variable, std::int64_t offset) {
  std::string out = "[" + std::string(variable);
  if (offset != 0) out += "+" + std::to_string(offset);
  return out + "]";
}

/// Loads of all words into new registers, as wide as the alignment of the words allows.
std::string load_words(const Site& site, const Exchange& exchange,
                       const std::vector<std::string>& words) {
  std::uint32_t wide = 16;
  while (wide > 4 && (alignment_of(site, exchange.variable) % wide != 0 ||
                      exchange.offset % wide != 0 || words.size() * 4 < wide))
    wide /= 2;
  std::size_t lanes = wide / 4;
  std::string out;
  for (std::size_t i = 0; i < words.size(); i += lanes) {
    std::string list;
    for (std::size_t k = i; k < i + lanes; ++k) list += (k > i ? ", " : "") + words[k];
    if (lanes > 1) list = "{" + list + "}";
    out += "ld.shared" + (lanes > 1 ? ".v" + std::to_string(lanes) : std::string()) + ".b32 \t" +
           list + ", " + place(exchange.variable, exchange.offset + 4 * static_cast<int>(i)) +
           ";\n\t";
  }
  return out;
}

/// What the first lane computes, in its order, so that the result has the same bits.
void write_exchange(const Site& site, Draft& draft, const Exchange& exchange) {
  const Flow& flow = site.flow;
  const ptx::Instruction& result = flow.at(exchange.result_load);
  auto id = flow.find(exchange.result_load, result.operands[0].text);
  std::string_view type = id ? flow.type_of(*id) : std::string_view("b32");
  std::vector<std::string> words;
  for (std::uint32_t i = 0; i < exchange.warps; ++i) words.push_back(draft.fresh(type));
  std::string text = load_words(site, exchange, words);
  std::function<std::string(std::uint64_t, std::size_t)> value = [&](std::uint64_t lane,
                                                                     std::size_t step) {
    if (step == 0) return words[lane];
    const ReductionStep& last = exchange.steps[step - 1];
    std::string own = value(lane, step - 1), other = value(lane ^ last.distance, step - 1);
    if (!last.own_first) std::swap(own, other);
    bool top = step == exchange.steps.size() && lane == 0;
    std::string out = top ? operand_text(result, 0) : draft.fresh(type);
    text += opcode_of(flow.at(last.join)) + " \t" + out + ", " + own + ", " + other + ";";
    text += top ? "" : "\n\t";
    return out;
  };
  value(0, exchange.steps.size());
  draft.remove(exchange.load);
  for (const ReductionStep& step : exchange.steps) {
    draft.remove(step.shuffle);
    draft.remove(step.join);
  }
  draft.remove(exchange.result_store);
  draft.remove(exchange.result_barrier);
  draft.replace(exchange.result_load, std::move(text));
}

void joined_by_all(const Site& site, Threads& threads, std::vector<Rewrite>& out) {
  std::vector<Exchange> exchanges = find_exchanges(site.flow, threads);
  std::erase_if(exchanges, [&](const Exchange& exchange) {
    return !barrier_before_shared_write(site.flow, exchange.result_load);
  });
  if (exchanges.empty()) return;
  Draft draft(site);
  std::size_t shuffles = 0;
  for (const Exchange& exchange : exchanges) {
    write_exchange(site, draft, exchange);
    shuffles += exchange.steps.size();
  }
  std::string count = std::to_string(exchanges.size());
  out.push_back(
      {std::string(family::fewer_barriers),
       "the words of all warps are in shared memory after the first barrier, computed for "
       "each thread, and a barrier precedes the next write",
       "every thread joins the words of the " + std::to_string(exchanges[0].warps) +
           " warps itself: " + count + " barriers, " + count + " stores and " +
           std::to_string(shuffles) + " shuffles fewer on the critical path",
       draft.take()});
}

/// No access before the barrier can meet one behind it.
bool separates_nothing(const Flow& flow, Index barrier) {
  Interval before = interval_before(flow, barrier), after = interval_after(flow, barrier);
  if (before.open || after.open) return false;
  for (Index a : before.touches)
    for (Index b : after.touches)
      if (may_conflict(touch_of(flow.at(a)), touch_of(flow.at(b)))) return false;
  return true;
}

/// Barriers of some threads, by number or by arrival: who waits for whom is another question.
bool has_partial_barriers(const Flow& flow) {
  for (Index i = 0; i < flow.size(); ++i) {
    const ptx::Instruction& instruction = flow.at(i);
    if ((instruction.opcode == "bar" || instruction.opcode == "barrier") &&
        !has_modifier(instruction, "warp") && !is_block_barrier(instruction))
      return true;
  }
  return false;
}

void idle_barriers(const Site& site, std::vector<Rewrite>& out) {
  if (has_partial_barriers(site.flow)) return;
  // One at a time: what two idle neighbours separate together is another question.
  for (Index i = 0; i < site.flow.size(); ++i) {
    if (!is_block_barrier(site.flow.at(i)) || !separates_nothing(site.flow, i)) continue;
    Draft draft(site);
    draft.remove(i);
    out.push_back({std::string(family::fewer_barriers),
                   "no access before the barrier may meet one behind it, on any path",
                   "one barrier fewer that separated nothing", draft.take()});
    return;
  }
}

/// The last exchange of a kernel: a store between two barriers, then loads until the end.
struct LastExchange {
  Index barrier = 0, store = 0;
  std::vector<Index> loads;
  std::string_view variable;
  std::uint32_t begin = 0, end = 0;  // Bytes from the variable that are stored.
};

class LastExchangeFinder {
 public:
  LastExchangeFinder(const Flow& flow, Threads& threads) : flow_(flow), threads_(threads) {}

  std::optional<LastExchange> match(Index barrier) {
    LastExchange found;
    found.barrier = barrier;
    Interval before = interval_before(flow_, barrier), during = interval_after(flow_, barrier);
    if (before.open || during.open) return std::nullopt;
    for (Index index : before.touches) {
      Touch touch = touch_of(flow_.at(index));
      if (touch.orders || (touch.writes && !touch.global)) return std::nullopt;
    }
    if (during.touches.size() != 1 || !stored(found, during.touches[0])) return std::nullopt;
    Index second = found.store;
    while (second < flow_.size() && !is_block_barrier(flow_.at(second))) ++second;
    if (second == flow_.size() || flow_.block_of(second) != flow_.block_of(found.store) ||
        !loaded(found, second))
      return std::nullopt;
    return found;
  }

 private:
  bool stored(LastExchange& found, Index store) {
    const ptx::Instruction& st = flow_.at(store);
    if (st.opcode != "st" || st.operands.size() != 2 || opcode_of(st) != "st.shared.b32" ||
        !flow_.outermost(store) || flow_.block_of(store) != flow_.block_of(found.barrier) ||
        st.operands[0].kind != ptx::Operand::Kind::address || st.operands[0].parts.size() != 1 ||
        !flow_.find(store, st.operands[0].parts[0].text))
      return false;
    auto stores = threads_.executes(store);
    auto where = threads_.of_address(st.operands[0], store);
    if (!stores || !where) return false;
    found.begin = ~0u;
    for (std::uint32_t thread = 0; thread < threads_.count(); ++thread) {
      if (!(*stores)[thread]) continue;
      const ThreadValue& word = (*where)[thread];
      if (word.variable.empty() || word.bits > 4096) return false;
      if (found.variable.empty()) found.variable = word.variable;
      if (word.variable != found.variable) return false;
      auto at = static_cast<std::uint32_t>(word.bits);
      found.begin = std::min(found.begin, at);
      found.end = std::max(found.end, at + 4);
    }
    found.store = store;
    return !found.variable.empty();
  }

  /// All that follows the second barrier are loads of what was stored, to the kernel's end.
  bool loaded(LastExchange& found, Index second) {
    Interval after = interval_after(flow_, second);
    if (after.open) return false;
    // A later barrier would begin an interval that is not looked at.
    for (Index i = second + 1; i < flow_.size(); ++i)
      if (is_block_barrier(flow_.at(i))) return false;
    for (Index index : after.touches) {
      Touch touch = touch_of(flow_.at(index));
      if (touch.global && !touch.orders) continue;
      if (touch.orders || touch.writes || !loads_stored(found, index)) return false;
      found.loads.push_back(index);
    }
    return !found.loads.empty();
  }

  bool loads_stored(const LastExchange& found, Index index) {
    const ptx::Instruction& ld = flow_.at(index);
    if (ld.opcode != "ld" || ld.operands.size() != 2 || !has_modifier(ld, "shared") ||
        ld.operands[1].kind != ptx::Operand::Kind::address || ld.operands[1].parts.size() != 1 ||
        ld.operands[1].parts[0].text != found.variable)
      return false;
    std::size_t lanes = std::max<std::size_t>(1, ld.operands[0].parts.size());
    if (ld.modifiers.back() != "b32" && ld.modifiers.back() != "f32") return false;
    std::int64_t at = ld.operands[1].offset;
    return at >= found.begin && at + 4 * static_cast<std::int64_t>(lanes) <= found.end;
  }

  const Flow& flow_;
  Threads& threads_;
};

void write_own_memory(const Site& site, Draft& draft, const LastExchange& found) {
  const Flow& flow = site.flow;
  std::string name = draft.unused_name("own_words");
  draft.declare(".shared .align 16 .b8 " + name + "[" + std::to_string(found.end) + "];");
  const ptx::Instruction& st = flow.at(found.store);
  std::string old_base = draft.fresh("b32"), distance = draft.fresh("b32"),
              base = draft.fresh("b32"), address = draft.fresh("b32");
  draft.insert_before(
      found.barrier,
      "mov.b32 \t" + old_base + ", " + std::string(found.variable) + ";\n\tsub.s32 \t" + distance +
          ", " + std::string(st.operands[0].parts[0].text) + ", " + old_base + ";\n\tmov.b32 \t" +
          base + ", " + name + ";\n\tadd.s32 \t" + address + ", " + base + ", " + distance + ";");
  draft.replace(found.barrier, "");
  std::string guard;
  if (st.guard)
    guard = std::string(st.guard->negated ? "@!" : "@") + std::string(st.guard->predicate) + " ";
  draft.replace(found.store, guard + opcode_of(st) + " \t[" + address + "+" +
                                 std::to_string(st.operands[0].offset) + "], " +
                                 operand_text(st, 1) + ";");
  for (Index index : found.loads) {
    const ptx::Instruction& ld = flow.at(index);
    std::string guarded;
    if (ld.guard)
      guarded =
          std::string(ld.guard->negated ? "@!" : "@") + std::string(ld.guard->predicate) + " ";
    draft.replace(index, guarded + opcode_of(ld) + " \t" + operand_text(ld, 0) + ", " +
                             place(name, ld.operands[1].offset) + ";");
  }
}

void own_memory(const Site& site, Threads& threads, std::vector<Rewrite>& out) {
  if (threads.count() == 0) return;
  LastExchangeFinder finder(site.flow, threads);
  for (Index i = 0; i < site.flow.size(); ++i) {
    if (!is_block_barrier(site.flow.at(i)) || !site.flow.outermost(i)) continue;
    auto found = finder.match(i);
    // The address is computed where the barrier was: it must be known there.
    if (!found) continue;
    const ptx::Instruction& st = site.flow.at(found->store);
    auto id = site.flow.find(found->store, st.operands[0].parts[0].text);
    if (site.flow.written_between(*id, i, found->store)) continue;
    Draft draft(site);
    write_own_memory(site, draft, *found);
    out.push_back(
        {std::string(family::fewer_barriers),
         "before the barrier shared memory is only read, behind it lies the kernel's last "
         "exchange, and all its addresses are known for each thread",
         "the last exchange has " + std::to_string(found->end) +
             " bytes of its own, so that no barrier protects the readers of the one "
             "before",
         draft.take()});
  }
}

}  // namespace

void fewer_barriers(const Site& site, std::vector<Rewrite>& out) {
  Threads threads(site.flow);
  joined_by_all(site, threads, out);
  own_memory(site, threads, out);
  idle_barriers(site, out);
}

}  // namespace lathe::planner
