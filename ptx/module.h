#pragma once

// A PTX file as data. The module keeps the file's bytes; every part is a range of them, so that
// printing an unchanged module gives the same bytes and an edit (ptx/patch.h) replaces ranges and
// nothing else.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lathe::ptx {

/// A range of the module's text, and where it begins (counted from 1).
struct Span {
  std::uint32_t begin = 0, end = 0;
  std::uint32_t line = 0, column = 0;
};

struct Operand {
  enum class Kind : std::uint8_t {
    name,     // %r1, a parameter, a label, a variable, %tid.x, the sink `_`; `text` is all of it.
              // Of `smem+16`, `parts[0]` is the plain name and `offset` the rest; of `smem[2]`,
              // `parts[1]` is which element.
    integer,  // 12, 0x1F, -3, 0U; `bits` is its two's complement in 64 bits.
    float_bits,  // 0f3F800000 (32 bits) or 0d3FF0000000000000 (64 bits) or a decimal (64 bits);
                 // `bits`, `width`.
    address,     // [%rd1+16], [name], [%rd1, {%r1, %r2}, ..]: `parts`: base first; `offset`.
    vector,      // {%r1, %r2}, also with one element: `parts`. Of a call, (a, b) too.
    negated,     // !%p1 (predicate source) : `parts[0]`.
    pair,        // %r1|%p1: `parts`.
  };
  Kind kind = Kind::name;
  std::string_view text;  // The whole operand as written.
  std::uint64_t bits = 0;
  unsigned width = 0;       // Of float_bits.
  std::int64_t offset = 0;  // Of address.
  std::vector<Operand> parts;
  Span span;
};

struct Guard {
  std::string_view predicate;
  bool negated = false;
};

struct Instruction {
  std::optional<Guard> guard;
  std::string_view opcode;  // "ld"
  std::vector<std::string_view>
      modifiers;  // "global", "v4", "b32": without dots, in order; "L1::evict_last" whole.
  std::vector<Operand> operands;
  Span span;         // From the guard to the semicolon, which is included.
  Span opcode_span;  // Opcode with its modifiers.
};

struct Label {
  std::string_view name;
  Span span;
};

/// `.reg .b32 %r<100>;` gives {b32, "%r", 100}; `.reg .pred p;` gives count 0; of `.reg .v4 .f32
/// %v;` each register has four lanes, `%v.x` to `%v.w`.
struct Registers {
  std::string_view type;
  std::string_view name;
  std::uint32_t count = 0;
  std::uint32_t lanes = 1;
  Span span;
};

/// `.shared .align 16 .b8 smem[1024];`, `.extern .shared ..`, `.global ..`, `.param .u64 x`.
struct Variable {
  std::string_view space, type, name;
  std::uint32_t align = 0;
  std::uint64_t bytes = 0;                   // 0 for an extern array without size.
  std::vector<std::string_view> attributes;  // "extern", "visible", "ptr", "global", ...
  std::vector<std::uint8_t> initial;         // Little-endian; empty: zero.
  bool relocated = false;  // `initial` has zeros where the text has the address of a symbol.
  Span span;
  // In `.shared .b8 a[4], b[8];` the words before the first name, which all names share, and the
  // name with what follows it.
  Span words, declarator;
};

/// `.loc 1 20 5`, `.pragma "..";`, `.callprototype` and other lines in a body that carry no
/// execution.
struct Directive {
  std::string_view text;
  Span span;
};

/// A body in the order of the file.
struct Statement {
  enum class Kind : std::uint8_t {
    instruction,
    label,
    registers,
    variable,
    directive,
    open_scope,
    close_scope
  };
  Kind kind;
  std::uint32_t index;  // Into the vector of its kind; of a scope, its number.
  Span span;
};

struct Function {
  bool entry = false;
  bool defined = true;  // false: a declaration only.
  std::string_view name;
  std::vector<Variable> parameters;
  std::vector<Variable> results;  // Of a device function.
  std::vector<Directive>
      directives;  // .reqntid 128, .maxntid, .minnctapersm, .maxnreg, ...: as written.
  std::vector<Instruction> instructions;
  std::vector<Label> labels;
  std::vector<Registers> registers;
  std::vector<Variable> variables;
  std::vector<Directive> body_directives;
  std::vector<Statement> statements;
  Span span;
  Span body;  // From its brace to the closing one.
};

struct Module {
  std::shared_ptr<const std::string> text;  // Every string_view in the module points into it.
  std::string file;                         // For complaints.
  std::string_view version;                 // "8.7"
  std::vector<std::string_view> target;     // {"sm_90a"}
  unsigned address_size = 64;
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Directive> directives;  // .file, .section with all of it.
  Span version_span, target_span;

  const Function* find_entry(std::string_view name) const;
  Place place(Span span) const { return {file, span.line, span.column}; }
};

/// All complaints (at most 20) with line, column and what would be accepted; empty `errors` means
/// success.
struct Parsed {
  Module module;
  std::vector<Error> errors;
};

/// Parses any `.version` and any instruction that is written as PTX is; whether lathe knows the
/// instruction is asked of the table (ptx/isa.h), not here.
Parsed parse(std::string text, std::string file);

/// The bytes of the file.
inline const std::string& print(const Module& module) { return *module.text; }

/// The text without comments, .loc, .file, debug sections and superfluous blanks, registers renamed
/// in order of appearance: two candidates with one normal form are one candidate.
std::string normal_form(const Module& module);

}  // namespace lathe::ptx
