#pragma once

// The store: one owner, one write path. A Batch (state changes and the events that tell of them)
// is committed whole or not at all; readers look on beside the owner. Everything that a run knows
// is here, so that any process may be killed at any time.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/files.h"
#include "base/result.h"
#include "store/keys.h"
#include "store/rows.h"
#include "store/values.h"

namespace lathe::store {

/// Changes that belong together. Building one does nothing; Store::commit does.
class Batch {
 public:
  template <class Key>
  Batch& put(const Key& key, const typename Key::Value& value) {
    changes_.push_back({encode_key(key), encode_value(value)});
    return *this;
  }
  template <class Key>
  Batch& erase(const Key& key) {
    changes_.push_back({encode_key(key), std::nullopt});
    return *this;
  }
  /// Keeps the bytes under their digest, which it gives back.
  Digest blob(std::string_view bytes);
  /// Appended to the event log under the next sequence number.
  Batch& event(EventRecord event) {
    events_.push_back(std::move(event));
    return *this;
  }
  /// Survives a power cut before commit returns. For money, claims, completions and admissions.
  Batch& durable() {
    durable_ = true;
    return *this;
  }
  /// May use the last reserve of space. For what must not be forgotten: settled money, a stop.
  Batch& urgent() {
    urgent_ = true;
    return *this;
  }
  bool empty() const { return changes_.empty() && events_.empty() && blobs_.empty(); }
  /// Appends another batch's changes, so that callers can share one sync.
  Batch& append(Batch other);

 private:
  friend class Store;
  std::vector<Change> changes_;
  std::vector<EventRecord> events_;
  std::vector<std::pair<Digest, std::string>> blobs_;
  bool durable_ = false, urgent_ = false;
};

struct StoreOptions {
  std::string program = "lathe";                // Said to whoever is refused.
  std::uint64_t free_bytes_min = 256ull << 20;  // Below this, batches are refused.
  std::uint64_t ballast_bytes = 32ull << 20;    // Given up for urgent batches on a full disk.
  bool accept_lost_commits = false;             // Opens a store that has lost its newest commits.
  /// Free bytes at a path; empty: asks the file system.
  std::function<std::uint64_t(const std::filesystem::path&)> free_bytes;
};

struct Committed {
  std::uint64_t commit = 0;          // The counter of this commit.
  std::uint64_t first_sequence = 0;  // Of its first event, where it has any.
};

/// Safe to call from several threads; commits are serialised.
class Store {
 public:
  /// Opens or makes the store at `path` as its owner, and raises its epoch.
  /// Errors: unavailable: Absent::owner where another process owns it (its name is said);
  /// Absent::file where it cannot be read or written, the disk is full, or commits that had been
  /// made durable are missing.
  static Result<std::unique_ptr<Store>> open(const std::filesystem::path& path,
                                             const StoreOptions& options = {});
  /// Looks on while another process owns it. Writes are refused. `refresh` follows the owner.
  static Result<std::unique_ptr<Store>> open_reader(const std::filesystem::path& path);
  /// For simulations: nothing touches a disk.
  static std::unique_ptr<Store> in_memory();
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// All of the batch, or an Error and nothing of it. A full disk is unavailable (Absent::file).
  Result<Committed> commit(Batch batch);
  /// The same, for who needs no numbers.
  Result<Done> keep(Batch batch);

  /// Nothing where there is no such row.
  template <class Key>
  Result<std::optional<typename Key::Value>> get(const Key& key) const {
    Result<std::optional<std::string>> bytes = get_bytes(encode_key(key));
    if (!bytes) return bytes.error();
    if (!*bytes) return std::optional<typename Key::Value>{};
    Result<typename Key::Value> value = decode_value<typename Key::Value>(**bytes);
    if (!value) return value.error();
    return std::optional<typename Key::Value>{*std::move(value)};
  }

  /// Calls `visit(key, value)` for the rows whose keys begin with prefix<Key>(first fields..), in
  /// key order, until it answers false.
  template <class Key, class Visit>
  Result<Done> scan(const std::string& prefix, Visit&& visit) const {
    std::optional<Error> error;
    Result<Done> done =
        scan_bytes(prefix, [&](std::string_view key_bytes, std::string_view value_bytes) {
          Result<Key> key = decode_key<Key>(key_bytes);
          if (!key) error = key.error();
          if (error) return false;
          Result<typename Key::Value> value = decode_value<typename Key::Value>(value_bytes);
          if (!value) error = value.error();
          return !error && visit(*key, *value);
        });
    if (error) return *error;
    return done;
  }

  template <class Key>
  using RowsOf = std::vector<std::pair<Key, typename Key::Value>>;

  /// All rows under the prefix (the whole table without one), at most `limit`.
  template <class Key>
  Result<RowsOf<Key>> rows(const std::string& prefix = store::prefix<Key>(),
                           std::size_t limit = SIZE_MAX) const {
    RowsOf<Key> rows;
    if (limit == 0) return rows;
    Result<Done> done = scan<Key>(prefix, [&](const Key& key, const typename Key::Value& value) {
      rows.push_back({key, value});
      return rows.size() < limit;
    });
    if (!done) return done.error();
    return rows;
  }

  /// The bytes of a blob, checked against their digest.
  /// Errors: unavailable (Absent::file) where it is not here; malformed where it is damaged.
  Result<std::string> blob(const Digest& digest) const;
  bool has_blob(const Digest& digest) const;

  /// A number for a new run, larger than all before; its RunRecord goes into `batch`.
  Result<std::uint64_t> new_run(Batch& batch, const RunRecord& run);
  /// The newest run, if any.
  Result<std::optional<std::pair<std::uint64_t, RunRecord>>> newest_run() const;

  /// Raised at each open: what an earlier owner handed out is known by its smaller epoch.
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t commits() const;
  const std::filesystem::path& path() const { return path_; }

  /// A reader follows what the owner has written since.
  Result<Done> refresh();

 private:
  struct Owned;  // What the one writer has: lock, counters, ballast.
  Store();
  Result<std::optional<std::string>> get_bytes(const std::string& key) const;
  Result<Done> scan_bytes(
      const std::string& prefix,
      const std::function<bool(std::string_view, std::string_view)>& visit) const;
  Result<std::uint64_t> meta(Meta meta) const;
  Result<Done> begin();
  Result<Done> check_space(const Batch& batch);
  Result<std::vector<Change>> rows_of(Batch& batch) const;
  Result<Done> keep_blobs(Batch& batch);

  std::unique_ptr<Rows> rows_;
  std::unique_ptr<Scratch> scratch_;  // A reader's own files.
  std::unique_ptr<Owned> owned_;      // Nothing in a reader.
  std::filesystem::path path_;
  StoreOptions options_;
  std::uint64_t epoch_ = 0;
};

}  // namespace lathe::store
