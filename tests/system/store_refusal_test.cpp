// A store that belongs to somebody else, and one on a full disk: refused with its own exit status,
// and left as it was.

#include <sys/mount.h>
#include <sys/statvfs.h>

#include <fstream>

#include "living.h"

namespace lathe::system_test {
namespace {

std::vector<std::string> lower(const std::string& store, const std::string& seed = "3") {
  return {"lower", small_contract(), "--store", store,      "--rounds", "1",        "--branches",
          "2",     "--seed",         seed,      "--device", "emulated", "--verbose"};
}

TEST_CASE("a second owner of a store is refused, told who has it, and disturbs nobody") {
  Folder folder;
  Program first(lower(folder / "store"));
  REQUIRE(first.read_until("plan ", seconds(60)));
  first.kill(SIGSTOP);  // It would be done before the others have begun.
  for (const char* verb : {"lower", "resume"}) {
    Ran second = verb == std::string("lower") ? ran(lower(folder / "store", "4"))
                                              : ran({"resume", "--store", folder / "store"});
    INFO(second.err);
    CHECK(second.status == 75);
    CHECK(second.err.find("lathe lower") != std::string::npos);
    CHECK(second.out.empty());
  }
  CHECK(ran({"frontier", "--store", folder / "store"}).status == 0);
  first.kill(SIGCONT);
  REQUIRE(first.wait(seconds(120)) == 0);
  Folder other;
  REQUIRE(ran(lower(other / "store")).status == 0);
  CHECK(exported(folder / "store") == exported(other / "store"));
}

TEST_CASE("a store whose owner was killed is free at once") {
  Folder folder;
  {
    Program first(lower(folder / "store"));
    REQUIRE(first.read_until("plan ", seconds(60)));
    first.kill(SIGKILL);
    first.wait(seconds(20));
  }
  CHECK(ran({"resume", "--store", folder / "store"}).status == 0);
}

/// A small file system in memory; only root can make one.
class Disk {
 public:
  explicit Disk(const std::string& path) : path_(path) {
    std::filesystem::create_directory(path);
    mounted_ = ::mount("none", path.c_str(), "tmpfs", 0, "size=400m") == 0;
  }
  ~Disk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  bool mounted() const { return mounted_; }

  /// Leaves so much free.
  void fill(std::uint64_t left) {
    struct statvfs space {};
    ::statvfs(path_.c_str(), &space);
    std::uint64_t free = std::uint64_t{space.f_bavail} * space.f_frsize;
    std::ofstream filler(path_ + "/filler", std::ios::binary);
    std::string block(1 << 20, 'x');
    for (std::uint64_t written = 0; written + left < free; written += block.size())
      filler.write(block.data(), static_cast<std::streamsize>(block.size()));
  }
  void clear() { std::filesystem::remove(path_ + "/filler"); }

 private:
  std::string path_;
  bool mounted_ = false;
};

TEST_CASE("a full disk is refused, the store stays as it was, and works once there is room") {
  Folder folder;
  Disk disk(folder / "disk");
  if (!disk.mounted()) {
    WARN("LATHE-SKIP: only root can mount a small disk");
    std::puts("LATHE-SKIP: only root can mount a small disk");
    return;
  }
  std::string store = folder / "disk/store";
  REQUIRE(ran(lower(store)).status == 0);
  std::string before = exported(store);
  disk.fill(100 << 20);
  Ran refused = ran(lower(store, "4"));
  INFO(refused.err);
  CHECK(refused.status == 74);
  CHECK(refused.err.find("full") != std::string::npos);
  CHECK(exported(store) == before);
  disk.fill(0);
  CHECK(ran(lower(store, "4")).status == 74);
  disk.clear();
  CHECK(exported(store) == before);
  CHECK(ran(lower(store, "4")).status == 0);
  CHECK(exported(store) != before);
}

}  // namespace
}  // namespace lathe::system_test
