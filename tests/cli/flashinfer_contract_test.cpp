// Contracts as definitions and workloads: what the public schema accepts, and the way back.

#include <catch2/catch.hpp>

#include "cli/safetensors.h"
#include "pipeline/admission.h"
#include "tests/cli/flashinfer_samples.h"
#include "tests/places.h"

namespace lathe::cli::flashinfer {
namespace {

const std::string captured = std::string(source_folder) + "/tests/python/h200/captured/";

Contract contract(const std::string& directory) {
  Opened opened = open_contract(directory);
  REQUIRE(opened.contract != nullptr);
  return *opened.contract;
}

/// The add kernel with a second launch of fewer elements.
Contract with_case() {
  Contract add = contract(captured + "add_kernel_1");
  std::string toml =
      print_contract(add) +
      "\n[[case]]\nname = \"short\"\nlaunch.grid = [4, 1, 1]\nscalar.n = 4000\n"
      "tensor.x.shape = [4000]\ntensor.y.shape = [4000]\ntensor.out.shape = [4000]\n";
  auto read = parse_contract(toml, "contract.toml");
  REQUIRE(read.has_value());
  read->reference = add.reference;
  return *std::move(read);
}

std::string file_of(const Dataset& dataset, const std::string& prefix) {
  for (const auto& [path, text] : dataset)
    if (path.starts_with(prefix)) return text;
  FAIL("no file under " << prefix);
  return "";
}

Dataset dataset(const Contract& about) {
  auto made = dataset_of(about);
  REQUIRE(made.has_value());
  return *std::move(made);
}

TEST_CASE("a contract's definition and workloads pass the public schema's rules") {
  Dataset made = dataset(with_case());
  std::string definition = file_of(made, "definitions/"), lines = file_of(made, "workloads/");
  CHECK(check(Kind::definition, definition, simple_python).empty());
  std::size_t end = lines.find('\n');
  for (const std::string& line : {lines.substr(0, end), lines.substr(end + 1)})
    CHECK(check(Kind::trace, line, simple_python, &definition).empty());
}

TEST_CASE("what a case changes is a variable axis, and a scalar is an input without shape") {
  Dataset made = dataset(with_case());
  Json definition = Json::parse(file_of(made, "definitions/"));
  CHECK(definition["axes"] == Json::parse(R"({"x_0": {"type": "var"}})"));
  CHECK(definition["inputs"]["n"]["shape"].is_null());
  CHECK(definition["outputs"]["out"]["shape"] == Json::array({"x_0"}));
  std::string lines = file_of(made, "workloads/");
  Json second = Json::parse(lines.substr(lines.find('\n') + 1));
  CHECK(second["workload"]["axes"]["x_0"] == 4000);
  CHECK(second["workload"]["inputs"]["n"]["value"] == 4000);
}

TEST_CASE("a tensor that is written in place comes out under another name") {
  Json definition = Json::parse(file_of(dataset(contract(captured + "scale_kernel_1")), "defin"));
  CHECK(definition["inputs"].contains("x"));
  CHECK(definition["outputs"].contains("x_out"));
  std::string lines = file_of(dataset(contract(captured + "scale_kernel_1")), "workloads/");
  CHECK(Json::parse(lines)["workload"]["inputs"]["factor"]["value"] == 0.625);
}

TEST_CASE("a contract comes back from its definition with the identity that it had") {
  for (const Contract& about : {with_case(), contract(captured + "scale_kernel_1"),
                                contract(captured + "gather_kernel_1")}) {
    Dataset made = dataset(about);
    auto back = contract_of(file_of(made, "definitions/"), made);
    REQUIRE(back.has_value());
    REQUIRE(back->has_value());
    CHECK((**back).identity() == about.identity());
  }
}

TEST_CASE("index data travels as safetensors, and without it the contract does not come back") {
  Contract about = contract(captured + "gather_kernel_1");
  Dataset made = dataset(about);
  std::string blob = file_of(made, "blob/");
  auto elements = read_safetensors(blob, "index");
  REQUIRE(elements.has_value());
  CHECK(elements->size() == 128);
  auto back = contract_of(file_of(made, "definitions/"), {});
  REQUIRE_FALSE(back.has_value());
  CHECK(back.error().what.find("index") != std::string::npos);
}

TEST_CASE("a definition that was edited is not that of its contract any more") {
  Dataset made = dataset(contract(captured + "scale_kernel_1"));
  Json definition = Json::parse(file_of(made, "definitions/"));
  definition["axes"]["x_0"]["value"] = 4096;
  CHECK_FALSE(contract_of(definition.dump(), made).has_value());
}

TEST_CASE("a foreign definition carries no contract") {
  auto none = contract_of(definition_sample().dump(), {});
  REQUIRE(none.has_value());
  CHECK_FALSE(none->has_value());
}

TEST_CASE("what the format cannot say is unsupported, with the reason") {
  Contract about = contract(captured + "add_kernel_1");
  auto refused = [](const Contract& what) {
    auto made = dataset_of(what);
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().fault == Fault::unsupported);
    return made.error().what;
  };
  Contract strided = about, wide = about, cluster = about, named = about;
  strided.tensors[0].strides = {2};
  CHECK(refused(strided).find("strides of x") != std::string::npos);
  wide.tensors[0].dtype = Dtype::f64;
  CHECK(refused(wide).find("f64") != std::string::npos);
  cluster.launch.cluster = {5, 1, 1};
  CHECK(refused(cluster).find("clusters") != std::string::npos);
  named.tensors[0].name = "lambda";
  CHECK(refused(named).find("lambda") != std::string::npos);
}

TEST_CASE("a deployment is a solution that the public schema accepts") {
  auto about = std::make_shared<const Contract>(contract(captured + "add_kernel_1"));
  Deployment deployment;
  deployment.assembled.contract = about;
  deployment.assembled.ptx = about->reference;
  deployment.assembled.cubin = std::string(
      "\x7f"
      "ELF\0\xff",
      6);
  deployment.assembled.assembler = "ptxas 13.0.88";
  deployment.proved = true;
  auto made = dataset_of(deployment);
  REQUIRE(made.has_value());
  std::string definition = file_of(*made, "definitions/"),
              text = file_of(*made, "solutions/lathe/");
  CHECK(check(Kind::solution, text, simple_python, &definition).empty());
  Json solution = Json::parse(text);
  CHECK(solution["spec"]["language"] == "python");
  CHECK(solution["sources"][0]["content"].get<std::string>().find("f0VMRgD/") != std::string::npos);
}

TEST_CASE("the Python of exported documents is Python") {
  auto python = python_check();
  REQUIRE(python.has_value());
  Contract about = with_case();
  CHECK_FALSE((*python)(reference_text(about), Python::run_module).has_value());
  Deployment deployment;
  deployment.assembled.contract = std::make_shared<const Contract>(about);
  CHECK_FALSE((*python)(solution_text(deployment), Python::run_module).has_value());
  std::string program = program_text(definition_sample().dump(), solution_sample().dump(),
                                     {workload_sample().dump()});
  CHECK_FALSE((*python)(program, Python::module).has_value());
}

TEST_CASE("a safetensors file gives back what was written, and nothing that it does not hold") {
  auto file = write_safetensors("x", Dtype::f16, {2, 3}, "0123456789ab");
  REQUIRE(file.has_value());
  CHECK((file->size() - 12) % 8 == 0);
  auto back = read_safetensors(*file, "x");
  REQUIRE(back.has_value());
  CHECK(*back == "0123456789ab");
  CHECK_FALSE(read_safetensors(*file, "y").has_value());
  CHECK_FALSE(read_safetensors(file->substr(0, file->size() - 1), "x").has_value());
  CHECK_FALSE(read_safetensors(std::string(8, '\xff'), "x").has_value());
  CHECK_FALSE(read_safetensors("short", "x").has_value());
  CHECK_FALSE(write_safetensors("x", Dtype::e2m1, {2}, "0").has_value());
}

}  // namespace
}  // namespace lathe::cli::flashinfer
