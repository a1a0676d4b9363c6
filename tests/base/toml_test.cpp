// TOML keeps the file's order and places, and prints what reads back.

#include "base/toml.h"

#include <catch2/catch.hpp>
#include <limits>

#include "base/names.h"

namespace lathe {
namespace {

TEST_CASE("members keep the order and the places of the file") {
  auto root = parse_toml("z = 1\na = [1, \"x\"]\n[t]\nk = true\n", "f.toml");
  REQUIRE(root.has_value());
  REQUIRE(root->members.size() == 3);
  CHECK(root->members[0].key == "z");
  CHECK(root->members[1].place.line == 2);
  CHECK(root->members[1].value.items[1].place.column == 9);
  CHECK(root->find("t")->value.find("k")->value.boolean);
  CHECK(root->find("q") == nullptr);
}

TEST_CASE("a second definition of a key is refused with its line") {
  auto root = parse_toml("a = 1\na = 2\n", "f.toml");
  REQUIRE_FALSE(root.has_value());
  CHECK(root.error().place.line == 2);
}

TEST_CASE("printed values read back") {
  for (std::string text : {"1", "-7", "0.1", "1e+300", "true", "[1, [2, 3]]", "{a = 1, b = \"c\"}",
                           "\"a\\\"b\\\\\\n\\t\"", "inf", "2026-01-02"}) {
    INFO(text);
    auto first = parse_toml("k = " + text, "f");
    REQUIRE(first.has_value());
    std::string printed = print_toml(first->members[0].value);
    auto second = parse_toml("k = " + printed, "f");
    REQUIRE(second.has_value());
    CHECK(print_toml(second->members[0].value) == printed);
  }
}

TEST_CASE("a real keeps its point, so that it stays a real") {
  CHECK(print_real(2) == "2.0");
  CHECK(print_real(0.1) == "0.1");
  CHECK(print_real(1e300) == "1e+300");
  CHECK(print_real(-std::numeric_limits<double>::infinity()) == "-inf");
}

TEST_CASE("the nearest name is found for a slip, and none for another word") {
  std::vector<std::string> known{"grid", "block", "cluster"};
  CHECK(nearest_name("gird", known) == "grid");
  CHECK(nearest_name("blocks", known) == "block");
  CHECK(nearest_name("wavelength", known).empty());
  CHECK(list_names(known) == "`grid`, `block` or `cluster`");
}

}  // namespace
}  // namespace lathe
