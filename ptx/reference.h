#pragma once

// The instruction table as people read it: each form with its types, from when it exists, and
// whether it has a meaning.

#include <string>
#include <string_view>
#include <vector>

namespace lathe::ptx {

struct RowText;

struct FormNote {
  std::string text;   // In the manual's notation.
  std::string types;  // What .type and .other stand for.
  std::string since;  // "ISA 8.6, sm_100a"; empty where it always existed.
  bool has_meaning = false;
};

FormNote note_of(const RowText& row);
/// Of one opcode, or of all.
std::vector<FormNote> notes_of(std::string_view opcode = {});

/// One line: the form, and in brackets what else is known of it.
std::string print(const FormNote& note);

/// docs/FORMS.md: the whole table.
std::string forms_document();

}  // namespace lathe::ptx
