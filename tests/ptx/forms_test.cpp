// Thousands of forms that an assembler takes: the table knows every one of them.

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ptx/isa.h"

namespace lathe::ptx {
namespace {

namespace fs = std::filesystem;

fs::path forms_file() {
  if (const char* shared = std::getenv("LATHE_SHARED"))
    return fs::path(shared) / "data/ptx_forms.tsv";
  for (const char* up : {"../shared", "../../shared"}) {
    fs::path path = fs::path(LATHE_ROOT) / up / "data/ptx_forms.tsv";
    if (fs::exists(path)) return path;
  }
  return {};
}

/// Operands are not asked for here: any count that a row takes will do.
bool known(const std::string& form) {
  Instruction instruction;
  std::string_view rest = form;
  instruction.opcode = rest.substr(0, rest.find('.'));
  rest.remove_prefix(instruction.opcode.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    instruction.modifiers.push_back(rest.substr(0, rest.find('.')));
    rest.remove_prefix(instruction.modifiers.back().size());
  }
  for (std::size_t count = 0; count <= 9; ++count) {
    instruction.operands.resize(count);
    for (Target target : {Target{100, 'a'}, Target{90, 'a'}})
      if (match(instruction, 94, target)) return true;
  }
  return false;
}

TEST_CASE("every form that the assembler takes is in the table") {
  fs::path path = forms_file();
  if (!fs::exists(path)) {
    WARN("LATHE-SKIP: the list of forms is not here");
    return;
  }
  std::ifstream in(path);
  std::size_t forms = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::string form = line.substr(0, line.find('\t'));
    ++forms;
    INFO(form);
    CHECK(known(form));
  }
  CHECK(forms > 5000);
}

TEST_CASE("a form with one word too many is not") {
  CHECK(known("add.rn.ftz.f32"));
  CHECK_FALSE(known("add.rn.ftz.wide.f32"));
  CHECK_FALSE(known("ld.global.v3.f32"));
  CHECK_FALSE(known("shfl.sync.left.b32"));
}

}  // namespace
}  // namespace lathe::ptx
