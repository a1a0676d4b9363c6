#include "ptx/reference.h"

#include "ptx/isa.h"

namespace lathe::ptx {
namespace {

std::string list_of(Types types) {
  std::string text;
  for (std::size_t i = 0; i < type_count; ++i)
    if (contains(types, static_cast<Type>(i)))
      text += (text.empty() ? "" : " ") + std::string(type_names[i]);
  return text;
}

std::string since_text(const Gate& gate) {
  std::string text;
  if (gate.isa != 0)
    text = "ISA " + std::to_string(gate.isa / 10) + "." + std::to_string(gate.isa % 10);
  if (gate.target != 0)
    text +=
        (text.empty() ? "sm_" : ", sm_") + std::to_string(gate.target) + (gate.specific ? "a" : "");
  return text;
}

/// A bar would end a cell of the table.
std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace

FormNote note_of(const RowText& row) {
  FormNote note;
  note.text = row.signature.text;
  std::size_t from = 0;  // Rows are aligned in the source by blanks.
  while ((from = note.text.find("  ", from)) != std::string::npos) note.text.erase(from, 1);
  if (row.types != 0) note.types = list_of(row.types);
  if (row.others != 0) note.types += " / " + list_of(row.others);
  note.since = since_text(row.gate);
  note.has_meaning = row.effect != Effect::unmodelled;
  return note;
}

std::vector<FormNote> notes_of(std::string_view opcode) {
  std::vector<FormNote> notes;
  for (const RowText& row : rows()) {
    if (row.signature.opcode.starts_with('$')) continue;
    if (opcode.empty() || row.signature.opcode == opcode) notes.push_back(note_of(row));
  }
  return notes;
}

std::string print(const FormNote& note) {
  std::string rest = note.types.empty() ? "" : ".type " + note.types;
  if (!note.since.empty()) rest += (rest.empty() ? "" : "; ") + note.since;
  if (!note.has_meaning) rest += (rest.empty() ? "" : "; ") + std::string("no meaning here");
  return note.text + (rest.empty() ? "" : "  [" + rest + "]");
}

std::string forms_document() {
  std::string table;
  std::size_t total = 0, meant = 0;
  for (const FormNote& note : notes_of()) {
    ++total;
    meant += note.has_meaning;
    table += "| `" + escaped(note.text) + "` | " + note.types + " | " + note.since + " | " +
             (note.has_meaning ? "yes" : "no") + " |\n";
  }
  std::string text =
      "# The forms of PTX that Lathe knows\n\n"
      "Made from the instruction table (`ptx/isa/*.h`) by `lathe ptx reference --document`; a test "
      "compares. A form stands for all its\nmodifiers and types. Where it has no meaning, the "
      "machine traps as unsupported when it is reached, and a proof is undecided.\nTypes after a "
      "stroke are those of `.other`. multimem has the meaning of a multicast object of one "
      "device.\n\n" +
      std::to_string(meant) + " of " + std::to_string(total) +
      " rows have a meaning.\n\n"
      "| form | types | since | meaning |\n|---|---|---|---|\n" +
      table;
  return text;
}

}  // namespace lathe::ptx
