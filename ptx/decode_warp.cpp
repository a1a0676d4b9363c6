// Whole-warp instructions as operations: matrices, shuffles, votes, barriers, branches.

#include <algorithm>

#include "ptx/decoder.h"
#include "ptx/fragment.h"

namespace lathe::ptx {

bool Decoder::matrix(const FormMatch& match) {
  if (match.effect == Effect::transpose_matrix) {
    Slot d = destination(now_->operands[0], Type::b32), a = source(now_->operands[1], Type::b32);
    if (error_) return false;
    Operation& op = emit(match.effect);
    op.fixed = {d, a, scratch(4)};
    return true;
  }
  bool load = match.effect == Effect::load_matrix;
  const Operand& moved = now_->operands[load ? 0 : 1];
  std::vector<const Operand*> parts = elements(moved);
  unsigned count = has("x4") ? 4 : has("x2") ? 2 : 1;
  if (parts.size() != count)
    return complain(moved, "a vector of " + std::to_string(count) + " is expected");
  std::vector<Slot> slots;
  for (const Operand* part : parts)
    slots.push_back(load ? destination(*part, Type::b32) : source(*part, Type::b32));
  Address where;
  if (error_ || !address(now_->operands[load ? 1 : 0], where)) return false;
  // Results go to scratch first: a destination may be the address register.
  std::vector<Slot> landing;
  for (unsigned i = 0; load && i < count; ++i) landing.push_back(scratch(4));
  Operation& op = emit(match.effect);
  op.address = where;
  op.space = Space::shared;
  op.access = load ? AccessKind::read : AccessKind::write;
  op.element_bytes = 16;
  op.element_count = static_cast<std::uint8_t>(count);
  op.flag = has("trans");
  op.slot_begin = static_cast<std::uint32_t>(program_.slots.size());
  op.slot_count = static_cast<std::uint16_t>(count);
  program_.slots.insert(program_.slots.end(), slots.begin(), slots.end());
  program_.slots.insert(program_.slots.end(), landing.begin(), landing.end());
  return true;
}

bool Decoder::multiply(const FormMatch& match) {
  std::vector<Type> types;
  std::string_view shape;
  for (std::string_view word : now_->modifiers) {
    if (auto type = type_named(word)) types.push_back(*type);
    if (word.starts_with('m') && word.find('n') != std::string_view::npos &&
        word.find('k') != std::string_view::npos)
      shape = word;
  }
  std::optional<FragmentShape> fragment =
      types.size() == 4 ? fragment_shape(shape, types[0], types[1], types[2], types[3])
                        : std::nullopt;
  if (!fragment) {
    emit(Effect::unmodelled, match.form);
    return true;
  }
  const std::array<unsigned, 4> counts{fragment->d_registers, fragment->a_registers,
                                       fragment->b_registers, fragment->d_registers};
  const std::array<Type, 4> register_types{fragment->c_register(), fragment->ab_register(),
                                           fragment->ab_register(), fragment->c_register()};
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<const Operand*> parts = elements(now_->operands[i]);
    if (parts.size() != counts[i])
      return complain(now_->operands[i],
                      "a vector of " + std::to_string(counts[i]) + " is expected");
    for (const Operand* part : parts)
      slots.push_back(i == 0 ? destination(*part, register_types[i])
                             : source(*part, register_types[i]));
    if (error_) return false;
  }
  Matrix matrix{fragment->m, fragment->n, fragment->k, types[0], types[1], types[2],
                types[3],    {},          {},          {},       {}};
  FragmentMap map = make_fragment_map(*fragment);
  const Slot* next = slots.data();
  auto cells = [&](const std::vector<FragmentPlace>& places, unsigned count) {
    std::vector<Cell> list;
    for (FragmentPlace at : places) list.push_back(next[at.slot].cell(at.lane, at.byte));
    next += count;
    return list;
  };
  matrix.d = cells(map.d, counts[0]);
  matrix.a = cells(map.a, counts[1]);
  matrix.b = cells(map.b, counts[2]);
  matrix.c = cells(map.d, counts[3]);
  Operation& op = emit(Effect::multiply, match.form);
  op.flag = has("satfinite");
  op.matrix = static_cast<std::uint32_t>(program_.matrices.size());
  op.slot_begin = static_cast<std::uint32_t>(program_.slots.size());
  op.slot_count = static_cast<std::uint16_t>(slots.size());
  program_.slots.insert(program_.slots.end(), slots.begin(), slots.end());
  program_.matrices.push_back(std::move(matrix));
  return true;
}

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
    Type wanted = Type::u32;
    if (value && effect == Effect::vote) wanted = Type::pred;
    if (value && (effect == Effect::match || effect == Effect::reduce ||
                  effect == Effect::shuffle || effect == Effect::permute))
      wanted = type;
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
  op.scope = has("sys") ? 's' : has("cta") ? 'c' : has("cluster") ? 'l' : 'g';
  // Of the async proxy. The fence of new mbarriers makes them known to it too.
  op.flag = has("proxy") && !has("alias") && !has("tensormap::generic");
  if (has("mbarrier_init") || has("tensormap::generic")) op.scope = 'm';  // Of these alone.
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
  branches_.emplace_back(static_cast<std::uint32_t>(program_.operations.size()),
                         now_->operands[0].text);
  Operation& op = emit(Effect::branch);
  op.flag = has("uni");
  return true;
}

}  // namespace lathe::ptx
