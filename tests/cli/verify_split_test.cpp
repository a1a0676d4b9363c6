// What the proofs of several ranges of blocks are together.

#include "cli/verify_split.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <mutex>

#include "base/files.h"

namespace lathe::cli {
namespace {

Json range(std::uint64_t blocks, std::uint64_t points, double probability, bool rigorous,
           const std::string& assumed) {
  Json json;
  json["verdict"] = "proved";
  json["scope"] = {{"blocks", blocks},
                   {"blocks_total", 8},
                   {"outputs_compared", 10 * blocks},
                   {"points", points},
                   {"stress_blocks", 1}};
  json["bound"] = {
      {"degree", 100 * blocks}, {"failure_probability", probability}, {"rigorous", rigorous}};
  json["assumed"] = {"reals", assumed};
  json["cost"] = {{"thread_instructions", 7}, {"peak_bytes", blocks}};
  return json;
}

TEST_CASE("ranges add up, and the weakest of them is the whole's bound") {
  Json all = merge_proofs({range(5, 4, 1e-20, true, "a"), range(3, 3, 1e-9, false, "b")});
  CHECK(all["scope"]["blocks"] == 8);
  CHECK(all["scope"]["outputs_compared"] == 80);
  CHECK(all["scope"]["points"] == 3);
  CHECK(all["bound"]["degree"] == 500);
  CHECK(all["bound"]["failure_probability"] == 1e-9);
  CHECK(all["bound"]["rigorous"] == false);
  CHECK(all["assumed"] == Json{"reals", "a", "b"});
  CHECK(all["cost"]["thread_instructions"] == 14);
  CHECK(all["cost"]["peak_bytes"] == 5);
}

TEST_CASE("one range is what it is") {
  CHECK(merge_proofs({range(8, 3, 1e-9, true, "a")})["scope"] ==
        range(8, 3, 1e-9, true, "a")["scope"]);
}

/// Children that answer at once, but for those that are killed first.
class Children {
 public:
  std::map<std::string, unsigned> deaths;  // Of a range, by its first block.
  std::vector<std::string> asked;

  Split split(std::uint32_t threads, const std::filesystem::path& kept = {}) {
    Split out;
    out.words = {"a.ptx", "b.ptx"};
    out.blocks = 48;
    out.threads = threads;
    out.kept = kept;
    out.run = [this](const std::vector<std::string>& command) { return end_of(command); };
    return out;
  }

 private:
  Result<ProcessEnd> end_of(const std::vector<std::string>& command) {
    std::lock_guard lock(mutex_);
    auto flag = [&](const char* name) {
      return *(std::find(command.begin(), command.end(), name) + 1);
    };
    std::string begin = flag("--block-begin");
    asked.push_back(begin);
    ProcessEnd end;
    if (deaths[begin] != 0) {
      --deaths[begin];
      end.signal = 9;
      return end;
    }
    Json json = range(std::stoull(flag("--block-end")) - std::stoull(begin), 4, 1e-20, true, "a");
    json["schema"] = "lathe/verify/1";
    end.out = json.dump();
    return end;
  }
  std::mutex mutex_;
};

TEST_CASE("a child that is killed costs its range, which another takes up") {
  Children children;
  children.deaths = {{"8", 1}, {"20", 2}};
  auto answer = verify_split(children.split(2));
  REQUIRE(answer.has_value());
  REQUIRE(answer->has_value());
  CHECK((**answer)["verdict"] == "proved");
  CHECK((**answer)["scope"]["blocks"] == 48);
  CHECK(children.asked.size() == 12 + 3);
}

TEST_CASE("a range whose children all die is an error that says which") {
  Children children;
  children.deaths = {{"8", 100}};
  auto answer = verify_split(children.split(2));
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().fault == Fault::unavailable);
  CHECK(answer.error().what.find("blocks 8 to 12") != std::string::npos);
}

TEST_CASE("what was proved before a proof ended is not proved again") {
  Scratch scratch;
  Children first, second;
  first.deaths = {{"24", 100}};
  REQUIRE_FALSE(verify_split(first.split(1, scratch.path() / "kept")).has_value());
  auto answer = verify_split(second.split(1, scratch.path() / "kept"));
  REQUIRE(answer.has_value());
  CHECK((**answer)["scope"]["blocks"] == 48);
  CHECK(second.asked.size() == 8);
  CHECK(second.asked.front() == "24");
}

TEST_CASE("what is kept and is no proof is proved again") {
  Scratch scratch;
  Children first, second;
  REQUIRE(verify_split(first.split(1, scratch.path())).has_value());
  REQUIRE(write_file(scratch.path() / "0-3.json", "{\"schema\": \"lathe/ver").has_value());
  REQUIRE(write_file(scratch.path() / "3-6.json",
                     R"({"schema": "lathe/verify/1", "verdict": "refuted"})")
              .has_value());
  auto answer = verify_split(second.split(1, scratch.path()));
  REQUIRE(answer.has_value());
  CHECK((**answer)["verdict"] == "proved");
  CHECK(second.asked == std::vector<std::string>{"0", "3"});
}

}  // namespace
}  // namespace lathe::cli
