#include "base/toml.h"

#include <toml++/toml.h>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <optional>
#include <sstream>

namespace lathe {
namespace {

Place place_of(const toml::source_region& region, const std::string& file) {
  return {file, static_cast<std::uint32_t>(region.begin.line),
          static_cast<std::uint32_t>(region.begin.column)};
}

TomlValue convert(const toml::node& node, const std::string& file);

void convert_table(const toml::table& table, const std::string& file, TomlValue& value) {
  value.kind = TomlValue::Kind::table;
  for (const auto& [key, child] : table)
    value.members.push_back(
        {std::string(key.str()), place_of(key.source(), file), convert(child, file)});
  // The library sorts by name; people wrote them in an order of their own.
  std::stable_sort(
      value.members.begin(), value.members.end(), [](const TomlMember& a, const TomlMember& b) {
        return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
      });
}

TomlValue convert(const toml::node& node, const std::string& file) {
  TomlValue value;
  value.place = place_of(node.source(), file);
  if (const toml::table* table = node.as_table()) {
    convert_table(*table, file, value);
  } else if (const toml::array* array = node.as_array()) {
    value.kind = TomlValue::Kind::array;
    for (const toml::node& item : *array) value.items.push_back(convert(item, file));
  } else if (const auto* text = node.as_string()) {
    value.kind = TomlValue::Kind::string;
    value.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    value.kind = TomlValue::Kind::integer;
    value.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    value.kind = TomlValue::Kind::real;
    value.real = real->get();
  } else if (const auto* boolean = node.as_boolean()) {
    value.kind = TomlValue::Kind::boolean;
    value.boolean = boolean->get();
  } else {
    value.kind = TomlValue::Kind::date;
    std::ostringstream out;
    if (const auto* date = node.as_date()) out << date->get();
    if (const auto* time = node.as_time()) out << time->get();
    if (const auto* both = node.as_date_time()) out << both->get();
    value.text = out.str();
  }
  return value;
}

bool is_bare(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

std::string print_items(const TomlValue& value) {
  std::string text = "[";
  for (const TomlValue& item : value.items) {
    if (text.size() > 1) text += ", ";
    text += print_toml(item);
  }
  return text + "]";
}

std::string print_members(const TomlValue& value) {
  std::string text = "{";
  for (const TomlMember& member : value.members) {
    if (text.size() > 1) text += ", ";
    text += key_toml(member.key) + " = " + print_toml(member.value);
  }
  return text + "}";
}

}  // namespace

const TomlMember* TomlValue::find(std::string_view key) const {
  for (const TomlMember& member : members)
    if (member.key == key) return &member;
  return nullptr;
}

std::string_view name_of(TomlValue::Kind kind) {
  switch (kind) {
    case TomlValue::Kind::string:
      return "a string";
    case TomlValue::Kind::integer:
      return "an integer";
    case TomlValue::Kind::real:
      return "a floating-point number";
    case TomlValue::Kind::boolean:
      return "a boolean";
    case TomlValue::Kind::array:
      return "an array";
    case TomlValue::Kind::table:
      return "a table";
    case TomlValue::Kind::date:
      break;
  }
  return "a date or time";
}

Result<TomlValue> parse_toml(std::string_view text, const std::string& file) {
  try {
    toml::table table = toml::parse(text, file);
    TomlValue value;
    value.place = {file, 1, 1};
    convert_table(table, file, value);
    return value;
  } catch (const toml::parse_error& error) {
    return Error{Fault::malformed, "not TOML: " + std::string(error.description()),
                 "write one `key = value` a line", place_of(error.source(), file)};
  } catch (const std::exception& error) {
    return Error{Fault::malformed, std::string("not TOML: ") + error.what(), "", {file, 0, 0}};
  }
}

std::string print_real(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quote_toml(std::string_view text) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted.push_back('\\');
      quoted.push_back(c);
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += "\\u00";
      quoted.push_back(digits[static_cast<unsigned char>(c) >> 4]);
      quoted.push_back(digits[c & 15]);
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

std::string key_toml(std::string_view key) {
  return is_bare(key) ? std::string(key) : quote_toml(key);
}

std::string print_toml(const TomlValue& value) {
  switch (value.kind) {
    case TomlValue::Kind::string:
      return quote_toml(value.text);
    case TomlValue::Kind::integer:
      return std::to_string(value.integer);
    case TomlValue::Kind::real:
      return print_real(value.real);
    case TomlValue::Kind::boolean:
      return value.boolean ? "true" : "false";
    case TomlValue::Kind::array:
      return print_items(value);
    case TomlValue::Kind::table:
      return print_members(value);
    case TomlValue::Kind::date:
      break;
  }
  return value.text;
}

}  // namespace lathe
