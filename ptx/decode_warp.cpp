// Whole-warp instructions as operations: shuffles, votes, barriers, branches.

#include <algorithm>

#include "ptx/decoder.h"

namespace lathe::ptx {

bool Decoder::warp_wide(const FormMatch& match) {
  if (match.effect == Effect::warp_barrier) {
    Slot mask = source(now_->operands[0], Type::u32);
    emit(match.effect).fixed[3] = mask;
    return !error_;
  }
  const std::vector<Operand>& operands = now_->operands;
  const Operand& result = operands[0];
  bool pair = result.kind == Operand::Kind::pair;
  const Operand& first = pair ? result.parts[0] : result;
  Effect effect = match.effect;
  bool to_predicate = effect == Effect::vote && !has("ballot");
  Type type = match.form.type;
  if (effect == Effect::shuffle || effect == Effect::permute || effect == Effect::elect ||
      effect == Effect::active_mask)
    type = Type::b32;
  Type result_type = to_predicate ? Type::pred : effect == Effect::reduce ? type : Type::b32;
  Slot d = destination(first, result_type);
  Slot p = pair ? destination(result.parts[1], Type::pred) : Slot{};
  std::vector<Slot> sources;
  for (std::size_t i = 1; i < operands.size(); ++i) {
    bool value = i == 1;
    bool lanes = effect == Effect::shuffle && i < 4;
    Type wanted = lanes || effect == Effect::permute ? Type::b32 : Type::u32;
    if (value && effect == Effect::vote) wanted = Type::pred;
    if (value && (effect == Effect::match || effect == Effect::reduce ||
                  effect == Effect::shuffle || effect == Effect::permute))
      wanted = effect == Effect::reduce && type == Type::b32 ? Type::u32 : type;
    sources.push_back(source(operands[i], wanted));
  }
  if (error_) return false;
  Slot mask = constant(0xFFFFFFFFu, 4);
  if (has("sync") && !sources.empty()) mask = sources.back();
  sources.resize(4);
  Slot stage = scratch(type == Type::b64 ? 8 : 4);
  Operation& op = emit(effect, match.form);
  op.form.type = type;
  op.fixed = {d, p, sources[0], mask};
  op.places = {stage.place, sources[0].place, sources[1].place, sources[2].place, 0};
  static constexpr std::array words{"up"sv,  "down"sv, "bfly"sv,   "idx"sv, "all"sv,
                                    "any"sv, "uni"sv,  "ballot"sv, "add"sv, "min"sv,
                                    "max"sv, "and"sv,  "or"sv,     "xor"sv, "f4e"sv,
                                    "b4e"sv, "rc8"sv,  "ecl"sv,    "ecr"sv, "rc16"sv};
  static constexpr std::array modes{
      Mode::up,        Mode::down,       Mode::butterfly, Mode::index,      Mode::all,
      Mode::any,       Mode::uniform,    Mode::ballot,    Mode::add,        Mode::min,
      Mode::max,       Mode::bit_and,    Mode::bit_or,    Mode::bit_xor,    Mode::forward4,
      Mode::backward4, Mode::replicate8, Mode::edge_left, Mode::edge_right, Mode::replicate16};
  for (std::size_t i = 0; i < words.size(); ++i)
    if (has(words[i])) op.mode = modes[i];
  op.flag = has("sync");
  return true;
}

bool Decoder::barrier() {
  const std::vector<Operand>& operands = now_->operands;
  if (now_->modifiers.size() > 0 && has("warp")) return complain("bar.warp is another row");
  bool reduces = has("red");
  Slot d;
  if (reduces) d = destination(operands[0], has("popc") ? Type::u32 : Type::pred);
  std::size_t next = reduces ? 1 : 0, last = operands.size() - (reduces ? 1 : 0);
  Slot id = source(operands[next++], Type::u32), count, input;
  if (next < last) count = source(operands[next++], Type::u32);
  if (reduces) input = predicate(operands.back());
  if (error_) return false;
  Operation& op = emit(Effect::barrier);
  op.fixed = {id, count, d, input};
  op.mode = has("arrive") ? Mode::arrive : Mode::sync;
  if (reduces)
    op.mode = has("popc") ? Mode::popc : has("and") ? Mode::logical_and : Mode::logical_or;
  op.flag = now_->opcode == "barrier" && !has("aligned");
  return true;
}

bool Decoder::fence() {
  Operation& op = emit(Effect::fence);
  op.scope = scope();
  // Of the async proxy.
  op.flag = has("proxy") && !has("alias") && !has("tensormap::generic");
  if (op.flag) op.space = space_of(*now_);
  if (has("mbarrier_init")) op.scope = 'b';  // Of these alone.
  if (has("tensormap::generic")) op.scope = 'm';
  return true;
}

bool Decoder::mbarrier() {
  struct Known {
    std::string_view word;
    Mode mode;
  };
  static constexpr std::array known{Known{"init", Mode::init},
                                    Known{"inval", Mode::inval},
                                    Known{"arrive", Mode::arrive},
                                    Known{"expect_tx", Mode::expect},
                                    Known{"complete_tx", Mode::complete},
                                    Known{"test_wait", Mode::test_wait},
                                    Known{"try_wait", Mode::try_wait}};
  Mode mode = Mode::none;
  for (const Known& each : known)
    if (has(each.word) && mode == Mode::none) mode = each.mode;
  if (has("arrive_drop")) mode = has("expect_tx") ? Mode::drop_expect : Mode::drop;
  if (has("pending_count")) mode = Mode::pending_count;
  bool copies = has("async");  // cp.async.mbarrier.arrive
  if (copies) mode = Mode::arrive_copies;
  if (mode == Mode::arrive && has("expect_tx")) mode = Mode::arrive_expect;
  if (mode == Mode::test_wait && has("parity")) mode = Mode::test_parity;
  if (mode == Mode::try_wait && has("parity")) mode = Mode::try_parity;
  const std::vector<Operand>& operands = now_->operands;
  bool waits = mode == Mode::test_wait || mode == Mode::try_wait || mode == Mode::test_parity ||
               mode == Mode::try_parity;
  bool drops = mode == Mode::drop || mode == Mode::drop_expect;
  bool counts = mode == Mode::pending_count;
  bool result = waits || drops || counts || mode == Mode::arrive || mode == Mode::arrive_expect;
  Slot d, value;
  if (result) d = destination(operands[0], waits ? Type::pred : counts ? Type::b32 : Type::b64);
  Address where;
  if (counts) {
    value = source(operands[1], Type::b64);
    Operation& op = emit(Effect::mbarrier);
    op.mode = mode;
    op.fixed = {d, value};
    return !error_;
  }
  if (error_ || !address(operands[result ? 1 : 0], where)) return false;
  std::size_t next = result ? 2 : 1;
  bool token = mode == Mode::test_wait || mode == Mode::try_wait;
  if (next < operands.size()) value = source(operands[next], token ? Type::b64 : Type::u32);
  if (next + 1 < operands.size()) {
    if (!has("try_wait")) return complain(operands[next + 1], "one operand too many");
    source(operands[next + 1], Type::u32);  // How long it may wait.
  }
  if (error_) return false;
  Operation& op = emit(Effect::mbarrier);
  op.mode = mode;
  op.address = where;
  op.space = space_of(*now_);
  if (op.space == Space::generic && where.base.width == 4) op.space = Space::shared;
  op.element_bytes = 8;
  op.element_count = 1;
  op.strong = has("relaxed");
  op.flag = has("noComplete") || has("noinc");
  op.fixed = {d, value};
  return true;
}

bool Decoder::branch() {
  branches_.push_back({static_cast<std::uint32_t>(program_.operations.size()),
                       now_->operands[0].text, label_scope_});
  Operation& op = emit(Effect::branch);
  op.flag = has("uni");
  return true;
}

}  // namespace lathe::ptx
