#include "store/store.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "base/files.h"
#include "base/process.h"
#include "tests/store/samples.h"

namespace lathe::store {
namespace {

namespace fs = std::filesystem;

Batch one_run(const std::string& settings = "{}") {
  Batch batch;
  RunRecord run;
  run.settings_json = settings;
  batch.put(RunKey{{1}}, run).event({"run", 1, 0, 0, "{}"});
  return batch;
}

std::unique_ptr<Store> opened(const fs::path& path, const StoreOptions& options = roomy()) {
  Result<std::unique_ptr<Store>> store = Store::open(path, options);
  if (!store) FAIL(store.error().what);
  return *std::move(store);
}

TEST_CASE("what was committed is there, also after the store was closed") {
  Scratch scratch;
  REQUIRE(opened(scratch.path() / "s")->commit(one_run("{\"seed\":1}")));
  Result<std::optional<RunRecord>> run = opened(scratch.path() / "s")->get(RunKey{{1}});
  REQUIRE(run);
  REQUIRE(*run);
  CHECK((*run)->settings_json == "{\"seed\":1}");
}

TEST_CASE("a row that was never written is nothing, not an error") {
  Result<std::optional<RunRecord>> run = Store::in_memory()->get(RunKey{{1}});
  REQUIRE(run);
  CHECK_FALSE(*run);
}

TEST_CASE("an erased row is gone") {
  std::unique_ptr<Store> store = Store::in_memory();
  REQUIRE(store->commit(one_run()));
  Batch batch;
  batch.erase(RunKey{{1}});
  REQUIRE(store->commit(std::move(batch)));
  CHECK_FALSE(*store->get(RunKey{{1}}));
}

TEST_CASE("events are numbered without gaps and name their commit") {
  std::unique_ptr<Store> store = Store::in_memory();
  Result<Committed> first = store->commit(one_run());
  Result<Committed> second = store->commit(one_run());
  REQUIRE(first);
  REQUIRE(second);
  CHECK(second->first_sequence == first->first_sequence + 1);
  auto events = store->rows<EventKey>();
  REQUIRE(events);
  REQUIRE(events->size() == 2);
  CHECK((*events)[1].second.commit == second->commit);
}

TEST_CASE("a scan meets its prefix alone, in key order, until it is told to stop") {
  std::unique_ptr<Store> store = Store::in_memory();
  Batch batch;
  for (std::uint64_t round : {3, 1, 2}) batch.put(RoundKey{1, sha256("c"), round}, {});
  batch.put(RoundKey{2, sha256("c"), 9}, {});
  REQUIRE(store->commit(std::move(batch)));
  auto rows = store->rows<RoundKey>(prefix<RoundKey>(std::uint64_t{1}));
  REQUIRE(rows);
  REQUIRE(rows->size() == 3);
  CHECK(rows->front().first.round == 1);
  CHECK(rows->back().first.round == 3);
  CHECK(store->rows<RoundKey>(prefix<RoundKey>(), 2)->size() == 2);
}

TEST_CASE("a second owner is refused with the holder's name") {
  Scratch scratch;
  std::unique_ptr<Store> store = opened(scratch.path() / "s");
  Result<std::unique_ptr<Store>> second = Store::open(scratch.path() / "s", roomy());
  REQUIRE_FALSE(second);
  CHECK(second.error().fault == Fault::unavailable);
  CHECK(second.error().absent == Absent::owner);
  CHECK(second.error().what.find("store_tests (process " + std::to_string(::getpid())) !=
        std::string::npos);
  store.reset();
  CHECK(Store::open(scratch.path() / "s", roomy()));
}

TEST_CASE("a reader looks on beside the owner, follows it, and cannot write") {
  Scratch scratch;
  std::unique_ptr<Store> owner = opened(scratch.path() / "s");
  Result<std::unique_ptr<Store>> reader = Store::open_reader(scratch.path() / "s");
  REQUIRE(reader);
  CHECK_FALSE(*(*reader)->get(RunKey{{1}}));
  REQUIRE(owner->commit(one_run()));
  REQUIRE((*reader)->refresh());
  CHECK(*(*reader)->get(RunKey{{1}}));
  Result<Committed> refused = (*reader)->commit(one_run());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().absent == Absent::permission);
}

TEST_CASE("a reader of a place without a store is told so") {
  Scratch scratch;
  Result<std::unique_ptr<Store>> reader = Store::open_reader(scratch.path());
  REQUIRE_FALSE(reader);
  CHECK(reader.error().absent == Absent::file);
  CHECK(fs::is_empty(scratch.path()));
}

TEST_CASE("a directory of somebody else is left alone") {
  Scratch scratch;
  std::ofstream(scratch.path() / "thesis.txt") << "words";
  Result<std::unique_ptr<Store>> store = Store::open(scratch.path(), roomy());
  REQUIRE_FALSE(store);
  CHECK(store.error().fault == Fault::malformed);
  CHECK_FALSE(fs::exists(scratch.path() / "rows"));
}

TEST_CASE("the epoch rises with every owner") {
  Scratch scratch;
  std::uint64_t first = opened(scratch.path() / "s")->epoch();
  CHECK(opened(scratch.path() / "s")->epoch() == first + 1);
}

TEST_CASE("a full disk refuses the batch and changes nothing") {
  Scratch scratch;
  std::uint64_t free = 1ull << 40;
  StoreOptions options = roomy();
  options.free_bytes = [&](const fs::path&) { return free; };
  std::unique_ptr<Store> store = opened(scratch.path() / "s", options);
  std::uint64_t commits = store->commits();
  free = options.free_bytes_min;  // Just short: the batch itself needs some.
  Result<Committed> refused = store->commit(one_run());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().fault == Fault::unavailable);
  CHECK(refused.error().absent == Absent::file);
  CHECK(store->commits() == commits);
  CHECK_FALSE(*store->get(RunKey{{1}}));
  free += 1 << 20;
  CHECK(store->commit(one_run()));
}

TEST_CASE("a store is not begun on a full disk") {
  Scratch scratch;
  StoreOptions options = roomy();
  options.free_bytes = [&](const fs::path&) { return options.free_bytes_min - 1; };
  Result<std::unique_ptr<Store>> store = Store::open(scratch.path() / "s", options);
  REQUIRE_FALSE(store);
  CHECK(store.error().absent == Absent::file);
  CHECK_FALSE(fs::exists(scratch.path() / "s"));
}

TEST_CASE("an urgent batch may use the ballast, and an ordinary one may not") {
  Scratch scratch;
  std::uint64_t free = 1ull << 40;
  StoreOptions options = roomy();
  options.ballast_bytes = 1 << 20;
  options.free_bytes = [&](const fs::path&) { return free; };
  std::unique_ptr<Store> store = opened(scratch.path() / "s", options);
  REQUIRE(fs::exists(scratch.path() / "s" / "ballast"));
  free = 8 << 20;
  CHECK_FALSE(store->commit(one_run()));
  CHECK(fs::exists(scratch.path() / "s" / "ballast"));
  CHECK(store->commit(one_run().urgent()));
  CHECK_FALSE(fs::exists(scratch.path() / "s" / "ballast"));
  free = 1 << 20;
  CHECK_FALSE(store->commit(one_run().urgent()));
}

TEST_CASE("the real disk is asked where nobody says otherwise") {
  Scratch scratch;
  StoreOptions options = roomy();
  options.free_bytes = nullptr;
  options.free_bytes_min = UINT64_MAX / 4;
  CHECK_FALSE(Store::open(scratch.path() / "s", options));
  options.free_bytes_min = 0;
  CHECK(Store::open(scratch.path() / "s", options));
}

TEST_CASE("a lost tail of durable commits is an incident, not a start") {
  Scratch scratch;
  fs::path path = scratch.path() / "s";
  REQUIRE(opened(path)->commit(std::move(one_run().durable())));
  fs::copy(path, scratch.path() / "old", fs::copy_options::recursive);
  REQUIRE(opened(path)->commit(std::move(one_run().durable())));
  // The rows of an earlier day beside the counter of today: as a lost log looks.
  fs::remove_all(path / "rows");
  fs::copy(scratch.path() / "old" / "rows", path / "rows", fs::copy_options::recursive);
  Result<std::unique_ptr<Store>> store = Store::open(path, roomy());
  REQUIRE_FALSE(store);
  CHECK(store.error().what.find("lost its newest commits") != std::string::npos);
  StoreOptions accepting = roomy();
  accepting.accept_lost_commits = true;
  std::uint64_t after = opened(path, accepting)->commits();
  CHECK(after > 3);
  CHECK(Store::open(path, roomy()));
}

TEST_CASE("a removed write-ahead log is noticed") {
  Scratch scratch;
  fs::path path = scratch.path() / "s";
  REQUIRE(opened(path)->commit(std::move(one_run().durable())));
  for (const fs::directory_entry& entry : fs::directory_iterator(path / "rows"))
    if (entry.path().extension() == ".log") fs::remove(entry.path());
  CHECK_FALSE(Store::open(path, roomy()));
}

TEST_CASE("a store of a newer program is unsupported") {
  Scratch scratch;
  Batch batch;
  batch.put(MetaKey{static_cast<std::uint64_t>(Meta::format)}, {99});
  REQUIRE(opened(scratch.path() / "s")->commit(std::move(batch)));
  Result<std::unique_ptr<Store>> store = Store::open(scratch.path() / "s", roomy());
  REQUIRE_FALSE(store);
  CHECK(store.error().fault == Fault::unsupported);
}

TEST_CASE("blobs come back, in the row and beside it") {
  Scratch scratch;
  std::string small = "small", large;
  for (int i = 0; i < 50'000; ++i) large += std::to_string(i);
  Batch batch;
  Digest small_digest = batch.blob(small), large_digest = batch.blob(large);
  REQUIRE(opened(scratch.path() / "s")->commit(std::move(batch)));
  std::unique_ptr<Store> store = opened(scratch.path() / "s");
  CHECK(*store->blob(small_digest) == small);
  CHECK(*store->blob(large_digest) == large);
  CHECK(store->has_blob(large_digest));
  CHECK((*store->get(BlobKey{large_digest}))->beside);
  CHECK_FALSE((*store->get(BlobKey{small_digest}))->beside);
}

TEST_CASE("a blob whose file was changed is refused, and one whose file is gone is missing") {
  Scratch scratch;
  std::unique_ptr<Store> store = opened(scratch.path() / "s");
  Batch batch;
  Digest digest = batch.blob(std::string(100'000, 'x') + "y");
  REQUIRE(store->commit(std::move(batch)));
  std::string name = hex(digest);
  fs::path file = scratch.path() / "s" / "blobs" / name.substr(0, 2) / (name + ".zst");
  REQUIRE(fs::exists(file));
  std::unique_ptr<Store> other = Store::in_memory();
  Result<std::string> whole = read_file(file);
  REQUIRE(write_file(file, whole->substr(0, whole->size() - 2)));
  Result<std::string> damaged = store->blob(digest);
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().fault == Fault::malformed);
  fs::remove(file);
  CHECK_FALSE(store->has_blob(digest));
  CHECK(store->blob(digest).error().fault == Fault::unavailable);
}

TEST_CASE("a blob that nobody kept is unavailable") {
  Result<std::string> blob = Store::in_memory()->blob(sha256("x"));
  REQUIRE_FALSE(blob);
  CHECK(blob.error().absent == Absent::file);
}

TEST_CASE("runs are numbered upwards and the newest is found") {
  std::unique_ptr<Store> store = Store::in_memory();
  CHECK_FALSE(*store->newest_run());
  for (std::uint64_t number : {1, 2, 3}) {
    Batch batch;
    RunRecord run;
    run.outcome = std::to_string(number);
    CHECK(*store->new_run(batch, run) == number);
    REQUIRE(store->commit(std::move(batch)));
  }
  CHECK((*store->newest_run())->first == 3);
  CHECK((*store->newest_run())->second.outcome == "3");
}

TEST_CASE("joined batches are one commit") {
  std::unique_ptr<Store> store = Store::in_memory();
  Batch batch = one_run();
  Batch other;
  Digest digest = other.blob("bytes");
  batch.append(std::move(other));
  std::uint64_t before = store->commits();
  REQUIRE(store->commit(std::move(batch)));
  CHECK(store->commits() == before + 1);
  CHECK(store->has_blob(digest));
  CHECK(*store->get(RunKey{{1}}));
}

// Run by the next test in a process of its own: commits, says how far it came, and is killed.
TEST_CASE("commits until it is killed", "[.killed]") {
  const char* path = std::getenv("LATHE_TEST_STORE");
  REQUIRE(path != nullptr);
  std::unique_ptr<Store> store = opened(path);
  for (std::uint64_t i = 1; i <= 25; ++i) {
    Batch batch;
    batch.put(RoundKey{1, {}, i}, {}).put(RoundKey{2, {}, i}, {}).event({"round", 1, 0, 0, "{}"});
    if (i % 5 == 0) batch.durable();
    REQUIRE(store->commit(std::move(batch)));
  }
  ::raise(SIGKILL);
}

TEST_CASE("a killed owner loses no commit and holds no lock") {
  Scratch scratch;
  fs::path path = scratch.path() / "s";
  ::setenv("LATHE_TEST_STORE", path.c_str(), 1);
  Result<ProcessEnd> end =
      run_process({own_program().string(), "commits until it is killed"}, "", ProcessLimits{});
  ::unsetenv("LATHE_TEST_STORE");
  REQUIRE(end);
  REQUIRE(end->signal == SIGKILL);
  std::unique_ptr<Store> store = opened(path);
  CHECK(store->rows<RoundKey>(prefix<RoundKey>(std::uint64_t{1}))->size() == 25);
  CHECK(store->rows<RoundKey>(prefix<RoundKey>(std::uint64_t{2}))->size() == 25);
  CHECK(store->rows<EventKey>()->size() == 25);
  CHECK(store->epoch() == 2);
}

}  // namespace
}  // namespace lathe::store
