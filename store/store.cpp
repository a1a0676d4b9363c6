#include "store/store.h"

#include <mutex>

#include "base/compress.h"
#include "base/files.h"
#include "store/deeds.h"
#include "store/owner.h"

namespace lathe::store {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t format = 1;
constexpr std::size_t inline_bytes_max = 64u << 10;
constexpr std::uint64_t blob_bytes_max = 4ull << 30;
/// What an urgent batch leaves free after the ballast is gone.
constexpr std::uint64_t urgent_bytes_min = 4ull << 20;

fs::path blob_file(const fs::path& store, const Digest& digest) {
  std::string name = hex(digest);
  return store / "blobs" / name.substr(0, 2) / (name + ".zst");
}

Error no_file(const fs::path& path, std::string what, std::string remedy) {
  return {
      Fault::unavailable, std::move(what), std::move(remedy), {path.string(), 0, 0}, Absent::file};
}

Error full_disk(const fs::path& path, std::uint64_t free, std::uint64_t needed) {
  return no_file(path,
                 "the disk is full: " + std::to_string(free >> 20) + " MiB are free and " +
                     std::to_string(needed >> 20) + " MiB are needed",
                 "free some space and try again");
}

/// A directory of somebody else is left alone.
Result<Done> check_place(const fs::path& path) {
  std::error_code code;
  if (!fs::exists(path, code)) return Done{};
  if (!fs::is_directory(path, code))
    return no_file(path, "the store is not a directory", "name a directory");
  if (fs::exists(path / "owner", code) || fs::exists(path / "rows" / "CURRENT", code) ||
      fs::is_empty(path, code))
    return Done{};
  if (code) return no_file(path, "the store cannot be read: " + code.message(), "");
  return Error{Fault::malformed,
               "the directory holds other files and is not a store",
               "name an empty directory",
               {path.string(), 0, 0}};
}

}  // namespace

struct Store::Owned {
  OwnerLock lock;
  DurableCounter durable;
  bool on_disk = false;
  std::mutex mutex;
  std::uint64_t commits = 0, events = 0;
};

Store::Store() = default;
/// The rows are closed before the lock is let go: whoever takes it next finds them free.
Store::~Store() { rows_.reset(); }

Digest Batch::blob(std::string_view bytes) {
  Digest digest = sha256(bytes);
  blobs_.push_back({digest, std::string(bytes)});
  return digest;
}

Batch& Batch::append(Batch other) {
  auto move_all = [](auto& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  move_all(other.changes_, changes_);
  move_all(other.events_, events_);
  move_all(other.blobs_, blobs_);
  durable_ |= other.durable_;
  urgent_ |= other.urgent_;
  return *this;
}

Result<std::unique_ptr<Store>> Store::open(const fs::path& path, const StoreOptions& options) {
  if (Result<Done> good = check_place(path); !good) return good.error();
  std::unique_ptr<Store> store(new Store);
  store->path_ = path;
  store->options_ = options;
  if (!store->options_.free_bytes) store->options_.free_bytes = free_bytes;
  std::error_code code;
  // A second owner is told the first one's name, even on a full disk.
  bool known = fs::exists(path / "owner", code);
  if (!known && !has_room_of_its_own(path))
    return no_file(path, "no file can be kept there", "name a directory on a disk");
  std::uint64_t free = store->options_.free_bytes(path);
  if (!known && free < options.free_bytes_min) return full_disk(path, free, options.free_bytes_min);
  fs::create_directories(path / "blobs", code);
  if (code) return no_file(path, "cannot make the store: " + code.message(), "");
  store->owned_ = std::make_unique<Owned>();
  store->owned_->on_disk = true;
  Result<OwnerLock> lock = OwnerLock::take(path / "owner", options.program);
  if (!lock) return lock.error();
  store->owned_->lock = *std::move(lock);
  if (free < options.free_bytes_min) return full_disk(path, free, options.free_bytes_min);
  Result<DurableCounter> durable = DurableCounter::open(path / "durable");
  if (!durable) return durable.error();
  store->owned_->durable = *std::move(durable);
  Result<std::unique_ptr<Rows>> rows = open_rocks(path / "rows");
  if (!rows) return rows.error();
  store->rows_ = *std::move(rows);
  if (Result<Done> begun = store->begin(); !begun) return begun.error();
  place_ballast(path / "ballast", options.ballast_bytes);
  return store;
}

Result<std::unique_ptr<Store>> Store::open_reader(const fs::path& path) {
  std::error_code code;
  if (!fs::exists(path / "rows" / "CURRENT", code))
    return no_file(path, "there is no store here", "name the directory of a store");
  std::unique_ptr<Store> store(new Store);
  store->path_ = path;
  store->scratch_ = std::make_unique<Scratch>();
  Result<std::unique_ptr<Rows>> rows = open_rocks_reader(path / "rows", store->scratch_->path());
  if (!rows) return rows.error();
  store->rows_ = *std::move(rows);
  Result<std::uint64_t> epoch = store->meta(Meta::epoch);
  if (!epoch) return epoch.error();
  store->epoch_ = *epoch;
  return store;
}

std::unique_ptr<Store> Store::in_memory() {
  std::unique_ptr<Store> store(new Store);
  store->rows_ = make_map_rows();
  store->owned_ = std::make_unique<Owned>();
  // Nothing in memory can fail to begin.
  if (Result<Done> begun = store->begin(); !begun) store->epoch_ = 0;
  return store;
}

Result<Done> Store::begin() {
  Result<std::uint64_t> written = meta(Meta::format), commits = meta(Meta::commits),
                        events = meta(Meta::events), epoch = meta(Meta::epoch);
  for (const auto* number : {&written, &commits, &events, &epoch})
    if (!*number) return number->error();
  if (*written > format)
    return Error{Fault::unsupported,
                 "the store was written by a newer program (format " + std::to_string(*written) +
                     ", this one reads " + std::to_string(format) + ")",
                 "use the newer program",
                 {path_.string(), 0, 0}};
  std::uint64_t promised = owned_->durable.number();
  if (*commits < promised && !options_.accept_lost_commits)
    return no_file(path_,
                   "the store has lost its newest commits: it ends at " + std::to_string(*commits) +
                       ", and " + std::to_string(promised) + " was promised",
                   "restore a backup, or accept the loss");
  // Numbers are never used twice, so that what was lost cannot be mistaken for what comes.
  owned_->commits = std::max(*commits, promised);
  owned_->events = *events;
  epoch_ = *epoch + 1;
  Batch batch;
  batch.put(MetaKey{static_cast<std::uint64_t>(Meta::format)}, {format});
  batch.put(MetaKey{static_cast<std::uint64_t>(Meta::epoch)}, {epoch_});
  return keep(std::move(batch.durable()));
}

Result<std::uint64_t> Store::meta(Meta meta) const {
  Result<std::optional<MetaRecord>> record = get(MetaKey{static_cast<std::uint64_t>(meta)});
  if (!record) return record.error();
  return *record ? (*record)->number : 0;
}

Result<Done> Store::check_space(const Batch& batch) {
  if (!owned_->on_disk) return Done{};
  std::uint64_t bytes = 0;
  for (const Change& change : batch.changes_)
    bytes += change.key.size() + (change.value ? change.value->size() : 0);
  for (const auto& [digest, blob] : batch.blobs_) bytes += blob.size();
  std::uint64_t needed = options_.free_bytes_min + 2 * bytes;
  std::uint64_t free = options_.free_bytes(path_);
  if (free >= needed) return Done{};
  if (!batch.urgent_) return full_disk(path_, free, needed);
  std::error_code code;
  fs::remove(path_ / "ballast", code);
  needed = urgent_bytes_min + 2 * bytes;
  free = options_.free_bytes(path_);
  if (free < needed) return full_disk(path_, free, needed);
  return Done{};
}

Result<Done> Store::keep_blobs(Batch& batch) {
  for (auto& [digest, bytes] : batch.blobs_) {
    if (has_blob(digest)) continue;
    BlobRecord record{bytes.size(), owned_->on_disk && bytes.size() > inline_bytes_max,
                      compress(bytes)};
    if (record.beside) {
      // Before the row that speaks of it: a file without a row does no harm.
      fs::path file = blob_file(path_, digest);
      std::error_code code;
      fs::create_directories(file.parent_path(), code);
      if (Result<Done> written = write_file(file, record.bytes); !written) return written;
      record.bytes.clear();
    }
    batch.put(BlobKey{digest}, record);
  }
  return Done{};
}

/// The rows as they are written: of candidates with one digest, the one that stands.
Result<std::vector<Change>> Store::rows_of(Batch& batch) const {
  std::vector<Change> kept;
  for (Change& change : batch.changes_) {
    bool candidate = change.value && change.key[0] == static_cast<char>(Table::candidate);
    if (candidate) {
      std::optional<std::string> before;
      for (const Change& earlier : kept)
        if (earlier.key == change.key) before = earlier.value;
      if (!before) {
        Result<std::optional<std::string>> found = rows_->get(change.key);
        if (!found) return found.error();
        before = *found;
      }
      if (before) {
        Result<CandidateRecord> old = decode_value<CandidateRecord>(*before);
        Result<CandidateRecord> now = decode_value<CandidateRecord>(*change.value);
        if (!old || !now) return old ? now.error() : old.error();
        if (!stands_before(*now, *old)) continue;
      }
    }
    kept.push_back(std::move(change));
  }
  return kept;
}

Result<Committed> Store::commit(Batch batch) {
  if (!owned_)
    return Error{Fault::unavailable,
                 "a reader cannot write to the store",
                 "open it as its owner",
                 {path_.string(), 0, 0},
                 Absent::permission};
  std::lock_guard lock(owned_->mutex);
  if (Result<Done> enough = check_space(batch); !enough) return enough.error();
  if (Result<Done> kept = keep_blobs(batch); !kept) return kept.error();
  Result<std::vector<Change>> changes = rows_of(batch);
  if (!changes) return changes.error();
  Committed committed{owned_->commits + 1, owned_->events + 1};
  std::uint64_t sequence = owned_->events;
  for (EventRecord& event : batch.events_) {
    event.commit = committed.commit;
    changes->push_back({encode_key(EventKey{++sequence}), encode_value(event)});
  }
  auto count = [&](Meta meta, std::uint64_t number) {
    changes->push_back(
        {encode_key(MetaKey{static_cast<std::uint64_t>(meta)}), encode_value(MetaRecord{number})});
  };
  count(Meta::commits, committed.commit);
  if (sequence != owned_->events) count(Meta::events, sequence);
  if (Result<Done> written = rows_->write(*changes, batch.durable_); !written)
    return written.error();
  owned_->commits = committed.commit;
  owned_->events = sequence;
  if (batch.durable_ && owned_->on_disk) owned_->durable.set(committed.commit);
  return committed;
}

Result<std::optional<std::string>> Store::get_bytes(const std::string& key) const {
  return rows_->get(key);
}

Result<Done> Store::scan_bytes(const std::string& prefix, const Rows::Visit& visit) const {
  return rows_->scan(prefix, visit);
}

bool Store::has_blob(const Digest& digest) const {
  Result<std::optional<BlobRecord>> record = get(BlobKey{digest});
  if (!record || !*record) return false;
  std::error_code code;
  return !(*record)->beside || fs::exists(blob_file(path_, digest), code);
}

Result<std::string> Store::blob(const Digest& digest) const {
  Result<std::optional<BlobRecord>> record = get(BlobKey{digest});
  if (!record) return record.error();
  if (!*record)
    return no_file(path_, "the store holds no blob " + short_hex(digest), "restore a backup");
  std::string packed = std::move((*record)->bytes);
  if ((*record)->beside) {
    Result<std::string> file = read_file(blob_file(path_, digest), blob_bytes_max);
    if (!file) return file;
    packed = *std::move(file);
  }
  Result<std::string> bytes = decompress(packed, (*record)->size_bytes);
  if (!bytes || sha256(*bytes) != digest)
    return Error{Fault::malformed,
                 "blob " + short_hex(digest) + " is damaged: its bytes have another digest",
                 "restore a backup",
                 {path_.string(), 0, 0}};
  return bytes;
}

Result<Done> Store::keep(Batch batch) {
  Result<Committed> committed = commit(std::move(batch));
  if (!committed) return committed.error();
  return Done{};
}

Result<std::uint64_t> Store::new_run(Batch& batch, const RunRecord& run) {
  Result<std::uint64_t> runs = meta(Meta::runs);
  if (!runs) return runs;
  std::uint64_t number = *runs + 1;
  batch.put(MetaKey{static_cast<std::uint64_t>(Meta::runs)}, {number});
  batch.put(RunKey{{number}}, run);
  return number;
}

Result<std::optional<std::pair<std::uint64_t, RunRecord>>> Store::newest_run() const {
  Result<RowsOf<RunKey>> runs = rows<RunKey>(prefix<RunKey>(), 1);
  if (!runs) return runs.error();
  std::optional<std::pair<std::uint64_t, RunRecord>> newest;
  if (!runs->empty()) newest = {runs->front().first.run.number, runs->front().second};
  return newest;
}

std::uint64_t Store::commits() const {
  Result<std::uint64_t> commits = meta(Meta::commits);
  return commits ? *commits : 0;
}

Result<Done> Store::refresh() { return rows_->refresh(); }

}  // namespace lathe::store
