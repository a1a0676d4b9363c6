// Edits, replies of proposers, and diffs.

#include "ptx/patch.h"

#include <catch2/catch.hpp>

#include "base/random.h"
#include "tests/ptx/sample_files.h"

namespace lathe::ptx {
namespace {

const std::string parent = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n";

std::string refused(std::string_view reply, std::uint32_t line, const std::string& file) {
  Result<std::string> result = apply_reply(parent, reply);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().fault == Fault::malformed);
  CHECK(result.error().place.line == line);
  CHECK(result.error().place.file == file);
  CHECK_FALSE(result.error().remedy.empty());
  return result.error().what;
}

TEST_CASE("edits replace ranges in any order and leave the rest") {
  Module module;
  module.text = std::make_shared<const std::string>("abcdef");
  Result<std::string> result = ptx::apply(module, {{4, 5, "E"}, {0, 1, ""}, {2, 2, "+"}});
  REQUIRE(result);
  CHECK(*result == "b+cdEf");
  CHECK(*ptx::apply(module, {}) == "abcdef");
}

TEST_CASE("overlapping edits and edits outside the text are malformed") {
  Module module;
  module.text = std::make_shared<const std::string>("abcdef");
  CHECK_FALSE(ptx::apply(module, {{0, 3, ""}, {2, 4, ""}}).has_value());
  CHECK_FALSE(ptx::apply(module, {{5, 7, ""}}).has_value());
  CHECK_FALSE(ptx::apply(module, {{3, 2, ""}}).has_value());
  CHECK(ptx::apply(module, {{0, 3, ""}, {3, 4, ""}}).has_value());
}

TEST_CASE("a search block replaces the one place where it stands") {
  Result<std::string> result = apply_reply(
      parent,
      "Here it is.\n<<<<<<< SEARCH\ntwo\nthree\n=======\n2\n3\n3b\n>>>>>>> REPLACE\nand\n"
      "<<<<<<< SEARCH\nnine\n=======\n>>>>>>> REPLACE\n");
  REQUIRE(result);
  CHECK(*result == "one\n2\n3\n3b\nfour\nfive\nsix\nseven\neight\n");
}

TEST_CASE("a search block that stands nowhere names the line that differs") {
  std::string what =
      refused("<<<<<<< SEARCH\nthree\nfour\nfife\n=======\n\n>>>>>>> REPLACE\n", 5, "parent");
  CHECK(what.find("`five`") != std::string::npos);
  CHECK(what.find("`fife`") != std::string::npos);
  CHECK(refused("<<<<<<< SEARCH\nzero\n=======\n>>>>>>> REPLACE\n", 2, "reply").find("`zero`") !=
        std::string::npos);
}

TEST_CASE("a search block that stands twice is refused") {
  Result<std::string> result =
      apply_reply("a\nb\na\n", "<<<<<<< SEARCH\na\n=======\nc\n>>>>>>> REPLACE\n");
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().what.find("lines 1 and 3") != std::string::npos);
}

TEST_CASE("a search block matches whole lines only") {
  refused("<<<<<<< SEARCH\nwo\n=======\nc\n>>>>>>> REPLACE\n", 2, "reply");
}

TEST_CASE("broken blocks are refused where they break") {
  refused("<<<<<<< SEARCH\none\n=======\n", 1, "reply");
  refused("<<<<<<< SEARCH\none\n>>>>>>> REPLACE\n", 3, "reply");
  refused("<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n", 1, "reply");
  refused("<<<<<<< SEARCH\none\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n", 3, "reply");
}

TEST_CASE("two blocks over the same lines are refused") {
  CHECK_FALSE(apply_reply(parent,
                          "<<<<<<< SEARCH\none\ntwo\n=======\n>>>>>>> REPLACE\n"
                          "<<<<<<< SEARCH\ntwo\nthree\n=======\n>>>>>>> REPLACE\n")
                  .has_value());
}

TEST_CASE("a unified diff applies where it says") {
  Result<std::string> result = apply_reply(
      parent,
      "```diff\n--- a\n+++ b\n@@ -2,3 +2,3 @@ in k\n two\n-three\n+3\n four\n@@ -9 +9,2 "
      "@@\n nine\n+ten\n```\n");
  REQUIRE(result);
  CHECK(*result == "one\ntwo\n3\nfour\nfive\nsix\nseven\neight\nnine\nten\n");
}

TEST_CASE("a diff against other lines names the parent's line") {
  std::string what = refused("@@ -2,2 +2,2 @@\n two\n-tree\n+3\n", 3, "parent");
  CHECK(what.find("`three`") != std::string::npos);
  refused("@@ -1,2 +1,2 @@\n two\n-three\n+3\n", 1, "parent");
}

TEST_CASE("a diff with wrong counts or order is refused") {
  refused("@@ -2,3 +2,3 @@\n two\n-three\n+3\n", 4, "reply");
  refused("@@ -2,1 +2,1 @@\n two\n-three\n+3\n", 3, "reply");
  refused("@@ -5 +5 @@\n-five\n+5\n@@ -2 +2 @@\n-two\n+2\n", 4, "reply");
  refused("@@ -x +5 @@\n-five\n+5\n", 1, "reply");
  refused("@@ -40 +40 @@\n-five\n+5\n", 1, "reply");
  refused("@@ -5 +5 @@\n*five\n", 2, "reply");
}

TEST_CASE("a diff may end a file without a line break") {
  Result<std::string> result = apply_reply(
      "a\nb",
      "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of "
      "file\n");
  REQUIRE(result);
  CHECK(*result == "a\nc");
}

TEST_CASE("a whole module is taken as it stands, with or without a fence") {
  std::string whole = around("ret;");
  CHECK(*apply_reply(parent, whole) == whole);
  CHECK(*apply_reply(parent, "Sure:\n```ptx\n" + whole + "```\nDone.\n") == whole);
}

TEST_CASE("a reply without any form is refused") {
  refused("I cannot do that.", 0, "reply");
  refused("", 0, "reply");
}

TEST_CASE("a diff of two texts leads from one to the other") {
  for (std::uint64_t round = 0; round < 200; ++round) {
    std::string before, after;
    for (std::uint64_t i = 0; i < 30; ++i) {
      std::uint64_t draw = philox64(3, round, i);
      std::string line = std::to_string(draw % 7) + "\n";
      if (draw >> 8 & 7) before += line;
      if (draw >> 16 & 7) after += line;
    }
    if (round % 5 == 0 && !after.empty()) after.pop_back();
    if (before == after) continue;
    std::string patch = diff(before, after);
    INFO(before << "--\n" << after << "--\n" << patch);
    Result<std::string> result = apply_reply(before, patch);
    REQUIRE(result);
    CHECK(*result == after);
  }
}

TEST_CASE("equal texts differ by nothing, and a small change shows three lines around it") {
  CHECK(diff(parent, parent).empty());
  std::string after = parent;
  after.replace(after.find("five"), 4, "5");
  CHECK(diff(parent, after) ==
        "--- before\n+++ after\n@@ -2,7 +2,7 @@\n two\n three\n four\n-five\n+5\n six\n seven\n "
        "eight\n");
}

TEST_CASE("texts without a common line are one block, quickly") {
  std::string before, after;
  for (int i = 0; i < 20000; ++i) before += "a" + std::to_string(i) + "\n";
  for (int i = 0; i < 20000; ++i) after += "b" + std::to_string(i) + "\n";
  CHECK(*apply_reply(before, diff(before, after)) == after);
}

}  // namespace
}  // namespace lathe::ptx
