#include "store/owner.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace lathe::store {
namespace {

namespace fs = std::filesystem;

Error file_error(const fs::path& path, const std::string& deed) {
  Absent absent = errno == EACCES || errno == EPERM ? Absent::permission : Absent::file;
  return {Fault::unavailable,
          "cannot " + deed + ": " + std::strerror(errno),
          "",
          {path.string(), 0, 0},
          absent};
}

std::string own_name(const std::string& program) {
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  return program + " (process " + std::to_string(::getpid()) + " on " + host + ")";
}

/// Who looks for the owner's name holds the lock for a moment; that is no owner.
bool locks(int fd) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    ::usleep(20'000);
  }
  return false;
}

/// That of the nearest folder which exists.
std::optional<struct statvfs> file_system_of(const fs::path& path) {
  fs::path existing = fs::absolute(path);
  std::error_code code;
  while (!fs::exists(existing, code) && existing.has_relative_path())
    existing = existing.parent_path();
  struct statvfs found {};
  if (::statvfs(existing.c_str(), &found) != 0) return std::nullopt;
  return found;
}

}  // namespace

OwnerLock::~OwnerLock() {
  if (fd_ < 0) return;
  // Failing to clear the name does no harm: the lock alone decides.
  [[maybe_unused]] int ignored = ::ftruncate(fd_, 0);
  ::close(fd_);
}

Result<OwnerLock> OwnerLock::take(const fs::path& file, const std::string& program) {
  OwnerLock lock;
  lock.fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock.fd_ < 0) return file_error(file, "open the owner's file");
  if (!locks(lock.fd_)) {
    ::close(lock.fd_);
    lock.fd_ = -1;
    Result<std::string> holder = read_file(file, 4096);
    std::string name = holder && !holder->empty() ? *holder : "another process";
    return Error{Fault::unavailable,
                 "the store is owned by " + name,
                 "wait until it has ended, or name another store",
                 {file.parent_path().string(), 0, 0},
                 Absent::owner};
  }
  std::string name = own_name(program);
  if (::ftruncate(lock.fd_, 0) != 0 ||
      ::pwrite(lock.fd_, name.data(), name.size(), 0) != static_cast<ssize_t>(name.size()))
    return file_error(file, "write the owner's name");
  return lock;
}

DurableCounter::~DurableCounter() {
  if (fd_ >= 0) ::close(fd_);
}

Result<DurableCounter> DurableCounter::open(const fs::path& file) {
  DurableCounter counter;
  counter.fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (counter.fd_ < 0) return file_error(file, "open the counter of commits");
  char text[21] = {};
  ssize_t size = ::pread(counter.fd_, text, 20, 0);
  if (size < 0) return file_error(file, "read the counter of commits");
  for (ssize_t i = 0; i < size; ++i) {
    if (text[i] < '0' || text[i] > '9')
      return Error{Fault::malformed,
                   "the counter of commits is not a number",
                   "restore a backup",
                   {file.string(), 1, static_cast<std::uint32_t>(i + 1)}};
    counter.number_ = counter.number_ * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  return counter;
}

void DurableCounter::set(std::uint64_t number) {
  number_ = number;
  std::string digits = std::to_string(number);
  // Twenty digits in one write: a killed process leaves the old number or the new one. Where the
  // write fails the old, smaller number stays, which is no false alarm.
  std::string text = std::string(20 - digits.size(), '0') + digits;
  [[maybe_unused]] ssize_t ignored = ::pwrite(fd_, text.data(), text.size(), 0);
}

std::optional<std::string> owner_of(const fs::path& path) {
  int fd = ::open((path / "owner").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  bool free = ::flock(fd, LOCK_SH | LOCK_NB) == 0;
  ::close(fd);
  if (free) return std::nullopt;
  Result<std::string> name = read_file(path / "owner", 4096);
  return name && !name->empty() ? *std::move(name) : "another process";
}

bool has_room_of_its_own(const fs::path& path) {
  std::optional<struct statvfs> found = file_system_of(path);
  return !found || found->f_blocks != 0;
}

std::uint64_t free_bytes(const fs::path& path) {
  std::optional<struct statvfs> found = file_system_of(path);
  return found ? std::uint64_t{found->f_bavail} * found->f_frsize : 0;
}

void place_ballast(const fs::path& file, std::uint64_t bytes) {
  std::error_code code;
  if (bytes == 0 || fs::exists(file, code) || free_bytes(file) < 8 * bytes) return;
  int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return;
  if (::posix_fallocate(fd, 0, static_cast<off_t>(bytes)) != 0) ::unlink(file.c_str());
  ::close(fd);
}

}  // namespace lathe::store
