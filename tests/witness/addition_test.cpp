// Adding an instruction is one row: the change that docs/INSTRUCTIONS.md shows is taken out of a
// copy of the chapter and applied again, and the row then gives what the device gave.

#include <catch2/catch.hpp>
#include <cstring>

#include "base/files.h"
#include "base/process.h"
#include "tests/places.h"
#include "tests/witness/archive.h"

namespace lathe::ptx::witness {
namespace {

namespace fs = std::filesystem;
const fs::path root = source_folder;

std::string shown_change() {
  std::string docs = *read_file(root / "docs/INSTRUCTIONS.md");
  std::size_t begin = docs.find("```diff\n") + 8;
  return docs.substr(begin, docs.find("```", begin) - begin);
}

int patched(const fs::path& folder, bool reverse) {
  std::vector<std::string> command{"patch", "-s", "-p1", "-d", folder.string()};
  if (reverse) command.push_back("-R");
  Result<ProcessEnd> end = run_process(command, shown_change(), {});
  if (!end) FAIL(end.error().what);
  INFO(end->out << end->err);
  REQUIRE(end->status == 0);
  return end->status;
}

/// Compiles the chapter of `folder` by itself and gives it pairs of words.
ProcessEnd ask(const fs::path& folder, const std::string& pairs) {
  fs::path program = folder / "one_row";
  Result<ProcessEnd> built =
      run_process({"g++", "-std=c++20", "-I" + folder.string(), "-I" + root.string(),
                   (root / "tests/witness/addition/one_row.cpp").string(), "-o", program.string()},
                  "", {});
  if (!built) FAIL(built.error().what);
  INFO(built->err);
  REQUIRE(built->status == 0);
  Result<ProcessEnd> end = run_process({program.string()}, pairs, {});
  if (!end) FAIL(end.error().what);
  return *end;
}

/// What a program prints for the operands of the device's record.
struct Expected {
  std::string pairs, results;
};
Expected of_device(bool wrap) {
  Result<Archive> archive = unpack(*read_file(root / "tests/witness/sm_90a.bin"));
  REQUIRE(archive);
  Expected expected;
  for (const Record& record : archive->records) {
    if (record.name != (wrap ? "bmsk.wrap.b32" : "bmsk.clamp.b32")) continue;
    const std::string& input = archive->inputs[record.input];
    std::size_t count = record.output.size() / 4;
    for (std::size_t i = 0; i < count; ++i) {
      auto word = [&](const std::string& bytes, std::size_t at) {
        unsigned bits;
        std::memcpy(&bits, bytes.data() + at, 4);
        return bits;
      };
      char line[64];
      std::snprintf(line, sizeof line, "%d %x %x\n", wrap, word(input, 4 * i),
                    word(input, 4 * (count + i)));
      expected.pairs += line;
      std::snprintf(line, sizeof line, "%08x\n", word(record.output, 4 * i));
      expected.results += line;
    }
  }
  return expected;
}

TEST_CASE("the change that the docs show adds an instruction, which the device then witnesses") {
  Scratch scratch;
  fs::create_directories(scratch.path() / "ptx/isa");
  fs::copy_file(root / "ptx/isa/integer.h", scratch.path() / "ptx/isa/integer.h");
  patched(scratch.path(), true);
  CHECK(ask(scratch.path(), "0 4 8\n").out == "the table has no such row\n");
  patched(scratch.path(), false);
  for (bool wrap : {false, true}) {
    Expected expected = of_device(wrap);
    REQUIRE(expected.results.size() > 1000);
    CHECK(ask(scratch.path(), expected.pairs).out == expected.results);
  }
}

TEST_CASE("the change of the docs is the row as it stands, and touches one file") {
  std::string change = shown_change();
  CHECK(change.find("+++ b/ptx/isa/integer.h") != std::string::npos);
  CHECK(change.find("+++", change.find("+++") + 3) == std::string::npos);
  std::size_t added = 0;
  for (std::size_t at = change.find("\n+"); at != std::string::npos;
       at = change.find("\n+", at + 2))
    added += change.compare(at + 1, 3, "+++") != 0;
  CHECK(added == 3);
}

}  // namespace
}  // namespace lathe::ptx::witness
