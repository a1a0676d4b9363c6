#pragma once

// What lies beside the rows and makes a directory one owner's: the lock with its holder's name, the
// counter of durable commits, the ballast.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace lathe::store {

/// Held while the process lives; a killed process holds nothing.
class OwnerLock {
 public:
  OwnerLock() = default;
  ~OwnerLock();
  OwnerLock(OwnerLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  OwnerLock& operator=(OwnerLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  /// Errors: unavailable (Absent::owner) with the holder's name.
  static Result<OwnerLock> take(const std::filesystem::path& file, const std::string& program);

 private:
  int fd_ = -1;
};

/// The number of the newest durable commit, kept outside the rows: where the rows come back with a
/// smaller one, commits that had been promised are gone.
class DurableCounter {
 public:
  DurableCounter() = default;
  ~DurableCounter();
  DurableCounter(DurableCounter&& other) noexcept : fd_(other.fd_), number_(other.number_) {
    other.fd_ = -1;
  }
  DurableCounter& operator=(DurableCounter&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(number_, other.number_);
    return *this;
  }

  static Result<DurableCounter> open(const std::filesystem::path& file);
  std::uint64_t number() const { return number_; }
  void set(std::uint64_t number);

 private:
  int fd_ = -1;
  std::uint64_t number_ = 0;
};

/// The name of the process that owns the store at `path` now, if one does. Looks for a moment only.
std::optional<std::string> owner_of(const std::filesystem::path& path);

/// False of a file system that keeps nothing, such as /proc.
bool has_room_of_its_own(const std::filesystem::path& path);

/// Bytes that an ordinary user may still write at the path.
std::uint64_t free_bytes(const std::filesystem::path& path);

/// Takes up space that can be given back in an emergency. Failing to is no error.
void place_ballast(const std::filesystem::path& file, std::uint64_t bytes);

}  // namespace lathe::store
