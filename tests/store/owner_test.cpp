// Whose a store is: the lock, who is said to hold it, and places that cannot hold one.

#include "store/owner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "base/files.h"
#include "store/store.h"
#include "tests/store/samples.h"

namespace lathe::store {
namespace {

namespace fs = std::filesystem;

/// A process that holds a file's lock as the engine does, and no other of the store's.
class Holder {
 public:
  explicit Holder(const fs::path& file) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    child_ = ::fork();
    REQUIRE(child_ >= 0);
    if (child_ == 0) {
      int fd = ::open(file.c_str(), O_RDWR | O_CREAT, 0644);
      struct flock whole {};
      whole.l_type = F_WRLCK;
      char said = ::fcntl(fd, F_SETLK, &whole) == 0 ? 'y' : 'n';
      [[maybe_unused]] ssize_t ignored = ::write(ready[1], &said, 1);
      for (;;) ::pause();
    }
    char said = 'n';
    REQUIRE(::read(ready[0], &said, 1) == 1);
    REQUIRE(said == 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~Holder() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

 private:
  pid_t child_ = 0;
};

TEST_CASE("rows that another process has open are busy, not broken") {
  Scratch scratch;
  fs::path path = scratch.path() / "s";
  REQUIRE(Store::open(path, roomy()));
  {
    Holder holder(path / "rows" / "LOCK");
    Result<std::unique_ptr<Store>> second = Store::open(path, roomy());
    REQUIRE_FALSE(second);
    CHECK(second.error().absent == Absent::owner);
    CHECK(second.error().what == "the store is in use by another process");
  }
  CHECK(Store::open(path, roomy()));
}

TEST_CASE("the owner's name is seen from outside while it lives, and no longer") {
  Scratch scratch;
  fs::path path = scratch.path() / "s";
  CHECK_FALSE(owner_of(path));
  Result<std::unique_ptr<Store>> store = Store::open(path, roomy());
  REQUIRE(store);
  REQUIRE(owner_of(path));
  CHECK(owner_of(path)->starts_with("store_tests (process "));
  store->reset();
  CHECK_FALSE(owner_of(path));
}

TEST_CASE("a look at the owner's name keeps nobody from owning") {
  Scratch scratch;
  fs::path path = scratch.path() / "s";
  REQUIRE(Store::open(path, roomy()));
  std::atomic<bool> stop = false;
  std::thread looker([&] {
    while (!stop) static_cast<void>(owner_of(path));
  });
  int refused = 0;
  for (int i = 0; i < 10; ++i) refused += Store::open(path, roomy()) ? 0 : 1;
  stop = true;
  looker.join();
  CHECK(refused == 0);
}

TEST_CASE("a file system that keeps nothing is told from a full one") {
  CHECK_FALSE(has_room_of_its_own("/proc/a/store"));
  Scratch scratch;
  CHECK(has_room_of_its_own(scratch.path() / "not/there/yet"));
  Result<std::unique_ptr<Store>> store = Store::open("/proc/a", roomy());
  REQUIRE_FALSE(store);
  CHECK(store.error().absent == Absent::file);
  CHECK(store.error().what == "no file can be kept there");
}

}  // namespace
}  // namespace lathe::store
