#pragma once

// Words of a PTX text, one at a time and without copies. Comments and blanks are passed over.

#include <cstdint>
#include <string_view>

#include "ptx/module.h"

namespace lathe::ptx {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    word,    // add, %r1, $L__BB0_1, _
    dot,     // .global, .L1::evict_last, .1d: with its dot.
    number,  // 12, 0x1F, 0U, 0f3F800000, 1.5e3
    string,  // "..", with its quotes.
    punct,   // One byte.
    bad,     // A byte, comment or string that PTX does not have; `problem` says which.
  };
  Kind kind = Kind::end;
  std::string_view text;
  std::string_view problem;
  Span span;

  bool is(char punct) const { return kind == Kind::punct && text.front() == punct; }
  bool is_dot(std::string_view name) const { return kind == Kind::dot && text.substr(1) == name; }
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  /// Begins in the middle of a text; positions count from the text's beginning.
  Lexer(std::string_view text, const Span& from, std::uint32_t end)
      : text_(text.substr(0, end)),
        at_(from.begin),
        line_(from.line),
        line_begin_(from.begin - (from.column ? from.column - 1 : 0)) {}

  /// The next word. Of a token that is not bad, `problem` may be that of another.
  void next(Token& token);
  Token next() {
    Token token;
    next(token);
    return token;
  }

 private:
  bool skip_blanks(Token& problem);
  bool skip_block_comment(Token& problem);
  void open(Token& token) const;
  void close(Token& token, Token::Kind kind) const;
  void lex_dot(Token& token);
  void lex_number(Token& token);
  void lex_string(Token& token);

  std::string_view text_;
  std::uint32_t at_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t line_begin_ = 0;
};

}  // namespace lathe::ptx
