// Thousands of forms that an assembler takes: the table knows every one of them.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "ptx/program.h"
#include "ptx/reference.h"
#include "tests/places.h"
#include "tests/ptx/form_instance.h"

namespace lathe::ptx {
namespace {

namespace fs = std::filesystem;

fs::path forms_file() {
  if (const char* shared = std::getenv("LATHE_SHARED"))
    return fs::path(shared) / "data/ptx_forms.tsv";
  for (const char* up : {"../shared", "../../shared"}) {
    fs::path path = fs::path(source_folder) / up / "data/ptx_forms.tsv";
    if (fs::exists(path)) return path;
  }
  return {};
}

Instruction bare(const std::string& form, std::size_t operands) {
  Instruction instruction;
  std::string_view rest = form;
  instruction.opcode = rest.substr(0, rest.find('.'));
  rest.remove_prefix(instruction.opcode.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    instruction.modifiers.push_back(rest.substr(0, rest.find('.')));
    rest.remove_prefix(instruction.modifiers.back().size());
  }
  instruction.operands.resize(operands);
  return instruction;
}

/// Operands are not asked for here: any count that a row takes will do.
bool known(const std::string& form) {
  for (std::size_t count = 0; count <= 10; ++count)
    for (Target target : {Target{100, 'a'}, Target{90, 'a'}})
      if (match(bare(form, count), 94, target)) return true;
  return false;
}

enum class Standing { meaning, none, refused };

/// With its operands: whether it is decoded, and whether anything of it has no meaning.
Standing standing(const ListedForm& form, std::string& complaint) {
  FormInstance instance(form);
  for (const char* target : {"sm_90a", "sm_100a"}) {
    std::string text = instance.module(target, "9.4");
    Parsed parsed = parse(text, "form.ptx");
    if (!parsed.errors.empty()) {
      complaint = parsed.errors[0].what;
      continue;
    }
    auto program = decode(parsed.module, "test");
    if (!program) {
      complaint = program.error().what;
      continue;
    }
    for (const Operation& op : program->operations)
      if (op.effect == Effect::unmodelled) return Standing::none;
    return Standing::meaning;
  }
  return Standing::refused;
}

TEST_CASE("every form that the assembler takes is in the table, and nine in ten have a meaning") {
  fs::path path = forms_file();
  if (!fs::exists(path)) {
    WARN("LATHE-SKIP: the list of forms is not here");
    return;
  }
  std::ifstream in(path);
  std::size_t forms = 0, meanings = 0, refusals = 0;
  std::map<std::string, std::size_t> without, refused;
  std::map<std::string, std::string> example;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    ListedForm form = listed_form(line);
    ++forms;
    INFO(form.form);
    CHECK(known(form.form));
    std::string complaint, opcode = form.form.substr(0, form.form.find('.'));
    Standing found = standing(form, complaint);
    meanings += found == Standing::meaning;
    if (found == Standing::none) ++without[opcode], example[opcode] = form.form;
    if (found == Standing::refused) {
      ++refusals;
      ++refused[opcode];
      example["refused " + opcode] = FormInstance(form).text() + ": " + complaint;
    }
  }
  for (const auto& [opcode, count] : without)
    WARN(count << " of " << opcode << " without meaning, as " << example[opcode]);
  for (const auto& [opcode, count] : refused)
    WARN(count << " of " << opcode << " refused, as " << example["refused " + opcode]);
  WARN(forms - refusals << " of " << forms << " forms are taken with the operands listed, "
                        << meanings << " have a meaning");
  CHECK(forms > 5000);
  CHECK(refusals * 100 <= forms);
  CHECK(meanings * 10 >= forms * 9);
}

TEST_CASE("docs/FORMS.md is the table") {
  std::ifstream in(fs::path(source_folder) / "docs/FORMS.md");
  std::stringstream text;
  text << in.rdbuf();
  CHECK((text.str() == forms_document()));  // Else: lathe ptx reference --document
}

TEST_CASE("the reference tells types, gates and what has no meaning") {
  auto notes = notes_of("wgmma");
  REQUIRE_FALSE(notes.empty());
  CHECK(notes[0].since == "ISA 8.0, sm_90a");
  CHECK(print(notes_of("popc")[0]) == "popc.type d:u32, a  [.type b32 b64; ISA 2.0, sm_20]");
  CHECK(notes_of("$setp").empty());
}

TEST_CASE("a form with one word too many is not") {
  CHECK(known("add.rn.ftz.f32"));
  CHECK_FALSE(known("add.rn.ftz.wide.f32"));
  CHECK_FALSE(known("ld.global.v3.f32"));
  CHECK_FALSE(known("shfl.sync.left.b32"));
}

}  // namespace
}  // namespace lathe::ptx
