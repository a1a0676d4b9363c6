// Results into programs and back: deploy, export, import, and what an H200 captured.

#include <algorithm>

#include "tests/json_schema.h"
#include "tests/places.h"
#include "tests/system/program.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

const std::string h200 = std::string(source_folder) + "/tests/python/h200/";

void valid(const Json& json, const std::string& schema) {
  for (const std::string& complaint : JsonSchema::of(schema).complaints(json))
    FAIL_CHECK(complaint);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory()) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

/// A silu that multiplies by one more time: other text, the same function.
std::string changed_silu() {
  std::string ptx = text_of(h200 + "constant/silu_kernel_1/reference.ptx");
  std::size_t at = ptx.find("mov.u32", ptx.find('{'));
  REQUIRE(at != std::string::npos);
  return ptx.insert(ptx.find('\n', at) + 1,
                    "\t{\n\t.reg .b32 %more;\n\tmov.u32 %more, %ctaid.x;\n\t}\n");
}

TEST_CASE("each contract that an H200 captured is accepted, and its reference passes the test") {
  std::vector<std::string> names = names_in(h200 + "captured");
  CHECK(names == std::vector<std::string>{"add_kernel_1", "gather_kernel_1", "matmul_kernel_1",
                                          "scale_kernel_1", "softmax_kernel_1",
                                          "softmax_kernel_2"});
  std::vector<std::string> words{"contract", "check"};
  for (const std::string& name : names) words.push_back(h200 + "captured/" + name);
  ProcessEnd end = run_lathe(words);
  CHECK(end.status == 0);
  has(end.out, "add_kernel, identity");
  for (const std::string& name : names) {
    std::string contract = h200 + "captured/" + name;
    ProcessEnd tested = run_lathe({"test", contract + "/reference.ptx", "--contract", contract});
    INFO(tested.out + tested.err);
    CHECK(tested.status == 0);
  }
}

TEST_CASE("a person's proved file is deployed as a winner, for Triton, and for C") {
  Scratch scratch;
  std::string file = (scratch.path() / "mine.ptx").string();
  REQUIRE(write_file(file, changed_silu()).has_value());
  std::vector<std::string> deploy{
      "deploy", "--file", file, "--contract", h200 + "constant/silu_kernel_1", "--seed", "1"};
  auto with = [&](const std::string& form, const std::string& name) {
    std::vector<std::string> words = deploy;
    words.push_back(form);
    words.push_back((scratch.path() / name).string());
    return run_lathe(words);
  };
  ProcessEnd winners = with("--winners", "w");
  INFO(winners.err);
  REQUIRE(winners.status == 0);
  has(winners.out, "silu_kernel for sm_90a, candidate");
  std::vector<std::string> folders = names_in(scratch.path() / "w");
  REQUIRE(folders.size() == 1);
  valid(Json::parse(text_of(scratch.path() / "w" / folders[0] / "winner.json")), "winner");
  CHECK(with("--triton-override", "t").status == 0);
  CHECK(fs::exists(scratch.path() / "t" / "run"));
  CHECK(with("--cubin", "c").status == 0);
  CHECK(fs::exists(scratch.path() / "c" / folders[0] / "silu_kernel.h"));
  ProcessEnd again = with("--cubin", "c");
  CHECK(again.status == 74);
  has(again.err, "there already");
}

TEST_CASE("a file that computes something else is not deployed") {
  Scratch scratch;
  std::string file = (scratch.path() / "mine.ptx").string();
  std::string ptx = text_of(h200 + "captured/scale_kernel_1/reference.ptx");
  std::size_t at = ptx.find("mul.f32");
  REQUIRE(at != std::string::npos);
  REQUIRE(write_file(file, ptx.replace(at, 7, "add.f32")).has_value());
  ProcessEnd end =
      run_lathe({"deploy", "--file", file, "--contract", h200 + "captured/scale_kernel_1",
                 "--winners", (scratch.path() / "w").string()});
  CHECK(end.status == 65);
  has(end.err, "test: rejected");
  CHECK_FALSE(fs::exists(scratch.path() / "w"));
}

TEST_CASE("Triton's override is refused where a scalar decides, and nothing is written") {
  Scratch scratch;
  std::string contract = h200 + "captured/scale_kernel_1";
  ProcessEnd end = run_lathe({"deploy", "--file", contract + "/reference.ptx", "--contract",
                              contract, "--triton-override", (scratch.path() / "t").string()});
  CHECK(end.status == 1);
  has(end.err, "scalar factor");
  has(end.err, "run --winners");
  CHECK_FALSE(fs::exists(scratch.path() / "t"));
}

TEST_CASE("a run's winners are deployed from its store, and exported as a solution") {
  Scratch scratch;
  std::string store = (scratch.path() / "store").string();
  ProcessEnd nothing = run_lathe({"deploy", "--store", store, "--winners", "w"});
  CHECK(nothing.status == 74);
  ProcessEnd run = run_lathe({"lower", small_contract, "--store", store, "--rounds", "1",
                              "--branches", "2", "--seed", "1", "--quiet"});
  REQUIRE(run.status == 0);
  ProcessEnd end =
      run_lathe({"deploy", "--store", store, "--winners", (scratch.path() / "w").string()});
  if (run.out.find("no candidate is better") != std::string::npos) {
    CHECK(end.status == 1);
    has(end.err, "nothing to deploy");
    return;
  }
  INFO(end.err);
  CHECK(end.status == 0);
  ProcessEnd exported = run_lathe(
      {"export", "--store", store, "--flashinfer-trace", (scratch.path() / "d").string()});
  CHECK(exported.status == 0);
  has(exported.out, "solutions/lathe/");
  CHECK(run_lathe({"deploy", "7", "--store", store, "--winners", "w"}).status == 65);
}

TEST_CASE("exported definitions and workloads are imported as the contracts that they were") {
  Scratch scratch;
  std::vector<std::string> contracts;
  std::vector<std::string> words{"export", "--flashinfer-trace", (scratch.path() / "d").string()};
  for (std::string name : {"add_kernel_1", "gather_kernel_1", "scale_kernel_1"}) {
    words.push_back("--directory");
    words.push_back(h200 + "captured/" + name);
  }
  ProcessEnd exported = run_lathe(words);
  INFO(exported.err);
  REQUIRE(exported.status == 0);
  ProcessEnd imported = run_lathe({"import", "--flashinfer-trace", (scratch.path() / "d").string(),
                                   "--out", (scratch.path() / "i").string()});
  INFO(imported.err);
  REQUIRE(imported.status == 0);
  for (const std::string& name : names_in(scratch.path() / "i/contracts")) {
    std::string kernel = name.substr(0, name.rfind('_')) + "_1";
    auto identity = [](const std::string& directory) {
      return Json::parse(run_lathe({"contract", "show", directory, "--json"}).out)["identity"];
    };
    CHECK(identity((scratch.path() / "i/contracts" / name).string()) ==
          identity(h200 + "captured/" + kernel));
  }
  ProcessEnd again = run_lathe({"import", "--flashinfer-trace", (scratch.path() / "i").string(),
                                "--out", (scratch.path() / "again").string()});
  REQUIRE(again.status == 0);
  for (std::string folder : {"definitions", "workloads", "blob"})
    for (const auto& entry : fs::recursive_directory_iterator(scratch.path() / "d" / folder))
      if (entry.is_regular_file()) {
        fs::path relative = fs::relative(entry.path(), scratch.path() / "d");
        CHECK(text_of(scratch.path() / "again" / relative) == text_of(entry.path()));
      }
}

const std::string foreign = std::string(source_folder) + "/tests/cli/flashinfer/";

TEST_CASE("a foreign definition with workloads and a solution comes back as it was") {
  Scratch scratch;
  ProcessEnd end = run_lathe({"import", "--flashinfer-trace", foreign + "definition.json",
                              foreign + "workloads.jsonl", foreign + "solution.json", "--out",
                              (scratch.path() / "i").string()});
  INFO(end.err);
  REQUIRE(end.status == 0);
  fs::path out = scratch.path() / "i";
  CHECK(Json::parse(text_of(out / "definitions/rmsnorm/rmsnorm_h256.json")) ==
        Json::parse(text_of(foreign + "definition.json")));
  CHECK(Json::parse(
            text_of(out / "solutions/somebody/rmsnorm/rmsnorm_h256/rmsnorm_h256_triton.json")) ==
        Json::parse(text_of(foreign + "solution.json")));
  std::string lines = text_of(out / "workloads/rmsnorm/rmsnorm_h256.jsonl");
  std::string before = text_of(foreign + "workloads.jsonl");
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 2);
  CHECK(Json::parse(lines.substr(0, lines.find('\n'))) ==
        Json::parse(before.substr(0, before.find('\n'))));
  has(end.out, "for python -m lathe_triton capture");
  CHECK(fs::exists(out / "programs/rmsnorm_h256_triton/program_of_workloads.py"));
}

TEST_CASE("documents that the public schema refuses are not imported, with file, line and rule") {
  Scratch scratch;
  std::string lines = text_of(foreign + "workloads.jsonl");
  lines.replace(lines.rfind("random"), 6, "zeroes");
  std::string file = (scratch.path() / "w.jsonl").string();
  REQUIRE(write_file(file, lines).has_value());
  ProcessEnd end = run_lathe({"import", "--flashinfer-trace", foreign + "definition.json", file,
                              "--out", (scratch.path() / "i").string()});
  CHECK(end.status == 65);
  has(end.err, "w.jsonl:2");
  has(end.err, "input-type");
  CHECK_FALSE(fs::exists(scratch.path() / "i"));
}

TEST_CASE("a workload without its definition is not imported") {
  Scratch scratch;
  ProcessEnd end = run_lathe({"import", "--flashinfer-trace", foreign + "workloads.jsonl", "--out",
                              (scratch.path() / "i").string()});
  CHECK(end.status == 65);
  has(end.err, "rmsnorm_h256");
}

TEST_CASE("a name that leads out of the folder is not imported") {
  Scratch scratch;
  Json json = Json::parse(text_of(foreign + "definition.json"));
  json["name"] = "../x";
  std::string file = (scratch.path() / "d.json").string();
  REQUIRE(write_file(file, json.dump()).has_value());
  ProcessEnd end =
      run_lathe({"import", "--flashinfer-trace", file, "--out", (scratch.path() / "i").string()});
  CHECK(end.status == 65);
  has(end.err, "no name for a file");
}

TEST_CASE("what a capture and a deployment print are documents of their schemas") {
  valid(Json::parse(text_of(h200 + "captured/capture.json")), "capture");
  Json steps = Json::parse(text_of(h200 + "bridge.json"))["steps"];
  valid(steps["winners"]["report"], "deployed");
  valid(steps["marked"]["report"], "deployed");
}

}  // namespace
}  // namespace lathe
