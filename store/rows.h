#pragma once

// Sorted rows of bytes: what the store asks of the engine below it. RocksDB is one, a map for
// simulations is the other.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lathe::store {

struct Change {
  std::string key;
  std::optional<std::string> value;  // Nothing: the row goes.
};

class Rows {
 public:
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;

  virtual ~Rows() = default;
  virtual Result<std::optional<std::string>> get(const std::string& key) const = 0;
  /// In key order, while `visit` answers true.
  virtual Result<Done> scan(const std::string& prefix, const Visit& visit) const = 0;
  /// All or nothing; `sync`: on the disk before it returns.
  virtual Result<Done> write(const std::vector<Change>& changes, bool sync) = 0;
  /// A reader takes up what the owner wrote.
  virtual Result<Done> refresh() { return Done{}; }
};

Result<std::unique_ptr<Rows>> open_rocks(const std::filesystem::path& path);
/// `scratch` takes the reader's own files.
Result<std::unique_ptr<Rows>> open_rocks_reader(const std::filesystem::path& path,
                                                const std::filesystem::path& scratch);
std::unique_ptr<Rows> make_map_rows();

}  // namespace lathe::store
