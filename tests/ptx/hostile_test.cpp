// Text that means harm: bounded time and memory, and never a crash.

#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "base/random.h"
#include "tests/ptx/sample_files.h"

namespace lathe::ptx {
namespace {

std::string repeated(std::string_view piece, std::size_t bytes) {
  std::string text;
  text.reserve(bytes + piece.size());
  while (text.size() < bytes) text += piece;
  return text;
}

double seconds_to_parse(std::string text) {
  auto begin = std::chrono::steady_clock::now();
  Parsed parsed = parse(std::move(text), "big.ptx");
  CHECK(parsed.errors.size() <= 20);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_CASE("deep nesting is refused and not followed") {
  for (const char* open : {"{", "[", "(", "mov.b32 {{{{{{{{", "mov.b32 %r1, ((((((((", "- - - -"}) {
    INFO(open);
    CHECK_FALSE(parse_body(repeated(open, 100000)).errors.empty());
  }
  CHECK_FALSE(parse_body("mov.b32 %r1, " + std::string(100000, '-') + "1;").errors.empty());
  CHECK_FALSE(parse_body("mov.b32 %r1, " + std::string(100000, '(') + "1;").errors.empty());
  CHECK_FALSE(
      parse(".version 8.7\n.target sm_90a\n.global .b8 x = " + std::string(100000, '{'), "n.ptx")
          .errors.empty());
}

TEST_CASE("scopes may be nested a little") {
  CHECK(parse_body(std::string(150, '{') + "ret;" + std::string(150, '}')).errors.empty());
}

TEST_CASE("large hostile files end soon") {
  constexpr std::size_t bytes = 2u << 20;
  for (const char* piece : {";", "a", "a:", "a;", "{", "}", ".", "add.f32 %f1, %f2, %f3;\n", "a,",
                            "/*", "\"", "1,", "\xFF", ".reg .b32 a,b;", "@", "a.b"}) {
    INFO(piece);
    CHECK(seconds_to_parse(around(repeated(piece, bytes))) < 10);
    CHECK(seconds_to_parse(repeated(piece, bytes)) < 10);
  }
}

TEST_CASE("a module with too many parts is exhausted, not malformed") {
  Parsed parsed = parse_body(repeated("a;", 5u << 20));
  REQUIRE_FALSE(parsed.errors.empty());
  CHECK(parsed.errors.back().fault == Fault::exhausted);
}

TEST_CASE("an unterminated comment is placed where it opens") {
  Parsed parsed = parse(".version 8.7\n.target sm_90a\n  /* never\n closed\n", "c.ptx");
  REQUIRE(parsed.errors.size() == 1);
  CHECK(parsed.errors[0].place.line == 3);
  CHECK(parsed.errors[0].place.column == 3);
}

TEST_CASE("mutations of shipped files never crash, and print the same bytes") {
  std::vector<std::filesystem::path> paths = shipped_ptx();
  std::string alphabet = "{}[]();:,.@!%|_0fx\"/*\n \\<>=+-$a9\x80";
  alphabet.push_back('\0');
  for (std::size_t i = 0; i < paths.size() && i < 24; ++i) {
    std::string original = slurp(paths[i]);
    for (std::uint64_t round = 0; round < 40; ++round) {
      std::string text = original;
      for (std::uint64_t edit = 0; edit < 1 + round % 4; ++edit) {
        std::uint64_t draw = philox64(7, i * 1000 + round, edit);
        std::size_t at = (draw >> 8) % text.size();
        char byte = alphabet[draw % alphabet.size()];
        if (draw % 3 == 0) text.insert(at, 1, byte);
        if (draw % 3 == 1) text.erase(at, 1 + (draw >> 40) % 200);
        if (draw % 3 == 2) text[at] = byte;
      }
      Parsed parsed = parse(text, "m.ptx");
      CHECK(print(parsed.module) == text);
      CHECK(parsed.errors.size() <= 20);
      if (parsed.errors.empty()) CHECK_FALSE(normal_form(parsed.module).empty());
    }
  }
}

}  // namespace
}  // namespace lathe::ptx
