// What a search prints for machines: each document against its schema, from one small run.

#include "base/digest.h"
#include "ptx/module.h"
#include "tests/json_schema.h"
#include "tests/system/program.h"

namespace lathe {
namespace {

Json valid(const ProcessEnd& end, const std::string& schema) {
  INFO(end.err);
  Json json = Json::parse(end.out, nullptr, false);
  REQUIRE(json.is_object());
  CHECK(json.begin().key() == "schema");
  for (const std::string& complaint : JsonSchema::of(schema).complaints(json))
    FAIL_CHECK(complaint);
  return json;
}

TEST_CASE("a reference that a gate refuses is listed as the reference") {
  ContractCopy copy;
  std::string ptx = text_of(small_contract + "/reference.ptx");
  ptx.replace(ptx.find("\tret;"), 5, "\ttrap;\n\tret;");
  copy.write("reference.ptx", ptx);
  Scratch scratch;
  std::string store = (scratch.path() / "store").string();
  run_lathe({"lower", copy.path(), "--store", store, "--rounds", "1", "--quiet"});
  ProcessEnd end = run_lathe({"frontier", "--store", store});
  std::string id = short_hex(sha256(ptx::normal_form(ptx::parse(ptx, "reference.ptx").module)));
  has(end.out, id + " (reference)");
  CHECK(end.out.find(id + " (decoy)") == std::string::npos);
}

TEST_CASE("a run, its frontier, its list and its candidates print documents of their schemas") {
  Scratch scratch;
  std::string store = (scratch.path() / "store").string();
  ProcessEnd run = run_lathe({"lower", small_contract, "--store", store, "--rounds", "1",
                              "--branches", "2", "--json", "--quiet"});
  CHECK(run.status == 0);
  Json ended = valid(run, "run");
  REQUIRE(ended["frontiers"].size() == 1);
  ProcessEnd looked = run_lathe({"frontier", "--store", store, "--json"});
  CHECK(looked.status == 0);
  Json frontier = valid(looked, "frontier");
  CHECK(frontier["frontiers"][0]["contract"] == ended["frontiers"][0]["contract"]);
  CHECK(looked.out.find(scratch.path().string()) == std::string::npos);
  Json runs = valid(run_lathe({"runs", "--store", store, "--json"}), "runs");
  CHECK(runs["runs"][0]["state"] == "finished");
  for (const auto& one : frontier["frontiers"][0]["candidates"])
    valid(run_lathe({"show", one["candidate"].get<std::string>(), "--store", store, "--json"}),
          "candidate");
  // Whatever the frontier names can be looked at, the decoys that a search refuses first too.
  std::string text = run_lathe({"frontier", "--store", store}).out;
  std::size_t at = text.find(" (decoy)");
  REQUIRE(at != std::string::npos);
  std::string decoy = text.substr(at - 16, 16);
  Json shown = valid(run_lathe({"show", decoy, "--store", store, "--json"}), "candidate");
  CHECK(shown["family"] == "decoy");
  CHECK(shown["verdicts"].back()["answer"] == "rejected");
  CHECK_FALSE(shown["difference"].get<std::string>().empty());
  CHECK(run_lathe({"prove", decoy, "--store", store, "--quiet"}).status == 1);
  ProcessEnd none = run_lathe({"show", "ffffffffffffffff", "--store", store});
  CHECK(none.status == 65);
  has(none.err, "no candidate begins with ffffffffffffffff");
}

TEST_CASE("a person's own PTX gets a document with each gate's verdict") {
  Scratch scratch;
  ProcessEnd tried =
      run_lathe({"try", small_contract + "/reference.ptx", "--contract", small_contract, "--store",
                 (scratch.path() / "store").string(), "--json"});
  Json json = valid(tried, "try");
  CHECK(json["admitted"] == false);
  CHECK(json["verdicts"][0]["gate"] == "screen");
}

}  // namespace
}  // namespace lathe
