#pragma once

// Strict reading of TOML tables: every key is asked for by name and type, and whatever nobody asked
// for is a complaint with the nearest known name.

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/toml.h"

namespace lathe {

/// Complaints in the order of the file.
class Complaints {
 public:
  void add(const Place& place, std::string what, std::string remedy,
           Fault fault = Fault::malformed);
  bool empty() const { return errors_.empty(); }
  /// Sorted by place, at most `most`; when there were more, the last one says how many.
  std::vector<Error> take(std::size_t most);

 private:
  std::vector<Error> errors_;
};

enum class Need : std::uint8_t { required, optional };

class TableReader {
 public:
  /// `path` is how complaints name the table: "launch", "tensor `x`".
  TableReader(const TomlValue& table, std::string path, Complaints& complaints)
      : table_(table), path_(std::move(path)), complaints_(complaints) {}

  /// The value of a key, which is thereby known. Without one: a complaint where it is required.
  const TomlValue* value(std::string_view key, Need need);
  std::optional<std::string> string(std::string_view key, Need need);
  std::optional<std::int64_t> integer(std::string_view key, Need need, std::int64_t low,
                                      std::int64_t high);
  std::optional<double> number(std::string_view key, Need need, double low,
                               double high = std::numeric_limits<double>::infinity());
  std::optional<bool> boolean(std::string_view key, Need need);
  /// Integers between low and high; `size` of them where it is not 0.
  std::optional<std::vector<std::int64_t>> integers(std::string_view key, Need need,
                                                    std::size_t size, std::int64_t low,
                                                    std::int64_t high);
  /// A table, or a complaint.
  const TomlValue* table(std::string_view key, Need need);
  /// An array of tables ([[key]]), or a complaint.
  std::vector<const TomlValue*> tables(std::string_view key, Need need);

  /// Complains of every key that was not asked for.
  void finish();

  std::string field(std::string_view key) const;
  const TomlValue& self() const { return table_; }
  Complaints& complaints() { return complaints_; }

 private:
  const TomlValue* typed(std::string_view key, Need need, TomlValue::Kind kind);

  const TomlValue& table_;
  std::string path_;
  Complaints& complaints_;
  std::vector<std::string> known_;
};

/// Whether the value is an integer between low and high; complains where not.
bool check_integer(const TomlValue& value, const std::string& field, std::int64_t low,
                   std::int64_t high, Complaints& complaints);

}  // namespace lathe
