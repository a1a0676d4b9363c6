// The file's level: headers, variables, functions, debug sections; and how a complaint is made.

#include "ptx/parser.h"

#include <utility>

namespace lathe::ptx {
namespace {

/// As a person reads it: what is not printable becomes a dot, what is long is cut.
std::string quoted(std::string_view text) {
  std::string out = "`";
  for (char c : text.substr(0, 40)) out += (c >= 0x20 && c < 0x7F) ? c : '.';
  if (text.size() > 40) out += "..";
  return out + "`";
}

std::string found(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end of the file";
  if (token.kind == Token::Kind::bad)
    return std::string(token.problem) + " (" + quoted(token.text) + ")";
  return quoted(token.text);
}

bool is_linkage(const Token& token) {
  return token.is_dot("visible") || token.is_dot("extern") || token.is_dot("weak") ||
         token.is_dot("common");
}

}  // namespace

bool Parser::complain_at(const Span& span, std::string what, std::string remedy) {
  if (!stopped())
    errors_.push_back(
        {Fault::malformed, std::move(what), std::move(remedy), module_.place(span), {}});
  return false;
}

bool Parser::complain(std::string expected, std::string remedy) {
  return complain_at(token_.span, "found " + found(token_) + " where " + expected + " is expected",
                     std::move(remedy));
}

bool Parser::expect(char punct, std::string_view where) {
  if (take(punct)) return true;
  return complain(std::string("`") + punct + "` " + std::string(where));
}

bool Parser::exhausted(std::size_t limit, std::string_view what) {
  if (!stopped())
    errors_.push_back(
        {Fault::exhausted,
         "the module has more than " + std::to_string(limit) + " " + std::string(what),
         "split the module",
         module_.place(token_.span),
         {}});
  stopped_ = true;
  return false;
}

bool Parser::too_many_parts() { return exhausted(parts_max, "statements and operands"); }

bool Parser::count_statement() {
  return ++statements_ <= statements_max || exhausted(statements_max, "statements");
}

/// To after the next semicolon, or to before a brace that closes more than was opened since.
void Parser::recover() {
  unsigned depth = 0;
  for (; !at_end(); advance()) {
    if (token_.is(';')) return advance();
    if (token_.is('{')) ++depth;
    if (token_.is('}') && depth-- == 0) return;
  }
}

void Parser::run() {
  while (!at_end() && !stopped()) {
    if (top_level()) continue;
    recover();
    take('}');
  }
  if (stopped()) return;
  Span start{0, 0, 1, 1};
  if (module_.version.empty())
    complain_at(start, "the file has no .version", "begin it with `.version 8.7`");
  if (module_.target.empty())
    complain_at(start, "the file has no .target", "write `.target sm_90a` after the .version");
}

bool Parser::top_level() {
  if (token_.is(';')) return advance(), true;
  Span begin = token_.span;
  if (token_.is_dot("version")) return version();
  if (token_.is_dot("target")) return target();
  if (token_.is_dot("address_size")) return address_size();
  if (token_.is_dot("file") || token_.is_dot("loc")) return file_or_loc(module_.directives);
  if (token_.is_dot("section")) return section();
  if (token_.is_dot("pragma") || token_.is_dot("alias")) {
    advance();
    return to_semicolon(module_.directives, begin);
  }
  std::vector<std::string_view> linkage;
  for (; is_linkage(token_); advance()) {
    if (linkage.size() == 4) return complain("`.entry`, `.func` or a state space");
    linkage.push_back(token_.text.substr(1));
  }
  if (token_.kind == Token::Kind::dot) return declaration(std::move(linkage), begin);
  return complain("a directive of the file's level",
                  ".version, .target, .address_size, .entry, .func, .global, .const, .shared, "
                  ".extern, .visible, .weak, .file, .section or .pragma stand here");
}

bool Parser::version() {
  Span begin = token_.span;
  advance();
  if (token_.kind != Token::Kind::number)
    return complain("a version", "write `.version` and a number such as 8.7");
  module_.version = token_.text;
  advance();
  module_.version_span = from(begin);
  return true;
}

bool Parser::target() {
  Span begin = token_.span;
  advance();
  do {
    if (token_.kind != Token::Kind::word)
      return complain("a target", "write `.target` and a name such as sm_90a");
    if (!count_part()) return false;
    module_.target.push_back(token_.text);
    advance();
  } while (take(','));
  module_.target_span = from(begin);
  return true;
}

bool Parser::address_size() {
  advance();
  if (token_.text != "64" && token_.text != "32") return complain("an address size: 64 or 32");
  module_.address_size = token_.text == "64" ? 64 : 32;
  advance();
  return true;
}

bool Parser::section() {
  Span begin = token_.span;
  advance();
  if (token_.kind != Token::Kind::dot && token_.kind != Token::Kind::word &&
      token_.kind != Token::Kind::string)
    return complain("the section's name");
  advance();
  Span open = token_.span;
  if (!expect('{', "that opens the section")) return false;
  for (unsigned depth = 1; depth > 0; advance()) {
    if (at_end())
      return complain_at(open, "the section that opens here is never closed", "close it with `}`");
    if (token_.kind == Token::Kind::bad) return complain("a value or label of the section");
    if (token_.is('{')) ++depth;
    if (token_.is('}')) --depth;
  }
  if (!count_part()) return false;
  Span span = from(begin);
  module_.directives.push_back({text_of(span), span});
  return true;
}

/// `.file 1 "x.py"[, time, size]` and `.loc 1 20 5[, function_name NAME[+n][, inlined_at ..]]`:
/// they end without a semicolon, with their line.
bool Parser::file_or_loc(std::vector<Directive>& into) {
  Span begin = token_.span;
  advance();
  if (token_.kind != Token::Kind::number)
    return complain("a number", "write `.file 1 \"name\"` or `.loc 1 20 5`");
  while (token_.span.line == begin.line &&
         (token_.kind == Token::Kind::number || token_.kind == Token::Kind::string ||
          token_.kind == Token::Kind::word || token_.is(',') || token_.is('+') || token_.is('-')))
    advance();
  if (!count_part()) return false;
  Span span = from(begin);
  into.push_back({text_of(span), span});
  return true;
}

bool Parser::to_semicolon(std::vector<Directive>& into, const Span& begin) {
  while (!token_.is(';')) {
    if (at_end() || token_.is('{') || token_.is('}') || token_.kind == Token::Kind::bad)
      return complain("`;` at the end of the directive");
    advance();
  }
  advance();
  if (!count_part()) return false;
  Span span = from(begin);
  into.push_back({text_of(span), span});
  return true;
}

bool Parser::declaration(std::vector<std::string_view> linkage, const Span& begin) {
  if (token_.is_dot("entry") || token_.is_dot("func")) return function(begin);
  Variable first;
  unsigned lanes = 1;
  first.attributes = std::move(linkage);
  if (!variable_words(first, lanes)) return false;
  if (first.space.empty()) return complain("a state space", ".global, .const, .shared or .param");
  first.words = from(begin);
  do {
    Variable variable = first;
    Span name = token_.span;
    if (!count_part() || !variable_name(variable, lanes)) return false;
    variable.span = from(begin);
    variable.declarator = from(name);
    module_.variables.push_back(std::move(variable));
  } while (take(','));
  return expect(';', "after the variable");
}

bool Parser::parameters(std::vector<Variable>& into) {
  if (!take('(')) return true;
  if (take(')')) return true;
  do {
    Variable parameter;
    Span begin = token_.span;
    if (!count_part() || !variable(parameter, {}, begin)) return false;
    into.push_back(std::move(parameter));
  } while (take(','));
  return expect(')', "after the parameters");
}

bool Parser::function_directives(Function& function) {
  while (token_.kind == Token::Kind::dot) {
    Span begin = token_.span;
    bool pragma = token_.is_dot("pragma");
    advance();
    while (token_.kind == Token::Kind::number || token_.kind == Token::Kind::string ||
           token_.is(',') || (pragma && token_.is(';')))
      advance();
    if (!count_part()) return false;
    Span span = from(begin);
    function.directives.push_back({text_of(span), span});
  }
  return true;
}

void Parser::defined_again(const Function& function) {
  for (const Function& before : module_.functions)
    if (before.defined && before.name == function.name) {
      complain_at(function.span,
                  "`" + std::string(function.name) + "` is defined again: line " +
                      std::to_string(before.span.line) + " has it already",
                  "keep one of the two");
      return;
    }
}

bool Parser::function(const Span& begin) {
  Function function;
  function.entry = token_.is_dot("entry");
  advance();
  if (token_.is_dot("attribute") && (advance(), !skip_parentheses())) return false;
  if (token_.is('(') && !function.entry && !parameters(function.results)) return false;
  if (token_.kind != Token::Kind::word) return complain("the function's name");
  function.name = token_.text;
  advance();
  if (!parameters(function.parameters) || !function_directives(function)) return false;
  if (!count_part()) return false;
  bool good = true;
  if (take(';')) {
    function.defined = false;
  } else if (token_.is('{')) {
    good = body(function);
  } else {
    return complain("`{`, `;` or a directive of the function",
                    ".reqntid, .maxntid, .minnctapersm, .maxnreg, .explicitcluster and "
                    ".reqnctapercluster stand between the parameters and the body");
  }
  function.span = from(begin);
  if (function.defined && !defined_.insert(function.name).second) defined_again(function);
  module_.functions.push_back(std::move(function));
  return good;
}

Parsed parse(std::string text, std::string file) {
  Parsed parsed;
  Module& module = parsed.module;
  module.text = std::make_shared<const std::string>(std::move(text));
  module.file = std::move(file);
  if (module.text->size() > (std::size_t{1} << 31)) {
    parsed.errors.push_back(
        {Fault::exhausted, "the file is larger than 2 GiB", "split it", {module.file, 0, 0}, {}});
    return parsed;
  }
  Parser(module, parsed.errors).run();
  return parsed;
}

const Function* Module::find_entry(std::string_view name) const {
  for (const Function& function : functions)
    if (function.entry && function.defined && function.name == name) return &function;
  return nullptr;
}

}  // namespace lathe::ptx
