#pragma once

// `lathe` as a child process of a test: in a process group of its own, its standard error read line
// by line, so that it can be killed or stopped right when it says something.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/files.h"
#include "tests/places.h"

namespace lathe::system_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline std::string lathe_program() { return std::string(build_folder) + "/bin/lathe"; }
inline std::string small_contract(const std::string& name = "sum_8x512_fp16_sm_90a") {
  return std::string(source_folder) + "/tests/kernels/contracts/" + name;
}

/// A folder that is gone with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "lathe-system-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

class Program {
 public:
  explicit Program(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), lathe_program());
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    int out[2], err[2];
    REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(err, O_CLOEXEC) == 0);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      ::setpgid(0, 0);
      ::dup2(::open("/dev/null", O_RDONLY), 0);
      ::dup2(out[1], 1);
      ::dup2(err[1], 2);
      ::execv(words[0], words.data());
      ::_exit(127);
    }
    ::setpgid(process_, process_);
    ::close(out[1]);
    ::close(err[1]);
    out_ = out[0];
    err_ = err[0];
  }
  ~Program() {
    if (process_ > 0) kill(SIGKILL), wait(seconds(10));
    ::close(out_);
    ::close(err_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// To the whole group.
  void kill(int signal) { ::kill(-process_, signal); }

  /// Reads on until `wanted` is true of a line; false where the program ends or time runs out.
  bool read_until(const std::function<bool(const std::string&)>& wanted, milliseconds time) {
    auto deadline = std::chrono::steady_clock::now() + time;
    for (;;) {
      while (next_ < lines_.size())
        if (wanted(lines_[next_++])) return true;
      auto left =
          std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0 || (!out_open_ && !err_open_)) return false;
      pump(left);
    }
  }
  bool read_until(const std::string& part, milliseconds time) {
    return read_until([&](const std::string& line) { return line.find(part) != std::string::npos; },
                      time);
  }

  /// Its exit status, or minus the signal that ended it; -1000 where it does not end in time.
  int wait(milliseconds time = seconds(60)) {
    if (process_ == 0) return status_;
    read_until([](const std::string&) { return false; }, time);
    if (out_open_ || err_open_) return -1000;
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return status_;
  }

  pid_t process() const { return process_; }
  const std::string& out() const { return out_text_; }
  std::string err() const {
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }
  const std::deque<std::string>& lines() const { return lines_; }

 private:
  void pump(milliseconds time) {
    pollfd polled[2] = {{out_open_ ? out_ : -1, POLLIN, 0}, {err_open_ ? err_ : -1, POLLIN, 0}};
    ::poll(polled, 2, static_cast<int>(std::min<long long>(time.count(), 100)));
    char buffer[1 << 16];
    for (int i = 0; i < 2; ++i) {
      if (polled[i].revents == 0) continue;
      ssize_t count = ::read(polled[i].fd, buffer, sizeof buffer);
      if (count <= 0) {
        (i == 0 ? out_open_ : err_open_) = false;
        continue;
      }
      std::string_view bytes(buffer, static_cast<std::size_t>(count));
      if (i == 0)
        out_text_ += bytes;
      else
        split(bytes);
    }
  }
  void split(std::string_view bytes) {
    rest_ += bytes;
    for (std::size_t end; (end = rest_.find('\n')) != std::string::npos;) {
      lines_.push_back(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
  }

  pid_t process_ = 0;
  int out_ = -1, err_ = -1, status_ = 0;
  bool out_open_ = true, err_open_ = true;
  std::string out_text_, rest_;
  std::deque<std::string> lines_;
  std::size_t next_ = 0;
};

struct Ran {
  int status = 0;
  std::string out, err;
};
/// Runs it to its end.
inline Ran ran(const std::vector<std::string>& arguments, milliseconds time = seconds(120)) {
  Program program(arguments);
  Ran ran;
  ran.status = program.wait(time);
  ran.out = program.out();
  ran.err = program.err();
  return ran;
}

inline std::string exported(const std::string& store) {
  Ran exported = ran({"store", "export", "--store", store});
  INFO(exported.err);
  REQUIRE(exported.status == 0);
  return exported.out;
}

}  // namespace lathe::system_test
