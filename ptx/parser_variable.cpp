// Variables and parameters: state space, alignment, type, name, dimensions, initial bytes.

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "ptx/parser.h"

namespace lathe::ptx {
namespace {

constexpr std::uint64_t variable_bytes_max = std::uint64_t{1} << 40;

struct TypeBytes {
  std::string_view type;
  unsigned bytes;
};

// clang-format off
constexpr std::array<TypeBytes, 43> types{{
    {"b8", 1},     {"b16", 2},     {"b32", 4},     {"b64", 8},     {"b128", 16},
    {"u8", 1},     {"u16", 2},     {"u32", 4},     {"u64", 8},
    {"s8", 1},     {"s16", 2},     {"s32", 4},     {"s64", 8},
    {"f16", 2},    {"bf16", 2},    {"f16x2", 4},   {"bf16x2", 4},  {"f32", 4},   {"f64", 8},
    {"f32x2", 8},  {"tf32", 4},    {"pred", 1},
    {"e4m3", 1},   {"e5m2", 1},    {"e4m3x2", 2},  {"e5m2x2", 2},  {"e2m1x2", 1},
    {"e2m3x2", 2}, {"e3m2x2", 2},  {"ue8m0x2", 2}, {"e4m3x4", 4},  {"e5m2x4", 4}, {"e2m1x4", 2},
    {"e2m3x4", 4}, {"e3m2x4", 4},  {"s2f6x2", 2},  {"u16x2", 4},   {"s16x2", 4},
    {"texref", 8}, {"samplerref", 8}, {"surfref", 8}, {"u8x4", 4}, {"s8x4", 4},
}};
// clang-format on

bool is_space(std::string_view word) {
  for (std::string_view space : {"param", "shared", "global", "local", "const", "reg", "tex"})
    if (word == space) return true;
  return word == "shared::cta" || word == "shared::cluster" || word == "param::entry" ||
         word == "param::func";
}

}  // namespace

unsigned type_bytes(std::string_view type) {
  for (const TypeBytes& known : types)
    if (known.type == type) return known.bytes;
  return 0;
}

bool Parser::skip_parentheses() {
  if (!expect('(', "after the attribute")) return false;
  for (unsigned depth = 1; depth > 0; advance()) {
    if (at_end() || token_.is(';') || token_.is('{')) return complain("`)`");
    if (token_.is('(')) ++depth;
    if (token_.is(')')) --depth;
  }
  return true;
}

bool Parser::variable_word(Variable& variable, unsigned& lanes) {
  std::string_view word = token_.text.substr(1);
  advance();
  bool pointer = false;
  for (std::string_view attribute : variable.attributes) pointer |= attribute == "ptr";
  if (word == "align") {
    Literal align;
    if (token_.kind != Token::Kind::number || !read_literal(token_.text, align) || align.is_float ||
        align.bits == 0 || align.bits > (1u << 20) || (align.bits & (align.bits - 1)))
      return complain("an alignment: a power of two");
    // The alignment behind .ptr is of what the pointer points to, and stays in the text alone.
    if (!pointer) variable.align = static_cast<std::uint32_t>(align.bits);
    advance();
  } else if (word == "attribute") {
    if (!skip_parentheses()) return false;
    variable.attributes.push_back(word);
  } else if (is_space(word) && variable.space.empty()) {
    variable.space = word;
  } else if (word == "v2" || word == "v4" || word == "v8") {
    lanes = static_cast<unsigned>(word[1] - '0');
  } else if (type_bytes(word) && variable.type.empty()) {
    variable.type = word;
  } else if (variable.attributes.size() < 8) {
    variable.attributes.push_back(word);
  } else {
    return complain("fewer attributes of the variable");
  }
  return true;
}

/// All that stands before the name.
bool Parser::variable_words(Variable& variable, unsigned& lanes) {
  while (token_.kind == Token::Kind::dot)
    if (!variable_word(variable, lanes)) return false;
  if (!variable.space.empty() && variable.type.empty())
    return complain("the variable's type", ".b8 to .b128, .u8 to .u64, .s8 to .s64, .f32, ..");
  if (variable.align == 0) variable.align = type_bytes(variable.type) * lanes;
  return true;
}

bool Parser::variable_name(Variable& variable, unsigned lanes) {
  if (token_.kind != Token::Kind::word) return complain("the variable's name");
  variable.name = token_.text;
  advance();
  variable.bytes = std::uint64_t{type_bytes(variable.type)} * lanes;
  while (take('[')) {
    Literal count;
    if (token_.is(']')) {
      variable.bytes = 0;
    } else {
      Span here = token_.span;
      if (!expression(count, 0, 0)) return false;
      if (count.is_float || count.bits > variable_bytes_max ||
          (count.bits && variable.bytes > variable_bytes_max / count.bits))
        return complain_at(here, "the array has more than 2^40 bytes", "write a smaller dimension");
      variable.bytes *= count.bits;
    }
    if (!expect(']', "after the dimension")) return false;
  }
  if (!take('=')) return true;
  Span here = token_.span;
  if (!initial(variable)) return false;
  if (variable.bytes == 0) variable.bytes = variable.initial.size();
  if (variable.initial.size() > variable.bytes)
    return complain_at(here, "more initial values than the variable has room for",
                       "write a larger dimension or fewer values");
  return true;
}

/// `5`, `{1, 2}`, `{{1, 2}, {3, 4}}`: rows are taken as they follow one another.
bool Parser::initial(Variable& variable) {
  unsigned width = type_bytes(variable.type);
  if (!token_.is('{')) return initial_value(variable, width);
  unsigned depth = 0;
  do {
    while (take('{'))
      if (++depth > 8) return complain("at most 8 nested braces");
    if (!token_.is('}') && !initial_value(variable, width)) return false;
    while (depth > 0 && take('}')) --depth;
  } while (depth > 0 && take(','));
  if (depth > 0) return complain("`,` or `}` in the initial values");
  return true;
}

bool Parser::initial_value(Variable& variable, unsigned width) {
  Literal value;
  if (token_.kind == Token::Kind::word) {
    bool wrapped = token_.text == "generic" || token_.text == "mask";
    advance();
    if (wrapped && token_.is('(') && !skip_parentheses()) return false;
    std::int64_t ignored = 0;
    if ((token_.is('+') || token_.is('-')) && !offset(ignored)) return false;
    variable.relocated = true;
  } else if (!expression(value, 0, 0)) {
    return false;
  }
  if (value.is_float && value.width == 64 && width == 4) {
    double wide = std::bit_cast<double>(value.bits);
    value.bits = std::bit_cast<std::uint32_t>(static_cast<float>(wide));
  }
  std::size_t at = variable.initial.size();
  variable.initial.resize(at + width);
  for (unsigned i = 0; i < std::min(width, 8u); ++i)
    variable.initial[at + i] = static_cast<std::uint8_t>(value.bits >> (8 * i));
  return true;
}

bool Parser::variable(Variable& variable, std::vector<std::string_view> linkage,
                      const Span& begin) {
  unsigned lanes = 1;
  variable.attributes = std::move(linkage);
  if (token_.kind != Token::Kind::dot)
    return complain("a parameter", "write `.param .u64 name` or `.param .align 16 .b8 name[64]`");
  if (!variable_words(variable, lanes)) return false;
  if (variable.space.empty()) return complain("`.param` or `.reg` of the parameter");
  if (!variable_name(variable, lanes)) return false;
  variable.span = from(begin);
  return true;
}

}  // namespace lathe::ptx
