// A digest is SHA-256 and reads back what it prints.

#include <catch2/catch.hpp>

#include "base/digest.h"

namespace lathe {

TEST_CASE("sha256 gives the standard's answer for abc") {
  CHECK(hex(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("a digest reads back, and near misses do not") {
  std::string text = hex(sha256("x"));
  REQUIRE(parse_digest(text));
  CHECK(*parse_digest(text) == sha256("x"));
  CHECK_FALSE(parse_digest(text.substr(1)));
  text[5] = 'g';
  CHECK_FALSE(parse_digest(text));
}

}  // namespace lathe
