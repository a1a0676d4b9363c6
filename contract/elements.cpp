// Elements of a tensor's bytes as doubles and back.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "contract/inputs.h"
#include "contract/values.h"

namespace lathe {
namespace {

std::uint64_t bits_at(unsigned width, std::string_view bytes, std::uint64_t index) {
  std::uint64_t bits = 0;
  if (width >= 8) {
    std::memcpy(&bits, bytes.data() + index * (width / 8), width / 8);
    return bits;
  }
  std::uint64_t at = index * width, byte = at / 8;
  std::uint32_t pair = static_cast<unsigned char>(bytes[byte]);
  if (byte + 1 < bytes.size())
    pair |= std::uint32_t{static_cast<unsigned char>(bytes[byte + 1])} << 8;
  return pair >> (at % 8) & ((1u << width) - 1);
}

void set_bits(unsigned width, std::string& bytes, std::uint64_t index, std::uint64_t bits) {
  if (width >= 8) {
    std::memcpy(bytes.data() + index * (width / 8), &bits, width / 8);
    return;
  }
  for (unsigned i = 0; i < width; ++i) {
    std::uint64_t at = index * width + i;
    unsigned char mask = static_cast<unsigned char>(1u << (at % 8));
    auto& byte = reinterpret_cast<unsigned char&>(bytes[at / 8]);
    byte = static_cast<unsigned char>((bits >> i & 1) != 0 ? byte | mask : byte & ~mask);
  }
}

bool is_signed(Dtype dtype) { return name_of(dtype)[0] == 's'; }

}  // namespace

double element_at(Dtype dtype, std::string_view bytes, std::uint64_t index) {
  unsigned width = bits_of(dtype);
  std::uint64_t bits = bits_at(width, bytes, index);
  if (dtype == Dtype::f64) return std::bit_cast<double>(bits);
  if (dtype == Dtype::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (const FloatFormat* format = format_of(dtype))
    return decode_float(*format, static_cast<std::uint32_t>(bits));
  if (is_signed(dtype))
    return static_cast<double>(static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width));
  return static_cast<double>(bits);
}

void set_element(Dtype dtype, std::string& bytes, std::uint64_t index, double value) {
  std::uint64_t bits = 0;
  if (dtype == Dtype::f64) {
    bits = std::bit_cast<std::uint64_t>(value);
  } else if (dtype == Dtype::f32) {
    bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  } else if (const FloatFormat* format = format_of(dtype)) {
    bits = encode_float(*format, value);
  } else if (!std::isnan(value)) {
    double whole = std::nearbyint(value);
    if (is_signed(dtype) || whole < 9.2e18) {
      IntegerRange range = integer_range(dtype);
      whole = std::clamp(whole, static_cast<double>(range.low), 9223372036854774784.0);
      bits = static_cast<std::uint64_t>(
          std::clamp(static_cast<std::int64_t>(whole), range.low, range.high));
    } else {
      bits = dtype == Dtype::u64 ? static_cast<std::uint64_t>(std::min(whole, 0x1.fffffffffffffp63))
                                 : static_cast<std::uint64_t>(integer_range(dtype).high);
    }
  }
  set_bits(bits_of(dtype), bytes, index, bits);
}

}  // namespace lathe
