// kill -9 of the whole process group at seeded points, then lathe resume: what the store knows in
// the end is what an uninterrupted run leaves behind, byte for byte.

#include <map>

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

/// Twenty: inside each gate (its claim is told when the claim is durable and its commit is still to
/// come), after commits, and between rounds.
std::vector<std::vector<Kill>> kills(std::uint64_t seed) {
  const char* points[5][4] = {{"claimed assemble", "claimed sanitize", "completed test", "plan"},
                              {"claimed test", "claimed verify", "proposal", "claimed benchmark"},
                              {"verdict screen", "completed assemble", "claimed verify", "round"},
                              {"proposal", "completed verify", "claimed test", "plan"},
                              {"claimed sanitize", "claimed benchmark", "verdict test", "round"}};
  std::vector<std::vector<Kill>> all;
  for (std::uint64_t run = 0; run < 5; ++run) {
    all.emplace_back();
    for (std::uint64_t i = 0; i < 4; ++i)
      all.back().push_back({points[run][i], 1 + philox64(seed, run, i) % 3});
  }
  return all;
}

/// Runs until the point and kills; false where the run ended before.
bool killed_at(Program& program, const Kill& kill) {
  std::uint64_t left = kill.number;
  bool met = program.read_until(
      [&](const std::string& line) { return point_of(line) == kill.point && --left == 0; },
      seconds(120));
  if (met) program.kill(SIGKILL);
  program.wait(seconds(20));
  return met;
}

TEST_CASE("the points at which a run is killed are points that it passes") {
  for (const auto& run : kills(5))
    for (const Kill& kill : run) {
      INFO(kill.point);
      CHECK(whole().points.count(kill.point) == 1);
    }
}

TEST_CASE("two uninterrupted runs leave the same bytes behind") {
  Folder folder;
  REQUIRE(ran(lower(folder / "store")).status == 0);
  CHECK(exported(folder / "store") == whole().text);
}

TEST_CASE("killed at twenty seeded points and resumed each time, a run leaves the same bytes") {
  int killed = 0;
  for (const auto& run : kills(5)) {
    Folder folder;
    std::vector<std::string> command = lower(folder / "store");
    std::string history;
    for (const Kill& kill : run) {
      Program program(command);
      bool met = killed_at(program, kill);
      killed += met;
      history += kill.point + (met ? " killed\n" : " not met\n");
      command = resume(folder / "store");
    }
    CAPTURE(history);
    Ran last = ran(command);
    INFO(last.err);
    REQUIRE(last.status == 0);
    REQUIRE(exported(folder / "store") == whole().text);
  }
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
    program.wait(seconds(60));
    CHECK(program.err().find("lathe resume") != std::string::npos);
  }
  REQUIRE(ran(resume(folder / "store")).status == 0);
  CHECK(exported(folder / "store") == whole().text);
}

}  // namespace
}  // namespace lathe::system_test
