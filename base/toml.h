#pragma once

// TOML as a tree of values in the order of the file, each with its place. The library behind it
// stays in base/toml.cpp.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lathe {

struct TomlMember;

struct TomlValue {
  enum class Kind : std::uint8_t { string, integer, real, boolean, array, table, date };
  Kind kind = Kind::table;
  std::string text;  // Of a string, and of a date as written.
  std::int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<TomlValue> items;     // Of an array.
  std::vector<TomlMember> members;  // Of a table.
  Place place;

  const TomlMember* find(std::string_view key) const;
};

struct TomlMember {
  std::string key;
  Place place;  // Of the key.
  TomlValue value;
};

/// "a string", "an integer", ..: for complaints.
std::string_view name_of(TomlValue::Kind kind);

/// `file` is what complaints name.
Result<TomlValue> parse_toml(std::string_view text, const std::string& file);

/// The value as TOML on one line; parse_toml reads it back to an equal value.
std::string print_toml(const TomlValue& value);
/// A TOML string with its quotes.
std::string quote_toml(std::string_view text);
/// The key as TOML: bare where it may be.
std::string key_toml(std::string_view key);
/// The shortest decimal that reads back to this very double, always with a point or an exponent.
std::string print_real(double value);

}  // namespace lathe
