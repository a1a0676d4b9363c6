// A verifier process that is killed in the middle of a proof: another goes on from what it had
// finished, to the same verdict, and little is done twice. What is counted is warp instructions.

#include <dirent.h>

#include <fstream>
#include <map>

#include "farm.h"

namespace lathe::system_test {
namespace {

/// The contract of a small product, with so many terms a sum: a proof of some seconds.
std::string deep_product(const Folder& folder, unsigned terms) {
  namespace fs = std::filesystem;
  fs::path from = small_contract("gemm_256x256x128_fp16_sm_89"), to = folder / "contract";
  fs::create_directories(to);
  fs::copy_file(from / "reference.ptx", to / "reference.ptx");
  std::string number = std::to_string(terms);
  auto text = read_file(from / "contract.toml");
  REQUIRE(text);
  auto edit = [&](const std::string& before, const std::string& after) {
    std::size_t at = text->find(before);
    INFO(before);
    REQUIRE(at != std::string::npos);
    text->replace(at, before.size(), after);
  };
  edit("name = \"K\"\ntype = \"u32\"\nvalue = 128",
       "name = \"K\"\ntype = \"u32\"\nvalue = " + number);
  edit("name = \"stride_a\"\ntype = \"u32\"\nvalue = 128",
       "name = \"stride_a\"\ntype = \"u32\"\nvalue = " + number);
  edit("shape = [256, 128]\nstrides = [128, 1]",
       "shape = [256, " + number + "]\nstrides = [" + number + ", 1]");
  edit("shape = [128, 256]", "shape = [" + number + ", 256]");
  REQUIRE(write_file(to / "contract.toml", *text).has_value());
  return to;
}

/// "N units, M warp instructions" of a line.
struct Work {
  std::uint64_t units = 0, steps = 0;
};
Work work_in(const std::string& line) {
  Work work;
  std::size_t at = line.find("\"what\":\"");
  if (at == std::string::npos) return work;
  unsigned long long units = 0, steps = 0;
  if (std::sscanf(line.c_str() + at, "\"what\":\"%llu units, %llu warp", &units, &steps) == 2)
    work = {units, steps};
  return work;
}

/// Of each proof of a run that nobody disturbed.
std::map<std::string, Work> proofs_in(const Program& coordinator) {
  std::map<std::string, Work> proofs;
  for (const std::string& line : coordinator.lines())
    if (is(line, "completed") && has(line, "\"gate\":\"verify\"") && work_in(line).units != 0)
      proofs[item_of(line)] = work_in(line);
  return proofs;
}

/// Processes `lathe worker` whose parent this is.
std::vector<pid_t> workers_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream words(entry.path() / "cmdline"), stat(entry.path() / "stat");
    std::string line((std::istreambuf_iterator<char>(words)), {});
    std::string state((std::istreambuf_iterator<char>(stat)), {});
    std::size_t after = state.rfind(')');
    int of = 0;
    if (line.find("worker") != std::string::npos && after != std::string::npos &&
        std::sscanf(state.c_str() + after, ") %*c %d", &of) == 1 && of == parent)
      found.push_back(static_cast<pid_t>(std::stoi(name)));
  }
  return found;
}

/// Kills the worker of a proof once it has noted 70 % of the units that the proof has. The item;
/// empty where none came that far before it ended.
std::string kill_a_proof(Farm& farm, Program& node, const std::map<std::string, Work>& proofs) {
  std::string item;
  farm.coordinator->read_until(
      [&](const std::string& line) {
        if (!is(line, "noted") || !has(line, "\"ada")) return false;
        auto proof = proofs.find(item_of(line));
        if (proof == proofs.end() || work_in(line).units * 10 < proof->second.units * 7)
          return false;
        for (pid_t worker : workers_of(node.process())) ::kill(worker, SIGKILL);
        item = proof->first;
        return true;
      },
      seconds(120));
  return item;
}

TEST_CASE("a proof whose worker is killed goes on at another node, and does little twice") {
  Folder folder;
  std::string contract = deep_product(folder, 512);
  std::map<std::string, Work> proofs;
  std::string expected;
  {
    Farm farm(contract);
    auto ada = farm.node("ada", "5");
    int status = farm.coordinator->wait(seconds(300));
    INFO(farm.coordinator->err());
    REQUIRE(status == 0);
    proofs = proofs_in(*farm.coordinator);
    REQUIRE_FALSE(proofs.empty());
    expected = exported(farm.folder / "store");
  }
  Farm farm(contract);
  auto ada = farm.node("ada", "5");
  std::string item = kill_a_proof(farm, *ada, proofs);
  REQUIRE_FALSE(item.empty());
  ada->kill(SIGKILL);
  auto bea = farm.node("bea", "5");
  int status = farm.coordinator->wait(seconds(300));
  INFO(farm.coordinator->err());
  REQUIRE(status == 0);
  bool went_on = false, ended = false;
  for (const std::string& line : farm.coordinator->lines()) {
    if (item_of(line) != item) continue;
    went_on |= is(line, "claimed") && has(line, "goes on from ");
    if (!is(line, "completed")) continue;
    ended = true;
    Work work = work_in(line), whole = proofs[item];
    INFO(work.steps << " of " << whole.steps);
    CHECK(work.steps != 0);
    CHECK(work.steps * 100 < whole.steps * 115);  // What was in hand is a twentieth at most.
  }
  CHECK(went_on);
  CHECK(ended);
  CHECK(count(*farm.coordinator, "completed", item) == 1);
  CHECK(exported(farm.folder / "store") == expected);
}

}  // namespace
}  // namespace lathe::system_test
