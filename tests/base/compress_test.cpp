#include "base/compress.h"

#include <catch2/catch.hpp>

namespace lathe {
namespace {

TEST_CASE("compressed bytes come back, none and many") {
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100'000}}) {
    std::string bytes(size, 'x');
    Result<std::string> back = decompress(compress(bytes), size);
    REQUIRE(back);
    CHECK(*back == bytes);
  }
}

TEST_CASE("bytes that claim more than allowed are refused before memory is taken") {
  CHECK_FALSE(decompress(compress(std::string(1001, 'x')), 1000));
  CHECK(decompress(compress(std::string(1000, 'x')), 1000));
}

TEST_CASE("cut and foreign bytes are refused") {
  std::string packed = compress("some text that is long enough");
  CHECK_FALSE(decompress(packed.substr(0, packed.size() - 1), 1000));
  CHECK_FALSE(decompress("not compressed", 1000));
  CHECK_FALSE(decompress("", 1000));
}

}  // namespace
}  // namespace lathe
