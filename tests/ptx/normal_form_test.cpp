// What does not make another candidate, and what does.

#include <catch2/catch.hpp>

#include "tests/ptx/sample_files.h"

namespace lathe::ptx {
namespace {

std::string normal(const std::string& body) {
  Parsed parsed = parse_body(body);
  REQUIRE(parsed.errors.empty());
  return normal_form(parsed.module);
}

const std::string plain =
    ".reg .pred %p<2>;\n.reg .b32 %r<4>;\nld.param.b32 %r1, [a];\nadd.s32 %r2, %r1, 4;\n"
    "setp.eq.s32 %p1, %r2, 5;\n@%p1 bra L;\nmov.b32 %r3, %tid.x;\nL: ret;";

TEST_CASE("blanks, comments and debug records do not make another candidate") {
  CHECK(normal(plain) ==
        normal("/* x */ .reg .pred %p<2>; .reg .b32 %r<4>;\n.loc 1 2 3\nld.param.b32\t%r1,[ a ] ; "
               "// y\n$L__tmp1:\nadd.s32 %r2,%r1,4; setp.eq.s32 %p1,%r2,5; @%p1 bra L; mov.b32 "
               "%r3,%tid.x; L:\n ret;"));
}

TEST_CASE("names, numbers and spare declarations of registers do not make another candidate") {
  CHECK(normal(plain) ==
        normal(".reg .pred q;\n.reg .b32 %r<99>;.reg .b32 x;\n.reg .f32 %f<8>;\nld.param.b32 %r7, "
               "[a];\nadd.s32 x, %r7, 4;\nsetp.eq.s32 q, x, 5;\n@q bra L;\nmov.b32 %r3, "
               "%tid.x;\nL: ret;"));
}

TEST_CASE("another use of registers is another candidate") {
  std::string other = plain;
  other.replace(other.find("%r2, %r1, 4"), 11, "%r1, %r1, 4");
  CHECK(normal(plain) != normal(other));
}

TEST_CASE("another constant, guard, modifier, order or label place is another candidate") {
  auto changed = [](const std::string& from, const std::string& to) {
    std::string other = plain;
    REQUIRE(other.find(from) != std::string::npos);
    other.replace(other.find(from), from.size(), to);
    return normal(other);
  };
  for (auto [from, to] : {std::pair{"4;\nsetp", "5;\nsetp"},
                          {"@%p1", "@!%p1"},
                          {"eq", "ne"},
                          {"%tid.x", "%tid.y"},
                          {"mov.b32 %r3, %tid.x;\nL:",
                           "L:mov.b32 %r3, "
                           "%tid.x;"}})
    CHECK(changed(from, to) != normal(plain));
}

TEST_CASE("a register in a scope is not the one outside with its name") {
  std::string same = ".reg .b32 r; mov.b32 r, 1; { add.s32 r, r, 1; }";
  std::string inner = ".reg .b32 r; mov.b32 r, 1; { .reg .b32 r; add.s32 r, r, 1; }";
  CHECK(normal(same) != normal(inner));
}

TEST_CASE("the type of a register belongs to the candidate") {
  CHECK(normal(".reg .b32 r; mov.b32 r, 1;") != normal(".reg .f32 r; mov.b32 r, 1;"));
}

TEST_CASE("a register of four lanes is not one of one") {
  std::string vector = normal(".reg .v4 .b32 q; mov.b32 q.x, 1;");
  CHECK(vector == normal(".reg .v4 .b32 %v<3>; mov.b32 %v2.x, 1;"));
  CHECK(vector != normal(".reg .v2 .b32 q; mov.b32 q.x, 1;"));
  CHECK(vector != normal(".reg .v4 .b32 q; mov.b32 q.y, 1;"));
}

TEST_CASE("variables that share a declaration are those declared one by one") {
  auto with = [](const std::string& variables) {
    return normal(variables + " .reg .b32 r; mov.u32 r, b;");
  };
  std::string shared = with(".shared .align 4 .b8 a[4], b[8];");
  CHECK(shared == with(".shared .align 4 .b8 a[4]; .shared .align 4 .b8 b[8];"));
  CHECK(shared != with(".shared .align 4 .b8 a[4], b[4];"));
  CHECK(shared != with(".shared .align 4 .b8 a[4]; .shared .b8 b[8];"));
}

TEST_CASE("a normal form parses and is its own normal form") {
  std::vector<std::string> texts{around(plain), around(".reg .v4 .b32 q; mov.b32 q.x, 1;"),
                                 around(".reg .b32 r; .shared .b8 a[4], b[8]; mov.u32 r, b;"),
                                 ".version 9.0\n.target sm_100a\n.address_size 64\n"
                                 ".extern .shared .align 16 .b8 a, b[];\n"
                                 ".global .b32 c[2] = {1, 2}, d;\n"};
  for (const std::filesystem::path& path : shipped_ptx()) texts.push_back(slurp(path));
  for (const std::string& text : texts) {
    Parsed parsed = parse(text, "a.ptx");
    std::string once = normal_form(parsed.module);
    Parsed again = parse(once, "n.ptx");
    for (const Error& error : again.errors)
      FAIL(error.place.line << ":" << error.place.column << " " << error.what);
    CHECK(normal_form(again.module) == once);
  }
}

TEST_CASE("shipped contracts have different normal forms") {
  std::vector<std::string> forms;
  for (const std::filesystem::path& path : shipped_ptx())
    if (path.string().find("/suite/contracts/") != std::string::npos)
      forms.push_back(normal_form(parse(slurp(path), "a.ptx").module));
  std::size_t count = forms.size();
  std::sort(forms.begin(), forms.end());
  forms.erase(std::unique(forms.begin(), forms.end()), forms.end());
  CHECK(forms.size() == count);
}

}  // namespace
}  // namespace lathe::ptx
