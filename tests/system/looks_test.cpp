// What machines read: one JSON document of its schema on standard output, and nothing else there.

#include <cstdlib>

#include "tests/places.h"
#include "tests/system/document.h"

namespace lathe {
namespace {

TEST_CASE("version and doctor say what they promise") {
  document({"version", "--json"}, "version");
  Json doctor = Json::parse(run_lathe({"doctor", "--json"}).out);
  for (const std::string& complaint : JsonSchema::of("doctor").complaints(doctor))
    FAIL_CHECK(complaint);
}

TEST_CASE("doctor says where a setting comes from, and the environment wins over the file") {
  Scratch scratch;
  REQUIRE(write_file(scratch.path() / "lathe.toml", "rounds = 3\nbranches = 2\n").has_value());
  ProcessEnd end = run_lathe({"doctor"}, {"LATHE_ROUNDS=5"}, scratch.path());
  has(end.out, "rounds = 5 (from LATHE_ROUNDS)");
  has(end.out, "branches = 2 (from lathe.toml:2)");
}

TEST_CASE("doctor tells a half made environment of Triton from a whole one and from none") {
  Scratch scratch;
  auto says = [&] { return run_lathe({"doctor"}, {}, scratch.path()).out; };
  auto make = [&](const std::string& file) {
    std::filesystem::create_directories((scratch.path() / file).parent_path());
    REQUIRE(write_file(scratch.path() / file, "").has_value());
  };
  has(says(), ".venv-triton: not there");
  make(".venv-triton/bin/python");
  has(says(), ".venv-triton: half made; `python -m lathe_triton export` makes it whole");
  make(".venv-triton/complete");
  has(says(), ".venv-triton: there\n");
}

TEST_CASE("a contract is shown with its identity, and the text reads back to it") {
  Json json = document({"contract", "show", small_contract, "--json"}, "contract");
  ProcessEnd end = run_lathe({"contract", "show", small_contract});
  has(end.out, "# identity " + json["identity"].get<std::string>().substr(0, 16));
  ContractCopy copy;
  copy.write("contract.toml", end.out);
  CHECK(document({"contract", "show", copy.path(), "--json"}, "contract")["identity"] ==
        json["identity"]);
}

TEST_CASE("checks of several contracts come in one document with every complaint") {
  ContractCopy bad("sm_90a", "sm_77");
  Json json =
      document({"contract", "check", small_contract, bad.path(), "--json"}, "contract-check", 65);
  REQUIRE(json["contracts"].size() == 2);
  CHECK(json["contracts"][0]["holds"] == true);
  CHECK(json["contracts"][1]["holds"] == false);
  CHECK(json["contracts"][1]["complaints"][0]["line"] == 4);
}

TEST_CASE("the reference proves equal to itself, in a document of its schema") {
  std::string reference = small_contract + "/reference.ptx";
  Json json =
      document({"verify", reference, reference, "--contract", small_contract, "--json"}, "verify");
  CHECK(json["verdict"] == "proved");
  CHECK(json["reference"]["sha256"] == json["candidate"]["sha256"]);
}

TEST_CASE("the reference passes its own gates, in documents of their schemas") {
  std::string reference = small_contract + "/reference.ptx";
  for (std::string gate : {"sanitize", "test", "bench"}) {
    INFO(gate);
    Json json = document({gate, reference, "--contract", small_contract, "--json"}, gate);
    CHECK(json["answer"] == "passed");
  }
}

TEST_CASE("a candidate that the screen rejects ends with 1 and the place of the fault") {
  std::string ptx = text_of(small_contract + "/reference.ptx");
  ptx.replace(ptx.find("\tret;"), 5, "\ttrap;\n\tret;");
  Scratch scratch;
  std::string file = (scratch.path() / "trap.ptx").string();
  REQUIRE(write_file(file, ptx).has_value());
  Json json = document({"test", file, "--contract", small_contract, "--json"}, "test", 1);
  CHECK(json["answer"] == "rejected");
  CHECK(json["gates"][0]["code"] == "forbidden");
  CHECK(json["gates"][0]["line"].get<int>() > 0);
}

TEST_CASE("PTX comes from standard input too") {
  std::string reference = text_of(small_contract + "/reference.ptx");
  ProcessEnd end = run_lathe({"ptx", "fmt", "-"}, {}, source_folder, reference);
  CHECK(end.status == 0);
  CHECK(end.out.size() > 100);
}

TEST_CASE("the instruction table answers, and a form that does not exist ends with 1") {
  CHECK(run_lathe({"ptx", "reference", "add"}).status == 0);
  has(run_lathe({"ptx", "reference", "add.rn.f32"}).out, "add");
  ProcessEnd end = run_lathe({"ptx", "reference", "add.wide.f32"});
  CHECK(end.status == 1);
  has(end.err, "wide");
  CHECK(run_lathe({"ptx", "reference", "frobnicate"}).status == 1);
}

TEST_CASE("a completion script is one that its shell reads") {
  ProcessEnd end = run_lathe({"completion", "bash"});
  CHECK(end.status == 0);
  has(end.out, "verify) words=\"");
  auto read = run_process({"/bin/bash", "-n"}, end.out, {});
  REQUIRE(read.has_value());
  CHECK(read->status == 0);
  CHECK(run_lathe({"completion", "fish"}).status == 64);
}

TEST_CASE("help has an example, and --version names the compiler") {
  has(run_lathe({"verify", "--help"}).out, "Example: lathe verify");
  has(run_lathe({"ptx", "run", "--help"}).out, "Example: lathe ptx run");
  ProcessEnd end = run_lathe({"--version"});
  CHECK(end.status == 0);
  has(end.out, "compiler");
}

}  // namespace
}  // namespace lathe
