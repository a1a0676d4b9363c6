// Decoding a function: declarations, scopes, labels, and one operation or more an instruction.

#include <algorithm>
#include <charconv>

#include "ptx/decoder.h"
#include "ptx/isa_rules.h"

namespace lathe::ptx {
namespace {

constexpr std::uint32_t register_bytes_max = 1u << 27;

std::uint64_t aligned(std::uint64_t offset, std::uint64_t align) {
  return align <= 1 ? offset : (offset + align - 1) / align * align;
}

bool is_extern(const Variable& variable) {
  return std::find(variable.attributes.begin(), variable.attributes.end(), "extern") !=
         variable.attributes.end();
}

}  // namespace

Decoder::Decoder(const Module& module, const Function& function)
    : module_(module), function_(&function) {}

Spot Decoder::allocate(unsigned width) {
  Spot place = program_.register_bytes;
  program_.register_bytes += (width * lane_count + 63) / 64 * 64;
  return place;
}

void Decoder::declare_parameters() {
  std::uint64_t offset = 0;
  for (const Variable& parameter : function_->parameters) {
    offset = aligned(offset, parameter.align);
    scopes_.back()[parameter.name] = {Named::Kind::parameter, 0, 0, false, 0, offset};
    program_.parameters.push_back({std::string(parameter.name), static_cast<std::uint32_t>(offset),
                                   static_cast<std::uint32_t>(parameter.bytes)});
    offset += parameter.bytes;
  }
  program_.parameter_bytes = static_cast<std::uint32_t>(offset);
}

void Decoder::declare_module_variables() {
  for (const Variable& variable : module_.variables) declare_variable(variable);
}

void Decoder::declare_variable(const Variable& variable) {
  Named named;
  if (std::optional<Type> type = type_named(variable.type))
    named.width = static_cast<std::uint8_t>(width_of(*type) / 8);
  if (variable.space == "shared") {
    named.kind = Named::Kind::shared;
    // An extern array is the dynamic part, which begins where the static part ends: known at the
    // end, so it is marked and resolved then.
    if (is_extern(variable)) {
      named.offset = ~std::uint64_t{0};
    } else {
      named.offset = aligned(program_.static_shared_bytes, variable.align);
      program_.static_shared_bytes = named.offset + variable.bytes;
    }
  } else if (variable.space == "local" || variable.space == "param") {
    // A parameter that a body declares is what it hands to a function: memory of the thread.
    named.kind = Named::Kind::local;
    named.offset = aligned(program_.local_bytes, variable.align);
    program_.local_bytes = named.offset + variable.bytes;
  } else {
    named.kind = Named::Kind::variable;
    named.offset = program_.variables.size();
    program_.variables.push_back({std::string(variable.name), variable.bytes, variable.align,
                                  variable.space == "const", variable.initial});
  }
  scopes_.back()[variable.name] = named;
}

void Decoder::declare_registers(const Registers& registers) {
  std::optional<Type> type = type_named(registers.type);
  if (!type) {
    error_ = Error{Fault::unsupported,
                   "registers of type ." + std::string(registers.type) + " are not modelled", "",
                   module_.place(registers.span)};
    return;
  }
  Named named;
  named.width = static_cast<std::uint8_t>(cell_bytes(*type));
  named.predicate = *type == Type::pred;
  named.bits = static_cast<std::uint8_t>(width_of(*type));
  named.count = registers.count;
  named.lanes = registers.lanes;
  std::uint64_t count = std::uint64_t{std::max(registers.count, 1u)} * registers.lanes;
  std::uint64_t bytes = count * named.width * lane_count;
  if (program_.register_bytes + bytes > register_bytes_max) {
    error_ = Error{Fault::exhausted, "more registers are declared than a kernel may have", "",
                   module_.place(registers.span)};
    return;
  }
  named.place = program_.register_bytes;
  for (std::uint64_t i = 0; i < count; ++i) allocate(named.width);
  scopes_.back()[registers.name] = named;
}

void Decoder::read_directives() {
  for (const Directive& directive : function_->directives) {
    std::string_view text = directive.text;
    if (!text.starts_with(".reqntid")) continue;
    text.remove_prefix(8);
    program_.required_threads = {1, 1, 1};
    for (std::size_t i = 0; i < 3; ++i) {
      std::size_t begin = text.find_first_of("0123456789");
      if (begin == std::string_view::npos) break;
      text.remove_prefix(begin);
      auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), program_.required_threads[i]);
      if (error != std::errc()) break;
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
  }
}

bool Decoder::statement(const Statement& statement) {
  switch (statement.kind) {
    case Statement::Kind::instruction:
      return instruction(function_->instructions[statement.index], texts_begin_ + statement.index);
    case Statement::Kind::label:
      label_scopes_[label_scope_].labels[function_->labels[statement.index].name] =
          static_cast<std::uint32_t>(program_.operations.size());
      return true;
    case Statement::Kind::open_scope:
      scopes_.emplace_back();
      label_scopes_.push_back({label_scope_, {}});
      label_scope_ = static_cast<std::uint32_t>(label_scopes_.size() - 1);
      return true;
    case Statement::Kind::close_scope:
      if (scopes_.size() > 2) scopes_.pop_back();
      label_scope_ = label_scopes_[label_scope_].around;
      return true;
    case Statement::Kind::registers:
      declare_registers(function_->registers[statement.index]);
      return !error_;
    case Statement::Kind::variable:
      declare_variable(function_->variables[statement.index]);
      return true;
    case Statement::Kind::directive:
      return true;
  }
  return true;
}

bool Decoder::instruction(const Instruction& instruction, std::uint32_t number) {
  now_ = &instruction;
  number_ = number;
  scratch_used_ = 0;
  written_.clear();
  read_.clear();
  std::size_t first = program_.operations.size();
  Result<FormMatch> match = ptx::match(instruction, isa_version_, target_);
  if (!match) {
    if (match.error().fault != Fault::unsupported) {
      error_ = match.error();
      error_->place = module_.place(instruction.span);
      return false;
    }
    emit(Effect::unmodelled);
    return true;
  }
  if (match->effect == Effect::unmodelled && instruction.opcode == "call")
    if (const Function* callee = callee_of(instruction)) return call(instruction, *callee);
  std::string rule = broken_operands(instruction, *match->row);
  if (!rule.empty() && has_unlooked_operand()) {
    emit(Effect::unmodelled);
    return true;
  }
  if (!rule.empty())
    return complain("`" + std::string(instruction.opcode) + "`: " + rule,
                    "the form is " + std::string(match->row->signature.text));
  bool done = match->effect == Effect::none ? meaning(*match) : effect(*match);
  bool untold = done && !error_ && is_beyond_manual(instruction, *match->row);
  if (!done || error_ || untold) {
    if (!untold && !has_unlooked_operand()) return false;
    error_.reset();  // The assembler takes it all the same, and nobody says what it does.
    program_.operations.resize(first);
    emit(Effect::unmodelled);
    return true;
  }
  if (program_.operations.size() > first) {
    program_.operations[first].cost = cost_of(*match);
    note_uses(first);
    if (program_.operations.size() > first + 1) protect_guard(first);
  }
  return true;
}

/// All registers of the instruction are noted at its first operation.
void Decoder::note_uses(std::size_t first) {
  Operation& op = program_.operations[first];
  op.use_begin = static_cast<std::uint32_t>(program_.uses.size());
  if (op.guard != no_spot) read_.push_back(op.guard);
  auto add = [&](const std::vector<Spot>& places) {
    std::uint16_t count = 0;
    for (Spot place : places) {
      program_.uses.push_back(place);
      ++count;
    }
    return count;
  };
  op.written_count = add(written_);
  op.read_count = add(read_);
}

/// Where an instruction of several operations writes its own guard, a copy guards them.
void Decoder::protect_guard(std::size_t first) {
  Spot guard = program_.operations[first].guard;
  if (guard == no_spot || std::find(written_.begin(), written_.end(), guard) == written_.end())
    return;
  Slot copy = scratch(4);
  Operation move = program_.operations[first];
  move.effect = Effect::move;
  move.guard = no_spot;
  move.cost = CostClass::none;
  move.written_count = move.read_count = 0;
  move.fixed = {copy, Slot{guard, 4}};
  for (std::size_t i = first; i < program_.operations.size(); ++i)
    program_.operations[i].guard = copy.place;
  program_.operations.insert(program_.operations.begin() + static_cast<std::ptrdiff_t>(first),
                             move);
}

bool Decoder::resolve_branches() {
  for (auto [operation, label, scope] : branches_) {
    auto found = label_scopes_[scope].labels.find(label);
    while (found == label_scopes_[scope].labels.end() && scope != 0) {
      scope = label_scopes_[scope].around;
      found = label_scopes_[scope].labels.find(label);
    }
    if (found == label_scopes_[scope].labels.end()) {
      error_ = Error{Fault::malformed,
                     "no label `" + std::string(label) + "` is in the function",
                     "",
                     {module_.file, program_.operations[operation].line,
                      program_.operations[operation].column}};
      return false;
    }
    program_.operations[operation].target = found->second;
  }
  return true;
}

void Decoder::add_texts() {
  texts_begin_ = static_cast<std::uint32_t>(program_.texts.size());
  for (const Instruction& instruction : function_->instructions)
    program_.texts.emplace_back(module_.text->substr(
        instruction.span.begin, instruction.span.end - instruction.span.begin));
}

Result<Program> Decoder::run() {
  program_.entry = function_->name;
  program_.file = module_.file;
  Result<unsigned> version = parse_isa_version(module_.version);
  if (!version) return version.error();
  isa_version_ = *version;
  Result<Target> target =
      parse_target(module_.target.empty() ? std::string_view{} : module_.target[0]);
  if (!target) return target.error();
  target_ = program_.target = *target;
  scopes_.resize(2);
  declare_module_variables();
  declare_parameters();
  read_directives();
  add_texts();
  for (const Statement& each : function_->statements)
    if (!statement(each)) return *error_;
  if (!resolve_branches()) return *error_;
  for (Constant& constant : program_.constants)
    if (constant.kind == Constant::Kind::dynamic_shared) {
      constant.kind = Constant::Kind::shared;
      constant.bits += aligned(program_.static_shared_bytes, 16);
    }
  program_.static_shared_bytes = aligned(program_.static_shared_bytes, 16);
  place_stack();
  Operation end;
  end.effect = Effect::exit;
  end.instruction = function_->instructions.empty() ? 0 : number_;
  program_.operations.push_back(end);
  find_joins(program_.operations);
  return std::move(program_);
}

Result<Program> decode(const Module& module, std::string_view entry) {
  const Function* function = module.find_entry(entry);
  if (function == nullptr)
    return Error{Fault::malformed,
                 "the module has no entry `" + std::string(entry) + "`",
                 "",
                 {module.file, 0, 0}};
  return Decoder(module, *function).run();
}

}  // namespace lathe::ptx
