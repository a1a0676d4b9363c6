// Bytes to words by a table of byte classes.

#include "ptx/lexer.h"

#include <array>

namespace lathe::ptx {
namespace {

enum Class : std::uint8_t { other = 0, blank = 1, start = 2, digit = 4, mark = 8 };

constexpr std::array<std::uint8_t, 256> classes = [] {
  std::array<std::uint8_t, 256> table{};
  for (char c : {' ', '\t', '\r', '\n', '\f', '\v'}) table[static_cast<unsigned char>(c)] = blank;
  for (int c = 'a'; c <= 'z'; ++c) table[c] = start;
  for (int c = 'A'; c <= 'Z'; ++c) table[c] = start;
  for (char c : {'_', '$', '%'}) table[static_cast<unsigned char>(c)] = start;
  for (int c = '0'; c <= '9'; ++c) table[c] = digit;
  for (char c : std::string_view(",;:[]{}()<>=@!|+-*/&^~?"))
    table[static_cast<unsigned char>(c)] = mark;
  return table;
}();

bool is(char c, unsigned kinds) { return classes[static_cast<unsigned char>(c)] & kinds; }

}  // namespace

inline void Lexer::open(Token& token) const {
  token.span.begin = at_;
  token.span.line = line_;
  token.span.column = at_ - line_begin_ + 1;
}

inline void Lexer::close(Token& token, Token::Kind kind) const {
  token.kind = kind;
  token.span.end = at_;
  token.text = std::string_view(text_.data() + token.span.begin, at_ - token.span.begin);
}

bool Lexer::skip_block_comment(Token& problem) {
  open(problem);
  at_ += 2;
  for (; at_ < text_.size(); ++at_) {
    if (text_[at_] == '\n') {
      ++line_;
      line_begin_ = at_ + 1;
    } else if (text_[at_] == '*' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      at_ += 2;
      return true;
    }
  }
  std::uint32_t end = at_;
  at_ = problem.span.begin + 2;
  close(problem, Token::Kind::bad);
  at_ = end;
  problem.problem = "a comment that is never closed";
  return false;
}

bool Lexer::skip_blanks(Token& problem) {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (is(c, blank)) {
      ++at_;
      if (c == '\n') {
        ++line_;
        line_begin_ = at_;
      }
      continue;
    }
    if (c != '/' || at_ + 1 >= text_.size()) return true;
    if (text_[at_ + 1] == '/') {
      std::size_t end = text_.find('\n', at_);
      at_ = static_cast<std::uint32_t>(end == std::string_view::npos ? text_.size() : end);
    } else if (text_[at_ + 1] == '*') {
      if (!skip_block_comment(problem)) return false;
    } else {
      return true;
    }
  }
  return true;
}

inline void Lexer::lex_dot(Token& token) {
  const char *begin = text_.data(), *end = begin + text_.size(), *at = begin + at_ + 1;
  while (at != end && is(*at, start | digit)) ++at;
  while (end - at > 2 && at[0] == ':' && at[1] == ':' && is(at[2], start | digit)) {
    at += 2;
    while (at != end && is(*at, start | digit)) ++at;
  }
  at_ = static_cast<std::uint32_t>(at - begin);
  close(token, Token::Kind::dot);
  if (token.text.size() > 1) return;
  token.kind = Token::Kind::bad;
  token.problem = "a dot without a name";
}

/// Takes all that may belong to a number; its value, and whether it has one, is the parser's.
void Lexer::lex_number(Token& token) {
  char second = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  bool coded = text_[at_] == '0' && is(second, start);  // 0x, 0f, 0d, 0b, 0U
  while (at_ < text_.size()) {
    char c = text_[at_];
    bool exponent_sign = !coded && (c == '+' || c == '-') && at_ > token.span.begin &&
                         (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
    if (!is(c, start | digit) && !(c == '.' && !coded) && !exponent_sign) break;
    ++at_;
  }
  close(token, Token::Kind::number);
}

void Lexer::lex_string(Token& token) {
  for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
    if (text_[at_] == '"') {
      ++at_;
      close(token, Token::Kind::string);
      return;
    }
    if (text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
  }
  close(token, Token::Kind::bad);
  token.problem = "a string that is not closed on its line";
}

/// Blanks before what is read most, and its end, in registers; the rest as it comes.
void Lexer::next(Token& token) {
  const char *begin = text_.data(), *end = begin + text_.size(), *at = begin + at_;
  for (; at != end && is(*at, blank); ++at) {
    if (*at != '\n') continue;
    ++line_;
    line_begin_ = static_cast<std::uint32_t>(at + 1 - begin);
  }
  at_ = static_cast<std::uint32_t>(at - begin);
  if (at != end && *at == '/') {
    if (!skip_blanks(token)) return;
    at = begin + at_;
  }
  open(token);
  if (at == end) return close(token, Token::Kind::end);
  char c = *at;
  if (is(c, start)) {
    do ++at;
    while (at != end && is(*at, start | digit));
    at_ = static_cast<std::uint32_t>(at - begin);
    close(token, Token::Kind::word);
  } else if (is(c, mark)) {
    ++at_;
    close(token, Token::Kind::punct);
  } else if (c == '.') {
    lex_dot(token);
  } else if (is(c, digit)) {
    lex_number(token);
  } else if (c == '"') {
    lex_string(token);
  } else {
    ++at_;
    close(token, Token::Kind::bad);
    token.problem = "a byte that PTX does not use";
  }
}

}  // namespace lathe::ptx
