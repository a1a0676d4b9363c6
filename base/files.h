#pragma once

// Reading with a limit, and writing so that a file or directory is complete or absent.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace lathe {

/// Inputs of people: contracts and PTX. Larger ones are refused as malformed.
inline constexpr std::uint64_t input_bytes_max = 64ull << 20;

/// Errors: unavailable (Absent::file) where it cannot be read; malformed where it is larger than
/// `bytes_max`.
Result<std::string> read_file(const std::filesystem::path& path,
                              std::uint64_t bytes_max = input_bytes_max);

/// Like read_file, and malformed where the file is empty or holds a zero byte or invalid UTF-8.
Result<std::string> read_text(const std::filesystem::path& path,
                              std::uint64_t bytes_max = input_bytes_max);

/// Writes aside, syncs and renames. A full disk is unavailable (Absent::file).
Result<Done> write_file(const std::filesystem::path& path, std::string_view bytes);

/// Fills a directory aside and renames it into place; `fill` gets the temporary path.
Result<Done> write_directory(const std::filesystem::path& path,
                             const std::function<Result<Done>(const std::filesystem::path&)>& fill);

/// A directory of its own that is removed with its owner.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lathe
