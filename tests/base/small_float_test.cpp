// Narrow floats: every code is a double and comes back; a double becomes the nearest, ties to even.

#include "base/small_float.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"

namespace lathe {
namespace {

void check_round_trip(const FloatFormat& format) {
  for (std::uint32_t bits = 0; bits < 1u << format.bits(); ++bits) {
    double value = decode_float(format, bits);
    if (std::isnan(value))
      CHECK(std::isnan(decode_float(format, encode_float(format, value))));
    else if (encode_float(format, value) != bits)
      FAIL_CHECK(bits << " is " << value << " is " << encode_float(format, value));
  }
}

TEST_CASE("every code of a narrow float comes back from its double") {
  for (const FloatFormat& format : {float16, bfloat16, e4m3, e5m2, e2m1, e2m3, e3m2, ue8m0}) {
    INFO(format.exponent_bits << "." << format.mantissa_bits);
    check_round_trip(format);
  }
}

TEST_CASE("between two codes the nearer wins, and in the middle the even one") {
  for (const FloatFormat& format : {float16, bfloat16, e4m3, e5m2, e2m1, e2m3, e3m2})
    for (std::uint32_t bits = 0; bits < 1u << (format.bits() - 1); ++bits) {
      double low = decode_float(format, bits), high = decode_float(format, bits + 1);
      if (!std::isfinite(low) || !std::isfinite(high) || high < low) break;
      double middle = low + (high - low) / 2;
      bool right = encode_float(format, middle) == (bits % 2 == 0 ? bits : bits + 1) &&
                   encode_float(format, std::nextafter(middle, low)) == bits &&
                   encode_float(format, std::nextafter(middle, high)) == bits + 1;
      if (!right) FAIL_CHECK("at " << bits);
    }
}

TEST_CASE("the greatest, the least normal and the least values are those of the formats") {
  CHECK(float16.greatest() == 65504);
  CHECK(e4m3.greatest() == 448);
  CHECK(e5m2.greatest() == 57344);
  CHECK(e2m1.greatest() == 6);
  CHECK(e2m3.greatest() == 7.5);
  CHECK(e3m2.greatest() == 28);
  CHECK(ue8m0.greatest() == 0x1p127);
  CHECK(float16.least_normal() == 0x1p-14);
  CHECK(float16.least() == 0x1p-24);
  CHECK(bfloat16.least() == 0x1p-133);
}

TEST_CASE("above the greatest: infinity where there is one, else the greatest") {
  double infinity = std::numeric_limits<double>::infinity();
  CHECK(encode_float(float16, 65519.0) == 0x7BFF);
  CHECK(encode_float(float16, 65520.0) == 0x7C00);
  CHECK(encode_float(float16, -infinity) == 0xFC00);
  CHECK(encode_float(e4m3, 1e9) == 0x7E);
  CHECK(encode_float(e4m3, -infinity) == 0xFE);
  CHECK(encode_float(e2m1, 100) == 0x7);
  CHECK(encode_float(e4m3, std::nan("")) == 0x7F);
}

TEST_CASE("a single is rounded as the machine rounds it") {
  for (std::uint64_t i = 0; i < 100000; ++i) {
    std::uint64_t bits = philox64(1, 2, i);
    double value;
    std::memcpy(&value, &bits, sizeof value);
    int exponent = 0;
    value = std::isfinite(value) ? std::frexp(value, &exponent) : 1;
    value = std::ldexp(value, static_cast<int>(i % 300) - 160);
    auto single = static_cast<float>(value);
    std::uint32_t expected;
    std::memcpy(&expected, &single, sizeof expected);
    if (encode_float(float32, value) != expected) FAIL_CHECK("at " << value);
  }
}

}  // namespace
}  // namespace lathe
