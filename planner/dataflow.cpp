// Registers by scope, then blocks by labels that something jumps to.

#include "planner/dataflow.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

namespace lathe::planner {

using ptx::Instruction;
using ptx::Operand;
using ptx::Statement;

/// What a name means at one place of the body.
struct Flow::Names {
  struct Declared {
    std::string_view type;
    std::uint32_t count = 0, id = 0;
  };
  using Scope = std::unordered_map<std::string_view, Declared>;
  std::vector<Scope> plain{1}, ranges{1};
  std::uint32_t declarations = 0;
  std::unordered_map<std::uint64_t, RegisterId> known;

  void declare(const ptx::Registers& registers) {
    Scope& scope = registers.count ? ranges.back() : plain.back();
    scope[registers.name] = {registers.type, registers.count, declarations++};
  }

  /// A number for the register, and its type.
  std::optional<std::pair<std::uint64_t, std::string_view>> find(std::string_view name) const {
    std::size_t dot = name.find('.');
    if (dot != std::string_view::npos && dot > 0) name = name.substr(0, dot);
    std::size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
    for (std::size_t scope = plain.size(); scope-- > 0;) {
      auto one = plain[scope].find(name);
      if (one != plain[scope].end())
        return std::pair{std::uint64_t{one->second.id} << 32, one->second.type};
      if (digits == name.size() || name.size() - digits > 9) continue;
      auto many = ranges[scope].find(name.substr(0, digits));
      if (many == ranges[scope].end()) continue;
      auto number = std::stoul(std::string(name.substr(digits)));
      if (number < many->second.count)
        return std::pair{std::uint64_t{many->second.id} << 32 | (number + 1), many->second.type};
    }
    return std::nullopt;
  }
};

namespace {

constexpr std::array<std::string_view, 24> without_result{
    "st",         "red",           "bra",   "brx",          "ret",      "exit",
    "trap",       "membar",        "fence", "call",         "prefetch", "prefetchu",
    "discard",    "applypriority", "cp",    "nanosleep",    "pmevent",  "griddepcontrol",
    "setmaxnreg", "stmatrix",      "brkpt", "stackrestore", "sust",     "barrier"};

bool ends_block(const Instruction& instruction) {
  for (std::string_view opcode : {"bra", "brx", "ret", "exit", "trap"})
    if (instruction.opcode == opcode) return true;
  return false;
}

}  // namespace

bool has_modifier(const Instruction& instruction, std::string_view modifier) {
  return std::find(instruction.modifiers.begin(), instruction.modifiers.end(), modifier) !=
         instruction.modifiers.end();
}

std::string opcode_of(const Instruction& instruction) {
  std::string out(instruction.opcode);
  for (std::string_view modifier : instruction.modifiers) out += "." + std::string(modifier);
  return out;
}

bool writes_first_operand(const Instruction& instruction) {
  if (instruction.operands.empty()) return false;
  if (instruction.operands[0].kind == Operand::Kind::address) return false;
  if (instruction.opcode == "bar" || instruction.opcode == "barrier")
    return has_modifier(instruction, "red");
  return std::find(without_result.begin(), without_result.end(), instruction.opcode) ==
         without_result.end();
}

bool is_block_barrier(const Instruction& instruction) {
  if (instruction.guard) return false;
  if (instruction.opcode != "bar" && instruction.opcode != "barrier") return false;
  return has_modifier(instruction, "sync") && instruction.operands.size() == 1 &&
         instruction.operands[0].kind == Operand::Kind::integer;
}

Touch touch_of(const Instruction& instruction) {
  Touch touch;
  std::string_view opcode = instruction.opcode;
  auto in = [&](std::string_view space) {
    for (std::string_view modifier : instruction.modifiers)
      if (modifier == space ||
          (modifier.starts_with(space) && modifier.substr(space.size()).starts_with("::")))
        return true;
    return false;
  };
  touch.shared = in("shared") && !in("global");
  touch.global = in("global") && !in("shared");
  if (opcode == "ld" || opcode == "ldu") {
    if (in("param") || in("const")) return {};
    touch.reads = true;
    for (std::string_view strong : {"volatile", "relaxed", "acquire", "mmio"})
      touch.orders |= has_modifier(instruction, strong);
  } else if (opcode == "st") {
    if (in("param")) return {};
    touch.writes = true;
    for (std::string_view strong : {"volatile", "relaxed", "release", "mmio", "async"})
      touch.orders |= has_modifier(instruction, strong);
  } else if (opcode == "ldmatrix") {
    touch.reads = touch.shared = true;
  } else if (opcode == "stmatrix") {
    touch.writes = touch.shared = true;
  } else {
    constexpr std::array<std::string_view, 22> ordering{
        "bar",       "barrier",  "membar",   "fence",      "atom",    "red",
        "call",      "cp",       "mbarrier", "wgmma",      "tcgen05", "griddepcontrol",
        "tensormap", "multimem", "discard",  "setmaxnreg", "tex",     "tld4",
        "suld",      "sust",     "sured",    "elect"};
    touch.orders = std::find(ordering.begin(), ordering.end(), opcode) != ordering.end();
    touch.reads = touch.writes = touch.orders && opcode != "bar" && opcode != "barrier";
  }
  return touch;
}

Flow::Flow(const ptx::Function& function) : function_(function) {
  std::size_t count = function.instructions.size();
  writes_.resize(count);
  reads_.resize(count);
  mentions_.resize(count);
  scope_of_.resize(count);
  number_registers();
  place_labels();
  cut_blocks();
  connect_blocks();
}

RegisterId Flow::intern(const Names& names, std::uint64_t key, std::string_view type) {
  auto& known = const_cast<Names&>(names).known;
  auto [entry, added] = known.try_emplace(key, static_cast<RegisterId>(registers_.size()));
  if (added) registers_.push_back({type, {}, {}});
  return entry->second;
}

void Flow::note(Index index, const Operand& operand, const Names& names, bool written) {
  if (!operand.parts.empty()) {
    bool inside = written && operand.kind != Operand::Kind::address;
    for (const Operand& part : operand.parts) note(index, part, names, inside);
    return;
  }
  if (operand.kind != Operand::Kind::name) return;
  auto found = names.find(operand.text);
  if (!found) return;
  RegisterId id = intern(names, found->first, found->second);
  mentions_[index].push_back({operand.text, id});
  (written ? writes_ : reads_)[index].push_back(id);
  (written ? registers_[id].writers : registers_[id].readers).push_back(index);
}

void Flow::note_instruction(Index index, const Names& names) {
  const Instruction& instruction = at(index);
  if (instruction.guard) {
    Operand guard;
    guard.text = instruction.guard->predicate;
    note(index, guard, names, false);
  }
  bool writes = writes_first_operand(instruction);
  for (std::size_t i = 0; i < instruction.operands.size(); ++i)
    note(index, instruction.operands[i], names, writes && i == 0);
  // The accumulator of an asynchronous multiplication is read too.
  if (writes && instruction.opcode == "wgmma" && has_modifier(instruction, "mma_async"))
    note(index, instruction.operands[0], names, false);
}

void Flow::number_registers() {
  Names names;
  for (const Statement& statement : function_.statements) {
    switch (statement.kind) {
      case Statement::Kind::registers:
        names.declare(function_.registers[statement.index]);
        break;
      case Statement::Kind::open_scope:
        names.plain.emplace_back();
        names.ranges.emplace_back();
        break;
      case Statement::Kind::close_scope:
        if (names.plain.size() > 1) names.plain.pop_back(), names.ranges.pop_back();
        break;
      case Statement::Kind::instruction:
        scope_of_[statement.index] = static_cast<std::uint32_t>(names.plain.size() - 1);
        note_instruction(statement.index, names);
        break;
      default:
        break;
    }
  }
}

std::optional<RegisterId> Flow::find(Index index, std::string_view name) const {
  for (const auto& [mentioned, id] : mentions_[index])
    if (mentioned == name) return id;
  return std::nullopt;
}

/// Where labels stand, by the braces around them: a name may be a label of several.
void Flow::place_labels() {
  for (const ptx::Directive& directive : function_.body_directives)
    if (!directive.text.starts_with(".loc"))
      certain_ = certain_ && directive.text.starts_with(".pragma");
  around_.assign(1, 0);
  in_braces_.resize(size());
  std::uint32_t braces = 0;
  Index next = 0;
  for (const Statement& statement : function_.statements) {
    switch (statement.kind) {
      case Statement::Kind::open_scope:
        around_.push_back(braces);
        braces = static_cast<std::uint32_t>(around_.size() - 1);
        break;
      case Statement::Kind::close_scope:
        braces = around_[braces];
        break;
      case Statement::Kind::instruction:
        in_braces_[statement.index] = braces;
        next = statement.index + 1;
        break;
      case Statement::Kind::label:
        if (!labels_.try_emplace({braces, function_.labels[statement.index].name}, next).second)
          certain_ = false;
        break;
      default:
        break;
    }
  }
}

/// The instruction that follows the label of this name that `index` sees: that of the nearest
/// braces.
std::optional<Index> Flow::target(Index index, std::string_view name) const {
  for (std::uint32_t braces = in_braces_[index];; braces = around_[braces]) {
    if (auto found = labels_.find({braces, name}); found != labels_.end()) return found->second;
    if (braces == 0) return std::nullopt;
  }
}

void Flow::cut_blocks() {
  std::vector<Index> leaders{0};
  for (Index i = 0; i < size(); ++i) {
    if (ends_block(at(i))) leaders.push_back(i + 1);
    for (const Operand& operand : at(i).operands)
      if (operand.kind == Operand::Kind::name)
        if (auto place = target(i, operand.text)) leaders.push_back(*place);
  }
  std::sort(leaders.begin(), leaders.end());
  leaders.erase(std::unique(leaders.begin(), leaders.end()), leaders.end());
  block_of_.resize(size());
  for (std::size_t i = 0; i < leaders.size(); ++i) {
    Index end = i + 1 < leaders.size() ? leaders[i + 1] : size();
    if (leaders[i] >= size()) break;
    blocks_.push_back({leaders[i], end, {}, {}});
    for (Index k = leaders[i]; k < end; ++k)
      block_of_[k] = static_cast<std::uint32_t>(blocks_.size() - 1);
  }
}

void Flow::connect_blocks() {
  auto join = [&](std::uint32_t from, Index place) {
    if (place >= size()) return;  // Past the last instruction: the function's end.
    blocks_[from].next.push_back(block_of_[place]);
    blocks_[block_of_[place]].previous.push_back(from);
  };
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    Index end = blocks_[b].end - 1;
    const Instruction& last = at(end);
    bool goes_on = last.guard.has_value() || !ends_block(last);
    if (goes_on) join(b, blocks_[b].end);
    if (last.opcode == "brx") certain_ = false;
    if (last.opcode != "bra") continue;
    std::optional<Index> place;
    if (!last.operands.empty()) place = target(end, last.operands[0].text);
    if (place)
      join(b, *place);
    else
      certain_ = false;
  }
}

std::optional<Index> Flow::reaching(RegisterId id, Index index) const {
  const std::vector<Index>& writers = registers_[id].writers;
  Index begin = blocks_[block_of_[index]].begin;
  for (std::size_t i = writers.size(); i-- > 0;) {
    if (writers[i] >= index) continue;
    if (writers[i] < begin) break;
    if (at(writers[i]).guard) return std::nullopt;
    return writers[i];
  }
  if (writers.size() == 1 && !at(writers[0]).guard) return writers[0];
  return std::nullopt;
}

bool Flow::written_between(RegisterId id, Index first, Index last) const {
  const std::vector<Index>& writers = registers_[id].writers;
  auto next = std::upper_bound(writers.begin(), writers.end(), first);
  return next != writers.end() && *next < last;
}

bool Flow::read_between(RegisterId id, Index first, Index last) const {
  const std::vector<Index>& readers = registers_[id].readers;
  auto next = std::upper_bound(readers.begin(), readers.end(), first);
  return next != readers.end() && *next < last;
}

bool Flow::single_use(RegisterId id) const {
  const Register& one = registers_[id];
  return one.writers.size() == 1 && one.readers.size() == 1 && !at(one.writers[0]).guard;
}

}  // namespace lathe::planner
