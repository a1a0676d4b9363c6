// The validator accepts the samples and refuses each mutation of them by the one rule that it
// breaks.

#include <catch2/catch.hpp>

#include "tests/cli/flashinfer_samples.h"

namespace lathe::cli::flashinfer {
namespace {

using Edit = std::function<void(Json&)>;
struct Mutation {
  const char* rule;
  const char* what;
  Edit edit;
};
using Rules = std::vector<std::string>;

void each_breaks_its_rule(Kind kind, const Json& sample, const std::vector<Mutation>& mutations) {
  for (const Mutation& mutation : mutations) {
    Json json = sample;
    mutation.edit(json);
    INFO(mutation.what);
    CHECK(rules(kind, json) == Rules{mutation.rule});
  }
}

TEST_CASE("the samples of the four documents are accepted") {
  CHECK(rules(Kind::definition, definition_sample()).empty());
  CHECK(rules(Kind::trace, workload_sample()).empty());
  CHECK(rules(Kind::solution, solution_sample()).empty());
  CHECK(rules(Kind::trace, trace_sample()).empty());
}

TEST_CASE("members that the schema does not name are passed over, as it does") {
  Json json = definition_sample();
  json["something"] = 1;
  json["inputs"]["x"]["optional"] = true;
  CHECK(rules(Kind::definition, json).empty());
}

TEST_CASE("a mutated definition is refused by the rule that it breaks") {
  each_breaks_its_rule(
      Kind::definition, definition_sample(),
      {{"text", "no name", [](Json& d) { d.erase("name"); }},
       {"text", "an empty op_type", [](Json& d) { d["op_type"] = ""; }},
       {"axis-value", "a constant axis without a value",
        [](Json& d) { d["axes"]["hidden"].erase("value"); }},
       {"axis-value", "a negative axis", [](Json& d) { d["axes"]["hidden"]["value"] = -1; }},
       {"axis-type", "an axis that is neither",
        [](Json& d) { d["axes"]["batch"]["type"] = "dynamic"; }},
       {"axis-undefined", "a shape of an unknown axis",
        [](Json& d) { d["inputs"]["weight"]["shape"] = {"rows"}; }},
       {"shape", "no shape", [](Json& d) { d["inputs"]["eps"].erase("shape"); }},
       {"shape", "a shape of numbers",
        [](Json& d) {
          d["inputs"]["x"]["shape"] = {32, 4096};
        }},
       {"dtype", "an unknown dtype", [](Json& d) { d["outputs"]["y"]["dtype"] = "half"; }},
       {"name-overlap", "an output with an input's name",
        [](Json& d) { d["outputs"]["x"] = d["outputs"]["y"]; }},
       {"reference-code", "a reference that is no Python",
        [](Json& d) { d["reference"] = "def run(: $"; }},
       {"reference-code", "a reference without run",
        [](Json& d) { d["reference"] = "def go(x):\n    return x\n"; }},
       {"constraint-code", "a constraint that is no expression",
        [](Json& d) { d["constraints"] = {"batch $ 0"}; }},
       {"texts", "an empty tag",
        [](Json& d) {
          d["tags"] = {"a", ""};
        }},
       {"text", "a description that is a number", [](Json& d) { d["description"] = 7; }}});
}

TEST_CASE("a mutated workload is refused by the rule that it breaks") {
  each_breaks_its_rule(
      Kind::trace, workload_sample(),
      {{"text", "no uuid", [](Json& w) { w["workload"].erase("uuid"); }},
       {"axis-value", "an axis with a text", [](Json& w) { w["workload"]["axes"]["batch"] = "8"; }},
       {"axis-missing", "a variable axis without a value",
        [](Json& w) { w["workload"]["axes"] = Json::object(); }},
       {"input-type", "an input of an unknown kind",
        [](Json& w) { w["workload"]["inputs"]["x"]["type"] = "zeros"; }},
       {"scalar-value", "a scalar without a value",
        [](Json& w) { w["workload"]["inputs"]["eps"].erase("value"); }},
       {"text", "a file without a key",
        [](Json& w) { w["workload"]["inputs"]["weight"]["tensor_key"] = ""; }},
       {"input-missing", "an input that is left out",
        [](Json& w) { w["workload"]["inputs"].erase("x"); }},
       {"input-unknown", "an input that the definition lacks",
        [](Json& w) {
          w["workload"]["inputs"]["z"] = {{"type", "random"}};
        }},
       {"definition-unknown", "another definition's name",
        [](Json& w) { w["definition"] = "softmax"; }},
       {"workload", "no workload", [](Json& w) { w["workload"] = nullptr; }}});
}

TEST_CASE("a mutated solution is refused by the rule that it breaks") {
  each_breaks_its_rule(
      Kind::solution, solution_sample(),
      {{"text", "no author", [](Json& s) { s.erase("author"); }},
       {"language", "an unknown language", [](Json& s) { s["spec"]["language"] = "ptx"; }},
       {"texts", "no hardware", [](Json& s) { s["spec"]["target_hardware"] = Json::array(); }},
       {"entry-point", "an entry point without a function",
        [](Json& s) { s["spec"]["entry_point"] = "main.py"; }},
       {"entry-file", "an entry point in a file that is not there",
        [](Json& s) { s["spec"]["entry_point"] = "other.py::run"; }},
       {"source-path", "an absolute path", [](Json& s) { s["sources"][1]["path"] = "/tmp/a"; }},
       {"source-path", "a path that leads out",
        [](Json& s) { s["sources"][1]["path"] = "a/../../b.py"; }},
       {"source-twice", "one path twice", [](Json& s) { s["sources"][1]["path"] = "main.py"; }},
       {"text", "an empty file", [](Json& s) { s["sources"][1]["content"] = ""; }},
       {"boolean", "a style that is a text",
        [](Json& s) { s["spec"]["destination_passing_style"] = "yes"; }},
       {"binding", "an unknown binding", [](Json& s) { s["spec"]["binding"] = "pybind"; }},
       {"definition-unknown", "another definition's name",
        [](Json& s) { s["definition"] = "softmax"; }}});
}

TEST_CASE("a solution without sources, or without a spec, is refused") {
  Json none = solution_sample(), bare = solution_sample();
  none["sources"] = Json::array();
  bare.erase("spec");
  CHECK(rules(Kind::solution, none) == Rules{"sources"});
  CHECK(rules(Kind::solution, bare) == Rules{"spec"});
}

TEST_CASE("a mutated trace is refused by the rule that it breaks") {
  each_breaks_its_rule(
      Kind::trace, trace_sample(),
      {{"status", "an unknown status",
        [](Json& t) {
          t["evaluation"]["status"] = "SLOW";
          t["evaluation"].erase("correctness");
          t["evaluation"].erase("performance");
        }},
       {"status-figures", "passed without a time",
        [](Json& t) { t["evaluation"].erase("performance"); }},
       {"status-figures", "incorrect and yet timed",
        [](Json& t) { t["evaluation"]["status"] = "INCORRECT_NUMERICAL"; }},
       {"figure", "a negative time",
        [](Json& t) { t["evaluation"]["performance"]["latency_ms"] = -1; }},
       {"environment", "no environment", [](Json& t) { t["evaluation"].erase("environment"); }},
       {"text", "no hardware", [](Json& t) { t["evaluation"]["environment"]["hardware"] = ""; }},
       {"text", "no time of day", [](Json& t) { t["evaluation"].erase("timestamp"); }},
       {"half-trace", "a solution that nobody judged",
        [](Json& t) { t["evaluation"] = nullptr; }}});
}

TEST_CASE("an error of NaN is a figure, a time of NaN is none") {
  Json json = trace_sample();
  json["evaluation"]["correctness"]["max_relative_error"] = "NaN";
  CHECK(rules(Kind::trace, json).empty());
  json["evaluation"]["performance"]["latency_ms"] = "NaN";
  CHECK(rules(Kind::trace, json) == Rules{"figure"});
}

TEST_CASE("the kind of a document is known by its members") {
  CHECK(kind_of(definition_sample().dump()) == Kind::definition);
  CHECK(kind_of(workload_sample().dump()) == Kind::trace);
  CHECK(kind_of(solution_sample().dump()) == Kind::solution);
  CHECK_FALSE(kind_of("[]").has_value());
  CHECK_FALSE(kind_of("{\"a\": 1}").has_value());
}

TEST_CASE("Python's own parser judges the code of documents") {
  auto python = python_check();
  REQUIRE(python.has_value());
  CHECK_FALSE((*python)("def run(x):\n    return x\n", Python::run_module).has_value());
  CHECK((*python)("def run(x)\n    return x\n", Python::run_module).has_value());
  CHECK((*python)("class A:\n    def run(x):\n        return x\n", Python::run_module).has_value());
  CHECK_FALSE((*python)("a == b * 2", Python::expression).has_value());
  CHECK((*python)("a = b", Python::expression).has_value());
}

}  // namespace
}  // namespace lathe::cli::flashinfer
