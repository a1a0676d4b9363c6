// A scalar parameter's value: a number that its type holds, or its bits in hexadecimal.

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/names.h"
#include "contract/read_parts.h"

namespace lathe {
namespace {

constexpr std::array<std::string_view, 15> type_names{"b8",  "b16", "b32", "b64", "u8",
                                                      "u16", "u32", "u64", "s8",  "s16",
                                                      "s32", "s64", "f32", "f64", "f16"};

std::uint64_t mask_of(unsigned bytes) {
  return bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
}

struct Limits {
  std::int64_t low, high;
};

Limits limits_of(ParameterType type) {
  unsigned bits = 8 * bytes_of(type);
  char kind = name_of(type)[0];
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::int64_t signed_high = bits == 64 ? most : (std::int64_t{1} << (bits - 1)) - 1;
  std::int64_t unsigned_high = bits == 64 ? most : (std::int64_t{1} << bits) - 1;
  if (kind == 'u') return {0, unsigned_high};
  if (kind == 's') return {-signed_high - 1, signed_high};
  return {-signed_high - 1, unsigned_high};
}

std::optional<std::uint64_t> read_bits(const TomlValue& value, ParameterType type,
                                       const std::string& field, Complaints& complaints) {
  const std::string& text = value.text;
  std::uint64_t bits = 0;
  bool fits = text.size() > 2 && text.starts_with("0x");
  if (fits) {
    auto [end, code] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
    fits =
        code == std::errc() && end == text.data() + text.size() && bits <= mask_of(bytes_of(type));
  }
  if (fits) return bits;
  complaints.add(value.place,
                 field + ": " + quote_toml(text) + " are no bits of " + std::string(name_of(type)),
                 "write a number without quotes, or its bits as \"0x..\"");
  return std::nullopt;
}

std::optional<std::uint64_t> read_float(const TomlValue& value, ParameterType type,
                                        const std::string& field, Complaints& complaints) {
  double number =
      value.kind == TomlValue::Kind::integer ? static_cast<double>(value.integer) : value.real;
  if (type == ParameterType::f64) return std::bit_cast<std::uint64_t>(number);
  const FloatFormat& format = type == ParameterType::f16 ? float16 : float32;
  std::uint32_t bits = encode_float(format, number);
  if (!std::isfinite(number) || std::isfinite(decode_float(format, bits))) return bits;
  complaints.add(value.place,
                 field + ": " + print_real(number) + " is above the greatest value of " +
                     std::string(name_of(type)),
                 "write a smaller number or a wider type");
  return std::nullopt;
}

}  // namespace

std::optional<ParameterType> parse_parameter_type(std::string_view name) {
  for (std::size_t i = 0; i < type_names.size(); ++i)
    if (type_names[i] == name) return static_cast<ParameterType>(i);
  return std::nullopt;
}

std::optional<std::uint64_t> read_scalar(const TomlValue& value, ParameterType type,
                                         const std::string& field, Complaints& complaints) {
  if (value.kind == TomlValue::Kind::string) return read_bits(value, type, field, complaints);
  if (is_float(type) &&
      (value.kind == TomlValue::Kind::integer || value.kind == TomlValue::Kind::real))
    return read_float(value, type, field, complaints);
  if (value.kind != TomlValue::Kind::integer) {
    complaints.add(value.place,
                   field + " must be a number of type " + std::string(name_of(type)) + ", not " +
                       std::string(name_of(value.kind)),
                   "write a number");
    return std::nullopt;
  }
  Limits limits = limits_of(type);
  if (value.integer < limits.low || value.integer > limits.high) {
    complaints.add(value.place,
                   field + " is " + std::to_string(value.integer) + ", outside of " +
                       std::string(name_of(type)) + "'s " + std::to_string(limits.low) + " to " +
                       std::to_string(limits.high),
                   "write a value that the type holds, or a wider type");
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(value.integer) & mask_of(bytes_of(type));
}

std::string print_scalar(ParameterType type, std::uint64_t bits) {
  auto hexadecimal = [&] {
    char buffer[20];
    auto end = std::to_chars(buffer, buffer + sizeof buffer, bits, 16).ptr;
    return "\"0x" + std::string(buffer, end) + "\"";
  };
  if (is_float(type)) {
    double value = type == ParameterType::f64
                       ? std::bit_cast<double>(bits)
                       : decode_float(type == ParameterType::f16 ? float16 : float32,
                                      static_cast<std::uint32_t>(bits));
    return std::isnan(value) ? hexadecimal() : print_real(value);
  }
  unsigned width = 8 * bytes_of(type);
  if (name_of(type)[0] == 's')
    return std::to_string(static_cast<std::int64_t>(bits << (64 - width)) >> (64 - width));
  if (bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return hexadecimal();
  return std::to_string(bits);
}

}  // namespace lathe
