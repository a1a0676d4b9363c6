// Operands: names, numbers and constant expressions, addresses, vectors, pairs.

#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "ptx/parser.h"

namespace lathe::ptx {
namespace {

constexpr unsigned expression_depth_max = 32;

bool read_digits(std::string_view digits, int base, std::uint64_t& bits) {
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, base);
  return error == std::errc{} && end == digits.data() + digits.size();
}

/// How tightly a binary operator binds; 0: not one. `<` and `>` stand for shifts.
unsigned binding(const Token& token) {
  if (token.kind != Token::Kind::punct) return 0;
  switch (token.text.front()) {
    case '|':
      return 1;
    case '^':
      return 2;
    case '&':
      return 3;
    case '<':
    case '>':
      return 4;
    case '+':
    case '-':
      return 5;
    case '*':
    case '/':
      return 6;
    default:
      return 0;
  }
}

bool combine(char mark, std::uint64_t& left, std::uint64_t right) {
  // clang-format off
  switch (mark) {
    case '|': left |= right; return true;
    case '^': left ^= right; return true;
    case '&': left &= right; return true;
    case '<': left = right < 64 ? left << right : 0; return true;
    case '>': left = right < 64 ? left >> right : 0; return true;
    case '+': left += right; return true;
    case '-': left -= right; return true;
    case '*': left *= right; return true;
    default: break;
  }
  // clang-format on
  auto a = static_cast<std::int64_t>(left), b = static_cast<std::int64_t>(right);
  if (b == 0 || (b == -1 && a == INT64_MIN)) return false;
  left = static_cast<std::uint64_t>(a / b);
  return true;
}

}  // namespace

bool read_literal(std::string_view text, Literal& literal) {
  if (text.size() > 2 && text[0] == '0') {
    char kind = static_cast<char>(text[1] | 0x20);
    if (kind == 'f' || kind == 'd') {
      literal.is_float = true;
      literal.width = kind == 'f' ? 32 : 64;
      return text.size() == 2 + literal.width / 4 && read_digits(text.substr(2), 16, literal.bits);
    }
    if (kind == 'x' || kind == 'b') {
      if (text.back() == 'U' || text.back() == 'u') text.remove_suffix(1);
      return read_digits(text.substr(2), kind == 'x' ? 16 : 2, literal.bits);
    }
  }
  if (text.find_first_of(".eE") != std::string_view::npos) {
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    literal.is_float = true;
    literal.width = 64;
    literal.bits = std::bit_cast<std::uint64_t>(value);
    return error == std::errc{} && end == text.data() + text.size();
  }
  if (text.size() > 1 && (text.back() == 'U' || text.back() == 'u')) text.remove_suffix(1);
  bool octal = text.size() > 1 && text[0] == '0';
  return read_digits(text, octal ? 8 : 10, literal.bits);
}

void Parser::finish(Operand& operand, const Span& begin) const {
  operand.span = from(begin);
  operand.text = text_of(operand.span);
}

bool Parser::term(Literal& value, unsigned depth) {
  if (depth > expression_depth_max) return complain("a simpler constant");
  bool plain = token_.kind == Token::Kind::number;
  if (!plain && take('('))
    return expression(value, depth + 1, 0) && expect(')', "after the constant");
  for (char mark : {'-', '+', '~', '!'}) {
    if (plain || !take(mark)) continue;
    if (!term(value, depth + 1)) return false;
    if (value.is_float) {
      if (mark == '~' || mark == '!') return complain("an integer after `~` or `!`");
      if (mark == '-') value.bits ^= std::uint64_t{1} << (value.width - 1);
    } else if (mark != '+') {
      value.bits = mark == '-' ? 0 - value.bits : mark == '~' ? ~value.bits : !value.bits;
    }
    return true;
  }
  if (token_.kind != Token::Kind::number)
    return complain("a number", "12, -3, 0x1F, 0f3F800000, 0d3FF0000000000000 or 1.5");
  if (!read_literal(token_.text, value))
    return complain("a number that fits in 64 bits",
                    "a hexadecimal float has 8 digits after 0f, or 16 after 0d");
  advance();
  return true;
}

/// A constant expression whose operators bind tighter than `least`.
bool Parser::expression(Literal& value, unsigned depth, unsigned least) {
  if (!term(value, depth)) return false;
  while (binding(token_) > least) {
    unsigned tight = binding(token_);
    char mark = token_.text.front();
    advance();
    if ((mark == '<' || mark == '>') && !expect(mark, "of a shift")) return false;
    Literal right;
    if (!expression(right, depth + 1, tight)) return false;
    if (value.is_float || right.is_float) return complain("integers in a constant expression");
    if (!combine(mark, value.bits, right.bits)) return complain("a divisor other than zero");
  }
  return true;
}

/// `+16`, `+-16`, `-4*3` after a base.
bool Parser::offset(std::int64_t& offset) {
  bool negative = token_.is('-');
  advance();
  Literal value;
  if (!expression(value, 0, negative ? 5 : 0)) return false;
  if (value.is_float) return complain("an integer offset");
  offset += static_cast<std::int64_t>(negative ? 0 - value.bits : value.bits);
  while (token_.is('+') || token_.is('-')) {
    char mark = token_.text.front();
    advance();
    Literal next;
    if (!expression(next, 0, 5)) return false;
    if (next.is_float) return complain("an integer offset");
    auto bits = static_cast<std::uint64_t>(offset);
    combine(mark, bits, next.bits);
    offset = static_cast<std::int64_t>(bits);
  }
  return true;
}

/// A word, and `.x` that touches it.
bool Parser::plain_name(Operand& operand) {
  Span begin = token_.span;
  advance();
  if (token_.kind == Token::Kind::dot && token_.span.begin == last_end_) advance();
  operand.kind = Operand::Kind::name;
  finish(operand, begin);
  return true;
}

bool Parser::name_operand(Operand& operand) {
  Span begin = token_.span;
  plain_name(operand);
  if (take('|')) {
    if (token_.kind != Token::Kind::word)
      return complain("a register after `|`", "write `%p1|%p2` or `%r1|%p1`");
    if (!count_part()) return false;
    Operand first = std::move(operand), second;
    plain_name(second);
    operand = {};
    operand.kind = Operand::Kind::pair;
    operand.parts.reserve(2);
    operand.parts.push_back(std::move(first));
    operand.parts.push_back(std::move(second));
    finish(operand, begin);
  } else if (take('[')) {
    operand.parts.assign(1, Operand(operand));
    if (!count_part() || !count_part() || !immediate(operand.parts.emplace_back())) return false;
    if (!expect(']', "after the number of an element")) return false;
    finish(operand, begin);
  } else if (token_.is('+') || token_.is('-')) {
    Operand base = operand;
    if (!count_part() || !offset(operand.offset)) return false;
    operand.parts.push_back(std::move(base));
    finish(operand, begin);
  }
  return true;
}

bool Parser::list(Operand& operand, char close, unsigned depth) {
  Span begin = token_.span;
  operand.kind = Operand::Kind::vector;
  advance();
  operand.parts.reserve(4);
  if (!token_.is(close)) {
    do {
      if (!this->operand(operand.parts.emplace_back(), depth + 1)) return false;
    } while (take(','));
  }
  if (!take(close)) return complain(std::string("`,` or `") + close + "`");
  finish(operand, begin);
  return true;
}

bool Parser::address(Operand& operand, unsigned depth) {
  Span begin = token_.span;
  operand.kind = Operand::Kind::address;
  advance();
  operand.parts.reserve(1);
  Operand& base = operand.parts.emplace_back();
  if (!count_part()) return false;
  if (token_.kind == Token::Kind::word) {
    plain_name(base);
    if ((token_.is('+') || token_.is('-')) && !offset(operand.offset)) return false;
  } else if (token_.kind == Token::Kind::number || token_.is('-') || token_.is('(')) {
    if (!immediate(base)) return false;
  } else {
    return complain("a register, a name or a number after `[`");
  }
  while (take(','))
    if (!this->operand(operand.parts.emplace_back(), depth + 1)) return false;
  if (!take(']'))
    return complain("`]`, `,` or an offset", "write `[%rd1]`, `[%rd1+16]` or `[%rd1, {%r1, %r2}]`");
  if (token_.kind == Token::Kind::dot && token_.span.begin == last_end_) advance();  // [a].unified
  finish(operand, begin);
  return true;
}

bool Parser::negated(Operand& operand, unsigned depth) {
  Span begin = token_.span;
  advance();
  if (token_.kind != Token::Kind::word) return complain("a predicate after `!`");
  operand.kind = Operand::Kind::negated;
  if (!this->operand(operand.parts.emplace_back(), depth + 1)) return false;
  finish(operand, begin);
  return true;
}

bool Parser::immediate(Operand& operand) {
  Span begin = token_.span;
  Literal value;
  if (!expression(value, 0, 0)) return false;
  operand.kind = value.is_float ? Operand::Kind::float_bits : Operand::Kind::integer;
  operand.bits = value.bits;
  operand.width = value.is_float ? value.width : 0;
  finish(operand, begin);
  return true;
}

bool Parser::operand(Operand& operand, unsigned depth) {
  if (!count_part()) return false;
  if (depth > operand_depth_max)
    return complain("an operand that is not nested this deep", "use fewer braces");
  if (token_.kind == Token::Kind::word) return name_operand(operand);
  if (token_.is('[')) return address(operand, depth);
  if (token_.is('{')) return list(operand, '}', depth);
  if (token_.is('(') && in_call_) return list(operand, ')', depth);
  if (token_.is('!')) return negated(operand, depth);
  if (token_.kind == Token::Kind::number || token_.is('-') || token_.is('+') || token_.is('~') ||
      token_.is('('))
    return immediate(operand);
  return complain("an operand",
                  "a register, a number, an address `[%rd1+16]`, a vector `{%r1, %r2}`, a label or "
                  "`_`");
}

}  // namespace lathe::ptx
