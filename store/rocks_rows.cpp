// The rows in RocksDB: one column family, whose keys begin with their table. No merge operators, so
// that any tool can read them, and no prefix extractor until a measurement asks for one.

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/write_batch.h>

#include "store/rows.h"

namespace lathe::store {
namespace {

Error complaint(const rocksdb::Status& status, const std::filesystem::path& path) {
  if (status.IsCorruption())
    return {Fault::malformed,
            "the store is damaged: " + status.ToString(),
            "restore a backup",
            {path.string(), 0, 0}};
  // Another process that has the rows open, though it does not hold the owner's lock (any more).
  std::string said = status.ToString();
  bool locked = said.find("While lock file") != std::string::npos &&
                said.find("temporarily unavailable") != std::string::npos;
  if (locked || said.find("lock hold by current process") != std::string::npos)
    return {Fault::unavailable,
            "the store is in use by another process",
            "wait until it has ended, or name another store",
            {path.string(), 0, 0},
            Absent::owner};
  return {Fault::unavailable,
          "the store cannot be used: " + said,
          status.IsNoSpace() ? "free some space and try again" : "",
          {path.string(), 0, 0},
          Absent::file};
}

rocksdb::Options engine_options() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 16u << 20;
  options.max_total_wal_size = 64u << 20;
  options.keep_log_file_num = 2;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.max_open_files = -1;  // A secondary needs it.
  options.compression = rocksdb::kLZ4Compression;
  return options;
}

class RocksRows final : public Rows {
 public:
  RocksRows(std::unique_ptr<rocksdb::DB> db, std::filesystem::path path)
      : db_(std::move(db)), path_(std::move(path)) {}

  Result<std::optional<std::string>> get(const std::string& key) const override {
    std::string value;
    rocksdb::Status status = db_->Get({}, key, &value);
    if (status.IsNotFound()) return std::optional<std::string>{};
    if (!status.ok()) return complaint(status, path_);
    return std::optional<std::string>{std::move(value)};
  }

  Result<Done> scan(const std::string& prefix, const Visit& visit) const override {
    std::unique_ptr<rocksdb::Iterator> row(db_->NewIterator({}));
    for (row->Seek(prefix); row->Valid() && row->key().starts_with(prefix); row->Next())
      if (!visit(row->key().ToStringView(), row->value().ToStringView())) return Done{};
    if (!row->status().ok()) return complaint(row->status(), path_);
    return Done{};
  }

  Result<Done> write(const std::vector<Change>& changes, bool sync) override {
    rocksdb::WriteBatch batch;
    for (const Change& change : changes)
      if (change.value)
        batch.Put(change.key, *change.value);
      else
        batch.Delete(change.key);
    rocksdb::WriteOptions options;
    options.sync = sync;
    rocksdb::Status status = db_->Write(options, &batch);
    if (!status.ok()) return complaint(status, path_);
    return Done{};
  }

  Result<Done> refresh() override {
    rocksdb::Status status = db_->TryCatchUpWithPrimary();
    if (!status.ok()) return complaint(status, path_);
    return Done{};
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::filesystem::path path_;
};

}  // namespace

Result<std::unique_ptr<Rows>> open_rocks(const std::filesystem::path& path) {
  rocksdb::DB* db = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(engine_options(), path.string(), &db);
  if (!status.ok()) return complaint(status, path);
  return std::unique_ptr<Rows>(new RocksRows(std::unique_ptr<rocksdb::DB>(db), path));
}

Result<std::unique_ptr<Rows>> open_rocks_reader(const std::filesystem::path& path,
                                                const std::filesystem::path& scratch) {
  rocksdb::DB* db = nullptr;
  rocksdb::Options options = engine_options();
  options.create_if_missing = false;
  rocksdb::Status status =
      rocksdb::DB::OpenAsSecondary(options, path.string(), scratch.string(), &db);
  if (!status.ok()) return complaint(status, path);
  std::unique_ptr<Rows> rows(new RocksRows(std::unique_ptr<rocksdb::DB>(db), path));
  if (Result<Done> fresh = rows->refresh(); !fresh) return fresh.error();
  return rows;
}

}  // namespace lathe::store
