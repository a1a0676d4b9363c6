#pragma once

// The parser behind ptx::parse: one pass, one word ahead, ranges of the text and no copies. It goes
// on after a complaint at the next semicolon and stops at the twentieth.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "ptx/lexer.h"
#include "ptx/module.h"

namespace lathe::ptx {

/// What hostile text may cost. A real module of the largest size we read stays below.
inline constexpr std::size_t errors_max = 20;
inline constexpr std::size_t parts_max = 8u << 20;       // Statements and operands of a module.
inline constexpr std::size_t statements_max = 2u << 20;  // Of a module.
inline constexpr unsigned scope_depth_max = 200;
inline constexpr unsigned operand_depth_max = 4;
inline constexpr std::size_t modifiers_max = 32;

/// A number as it is written.
struct Literal {
  bool is_float = false;
  std::uint64_t bits = 0;
  unsigned width = 64;  // Of a float.
};

/// False where the text is no number of PTX.
bool read_literal(std::string_view text, Literal& literal);

/// Bytes of one element of a type, "b32" or "f16x2"; 0: no type of PTX.
unsigned type_bytes(std::string_view type);

class Parser {
 public:
  Parser(Module& module, std::vector<Error>& errors)
      : module_(module), errors_(errors), lexer_(*module.text) {
    advance();
  }
  void run();

 private:
  // Words and complaints.
  void advance() {
    last_end_ = token_.span.end;
    lexer_.next(token_);
  }
  bool complain(std::string expected, std::string remedy = {});
  bool complain_at(const Span& span, std::string what, std::string remedy);
  bool expect(char punct, std::string_view where);
  bool take(char punct) {
    if (!token_.is(punct)) return false;
    advance();
    return true;
  }
  bool count_part() { return ++parts_ <= parts_max || too_many_parts(); }
  bool too_many_parts();
  bool count_statement();
  bool exhausted(std::size_t limit, std::string_view what);
  void recover();
  bool stopped() const { return stopped_ || errors_.size() >= errors_max; }
  bool at_end() const { return token_.kind == Token::Kind::end; }
  Span from(const Span& begin) const {
    return {begin.begin, std::max(begin.begin, last_end_), begin.line, begin.column};
  }
  std::string_view text_of(const Span& span) const {
    return {module_.text->data() + span.begin, span.end - span.begin};
  }

  // The file.
  bool top_level();
  bool version();
  bool target();
  bool address_size();
  bool section();
  bool file_or_loc(std::vector<Directive>& into);
  bool to_semicolon(std::vector<Directive>& into, const Span& begin);
  bool declaration(std::vector<std::string_view> linkage, const Span& begin);
  bool function(const Span& begin);
  void defined_again(const Function& function);
  bool parameters(std::vector<Variable>& into);
  bool function_directives(Function& function);

  // A body.
  bool body(Function& function);
  bool body_loop(Function& function, const Span& open);
  bool statement(Function& function);
  bool body_directive(Function& function);
  bool body_variable(Function& function);
  bool registers(Function& function);
  bool one_register(Function& function, const Span& begin, std::string_view type,
                    std::uint32_t lanes);
  bool word_statement(Function& function);
  bool instruction(Function& function, Instruction instruction, const Span& begin);
  bool instruction_operands(Instruction& instruction);
  void push(Function& function, Statement::Kind kind, std::size_t index, const Span& span);

  // Variables.
  bool variable(Variable& variable, std::vector<std::string_view> linkage, const Span& begin);
  bool variable_words(Variable& variable, unsigned& lanes);
  bool variable_word(Variable& variable, unsigned& lanes);
  bool variable_name(Variable& variable, unsigned lanes);
  bool initial(Variable& variable);
  bool initial_value(Variable& variable, unsigned width);
  bool skip_parentheses();

  // Operands.
  bool operand(Operand& operand, unsigned depth);
  bool name_operand(Operand& operand);
  bool plain_name(Operand& operand);
  bool list(Operand& operand, char close, unsigned depth);
  bool address(Operand& operand, unsigned depth);
  bool negated(Operand& operand, unsigned depth);
  bool immediate(Operand& operand);
  bool offset(std::int64_t& offset);
  bool expression(Literal& value, unsigned depth, unsigned least);
  bool term(Literal& value, unsigned depth);
  void finish(Operand& operand, const Span& begin) const;

  Module& module_;
  std::vector<Error>& errors_;
  Lexer lexer_;
  Token token_;
  std::uint32_t last_end_ = 0;  // Where the word before token_ ended.
  std::size_t parts_ = 0, statements_ = 0;
  bool stopped_ = false;
  bool in_call_ = false;
  std::uint32_t scopes_ = 0;  // How many a function opened so far.
  std::vector<std::uint32_t> open_scopes_;
  std::array<std::string_view, modifiers_max> modifiers_;  // Of the instruction.
  std::unordered_set<std::string_view> defined_;           // Functions.
};

}  // namespace lathe::ptx
