// How a complaint reads, and which status it ends with.

#include "cli/complaint.h"

#include <catch2/catch.hpp>

#include "base/files.h"
#include "cli/exit_status.h"

namespace lathe::cli {
namespace {

TEST_CASE("a complaint is its place, what is wrong, the line with a caret, and what to do") {
  Scratch scratch;
  std::string file = (scratch.path() / "c.toml").string();
  REQUIRE(write_file(file, "a = 1\n\tbad = 2\n").has_value());
  Error error{Fault::malformed, "unknown key `bad`", "remove it", {file, 2, 2}};
  CHECK(complaint(error) ==
        file + ":2:2: error: unknown key `bad`\n  \tbad = 2\n  \t^\nhelp: remove it\n");
}

TEST_CASE("a complaint without a place or remedy is one line") {
  CHECK(complaint({Fault::unavailable, "no assembler", "", {}}) == "lathe: error: no assembler\n");
}

TEST_CASE("what a terminal would obey, or a text end at, is shown by its number") {
  Error error{Fault::malformed, std::string("no `a\0b`", 8) + " \x1b[31m", "try `\x7f`", {}};
  CHECK(complaint(error) == "lathe: error: no `a\\x00b` \\x1b[31m\nhelp: try `\\x7f`\n");
  CHECK(complaint({Fault::malformed, "two\nlines, \xc3\xa9", "", {}}) ==
        "lathe: error: two\nlines, \xc3\xa9\n");
}

TEST_CASE("a place in a file that cannot be shown keeps its numbers") {
  CHECK(complaint({Fault::malformed, "wrong", "", {"/nowhere", 3, 4}}) ==
        "/nowhere:3:4: error: wrong\n");
  CHECK(complaint({Fault::malformed, "wrong", "", {"/nowhere", 0, 0}}) ==
        "/nowhere: error: wrong\n");
}

TEST_CASE("each fault has its status") {
  auto status = [](Fault fault, Absent absent = Absent::service) {
    return exit_status(Error{fault, "", "", {}, absent});
  };
  CHECK(status(Fault::malformed) == 65);
  CHECK(status(Fault::unsupported) == 2);
  CHECK(status(Fault::exhausted) == 2);
  CHECK(status(Fault::unavailable) == 69);
  CHECK(status(Fault::unavailable, Absent::file) == 74);
  CHECK(status(Fault::unavailable, Absent::owner) == 75);
  CHECK(status(Fault::unavailable, Absent::permission) == 77);
}

TEST_CASE("several complaints end with the first one's status, none with 0") {
  CHECK(complain(std::vector<Error>{}) == exit_done);
  CHECK(complain(std::vector<Error>{{Fault::unavailable, "a", "", {}, Absent::file},
                                    {Fault::malformed, "b", "", {}}}) == exit_io);
}

}  // namespace
}  // namespace lathe::cli
