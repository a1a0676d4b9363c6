// The public schema's rules, each with its name. Where the schema's own program would turn a wrong
// type into a right one ("8" into 8) this one complains.

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/json.h"
#include "base/process.h"
#include "cli/flashinfer.h"

namespace lathe::cli::flashinfer {
namespace {

constexpr std::array dtypes{"float32",     "float16",     "bfloat16", "float8_e4m3fn",
                            "float8_e5m2", "float4_e2m1", "int64",    "int32",
                            "int16",       "int8",        "bool"};
constexpr std::array languages{"python", "triton", "cpp", "cuda", "tilelang"};
constexpr std::array bindings{"tvm-ffi", "torch"};
constexpr std::array statuses{"PASSED",          "INCORRECT_SHAPE", "INCORRECT_NUMERICAL",
                              "INCORRECT_DTYPE", "RUNTIME_ERROR",   "COMPILE_ERROR",
                              "TIMEOUT"};

template <class Names>
bool is_one_of(const Json& value, const Names& names) {
  return value.is_string() &&
         std::find(names.begin(), names.end(), value.get<std::string>()) != names.end();
}

class Checker {
 public:
  Checker(const PythonCheck& python, const Json& about) : python_(python), about_(about) {}

  std::vector<Complaint> take() { return std::move(complaints_); }

  void definition(const Json& json) {
    text(json, "name", "name");
    text(json, "op_type", "op_type");
    note(json, "description");
    axes(json);
    tensors(json, "inputs");
    tensors(json, "outputs");
    if (is_object(json, "inputs") && is_object(json, "outputs"))
      for (const auto& [name, _] : json["inputs"].items())
        if (json["outputs"].contains(name))
          add("name-overlap", "outputs." + name, "is the name of an input too");
    if (text(json, "reference", "reference"))
      if (auto why = python_(json["reference"], Python::run_module))
        add("reference-code", "reference", *why);
    texts(json, "tags", "tags", 0);
    if (texts(json, "constraints", "constraints", 0) && json.contains("constraints"))
      for (const Json& one : json["constraints"])
        if (auto why = python_(one, Python::expression))
          add("constraint-code", "constraints", *why);
  }

  void solution(const Json& json) {
    for (const char* key : {"name", "definition", "author"}) text(json, key, key);
    note(json, "description");
    if (about_.is_object() && json.value("definition", Json()) != about_.value("name", Json()))
      add("definition-unknown", "definition", "is not the definition's name");
    bool has_spec = is_object(json, "spec");
    if (!has_spec) add("spec", "spec", "must be an object");
    if (has_spec) build(json["spec"]);
    sources(json, has_spec ? json["spec"] : Json::object());
  }

  void trace(const Json& json) {
    text(json, "definition", "definition");
    if (about_.is_object() && json.value("definition", Json()) != about_.value("name", Json()))
      add("definition-unknown", "definition", "is not the definition's name");
    if (is_object(json, "workload"))
      workload(json["workload"]);
    else
      add("workload", "workload", "must be an object");
    bool solved = json.contains("solution") && !json["solution"].is_null();
    bool judged = json.contains("evaluation") && !json["evaluation"].is_null();
    if (solved && !json["solution"].is_string())
      add("solution", "solution", "must be text or null");
    if (solved != judged)
      add("half-trace", "evaluation", "a solution and an evaluation come together or not at all");
    if (judged) evaluation(json["evaluation"]);
  }

 private:
  void add(std::string rule, std::string where, std::string what) {
    complaints_.push_back({std::move(rule), std::move(where), std::move(what)});
  }

  static bool is_object(const Json& json, const char* key) {
    return json.contains(key) && json[key].is_object();
  }

  static bool is_text(const Json& json) {
    return json.is_string() && !json.get_ref<const std::string&>().empty();
  }

  bool text(const Json& json, const char* key, const std::string& where) {
    if (json.contains(key) && is_text(json[key])) return true;
    add("text", where, "must be a text that is not empty");
    return false;
  }

  void note(const Json& json, const char* key) {
    if (json.contains(key) && !json[key].is_null() && !json[key].is_string())
      add("text", key, "must be text or null");
  }

  /// An array of texts of at least `least`; where `least` is 0 it may be absent.
  bool texts(const Json& json, const char* key, const std::string& where, std::size_t least) {
    if (!json.contains(key) && least == 0) return true;
    bool good = json.contains(key) && json[key].is_array() && json[key].size() >= least &&
                std::all_of(json[key].begin(), json[key].end(), is_text);
    if (!good) add("texts", where, "must be an array of texts, none of them empty");
    return good;
  }

  void axes(const Json& json) {
    if (!is_object(json, "axes")) return add("axes", "axes", "must be an object");
    for (const auto& [name, axis] : json["axes"].items()) {
      std::string where = "axes." + name;
      if (name.empty()) add("text", where, "an axis needs a name");
      std::string type = axis.is_object() && axis.contains("type") && axis["type"].is_string()
                             ? axis["type"].get<std::string>()
                             : "";
      if (type == "const") {
        if (!axis.contains("value") || !axis["value"].is_number_unsigned())
          add("axis-value", where, "a constant axis has a value, a number from 0");
      } else if (type != "var") {
        add("axis-type", where, "is neither `const` nor `var`");
      }
    }
  }

  void tensors(const Json& json, const char* key) {
    if (!is_object(json, key)) return add("tensors", key, "must be an object");
    for (const auto& [name, tensor] : json[key].items()) {
      std::string where = std::string(key) + "." + name;
      if (name.empty()) add("text", where, "a tensor needs a name");
      if (!tensor.is_object()) {
        add("tensors", where, "must be an object");
        continue;
      }
      if (!tensor.contains("dtype") || !is_one_of(tensor["dtype"], dtypes))
        add("dtype", where + ".dtype", "is no element type of the format");
      shape(json, tensor, where + ".shape");
    }
  }

  void shape(const Json& json, const Json& tensor, const std::string& where) {
    if (!tensor.contains("shape")) return add("shape", where, "is missing; null says a scalar");
    const Json& shape = tensor["shape"];
    if (shape.is_null()) return;
    if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), is_text))
      return add("shape", where, "must be null or an array of axes");
    for (const Json& axis : shape)
      if (!is_object(json, "axes") || !json["axes"].contains(axis.get<std::string>()))
        add("axis-undefined", where, axis.get<std::string>() + " is no axis");
  }

  void build(const Json& spec) {
    if (!spec.contains("language") || !is_one_of(spec["language"], languages))
      add("language", "spec.language", "is none of python, triton, cpp, cuda, tilelang");
    texts(spec, "target_hardware", "spec.target_hardware", 1);
    texts(spec, "dependencies", "spec.dependencies", 0);
    if (spec.contains("destination_passing_style") &&
        !spec["destination_passing_style"].is_boolean())
      add("boolean", "spec.destination_passing_style", "must be true or false");
    if (spec.contains("binding") && !spec["binding"].is_null() &&
        !is_one_of(spec["binding"], bindings))
      add("binding", "spec.binding", "is neither tvm-ffi nor torch");
    if (!text(spec, "entry_point", "spec.entry_point")) return;
    std::string entry = spec["entry_point"];
    std::size_t at = entry.find("::");
    if (at == std::string::npos || entry.find("::", at + 2) != std::string::npos)
      add("entry-point", "spec.entry_point", "must be FILE::FUNCTION");
  }

  void sources(const Json& json, const Json& spec) {
    if (!json.contains("sources") || !json["sources"].is_array() || json["sources"].empty())
      return add("sources", "sources", "must be an array with at least one file");
    std::set<std::string> paths;
    for (const Json& source : json["sources"]) {
      if (!source.is_object()) {
        add("sources", "sources", "must be objects");
        continue;
      }
      text(source, "content", "sources.content");
      if (!text(source, "path", "sources.path")) continue;
      std::string name = source["path"];
      std::filesystem::path path = name;
      if (path.is_absolute()) add("source-path", name, "must be relative");
      if (std::find(path.begin(), path.end(), "..") != path.end())
        add("source-path", name, "leads out of its folder");
      if (!paths.insert(name).second) add("source-twice", name, "is there twice");
    }
    if (!spec.contains("entry_point") || !spec["entry_point"].is_string()) return;
    std::string entry = spec["entry_point"];
    if (!paths.contains(entry.substr(0, entry.find("::"))))
      add("entry-file", "spec.entry_point", "names a file that is not in the sources");
  }

  void workload(const Json& json) {
    text(json, "uuid", "workload.uuid");
    if (!is_object(json, "axes")) {
      add("axes", "workload.axes", "must be an object");
    } else {
      for (const auto& [name, value] : json["axes"].items())
        if (!value.is_number_unsigned())
          add("axis-value", "workload.axes." + name, "must be a number from 0");
    }
    if (!is_object(json, "inputs")) return add("inputs", "workload.inputs", "must be an object");
    for (const auto& [name, input] : json["inputs"].items())
      input_of(input, "workload.inputs." + name);
    if (about_.is_object()) agrees(json);
  }

  void input_of(const Json& input, const std::string& where) {
    std::string type = input.is_object() && input.contains("type") && input["type"].is_string()
                           ? input["type"].get<std::string>()
                           : "";
    if (type == "scalar") {
      bool good =
          input.contains("value") && (input["value"].is_number() || input["value"].is_boolean());
      if (!good) add("scalar-value", where, "a scalar has a value, a number or a truth");
    } else if (type == "safetensors") {
      text(input, "path", where + ".path");
      text(input, "tensor_key", where + ".tensor_key");
    } else if (type != "random") {
      add("input-type", where, "is none of random, scalar, safetensors");
    }
  }

  /// What the format's words ask of a workload and its definition together.
  void agrees(const Json& json) {
    if (is_object(about_, "axes") && is_object(json, "axes"))
      for (const auto& [name, axis] : about_["axes"].items())
        if (axis.value("type", "") == "var" && !json["axes"].contains(name))
          add("axis-missing", "workload.axes", "says no value of the variable axis " + name);
    if (!is_object(about_, "inputs")) return;
    for (const auto& [name, input] : about_["inputs"].items())
      if (!json["inputs"].contains(name))
        add("input-missing", "workload.inputs", "says nothing of the input " + name);
    for (const auto& [name, input] : json["inputs"].items())
      if (!about_["inputs"].contains(name))
        add("input-unknown", "workload.inputs." + name, "is no input of the definition");
  }

  void evaluation(const Json& json) {
    if (!json.is_object()) return add("evaluation", "evaluation", "must be an object or null");
    if (!json.contains("status") || !is_one_of(json["status"], statuses))
      add("status", "evaluation.status", "is no status of the format");
    text(json, "timestamp", "evaluation.timestamp");
    if (is_object(json, "environment"))
      text(json["environment"], "hardware", "evaluation.environment.hardware");
    else
      add("environment", "evaluation.environment", "must be an object");
    bool passed = json.value("status", Json()) == "PASSED";
    bool numerical = json.value("status", Json()) == "INCORRECT_NUMERICAL";
    belongs(json, "correctness", passed || numerical);
    belongs(json, "performance", passed);
    figures(json, "correctness", {"max_relative_error", "max_absolute_error"});
    figures(json, "performance", {"latency_ms", "reference_latency_ms", "speedup_factor"});
  }

  void belongs(const Json& json, const char* key, bool wanted) {
    bool there = json.contains(key) && !json[key].is_null();
    if (there != wanted)
      add("status-figures", std::string("evaluation.") + key,
          wanted ? "is missing for this status" : "does not belong to this status");
  }

  void figures(const Json& json, const char* key, const std::vector<const char*>& names) {
    if (!is_object(json, key)) return;
    for (const char* name : names) {
      if (!json[key].contains(name)) continue;
      const Json& value = json[key][name];
      bool good = (value.is_number() && value.get<double>() >= 0) ||
                  (std::string(key) == "correctness" && (value == "NaN" || value == "Infinity"));
      if (!good) add("figure", std::string("evaluation.") + key + "." + name, "must be from 0");
    }
  }

  const PythonCheck& python_;
  const Json& about_;
  std::vector<Complaint> complaints_;
};

}  // namespace

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::definition:
      return "definition";
    case Kind::solution:
      return "solution";
    case Kind::trace:
      return "trace";
  }
  return "";
}

Result<PythonCheck> python_check() {
  static const std::string script =
      "import ast, sys\n"
      "form, text = sys.argv[1], sys.stdin.read()\n"
      "try:\n"
      "    tree = ast.parse(text, mode='eval' if form == 'expression' else 'exec')\n"
      "except (SyntaxError, ValueError, RecursionError, MemoryError) as wrong:\n"
      "    print('is no valid Python:', wrong)\n"
      "else:\n"
      "    if form == 'run_module' and not any(\n"
      "            isinstance(n, ast.FunctionDef) and n.name == 'run' for n in tree.body):\n"
      "        print('has no top-level function run')\n";
  auto ask = [](const std::string& text, const char* form) {
    return run_process({"/usr/bin/env", "python3", "-I", "-c", script, form}, text, {});
  };
  auto there = ask("1", "expression");
  if (!there || there->status != 0)
    return Error{Fault::unavailable,
                 "no python3 that could check the documents' code",
                 "install python3",
                 {},
                 Absent::service};
  return PythonCheck([ask](const std::string& text, Python form) -> std::optional<std::string> {
    const char* word = form == Python::run_module ? "run_module"
                       : form == Python::module   ? "module"
                                                  : "expression";
    auto end = ask(text, word);
    if (!end || end->status != 0) return "could not be read by python3";
    if (end->out.empty()) return std::nullopt;
    return end->out.substr(0, end->out.find('\n'));
  });
}

std::optional<Kind> kind_of(std::string_view document) {
  Json json = Json::parse(document, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  if (json.contains("workload")) return Kind::trace;
  if (json.contains("sources") || json.contains("spec")) return Kind::solution;
  if (json.contains("reference") || json.contains("op_type")) return Kind::definition;
  return std::nullopt;
}

std::vector<Complaint> check(Kind kind, std::string_view document, const PythonCheck& python,
                             const std::string* definition) {
  Json json = Json::parse(document, nullptr, false), about;
  if (!json.is_object()) return {{"json", "", "is no JSON object"}};
  if (definition != nullptr) about = Json::parse(*definition, nullptr, false);
  Checker checker(python, about);
  if (kind == Kind::definition) checker.definition(json);
  if (kind == Kind::solution) checker.solution(json);
  if (kind == Kind::trace) checker.trace(json);
  return checker.take();
}

}  // namespace lathe::cli::flashinfer
