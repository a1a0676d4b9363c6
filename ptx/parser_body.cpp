// Statements of a body: instructions, labels, declarations, scopes and directives, in order.

#include <algorithm>
#include <utility>

#include "ptx/parser.h"

namespace lathe::ptx {

void Parser::push(Function& function, Statement::Kind kind, std::size_t index, const Span& span) {
  function.statements.push_back({kind, static_cast<std::uint32_t>(index), span});
}

bool Parser::body(Function& function) {
  Span open = token_.span;
  advance();
  scopes_ = 0;
  open_scopes_.clear();
  // Most lines are an instruction of some 40 bytes; growing the vectors would move them all.
  std::size_t guess = std::min<std::size_t>((module_.text->size() - open.begin) / 48, 1u << 20);
  if (module_.functions.empty()) {
    function.statements.reserve(guess);
    function.instructions.reserve(guess);
  }
  bool good = body_loop(function, open);
  function.body = from(open);
  return good;
}

bool Parser::body_loop(Function& function, const Span& open) {
  while (!stopped()) {
    if (at_end())
      return complain_at(open, "the body that opens here is never closed", "close it with `}`");
    Span here = token_.span;
    if (take('}')) {
      if (open_scopes_.empty()) return true;
      push(function, Statement::Kind::close_scope, open_scopes_.back(), here);
      open_scopes_.pop_back();
    } else if (take('{')) {
      if (open_scopes_.size() == scope_depth_max)
        return complain_at(here, "scopes are nested deeper than " + std::to_string(scope_depth_max),
                           "use fewer braces");
      if (!count_part() || !count_statement()) return false;
      open_scopes_.push_back(scopes_);
      push(function, Statement::Kind::open_scope, scopes_++, here);
    } else if (!statement(function)) {
      recover();
    }
  }
  return false;
}

bool Parser::statement(Function& function) {
  if (take(';')) return true;
  if (!count_part() || !count_statement()) return false;
  if (token_.kind == Token::Kind::dot) return body_directive(function);
  if (token_.kind == Token::Kind::word) return word_statement(function);
  if (!token_.is('@'))
    return complain("a statement",
                    "an instruction, a guard `@%p1`, a label, a declaration, `{` or `}`");
  Span begin = token_.span;
  Instruction guarded;
  advance();
  Guard guard;
  guard.negated = take('!');
  if (token_.kind != Token::Kind::word)
    return complain("a predicate register", "write `@%p1` or `@!%p1` before the instruction");
  guard.predicate = token_.text;
  guarded.guard = guard;
  advance();
  if (token_.kind != Token::Kind::word) return complain("an instruction after its guard");
  guarded.opcode = token_.text;
  guarded.opcode_span = token_.span;
  advance();
  return instruction(function, std::move(guarded), begin);
}

bool Parser::word_statement(Function& function) {
  Token word = token_;
  advance();
  if (token_.is(':')) {
    advance();
    function.labels.push_back({word.text, from(word.span)});
    push(function, Statement::Kind::label, function.labels.size() - 1, from(word.span));
    return true;
  }
  Instruction plain;
  plain.opcode = word.text;
  plain.opcode_span = word.span;
  return instruction(function, std::move(plain), word.span);
}

bool Parser::instruction(Function& function, Instruction instruction, const Span& begin) {
  if (instruction.opcode.front() == '%')
    return complain_at(instruction.opcode_span,
                       "found `" + std::string(instruction.opcode.substr(0, 40)) +
                           "` where an instruction is expected",
                       "a register stands after an opcode");
  std::size_t count = 0;
  for (; token_.kind == Token::Kind::dot; advance()) {
    if (count == modifiers_max)
      return complain("at most " + std::to_string(modifiers_max) + " modifiers");
    modifiers_[count++] = {token_.text.data() + 1, token_.text.size() - 1};
  }
  instruction.modifiers.assign(modifiers_.data(), modifiers_.data() + count);
  instruction.opcode_span = from(instruction.opcode_span);
  if (!token_.is(';') && !instruction_operands(instruction)) return false;
  if (!take(';'))
    return complain("`,` or `;` after the operand", "an instruction ends with a semicolon");
  instruction.span = from(begin);
  function.instructions.push_back(std::move(instruction));
  push(function, Statement::Kind::instruction, function.instructions.size() - 1,
       function.instructions.back().span);
  return true;
}

bool Parser::instruction_operands(Instruction& instruction) {
  in_call_ = instruction.opcode == "call";
  instruction.operands.reserve(4);
  do {
    if (!operand(instruction.operands.emplace_back(), 0)) return false;
  } while (take(','));
  return true;
}

bool Parser::body_directive(Function& function) {
  Span begin = token_.span;
  if (token_.is_dot("reg")) return registers(function);
  bool located = token_.is_dot("loc") || token_.is_dot("file");
  if (located || token_.is_dot("pragma") || token_.is_dot("callprototype") ||
      token_.is_dot("branchtargets") || token_.is_dot("calltargets")) {
    if (!located) advance();
    bool good = located ? file_or_loc(function.body_directives)
                        : to_semicolon(function.body_directives, begin);
    if (!good) return false;
    push(function, Statement::Kind::directive, function.body_directives.size() - 1, from(begin));
    return true;
  }
  return body_variable(function);
}

bool Parser::body_variable(Function& function) {
  Span begin = token_.span;
  Variable first;
  unsigned lanes = 1;
  while (token_.is_dot("extern") || token_.is_dot("visible")) {
    if (first.attributes.size() == 4) return complain("a state space");
    first.attributes.push_back(token_.text.substr(1));
    advance();
  }
  if (!variable_words(first, lanes)) return false;
  if (first.space.empty())
    return complain_at(
        begin,
        "found `" + std::string(text_of(begin).substr(0, 40)) + "` where a statement is expected",
        ".reg, .shared, .local, .param, .const, .global, .loc, .pragma, "
        ".callprototype, .branchtargets or .calltargets stand here");
  first.words = from(begin);
  do {
    Variable variable = first;
    Span name = token_.span;
    if (!count_part() || !variable_name(variable, lanes)) return false;
    variable.span = from(begin);
    variable.declarator = from(name);
    function.variables.push_back(std::move(variable));
    push(function, Statement::Kind::variable, function.variables.size() - 1, from(begin));
  } while (take(','));
  return expect(';', "after the variable");
}

bool Parser::registers(Function& function) {
  Span begin = token_.span;
  advance();
  std::uint32_t lanes = 1;
  if (token_.is_dot("v2") || token_.is_dot("v4")) {
    lanes = token_.is_dot("v2") ? 2 : 4;
    advance();
  }
  if (token_.kind != Token::Kind::dot ||
      (token_.text != ".pred" && type_bytes(token_.text.substr(1)) == 0))
    return complain("a register type",
                    ".pred, .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16, "
                    ".f16x2, .bf16, .bf16x2, .f32 or .f64");
  std::string_view type = token_.text.substr(1);
  advance();
  do {
    if (!count_part() || !count_statement() || !one_register(function, begin, type, lanes))
      return false;
  } while (take(','));
  return expect(';', "after the registers");
}

bool Parser::one_register(Function& function, const Span& begin, std::string_view type,
                          std::uint32_t lanes) {
  if (token_.kind != Token::Kind::word)
    return complain("a register's name", "write `.reg .b32 %r<100>;` or `.reg .pred p;`");
  Registers declared{type, token_.text, 0, lanes, {}};
  advance();
  if (take('<')) {
    Literal count;
    if (token_.kind != Token::Kind::number || !read_literal(token_.text, count) || count.is_float ||
        count.bits == 0 || count.bits > (1u << 30))
      return complain("how many registers: a number from 1 to 1073741824");
    declared.count = static_cast<std::uint32_t>(count.bits);
    advance();
    if (!expect('>', "after the number of registers")) return false;
  }
  declared.span = from(begin);
  function.registers.push_back(declared);
  push(function, Statement::Kind::registers, function.registers.size() - 1, declared.span);
  return true;
}

}  // namespace lathe::ptx
