#pragma once

// How to find the row of an instruction. The rows themselves are in ptx/chapters.h: they are slow
// to compile, and who only looks one up has no need of them.

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ptx/module.h"
#include "ptx/row.h"

namespace lathe::ptx {

/// A row without its meaning.
struct RowText {
  Signature signature;
  Types types = 0, others = 0;
  Gate gate;
  Effect effect = Effect::none;
};

/// All rows in the manual's order; a row's index is Form::row.
const std::vector<RowText>& rows();

/// A target as `.target` names it: "sm_90a" is {90, 'a'}, "sm_89" {89, 0}.
struct Target {
  unsigned number = 0;
  char suffix = 0;
};
Result<Target> parse_target(std::string_view name);
/// ".version 8.7" as 87.
Result<unsigned> parse_isa_version(std::string_view version);

struct FormMatch {
  Form form;
  Effect effect = Effect::none;
  const RowText* row = nullptr;
};

/// The row of an instruction, if this ISA version and target have it. The error says which
/// modifier, type, operand count, version or target does not fit, and gives the nearest form; its
/// fault is malformed where the table knows better, unsupported where the opcode is unknown.
Result<FormMatch> match(const Instruction& instruction, unsigned isa_version, const Target& target);

/// An internal row ("$setp") or a plain one by opcode and type; its index. Asserts that it exists.
std::uint16_t row_named(std::string_view opcode, Type type);

/// The forms of an opcode in the manual's notation, for a complaint or a prompt.
std::vector<std::string> forms_of(std::string_view opcode);

}  // namespace lathe::ptx
