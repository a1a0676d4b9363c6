#include "contract/reading.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/names.h"

namespace lathe {

void Complaints::add(const Place& place, std::string what, std::string remedy, Fault fault) {
  errors_.push_back({fault, std::move(what), std::move(remedy), place});
}

std::vector<Error> Complaints::take(std::size_t most) {
  std::stable_sort(errors_.begin(), errors_.end(), [](const Error& a, const Error& b) {
    return std::tie(a.place.file, a.place.line, a.place.column) <
           std::tie(b.place.file, b.place.line, b.place.column);
  });
  if (errors_.size() > most) {
    std::size_t more = errors_.size() - most + 1;
    errors_.resize(most - 1);
    errors_.push_back({Fault::malformed,
                       "and " + std::to_string(more) + " more complaints",
                       "correct those above first",
                       {errors_.front().place.file, 0, 0}});
  }
  return std::move(errors_);
}

std::string TableReader::field(std::string_view key) const {
  return "`" + (path_.empty() ? std::string(key) : path_ + "." + std::string(key)) + "`";
}

const TomlValue* TableReader::value(std::string_view key, Need need) {
  known_.emplace_back(key);
  if (const TomlMember* member = table_.find(key)) return &member->value;
  if (need == Need::required)
    complaints_.add(
        table_.place, field(key) + " is missing",
        "add `" + std::string(key) + " = ..`" + (path_.empty() ? "" : " to `" + path_ + "`"));
  return nullptr;
}

const TomlValue* TableReader::typed(std::string_view key, Need need, TomlValue::Kind kind) {
  const TomlValue* found = value(key, need);
  if (found == nullptr || found->kind == kind) return found;
  complaints_.add(found->place,
                  field(key) + " must be " + std::string(name_of(kind)) + ", not " +
                      std::string(name_of(found->kind)),
                  kind == TomlValue::Kind::string ? "put it in double quotes"
                                                  : "see docs/CONTRACT.md for this field");
  return nullptr;
}

std::optional<std::string> TableReader::string(std::string_view key, Need need) {
  const TomlValue* found = typed(key, need, TomlValue::Kind::string);
  return found == nullptr ? std::nullopt : std::optional(found->text);
}

std::optional<bool> TableReader::boolean(std::string_view key, Need need) {
  const TomlValue* found = typed(key, need, TomlValue::Kind::boolean);
  return found == nullptr ? std::nullopt : std::optional(found->boolean);
}

bool check_integer(const TomlValue& value, const std::string& field, std::int64_t low,
                   std::int64_t high, Complaints& complaints) {
  if (value.kind != TomlValue::Kind::integer) {
    complaints.add(value.place,
                   field + " must be an integer, not " + std::string(name_of(value.kind)),
                   "write a whole number");
    return false;
  }
  if (value.integer >= low && value.integer <= high) return true;
  complaints.add(value.place,
                 field + " is " + std::to_string(value.integer) + ", outside of " +
                     std::to_string(low) + " to " + std::to_string(high),
                 "write a number in that range");
  return false;
}

std::optional<std::int64_t> TableReader::integer(std::string_view key, Need need, std::int64_t low,
                                                 std::int64_t high) {
  const TomlValue* found = value(key, need);
  if (found == nullptr || !check_integer(*found, field(key), low, high, complaints_))
    return std::nullopt;
  return found->integer;
}

std::optional<double> TableReader::number(std::string_view key, Need need, double low,
                                          double high) {
  const TomlValue* found = value(key, need);
  if (found == nullptr) return std::nullopt;
  bool is_integer = found->kind == TomlValue::Kind::integer;
  if (!is_integer && found->kind != TomlValue::Kind::real) {
    complaints_.add(found->place,
                    field(key) + " must be a number, not " + std::string(name_of(found->kind)),
                    "write a number");
    return std::nullopt;
  }
  double number = is_integer ? static_cast<double>(found->integer) : found->real;
  if (std::isfinite(number) && number >= low && number <= high) return number;
  complaints_.add(found->place,
                  field(key) + " is " + print_real(number) + ", but must be finite and at least " +
                      print_real(low) +
                      (std::isinf(high) ? "" : " and at most " + print_real(high)),
                  "write a number in that range");
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> TableReader::integers(std::string_view key, Need need,
                                                               std::size_t size, std::int64_t low,
                                                               std::int64_t high) {
  const TomlValue* found = typed(key, need, TomlValue::Kind::array);
  if (found == nullptr) return std::nullopt;
  if (size != 0 && found->items.size() != size) {
    complaints_.add(found->place,
                    field(key) + " has " + std::to_string(found->items.size()) +
                        " numbers, but takes " + std::to_string(size),
                    "write " + std::to_string(size) + " numbers");
    return std::nullopt;
  }
  std::vector<std::int64_t> numbers;
  for (const TomlValue& item : found->items) {
    if (!check_integer(item, field(key), low, high, complaints_)) return std::nullopt;
    numbers.push_back(item.integer);
  }
  return numbers;
}

const TomlValue* TableReader::table(std::string_view key, Need need) {
  return typed(key, need, TomlValue::Kind::table);
}

std::vector<const TomlValue*> TableReader::tables(std::string_view key, Need need) {
  std::vector<const TomlValue*> found;
  const TomlValue* array = value(key, need);
  if (array == nullptr) return found;
  std::string heading = "[[" + std::string(key) + "]]";
  if (array->kind != TomlValue::Kind::array) {
    complaints_.add(array->place, field(key) + " must be an array of tables",
                    "write " + heading + " with two brackets");
    return found;
  }
  for (const TomlValue& item : array->items) {
    if (item.kind == TomlValue::Kind::table)
      found.push_back(&item);
    else
      complaints_.add(item.place, field(key) + " holds " + std::string(name_of(item.kind)),
                      "write each as a table under " + heading);
  }
  return found;
}

void TableReader::finish() {
  for (const TomlMember& member : table_.members) {
    if (std::find(known_.begin(), known_.end(), member.key) != known_.end()) continue;
    std::string near = nearest_name(member.key, known_);
    complaints_.add(member.place, "unknown key " + field(member.key),
                    near.empty() ? "remove it; known here: " + list_names(known_)
                                 : "did you mean `" + near + "`?");
  }
}

}  // namespace lathe
