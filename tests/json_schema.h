#pragma once

// Validates JSON against the part of JSON Schema that docs/json/ uses: type, const, enum, pattern,
// minimum, required, properties, additionalProperties, items. A keyword that it does not know is a
// failure, so that no schema promises more than is checked.

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "tests/places.h"

namespace lathe {

class JsonSchema {
 public:
  explicit JsonSchema(Json schema) : schema_(std::move(schema)) {}

  /// docs/json/NAME.schema.json
  static JsonSchema of(const std::string& name) {
    auto text = read_text(std::string(source_folder) + "/docs/json/" + name + ".schema.json");
    return JsonSchema(text ? Json::parse(*text) : Json::object({{"missing", name}}));
  }

  /// What is wrong, one line each; empty where the value is valid.
  std::vector<std::string> complaints(const Json& value) const {
    std::vector<std::string> found;
    check(schema_, value, "", found);
    return found;
  }

 private:
  static bool has_type(const std::string& type, const Json& value) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "integer") return value.is_number_integer();
    return type == "number" && value.is_number();
  }

  static void check(const Json& schema, const Json& value, const std::string& path,
                    std::vector<std::string>& found) {
    for (const auto& [key, rule] : schema.items()) {
      auto wrong = [&, &word = key](const std::string& what) {
        found.push_back(path + ": " + word + ": " + what);
      };
      if (key == "$schema" || key == "title" || key == "additionalProperties") continue;
      if (key == "type") {
        Json types = rule.is_array() ? rule : Json::array({rule});
        if (std::none_of(types.begin(), types.end(),
                         [&](const Json& type) { return has_type(type, value); }))
          wrong(value.dump());
      } else if (key == "minimum") {
        if (value.is_number() && value < rule) wrong(value.dump());
      } else if (key == "const") {
        if (rule != value) wrong(value.dump());
      } else if (key == "enum") {
        if (std::find(rule.begin(), rule.end(), value) == rule.end()) wrong(value.dump());
      } else if (key == "pattern") {
        if (!value.is_string() ||
            !std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>())))
          wrong(value.dump());
      } else if (key == "required") {
        for (const auto& name : rule)
          if (!value.contains(name.get<std::string>())) wrong(name.dump() + " is missing");
      } else if (key == "items") {
        for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
          check(rule, value[i], path + "/" + std::to_string(i), found);
      } else if (key == "properties") {
        check_members(schema, value, path, found);
      } else {
        wrong("a keyword that the validator does not know");
      }
    }
  }

  static void check_members(const Json& schema, const Json& value, const std::string& path,
                            std::vector<std::string>& found) {
    if (!value.is_object()) return;
    const Json& properties = schema["properties"];
    bool open = schema.value("additionalProperties", true);
    for (const auto& [name, member] : value.items())
      if (properties.contains(name))
        check(properties[name], member, path + "/" + name, found);
      else if (!open)
        found.push_back(path + ": unknown member " + name);
  }

  Json schema_;
};

}  // namespace lathe
