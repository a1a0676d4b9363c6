// Flag, then environment, then lathe.toml, then the option's own default.

#include "cli/settings.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>

#include "base/files.h"

namespace lathe::cli {
namespace {

/// An app with one subcommand of two settings and a flag, in a folder of its own.
class World {
 public:
  World() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(scratch_.path());
    ::setenv("XDG_CONFIG_HOME", scratch_.path().c_str(), 1);
    CLI::App* own = app.add_subcommand("lower", "");
    own->add_option("--rounds", rounds)->check(CLI::Range(0, 100));
    own->add_option("--model", model);
    own->add_flag("--json", json);
  }
  ~World() {
    ::unsetenv("LATHE_ROUNDS");
    std::filesystem::current_path(before_);
  }
  void file(const std::string& text, const std::string& name = "lathe.toml") {
    std::filesystem::create_directories((scratch_.path() / name).parent_path());
    REQUIRE(write_file(scratch_.path() / name, text).has_value());
  }
  void parse(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    app.parse(words);
  }

  CLI::App app;
  unsigned rounds = 4;
  std::string model = "none";
  bool json = false;

 private:
  Scratch scratch_;
  std::filesystem::path before_;
};

TEST_CASE("without anything an option keeps its default") {
  World world;
  CHECK(apply_settings(world.app, "lower").empty());
  world.parse({"lower"});
  CHECK(world.rounds == 4);
  CHECK(current_settings(world.app).empty());
}

TEST_CASE("lathe.toml beats the default, the environment the file, the flag both") {
  World world;
  world.file("rounds = 5\nmodel = \"folder:x\"\n");
  CHECK(apply_settings(world.app, "lower").empty());
  SECTION("file") {
    world.parse({"lower"});
    CHECK(world.rounds == 5);
    CHECK(world.model == "folder:x");
  }
  SECTION("environment") {
    ::setenv("LATHE_ROUNDS", "6", 1);
    world.parse({"lower"});
    CHECK(world.rounds == 6);
  }
  SECTION("flag") {
    ::setenv("LATHE_ROUNDS", "6", 1);
    world.parse({"lower", "--rounds", "7"});
    CHECK(world.rounds == 7);
  }
}

TEST_CASE("a variable that is set to nothing leaves what the file says") {
  World world;
  world.file("rounds = 5\n");
  ::setenv("LATHE_ROUNDS", "", 1);
  CHECK(apply_settings(world.app, "lower").empty());
  world.parse({"lower"});
  CHECK(world.rounds == 5);
  REQUIRE(current_settings(world.app).size() == 1);
  CHECK(current_settings(world.app)[0].origin == "lathe.toml:1");
}

TEST_CASE("a bad value of a variable is complained of by the variable's name, and no place") {
  World world;
  ::setenv("LATHE_ROUNDS", "101", 1);
  auto errors = apply_settings(world.app, "doctor");
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].what.starts_with("LATHE_ROUNDS: "));
  CHECK(errors[0].remedy == "it is --rounds of lathe lower");
  CHECK(errors[0].place.file.empty());
  ::setenv("LATHE_ROUNDS", "100", 1);
  CHECK(apply_settings(world.app, "doctor").empty());
}

TEST_CASE("what one subcommand refuses counts where that one runs, or where none takes it") {
  World world;
  unsigned small = 1;
  world.app.add_subcommand("node", "")->add_option("--rounds", small)->check(CLI::Range(1, 5));
  world.file("rounds = 9\n");
  CHECK(apply_settings(world.app, "lower").empty());
  CHECK(world.rounds == 9);
  CHECK(small == 1);
  auto own = apply_settings(world.app, "node");
  REQUIRE(own.size() == 1);
  CHECK(own[0].remedy == "it is --rounds of lathe node");
  world.file("rounds = 101\n");
  CHECK(apply_settings(world.app, "doctor").size() == 1);
}

TEST_CASE("the user's folder is looked at where the working folder has no lathe.toml") {
  World world;
  world.file("rounds = 9\n", "lathe/lathe.toml");
  CHECK(apply_settings(world.app, "lower").empty());
  world.parse({"lower"});
  CHECK(world.rounds == 9);
  REQUIRE(current_settings(world.app).size() == 1);
  CHECK(current_settings(world.app)[0].origin.ends_with("lathe/lathe.toml:1"));
}

TEST_CASE("an unknown key, a flag, a wrong value and what is no TOML are complaints") {
  for (std::string text :
       {"rouns = 5\n", "json = true\n", "rounds = \"many\"\n", "rounds = 101\n", "rounds 5\n"}) {
    World world;
    world.file(text);
    INFO(text);
    auto errors = apply_settings(world.app, "lower");
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].place.line == 1);
    CHECK(errors[0].fault == Fault::malformed);
  }
}

}  // namespace
}  // namespace lathe::cli
