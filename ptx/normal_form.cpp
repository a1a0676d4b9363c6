// One spelling for all modules that differ in blanks, comments, debug records and register names.

#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "ptx/lexer.h"
#include "ptx/module.h"

namespace lathe::ptx {
namespace {

bool wordy(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

/// Words with one blank where two of them would grow together.
class Writer {
 public:
  void word(std::string_view text) {
    if (!out_.empty() && wordy(out_.back()) && wordy(text.front()) &&
        (text.front() != '.' || after_number_))
      out_ += ' ';
    out_ += text;
    after_number_ = text.front() >= '0' && text.front() <= '9';
  }
  void line() { out_ += '\n'; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  bool after_number_ = false;
};

/// Registers by name in nested scopes, and the names that stand for them in order of appearance.
class Names {
 public:
  void open() { scopes_.emplace_back(); }
  void close() {
    if (scopes_.size() > 1) scopes_.pop_back();
  }
  void declare(const Registers& registers) {
    Scope& scope = scopes_.back();
    Declared declared{registers.type, registers.count, registers.lanes, next_++};
    (registers.count ? scope.ranges : scope.plain)[registers.name] = declared;
  }
  /// The new name, or the word itself where it is no register.
  std::string find(std::string_view word) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      auto plain = scope->plain.find(word);
      if (plain != scope->plain.end()) return name(plain->second, 0);
      std::size_t digits = word.size();
      while (digits > 0 && word[digits - 1] >= '0' && word[digits - 1] <= '9') --digits;
      if (digits == word.size() || word.size() - digits > 9) continue;
      if (word[digits] == '0' && word.size() - digits > 1) continue;
      auto range = scope->ranges.find(word.substr(0, digits));
      if (range == scope->ranges.end()) continue;
      auto number = static_cast<std::uint32_t>(std::stoul(std::string(word.substr(digits))));
      if (number < range->second.count) return name(range->second, number + 1);
    }
    return std::string(word);
  }
  /// What is declared of one type, "b32" or "v4 .b32".
  struct Used {
    std::string type;
    std::uint32_t count = 0;
  };
  const std::map<std::string, Used, std::less<>>& used() const { return used_; }

 private:
  struct Declared {
    std::string_view type;
    std::uint32_t count = 0;
    std::uint32_t lanes = 1;
    std::uint32_t id = 0;
  };
  struct Scope {
    std::unordered_map<std::string_view, Declared> plain, ranges;
  };

  std::string name(const Declared& declared, std::uint32_t number) {
    std::string& known = names_[std::uint64_t{declared.id} << 32 | number];
    if (known.empty()) {
      std::string type(declared.type);
      std::string vector = declared.lanes > 1 ? "v" + std::to_string(declared.lanes) : "";
      std::string stem = vector.empty() ? type : vector + "_" + type;
      Used& used = used_[stem];
      used.type = vector.empty() ? type : vector + " ." + type;
      known = "%" + stem + "_" + std::to_string(used.count++);
    }
    return known;
  }

  std::vector<Scope> scopes_{1};
  std::unordered_map<std::uint64_t, std::string> names_;
  std::map<std::string, Used, std::less<>> used_;
  std::uint32_t next_ = 0;
};

/// The words of a range; with names, those that are registers are renamed.
void write_words(Writer& out, const Module& module, const Span& span, Names* names) {
  Lexer lexer(*module.text, span, span.end);
  for (Token token = lexer.next(); token.kind != Token::Kind::end && token.kind != Token::Kind::bad;
       token = lexer.next()) {
    if (names && token.kind == Token::Kind::word)
      out.word(names->find(token.text));
    else
      out.word(token.text);
  }
}

/// One declaration for each name, also where several share their words.
void write_variable(Writer& out, const Module& module, const Variable& variable) {
  write_words(out, module, variable.words, nullptr);
  write_words(out, module, variable.declarator, nullptr);
  out.word(";");
  out.line();
}

bool is_debug(const Directive& directive) {
  return directive.text.starts_with(".loc") || directive.text.starts_with(".file") ||
         directive.text.starts_with(".section");
}

/// Labels that something in the body names; the others mark places for a debugger.
std::set<std::string_view> used_labels(const Module& module, const Function& function) {
  std::set<std::string_view> labels, used;
  for (const Label& label : function.labels) labels.insert(label.name);
  for (const Statement& statement : function.statements) {
    bool directive = statement.kind == Statement::Kind::directive;
    if (directive && is_debug(function.body_directives[statement.index])) continue;
    if (!directive && statement.kind != Statement::Kind::instruction) continue;
    Lexer lexer(*module.text, statement.span, statement.span.end);
    for (Token token = lexer.next(); token.kind != Token::Kind::end; token = lexer.next())
      if (token.kind == Token::Kind::word && labels.contains(token.text)) used.insert(token.text);
  }
  // A prototype or a table of branch targets is a labelled directive: its name is used by a call.
  return used;
}

void write_statement(Writer& out, const Module& module, const Function& function,
                     const Statement& statement, Names& names,
                     const std::set<std::string_view>& labels) {
  switch (statement.kind) {
    case Statement::Kind::registers:
      names.declare(function.registers[statement.index]);
      return;
    case Statement::Kind::label:
      if (!labels.contains(function.labels[statement.index].name)) return;
      break;
    case Statement::Kind::directive:
      if (is_debug(function.body_directives[statement.index])) return;
      break;
    case Statement::Kind::open_scope:
      names.open();
      break;
    case Statement::Kind::close_scope:
      names.close();
      break;
    case Statement::Kind::variable:
      write_variable(out, module, function.variables[statement.index]);
      return;
    case Statement::Kind::instruction:
      break;
  }
  bool renames = statement.kind == Statement::Kind::instruction;
  write_words(out, module, statement.span, renames ? &names : nullptr);
  out.line();
}

void write_function(Writer& out, const Module& module, const Function& function) {
  Span head = function.span;
  if (function.defined) head.end = function.body.begin;
  write_words(out, module, head, nullptr);
  out.line();
  if (!function.defined) return;
  Names names;
  Writer body;
  std::set<std::string_view> labels = used_labels(module, function);
  for (const Statement& statement : function.statements)
    write_statement(body, module, function, statement, names, labels);
  out.word("{");
  out.line();
  for (const auto& [stem, used] : names.used()) {
    out.word(".reg ." + used.type + " %" + stem + "_<" + std::to_string(used.count) + ">;");
    out.line();
  }
  out.word(body.take());
  out.word("}");
  out.line();
}

}  // namespace

std::string normal_form(const Module& module) {
  Writer out;
  write_words(out, module, module.version_span, nullptr);
  out.line();
  write_words(out, module, module.target_span, nullptr);
  out.line();
  out.word(".address_size " + std::to_string(module.address_size));
  out.line();
  for (const Directive& directive : module.directives) {
    if (is_debug(directive)) continue;
    write_words(out, module, directive.span, nullptr);
    out.line();
  }
  for (const Variable& variable : module.variables) write_variable(out, module, variable);
  for (const Function& function : module.functions) write_function(out, module, function);
  return out.take();
}

}  // namespace lathe::ptx
