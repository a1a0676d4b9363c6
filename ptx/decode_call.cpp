// Calls of device functions: the body is decoded where it is called, with registers of its own.
// What is handed over lies in .param variables of the caller, which are memory of the thread; the
// names of the callee's parameters and results stand for the same memory. A function that calls
// itself, or that the module does not define, stays an instruction that traps.

#include <algorithm>

#include "ptx/decoder.h"

namespace lathe::ptx {
namespace {

constexpr std::size_t call_depth_max = 16;

/// `call (results), name, (arguments), ..;`: the operands by what they are.
struct CallOperands {
  const Operand *results = nullptr, *name = nullptr, *arguments = nullptr;
};

CallOperands operands_of(const Instruction& instruction) {
  CallOperands call;
  for (const Operand& operand : instruction.operands) {
    bool list = operand.kind == Operand::Kind::vector;
    if (list && call.name == nullptr)
      call.results = &operand;
    else if (list && call.arguments == nullptr)
      call.arguments = &operand;
    else if (operand.kind == Operand::Kind::name && call.name == nullptr)
      call.name = &operand;
  }
  return call;
}

}  // namespace

bool Decoder::is_local(const Operand& operand) const {
  if (operand.parts.empty()) return false;
  std::optional<Named> named = find(operand.parts[0].text);
  return named && named->kind == Named::Kind::local;
}

/// A call that is not carried out: of a function by its name, or of a register with a prototype.
bool Decoder::call_fits() {
  const std::vector<Operand>& operands = now_->operands;
  CallOperands call = operands_of(*now_);
  if (call.name == nullptr) return complain("a call names a function");
  bool known = std::any_of(module_.functions.begin(), module_.functions.end(),
                           [&](const Function& f) { return f.name == call.name->text; });
  std::optional<Named> named = find(call.name->text);
  bool prototype = &operands.back() != call.name && operands.back().kind == Operand::Kind::name;
  if (known && !prototype) return true;
  if (!known && named && named->kind == Named::Kind::registers && named->bits == 64 && prototype)
    return true;
  return complain(*call.name, "a function, or a register with a prototype, is called");
}

const Function* Decoder::callee_of(const Instruction& instruction) const {
  CallOperands call = operands_of(instruction);
  if (call.name == nullptr || calls_.size() >= call_depth_max) return nullptr;
  for (const Operand& operand : instruction.operands)
    if (operand.kind != Operand::Kind::vector && &operand != call.name) return nullptr;
  for (const Function& function : module_.functions) {
    if (function.entry || !function.defined || function.name != call.name->text) continue;
    bool recursive = std::find(calls_.begin(), calls_.end(), &function) != calls_.end();
    auto in_memory = [](const Variable& variable) { return variable.space == "param"; };
    bool plain = std::all_of(function.parameters.begin(), function.parameters.end(), in_memory) &&
                 std::all_of(function.results.begin(), function.results.end(), in_memory);
    return recursive || !plain ? nullptr : &function;
  }
  return nullptr;
}

/// The callee's names for what the caller hands over.
bool Decoder::bind(const std::vector<Variable>& formal, const Operand* actual, Scope& scope) {
  std::size_t count = actual == nullptr ? 0 : actual->parts.size();
  if (count != formal.size())
    return complain("a call hands over " + std::to_string(count) +
                    " values where the function has " + std::to_string(formal.size()));
  for (std::size_t i = 0; i < count; ++i) {
    const Operand& operand = actual->parts[i];
    std::optional<Named> named = find(operand.text);
    if (!named || named->kind != Named::Kind::local)
      return complain(operand, "a call hands over .param variables of the caller",
                      "declare `.param .b32 name;`, store to it, and hand it over");
    scope[formal[i].name] = *named;
  }
  return true;
}

bool Decoder::inline_body(const Function& callee, Scope scope) {
  const Function* caller = function_;
  std::uint32_t begin = texts_begin_;
  std::vector<Scope> scopes = std::move(scopes_);
  auto label_scopes = std::move(label_scopes_);
  std::uint32_t label_scope = label_scope_;
  auto branches = std::move(branches_);
  auto returns = std::move(returns_);
  scopes_ = {scopes[0], scopes[1], std::move(scope), Scope{}};
  label_scopes_ = std::vector<LabelScope>(1);
  label_scope_ = 0;
  branches_.clear(), returns_.clear();
  function_ = &callee;
  calls_.push_back(&callee);
  add_texts();
  bool done = std::all_of(callee.statements.begin(), callee.statements.end(),
                          [&](const Statement& each) { return statement(each); });
  auto end = static_cast<std::uint32_t>(program_.operations.size());
  done = done && resolve_branches();
  for (std::uint32_t operation : returns_) program_.operations[operation].target = end;
  calls_.pop_back();
  function_ = caller;
  texts_begin_ = begin;
  scopes_ = std::move(scopes);
  label_scopes_ = std::move(label_scopes);
  label_scope_ = label_scope;
  branches_ = std::move(branches);
  returns_ = std::move(returns);
  return done && !error_;
}

/// ret and exit: from a function to behind its call, else from the kernel.
bool Decoder::leave(const FormMatch& match) {
  bool returns = now_->opcode == "ret";
  if (returns && !calls_.empty()) {
    returns_.push_back(static_cast<std::uint32_t>(program_.operations.size()));
    emit(Effect::branch);
    return true;
  }
  emit(match.effect).mode = returns ? Mode::ret : Mode::none;
  return true;
}

/// A guarded call is a branch around the body.
bool Decoder::call(const Instruction& instruction, const Function& callee) {
  std::uint32_t number = number_;
  CallOperands operands = operands_of(instruction);
  Scope scope;
  if (!bind(callee.results, operands.results, scope) ||
      !bind(callee.parameters, operands.arguments, scope))
    return false;
  std::size_t around = program_.operations.size();
  if (instruction.guard) {
    Operation& branch = emit(Effect::branch);
    branch.guard_negated = !branch.guard_negated;
    branch.cost = CostClass::branch;
    note_uses(around);
  }
  // What a function allocates on the stack ends with it.
  bool allocates = std::any_of(callee.instructions.begin(), callee.instructions.end(),
                               [](const Instruction& each) { return each.opcode == "alloca"; });
  Slot saved;
  if (allocates) {
    saved = {allocate(8), 8};
    emit_move(saved, stack_pointer());
  }
  if (!inline_body(callee, std::move(scope))) return false;
  now_ = &instruction;
  number_ = number;
  if (allocates) restore_stack(saved);
  if (instruction.guard)
    program_.operations[around].target = static_cast<std::uint32_t>(program_.operations.size());
  return true;
}

}  // namespace lathe::ptx
