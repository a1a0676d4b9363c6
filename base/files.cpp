#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace lathe {
namespace {

namespace fs = std::filesystem;

Error file_error(const fs::path& path, const std::string& deed) {
  int code = errno;
  std::string remedy = code == ENOSPC ? "free some space and try again" : "";
  return {Fault::unavailable,
          "cannot " + deed + ": " + std::strerror(code),
          remedy,
          {path.string(), 0, 0},
          Absent::file};
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

std::string unique_suffix() {
  static std::uint64_t count = 0;
  return "." + std::to_string(::getpid()) + "." + std::to_string(++count) + ".part";
}

/// The length of the UTF-8 sequence at `i`, or 0 where it is not one.
std::size_t utf8_length(std::string_view text, std::size_t i) {
  auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  unsigned char first = byte(i);
  std::size_t length = first < 0x80       ? 1
                       : first >> 5 == 6  ? 2
                       : first >> 4 == 14 ? 3
                       : first >> 3 == 30 ? 4
                                          : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if (byte(i + k) >> 6 != 2) return 0;
  return length;
}

}  // namespace

Result<std::string> read_file(const fs::path& path, std::uint64_t bytes_max) {
  std::error_code code;
  if (fs::is_directory(path, code)) {
    errno = EISDIR;
    return file_error(path, "read");
  }
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.get() < 0) return file_error(path, "read");
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error(path, "read");
    if (count == 0) return bytes;
    bytes.append(buffer, static_cast<std::size_t>(count));
    if (bytes.size() > bytes_max)
      return Error{Fault::malformed,
                   "the file is larger than " + std::to_string(bytes_max) + " bytes",
                   "name a smaller file",
                   {path.string(), 0, 0}};
  }
}

Result<std::string> read_text(const fs::path& path, std::uint64_t bytes_max) {
  Result<std::string> bytes = read_file(path, bytes_max);
  if (!bytes) return bytes;
  if (bytes->empty())
    return Error{Fault::malformed,
                 "the file is empty",
                 "name a file with text in it",
                 {path.string(), 1, 1}};
  std::uint32_t line = 1, column = 1;
  for (std::size_t i = 0; i < bytes->size();) {
    std::size_t length = (*bytes)[i] == '\0' ? 0 : utf8_length(*bytes, i);
    if (length == 0)
      return Error{Fault::malformed,
                   "the file is binary, not text",
                   "name a text file",
                   {path.string(), line, column}};
    ++column;
    if ((*bytes)[i] == '\n') ++line, column = 1;
    i += length;
  }
  return bytes;
}

Result<Done> write_file(const fs::path& path, std::string_view bytes) {
  fs::path aside = path.string() + unique_suffix();
  {
    Descriptor file{::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (file.get() < 0) return file_error(path, "write");
    for (std::size_t done = 0; done < bytes.size();) {
      ssize_t count = ::write(file.get(), bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        Error error = file_error(path, "write");
        ::unlink(aside.c_str());
        return error;
      }
      done += static_cast<std::size_t>(count);
    }
    if (::fsync(file.get()) != 0) {
      Error error = file_error(path, "write");
      ::unlink(aside.c_str());
      return error;
    }
  }
  if (::rename(aside.c_str(), path.c_str()) != 0) {
    Error error = file_error(path, "write");
    ::unlink(aside.c_str());
    return error;
  }
  return Done{};
}

Result<Done> write_directory(const fs::path& path,
                             const std::function<Result<Done>(const fs::path&)>& fill) {
  fs::path aside = path.string() + unique_suffix();
  std::error_code code;
  if (fs::exists(path, code))
    return Error{Fault::unavailable,
                 "the directory exists already",
                 "name another or remove it",
                 {path.string(), 0, 0},
                 Absent::file};
  if (!fs::create_directories(aside, code)) {
    errno = code.value();
    return file_error(path, "create");
  }
  Result<Done> filled = fill(aside);
  if (filled) {
    fs::rename(aside, path, code);
    if (!code) return filled;
    errno = code.value();
    filled = file_error(path, "create");
  }
  fs::remove_all(aside, code);
  return filled;
}

Scratch::Scratch() {
  std::string pattern = (fs::temp_directory_path() / "lathe-XXXXXX").string();
  if (const char* made = ::mkdtemp(pattern.data())) path_ = made;
}

Scratch::~Scratch() {
  std::error_code code;
  if (!path_.empty()) fs::remove_all(path_, code);
}

}  // namespace lathe
