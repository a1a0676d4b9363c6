// Proofs that are asked for again, and proofs whose processes are killed.

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/json_schema.h"
#include "tests/places.h"
#include "tests/system/program.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

/// Long enough that somebody can come in between: 16 blocks of tensor cores, many points.
const std::string contract =
    std::string(source_folder) + "/tests/kernels/contracts/gemm_256x256x128_fp16_sm_89";

std::vector<std::string> words_of(const std::vector<std::string>& more) {
  std::vector<std::string> words{"verify",
                                 contract + "/reference.ptx",
                                 contract + "/reference.ptx",
                                 "--contract",
                                 contract,
                                 "--points",
                                 "60",
                                 "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// Process ids of `lathe verify` over a range of blocks of the files in this command.
std::vector<pid_t> children_with(const std::string& mark) {
  std::vector<pid_t> found;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "cmdline");
    std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (line.find(mark) != std::string::npos && line.find("--block-begin") != std::string::npos)
      found.push_back(static_cast<pid_t>(std::stoi(name)));
  }
  return found;
}

/// Bytes of journals below a folder.
std::uint64_t journal_bytes(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code code;
  for (const auto& entry : fs::recursive_directory_iterator(folder, code))
    if (entry.path().extension() == ".journal") bytes += entry.file_size(code);
  return bytes;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  return files;
}

/// The proof, killed (SIGKILL) once its journals hold so many bytes.
void kill_at(const std::vector<std::string>& words, const fs::path& folder, std::uint64_t bytes) {
  std::vector<std::string> command{std::string(build_folder) + "/bin/lathe"};
  command.insert(command.end(), words.begin(), words.end());
  std::atomic<bool> stop = false, ended = false;
  std::thread killer([&] {
    while (journal_bytes(folder) < bytes && !ended)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    stop = true;
  });
  ProcessLimits limits;
  limits.wall = std::chrono::minutes(5);
  limits.stop = &stop;
  auto first = run_process(command, "", limits);
  ended = true;
  killer.join();
  REQUIRE(first.has_value());
  REQUIRE(first->timed_out);
}

TEST_CASE("a proof whose child is killed is the same proof") {
  std::string mark = "730146081";  // A seed of its own tells its children from all others.
  std::atomic<bool> ended = false;
  std::atomic<int> killed = 0;
  std::thread hunter([&] {
    while (!ended && killed == 0)
      for (pid_t child : children_with(mark))
        if (killed == 0 && kill(child, SIGKILL) == 0) killed = 1;
  });
  ProcessEnd end = run_lathe(words_of({"--threads", "2", "--seed", mark}));
  ended = true;
  hunter.join();
  CHECK(killed == 1);
  CHECK(end.status == 0);
  Json json = Json::parse(end.out);
  CHECK(json["verdict"] == "proved");
  CHECK(json["scope"]["blocks"] == json["scope"]["blocks_total"]);
}

TEST_CASE("a proof that was killed goes on where it stopped, and does little twice") {
  Scratch whole, killed;
  Json undisturbed = Json::parse(run_lathe(words_of({"--keep", whole.path().string()})).out);
  REQUIRE(undisturbed["verdict"] == "proved");
  CHECK(undisturbed["cost"]["units_found"] == 0);
  std::vector<std::string> words = words_of({"--keep", killed.path().string()});
  kill_at(words, killed.path(), 100'000);
  CHECK(journal_bytes(killed.path()) != 0);
  Json rest = Json::parse(run_lathe(words).out);
  CHECK(rest["verdict"] == "proved");
  CHECK(rest["cost"]["units_found"] != 0);
  CHECK(rest["cost"]["warp_instructions"] < undisturbed["cost"]["warp_instructions"]);
  for (const char* part : {"scope", "bound", "assumed", "checks"})
    CHECK(rest[part] == undisturbed[part]);
  // With the verdict the journal has done its work.
  CHECK(files_in(killed.path()).empty());
}

TEST_CASE("a journal of another seed is another's, and a damaged one is begun again") {
  Scratch scratch;
  std::string folder = scratch.path().string();
  kill_at(words_of({"--keep", folder}), scratch.path(), 100'000);
  Json other = Json::parse(run_lathe(words_of({"--keep", folder, "--seed", "4"})).out);
  CHECK(other["verdict"] == "proved");
  CHECK(other["cost"]["units_found"] == 0);
  std::vector<fs::path> files = files_in(folder);
  REQUIRE(files.size() == 1);
  std::string bytes = text_of(files.front());
  bytes[bytes.size() / 3] ^= 1;
  std::ofstream(files.front(), std::ios::binary) << bytes;
  ProcessEnd end = run_lathe(words_of({"--keep", folder}));
  CHECK(has(end.err, "the proof begins again"));
  CHECK(Json::parse(end.out)["verdict"] == "proved");
  CHECK(Json::parse(end.out)["cost"]["units_found"] == 0);
}

TEST_CASE("processes that share a proof keep a journal each") {
  Scratch scratch;
  std::vector<std::string> words = words_of({"--keep", scratch.path().string(), "--threads", "2"});
  kill_at(words, scratch.path(), 50'000);
  Json rest = Json::parse(run_lathe(words).out);
  CHECK(rest["verdict"] == "proved");
  CHECK(rest["scope"]["blocks"] == rest["scope"]["blocks_total"]);
}

TEST_CASE("a limit says what it should have been, and that is enough") {
  std::string reference = small_contract + "/reference.ptx";
  auto asked = [&](const std::string& steps) {
    return Json::parse(run_lathe({"verify", reference, reference, "--contract", small_contract,
                                  "--steps", steps, "--json"})
                           .out);
  };
  Json short_of = asked("50");
  CHECK(short_of["reason_code"] == "exhausted");
  std::string reason = short_of["reason"];
  std::size_t at = reason.find("--steps ");
  REQUIRE(at != std::string::npos);
  std::string enough = reason.substr(at + 8);
  CHECK(asked(enough.substr(0, enough.find_first_not_of("0123456789")))["verdict"] == "proved");
}

TEST_CASE("prove asks the verifier about a candidate of a store, and says what verify would") {
  Scratch scratch;
  std::string store = (scratch.path() / "store").string();
  std::string reference = small_contract + "/reference.ptx";
  Json tried = Json::parse(
      run_lathe({"try", reference, "--contract", small_contract, "--store", store, "--json"}).out);
  std::string candidate = tried["candidate"];
  ProcessEnd end =
      run_lathe({"prove", candidate.substr(0, 12), "--store", store, "--seed", "3", "--json"});
  CHECK(end.status == 0);
  Json json = Json::parse(end.out);
  for (const std::string& complaint : JsonSchema::of("verify").complaints(json))
    FAIL_CHECK(complaint);
  CHECK(json["verdict"] == "proved");
  CHECK(json["candidate"]["file"] == candidate);
  Json verified = Json::parse(run_lathe({"verify", reference, reference, "--contract",
                                         small_contract, "--seed", "3", "--json"})
                                  .out);
  CHECK(json["scope"] == verified["scope"]);
  CHECK(json["bound"] == verified["bound"]);
  CHECK(json["assumed"] == verified["assumed"]);
  CHECK(run_lathe({"prove", candidate, "--store", store, "--quiet"}).out.empty());
}

TEST_CASE("prove refuses what is no digest, no candidate, or no store") {
  Scratch scratch;
  std::string store = (scratch.path() / "store").string();
  CHECK(run_lathe({"prove", "sum.ptx", "--store", store}).status == 64);
  CHECK(run_lathe({"prove", "12ab", "--store", store}).status == 74);
  REQUIRE(run_lathe({"try", small_contract + "/reference.ptx", "--contract", small_contract,
                     "--store", store})
              .status != 70);
  ProcessEnd none = run_lathe({"prove", "ffffffffffff", "--store", store, "--json"});
  CHECK(none.status == 65);
  for (const std::string& complaint : JsonSchema::of("error").complaints(Json::parse(none.out)))
    FAIL_CHECK(complaint);
}

}  // namespace
}  // namespace lathe
