// What the environment and lathe.toml say, as a user sees it.

#include "base/json.h"
#include "tests/system/program.h"

namespace lathe {
namespace {

constexpr int usage = 64, bad_input = 65, io = 74;

/// What doctor says with these variables, in a folder of its own whose `home` is empty.
class World {
 public:
  World() { std::filesystem::create_directories(home()); }
  Json doctor(std::vector<std::string> variables) const {
    return Json::parse(run_lathe({"doctor", "--json"}, variables, scratch_.path()).out);
  }
  ProcessEnd run(const std::vector<std::string>& words,
                 const std::vector<std::string>& variables = {}) const {
    return run_lathe(words, variables, scratch_.path());
  }
  void file(const std::string& name, const std::string& text) const {
    std::filesystem::path path = scratch_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    REQUIRE(write_file(path, text).has_value());
  }
  std::string home() const { return (scratch_.path() / "home").string(); }

 private:
  Scratch scratch_;
};

TEST_CASE("a variable that is set to nothing is unset") {
  World world;
  std::string home = "HOME=" + world.home(), usual = world.home() + "/.local/state/lathe/store";
  Json doctor = world.doctor({home, "XDG_STATE_HOME=", "LATHE_STORE=", "LATHE_ROUNDS="});
  CHECK(doctor["store"]["folder"] == usual);
  CHECK(doctor["settings"].empty());
  CHECK(world.doctor({home, "XDG_STATE_HOME=/state", "LATHE_STORE="})["store"]["folder"] ==
        "/state/lathe/store");
  CHECK(world.doctor({home, "XDG_STATE_HOME=", "LATHE_STORE=/mine"})["store"]["folder"] == "/mine");
  ProcessEnd tried = world.run({"runs"}, {home, "XDG_STATE_HOME=", "LATHE_STORE="});
  CHECK(tried.status == io);
  has(tried.err, usual);
}

TEST_CASE("without a HOME nothing is kept in the working folder") {
  World world;
  std::string folder =
      world.doctor({"HOME=", "XDG_STATE_HOME=", "LATHE_STORE="})["store"]["folder"];
  CHECK(std::filesystem::path(folder).is_absolute());
}

TEST_CASE("the user's lathe.toml is found under HOME where XDG_CONFIG_HOME is set to nothing") {
  World world;
  world.file("home/.config/lathe/lathe.toml", "rounds = 9\n");
  std::string home = "HOME=" + world.home();
  CHECK(world.doctor({home, "XDG_CONFIG_HOME="})["settings"][0]["value"] == "9");
  CHECK(world.doctor({home, "XDG_CONFIG_HOME=/nowhere"})["settings"].empty());
}

TEST_CASE("a bad value of a variable names the variable, what it may be, and whose option it is") {
  World world;
  for (std::string value : {"abc", "1001", "-1"}) {
    ProcessEnd end = world.run({"doctor"}, {"LATHE_ROUNDS=" + value});
    CHECK(end.status == usage);
    CHECK(end.out.empty());
    has(end.err, "LATHE_ROUNDS: `" + value + "` is not a whole number from 0 to 1000");
    has(end.err, "help: it is --rounds of lathe lower");
    CHECK(end.err.find("doctor") == std::string::npos);
  }
  CHECK(world.doctor({"LATHE_ROUNDS=1000"})["settings"][0]["from"] == "LATHE_ROUNDS");
  has(world.run({"version"}, {"LATHE_VERIFICATION=maybe"}).err,
      "LATHE_VERIFICATION: `maybe` is not `gate`, `label` or `off`");
  has(world.run({"version"}, {"LATHE_LEASE=0"}).err, "`0` is not a number from 0.1 to 3600");
  Json error = Json::parse(world.run({"doctor", "--json"}, {"LATHE_ROUNDS=abc"}).out);
  CHECK(error["schema"] == "lathe/error/1");
  CHECK(error["exit_status"] == usage);
}

TEST_CASE("a bad value of lathe.toml has its line, what it may be, and whose option it is") {
  World world;
  world.file("lathe.toml", "branches = 2\nrounds = \"many\"\n");
  ProcessEnd end = world.run({"doctor"});
  CHECK(end.status == bad_input);
  has(end.err, "lathe.toml:2:10: error: `rounds`: `many` is not a whole number from 0 to 1000");
  has(end.err, "help: it is --rounds of lathe lower");
}

TEST_CASE("a value that one subcommand refuses and another takes is the first one's fault alone") {
  World world;
  // lathe lower takes 0 slots, lathe node does not.
  CHECK(world.doctor({"LATHE_SLOTS=0"})["settings"][0]["name"] == "slots");
  ProcessEnd node = world.run({"node", "--join", "x.bundle"}, {"LATHE_SLOTS=0"});
  CHECK(node.status == usage);
  has(node.err, "LATHE_SLOTS: `0` is not a whole number from 1 to 1024");
  has(node.err, "--slots of lathe node");
  has(world.run({"lower", "/nowhere", "--store", "/nowhere/s"}, {"LATHE_SLOTS=0"}).err,
      "--slots 0 leaves the work to remote nodes");
  CHECK(world.run({"node", "--join", "x.bundle"}, {"LATHE_SLOTS=2"}).status != usage);
}

TEST_CASE("a bad value of a flag says what it may be") {
  World world;
  ProcessEnd end = world.run({"lower", "DIR", "--rounds", "abc"});
  CHECK(end.status == usage);
  has(end.err, "--rounds: `abc` is not a whole number from 0 to 1000");
  has(world.run({"test", "x.ptx", "--contract", "c", "--blocks", "0"}).err,
      "--blocks: `0` is not a whole number from 1");
}

}  // namespace
}  // namespace lathe
