// Atomics as operations: atom, red and multimem.red.

#include "ptx/decoder.h"

namespace lathe::ptx {

char Decoder::scope() const {
  return has("sys") ? 's' : has("cta") ? 'c' : has("cluster") ? 'l' : 'g';
}

/// multimem: .weak stands alone, another order needs its scope, and there is one order.
bool Decoder::ordering_fits() {
  int orders = 0, scopes = 0;
  for (std::string_view word : now_->modifiers) {
    orders += word == "weak" || word == "relaxed" || word == "acquire" || word == "release";
    scopes += has_word(words_of_group("scope"), word);
  }
  if (orders > 1) return complain("two orders of memory are named");
  if (has("weak") && scopes != 0) return complain("a weak access has no scope");
  if (orders == 1 && !has("weak") && scopes == 0)
    return complain("an ordered access has a scope", "add .gpu or .sys");
  return true;
}

bool Decoder::atomic(const FormMatch& match) {
  static constexpr std::array names{"add"sv, "min"sv, "max"sv, "and"sv,  "or"sv,
                                    "xor"sv, "inc"sv, "dec"sv, "exch"sv, "cas"sv};
  static constexpr std::array modes{
      Mode::add,     Mode::min,       Mode::max,       Mode::bit_and,  Mode::bit_or,
      Mode::bit_xor, Mode::increment, Mode::decrement, Mode::exchange, Mode::compare_exchange};
  const std::vector<Operand>& operands = now_->operands;
  bool result = now_->opcode == "atom", multicast = now_->opcode == "multimem";
  if (multicast && !ordering_fits()) return false;
  Type type = match.form.type;
  Mode mode = Mode::none;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (has(names[i])) mode = modes[i];
  unsigned count = has("v2") ? 2 : has("v4") ? 4 : has("v8") ? 8 : 1;
  bool three = mode == Mode::compare_exchange;
  std::size_t first = result ? 1 : 0, wanted = first + (three ? 3 : 2);
  if (operands.size() != wanted + (has("L2::cache_hint") ? 1 : 0))
    return complain(has("L2::cache_hint") ? "a cache hint has its policy as last operand"
                                          : "a policy without .L2::cache_hint");
  std::vector<const Operand*> results, parts = elements(operands[first + 1]);
  if (result) results = elements(operands[0]);
  if (parts.size() != count ||
      (result && results.size() != count && !(results.size() == 1 && results[0]->text == "_")))
    return complain(operands[first + 1], "a vector of " + std::to_string(count) + " is expected");
  Address where;
  if (!address(operands[first], where)) return false;
  unsigned width = cell_bytes(type);
  std::vector<Slot> slots;  // Of each element: result, old value, source.
  for (unsigned i = 0; i < count; ++i) {
    bool kept = result && i < results.size();
    slots.push_back(kept ? destination(*results[i], type) : scratch(width));
    slots.push_back(scratch(width));
    slots.push_back(source(*parts[i], type));
    if (error_) return false;
  }
  Slot b = slots[2], c = three ? source(operands[first + 2], type) : b, fresh = scratch(width);
  if (has("L2::cache_hint")) source(operands.back(), Type::b64);
  if (error_) return false;
  Operation& op = emit(Effect::atomic, match.form);
  op.mode = mode;
  op.address = where;
  op.space = multicast ? Space::global : space_of(*now_);
  op.multicast = multicast;
  op.scope = scope();
  op.access = AccessKind::atomic;
  op.element_bytes = static_cast<std::uint8_t>(width_of(type) / 8);
  op.element_count = static_cast<std::uint8_t>(count);
  op.flag = !result;
  op.places = {slots[0].place, slots[1].place, fresh.place, b.place, c.place};
  op.fixed = {slots[0], slots[1], b, c};
  if (count > 1) {
    op.slot_begin = static_cast<std::uint32_t>(program_.slots.size());
    op.slot_count = static_cast<std::uint16_t>(slots.size());
    program_.slots.insert(program_.slots.end(), slots.begin(), slots.end());
  }
  return true;
}

}  // namespace lathe::ptx
