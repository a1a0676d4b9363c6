// The documents of the subcommands that write folders or show PTX: one on standard output, of its
// schema, and the error document where they fail.

#include <filesystem>

#include "tests/places.h"
#include "tests/system/document.h"

namespace lathe {
namespace {

constexpr int usage = 64, bad_input = 65, io = 74;

const std::string reference = small_contract + "/reference.ptx";
const std::string h200 = std::string(source_folder) + "/tests/python/h200/";
const std::string foreign = std::string(source_folder) + "/tests/cli/flashinfer/";

Json asked(std::vector<std::string> words, const std::string& schema, int status = 0) {
  words.push_back("--json");
  return document(words, schema, status);
}

TEST_CASE("each schema is that of the document of its name") {
  const std::filesystem::path schemas = std::filesystem::path(source_folder) / "docs/json";
  for (const auto& entry : std::filesystem::directory_iterator(schemas)) {
    std::string name = entry.path().stem().stem().string();
    Json schema = Json::parse(text_of(entry.path()));
    INFO(name);
    CHECK(schema["title"] == "lathe/" + name + "/1");
    CHECK(schema["properties"]["schema"]["const"] == schema["title"]);
    CHECK(schema["required"][0] == "schema");
  }
}

TEST_CASE("deploy says what it wrote, and what it refused") {
  Scratch scratch;
  std::string folder = (scratch.path() / "w").string(), contract = h200 + "captured/scale_kernel_1";
  std::vector<std::string> deploy{"deploy", "--file", contract + "/reference.ptx", "--contract",
                                  contract};
  auto with = [&](const std::string& form, const std::string& place) {
    std::vector<std::string> words = deploy;
    words.insert(words.end(), {form, place});
    return words;
  };
  Json json = asked(with("--winners", folder), "deploy");
  CHECK(json["form"] == "winners");
  CHECK(json["folder"] == folder);
  REQUIRE(json["deployed"].size() == 1);
  CHECK(json["deployed"][0]["proved"] == true);
  CHECK(asked(with("--winners", folder), "error", io)["errors"][0]["file"] == folder);
  CHECK(asked(with("--triton-override", (scratch.path() / "t").string()), "error",
                 1)["errors"][0]["what"]
            .get<std::string>()
            .find("scalar factor") != std::string::npos);
  asked(deploy, "error", usage);
}

TEST_CASE("export and import say which files they wrote") {
  Scratch scratch;
  std::string out = (scratch.path() / "d").string(), in = (scratch.path() / "i").string();
  std::vector<std::string> words{"export", "--directory", h200 + "captured/add_kernel_1",
                                 "--flashinfer-trace", out};
  Json exported = asked(words, "flashinfer-export");
  REQUIRE_FALSE(exported["files"].empty());
  for (const Json& file : exported["files"])
    CHECK(std::filesystem::exists(std::filesystem::path(out) / file.get<std::string>()));
  asked(words, "error", io);  // It is there already.
  Json imported = asked({"import", "--flashinfer-trace", out, "--out", in}, "flashinfer-import");
  CHECK(imported["files"] == exported["files"]);
  REQUIRE(imported["contracts"].size() == 1);
  CHECK(std::filesystem::exists(std::filesystem::path(in) /
                                imported["contracts"][0].get<std::string>() / "contract.toml"));
  asked({"import", "--flashinfer-trace", foreign + "workloads.jsonl", "--out", in + "2"},
           "error", bad_input);
}

TEST_CASE("a normal form comes as a document with the text that it prints") {
  CHECK(asked({"ptx", "fmt", reference}, "ptx-fmt")["ptx"] ==
        run_lathe({"ptx", "fmt", reference}).out);
  asked({"ptx", "fmt", "/nowhere.ptx"}, "error", io);
}

TEST_CASE("explain gives each instruction with its form, or what is wrong with the file") {
  Json json = asked({"ptx", "explain", reference}, "ptx-explain");
  CHECK(json["target"] == "sm_90a");
  const Json& last = json["instructions"].back();
  CHECK(last["text"] == "ret;");
  std::string line = std::to_string(last["line"].get<int>());
  Json one = asked({"ptx", "explain", reference + ":" + line}, "ptx-explain");
  REQUIRE(one["instructions"].size() == 1);
  CHECK(one["instructions"][0] == last);
  std::string ptx = text_of(reference);
  Scratch scratch;
  std::string file = (scratch.path() / "x.ptx").string();
  REQUIRE(write_file(file, ptx.replace(ptx.find("\tret;"), 5, "\tfrobnicate;")).has_value());
  CHECK(asked({"ptx", "explain", file}, "error", 2)["errors"][0]["line"] == last["line"]);
}

TEST_CASE("the forms of an instruction come as a document, and none as an error") {
  Json all = asked({"ptx", "reference", "add"}, "ptx-reference");
  CHECK(all["forms"].size() > 1);
  CHECK(asked({"ptx", "reference", "add.rn.f32"}, "ptx-reference")["forms"].size() == 1);
  asked({"ptx", "reference", "add.wide.f32"}, "error", 1);
  CHECK(asked({"ptx", "reference", "--document"}, "ptx-reference")["forms"].size() >
        all["forms"].size());
}

TEST_CASE("a launch on the emulated device is a document, and so is what stops it") {
  std::vector<std::string> run{"ptx", "run", reference, "--contract", small_contract};
  CHECK(asked(run, "ptx-run")["blocks"] == 8);
  run[2] = "/nowhere.ptx";
  asked(run, "error", io);
  std::string ptx = text_of(reference);
  Scratch scratch;
  std::string file = (scratch.path() / "x.ptx").string();
  REQUIRE(write_file(file, ptx.replace(ptx.find("\tret;"), 5, "\ttrap;")).has_value());
  run[2] = file;
  asked(run, "error", 1);
}

TEST_CASE("a farm's identity and its bundles come as documents") {
  Scratch scratch;
  std::string farm = (scratch.path() / "farm").string(), bundle = farm + "/ada.bundle";
  CHECK(asked({"cluster", "init", farm}, "cluster-init")["directory"] == farm);
  asked({"cluster", "init", farm}, "error", io);
  std::vector<std::string> admit{"cluster",   "admit",       "ada",   "--dir", farm,
                                 "--address", "127.0.0.1:1", "--out", bundle};
  CHECK(asked(admit, "cluster-admit")["bundle"] == bundle);
  CHECK(std::filesystem::exists(bundle));
  admit[6] = "nowhere";
  asked(admit, "error", usage);
  CHECK(asked({"cluster", "revoke", "ada", "--dir", farm}, "cluster-revoke")["node"] == "ada");
  Json error = asked({"node", "--join", farm + "/none.bundle"}, "error", io);
  CHECK(error["errors"][0]["file"] == farm + "/none.bundle");
}

}  // namespace
}  // namespace lathe
