// kill -9 of the whole process group at seeded points, then lathe resume: what the store knows in
// the end is what an uninterrupted run leaves behind, byte for byte.

#include <algorithm>
#include <map>
#include <memory>

#include "base/random.h"
#include "living.h"

namespace lathe::system_test {
namespace {

/// What both runs are asked for; small, so that a run takes seconds.
std::vector<std::string> lower(const std::string& store) {
  return {"lower",    small_contract(), "--store", store,     "--rounds", "2",        "--branches",
          "3",        "--seed",         "11",      "--slots", "2",        "--device", "emulated",
          "--verbose"};
}
std::vector<std::string> resume(const std::string& store) {
  return {"resume", "--store", store, "--slots", "2", "--verbose"};
}

/// The kind of an event and, of work, its gate: "claimed test", "verdict screen", "plan".
std::string point_of(const std::string& line) {
  std::string point = line.substr(0, line.find(' '));
  // Plans and rounds tell of many gates; they are points of their own.
  if (point == "plan" || point == "round" || point == "proposal") return point;
  for (const char* gate : {"screen", "assemble", "sanitize", "test", "verify", "benchmark"})
    if (line.find("\"gate\":\"" + std::string(gate) + "\"") != std::string::npos)
      return point + " " + gate;
  return point;
}

struct Whole {
  std::string text;
  std::map<std::string, std::uint64_t> points;  // And how often each came.
};

const Whole& whole() {
  static const Whole whole = [] {
    Folder folder;
    Program program(lower(folder / "store"));
    int status = program.wait(seconds(120));
    INFO(program.err());
    REQUIRE(status == 0);
    Whole made;
    for (const std::string& line : program.lines()) ++made.points[point_of(line)];
    made.text = exported(folder / "store");
    return made;
  }();
  return whole;
}

struct Kill {
  std::string point;
  std::uint64_t number = 1;  // At its so-manieth time, where it comes so often.
};

/// Twenty: inside each gate (the claim is told when it is durable and its commit is still to come),
/// after commits, and between rounds.
std::vector<Kill> kills(std::uint64_t seed) {
  const char* points[] = {
      "claimed assemble", "claimed sanitize",  "claimed test",   "plan",
      "claimed verify",   "claimed benchmark", "proposal",       "verdict screen",
      "claimed sanitize", "claimed verify",    "completed test", "round",
      "claimed assemble", "completed verify",  "claimed test",   "proposal",
      "verdict test",     "claimed benchmark", "verdict screen", "round"};
  std::vector<Kill> all;
  for (std::uint64_t i = 0; i < 20; ++i) {
    std::uint64_t often = std::min<std::uint64_t>(3, whole().points.at(points[i]));
    all.push_back({points[i], 1 + philox64(seed, 0, i) % often});
  }
  return all;
}

/// Runs until the point and kills; false where the run ended before.
bool killed_at(const std::vector<std::string>& command, const Kill& kill) {
  Program program(command);
  std::uint64_t left = kill.number;
  bool met = program.read_until(
      [&](const std::string& line) { return point_of(line) == kill.point && --left == 0; },
      seconds(120));
  if (met) program.kill(SIGKILL);
  program.wait(seconds(20));
  return met;
}

/// A run that is killed now and then, and its history.
class Killed {
 public:
  bool at(const Kill& kill) {
    bool met = killed_at(command_, kill);
    history_ += kill.point + " " + std::to_string(kill.number) + (met ? ": killed\n" : ": no\n");
    command_ = resume(folder_ / "store");
    return met;
  }
  void end() {
    Ran last = ran(command_);
    INFO(history_);
    INFO(last.err);
    REQUIRE(last.status == 0);
    REQUIRE(exported(folder_ / "store") == whole().text);
  }

 private:
  Folder folder_;
  std::vector<std::string> command_ = lower(folder_ / "store");
  std::string history_;
};

TEST_CASE("two uninterrupted runs leave the same bytes behind") {
  Folder folder;
  REQUIRE(ran(lower(folder / "store")).status == 0);
  CHECK(exported(folder / "store") == whole().text);
}

TEST_CASE("killed at twenty seeded points and resumed each time, a run leaves the same bytes") {
  int killed = 0, of_this = 0;
  auto run = std::make_unique<Killed>();
  for (const Kill& kill : kills(5)) {
    // Where this run has passed the point already, it ends, and another one meets it.
    if (of_this == 4 || !run->at(kill)) {
      run->end();
      run = std::make_unique<Killed>();
      of_this = 0;
      REQUIRE(run->at(kill));
    }
    ++of_this;
    ++killed;
  }
  run->end();
  CHECK(killed == 20);
}

TEST_CASE("a run that is finished is not run again") {
  Folder folder;
  REQUIRE(ran(lower(folder / "store")).status == 0);
  Ran again = ran(resume(folder / "store"), seconds(20));
  CHECK(again.status == 0);
  CHECK(again.err.find("claimed") == std::string::npos);
  CHECK(exported(folder / "store") == whole().text);
}

TEST_CASE("a run that is interrupted once ends after its round and says how to go on") {
  Folder folder;
  {
    Program program(lower(folder / "store"));
    REQUIRE(program.read_until("plan ", seconds(60)));
    program.kill(SIGINT);
    CHECK(program.wait(seconds(60)) == 130);
    CHECK(program.err().find("lathe resume 1 --store") != std::string::npos);
  }
  REQUIRE(ran(resume(folder / "store")).status == 0);
  CHECK(exported(folder / "store") == whole().text);
}

}  // namespace
}  // namespace lathe::system_test
