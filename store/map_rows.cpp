// The rows in a map: for simulations, which open thousands of stores.

#include <map>
#include <mutex>

#include "store/rows.h"

namespace lathe::store {
namespace {

class MapRows final : public Rows {
 public:
  Result<std::optional<std::string>> get(const std::string& key) const override {
    std::lock_guard lock(mutex_);
    auto row = rows_.find(key);
    if (row == rows_.end()) return std::optional<std::string>{};
    return std::optional<std::string>{row->second};
  }

  Result<Done> scan(const std::string& prefix, const Visit& visit) const override {
    std::lock_guard lock(mutex_);
    for (auto row = rows_.lower_bound(prefix); row != rows_.end() && row->first.starts_with(prefix);
         ++row)
      if (!visit(row->first, row->second)) break;
    return Done{};
  }

  Result<Done> write(const std::vector<Change>& changes, bool) override {
    std::lock_guard lock(mutex_);
    for (const Change& change : changes)
      if (change.value)
        rows_[change.key] = *change.value;
      else
        rows_.erase(change.key);
    return Done{};
  }

 private:
  mutable std::recursive_mutex mutex_;  // A visitor may look up other rows.
  std::map<std::string, std::string> rows_;
};

}  // namespace

std::unique_ptr<Rows> make_map_rows() { return std::make_unique<MapRows>(); }

}  // namespace lathe::store
