// What is said while nothing else is: a plain line once a phase has lasted.

#include "cli/waiting.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "base/files.h"

namespace lathe::cli {
namespace {

/// Standard error as a file meanwhile, which is no terminal.
std::string said_during(const std::function<void()>& deed) {
  Scratch scratch;
  std::string file = (scratch.path() / "err").string();
  int kept = ::dup(2), fd = ::open(file.c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(fd, 2);
  deed();
  ::dup2(kept, 2);
  ::close(kept);
  ::close(fd);
  auto text = read_file(file);
  REQUIRE(text.has_value());
  return *text;
}

TEST_CASE("a phase that lasts is said once after two seconds, a short one never") {
  std::string text = said_during([] {
    Waiting waiting(false);
    waiting.begin("assemble");
    ::usleep(50'000);
    waiting.begin("verify");
    waiting.reach(1, 4);
    ::usleep(2'600'000);
  });
  INFO(text);
  CHECK(text.starts_with("lathe: verify, "));
  CHECK(text.find(" s, 25 %, about ") != std::string::npos);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}

TEST_CASE("who asked for quiet hears nothing") {
  CHECK(said_during([] {
          Waiting waiting(true);
          waiting.begin("verify");
          waiting.reach(1, 4);
        }).empty());
}

}  // namespace
}  // namespace lathe::cli
