#pragma once

// Documents as the public schema's words describe them, and a Python check that needs no Python:
// it looks for what the samples' mutations break.

#include <catch2/catch.hpp>
#include <string>

#include "base/json.h"
#include "cli/flashinfer.h"

namespace lathe::cli::flashinfer {

inline Json definition_sample() {
  return Json::parse(R"({
    "name": "rmsnorm_h4096", "op_type": "rmsnorm", "tags": ["status:draft"],
    "description": "Root mean square normalisation.",
    "axes": {"batch": {"type": "var"}, "hidden": {"type": "const", "value": 4096}},
    "inputs": {"x": {"shape": ["batch", "hidden"], "dtype": "float16"},
               "weight": {"shape": ["hidden"], "dtype": "float16"},
               "eps": {"shape": null, "dtype": "float32"}},
    "outputs": {"y": {"shape": ["batch", "hidden"], "dtype": "float16"}},
    "constraints": ["batch > 0"],
    "reference": "import torch\n\ndef run(x, weight, eps):\n    return x\n"})");
}

inline Json workload_sample() {
  return Json::parse(R"({
    "definition": "rmsnorm_h4096",
    "workload": {"uuid": "6120f144-b973-4bd9-b884-77ecb132914e", "axes": {"batch": 32},
                 "inputs": {"x": {"type": "random"},
                            "weight": {"type": "safetensors", "path": "blob/w.safetensors",
                                       "tensor_key": "weight"},
                            "eps": {"type": "scalar", "value": 1e-6}}},
    "solution": null, "evaluation": null})");
}

inline Json solution_sample() {
  return Json::parse(R"({
    "name": "rmsnorm_triton", "definition": "rmsnorm_h4096", "author": "somebody",
    "spec": {"language": "triton", "target_hardware": ["NVIDIA_H100"],
             "entry_point": "main.py::run", "dependencies": ["triton >= 3.0"],
             "destination_passing_style": false},
    "sources": [{"path": "main.py", "content": "def run(x, weight, eps):\n    return x\n"},
                {"path": "src/other.py", "content": "pass\n"}]})");
}

inline Json trace_sample() {
  Json json = workload_sample();
  json["solution"] = "rmsnorm_triton";
  json["evaluation"] = Json::parse(R"({
    "status": "PASSED", "timestamp": "2026-11-30T00:00:00Z", "log": "",
    "environment": {"hardware": "NVIDIA_H100", "libs": {"torch": "2.11.0"}},
    "correctness": {"max_relative_error": 1e-5, "max_absolute_error": 0.0},
    "performance": {"latency_ms": 0.008, "reference_latency_ms": 0.019,
                    "speedup_factor": 2.375}})");
  return json;
}

inline std::optional<std::string> simple_python(const std::string& text, Python form) {
  if (text.find("$") != std::string::npos) return "is no valid Python: a dollar";
  if (form == Python::run_module && text.find("def run(") == std::string::npos)
    return "has no top-level function run";
  return std::nullopt;
}

/// The rules that a document breaks, in order.
inline std::vector<std::string> rules(Kind kind, const Json& json, bool with_definition = true) {
  std::string about = definition_sample().dump();
  std::vector<std::string> out;
  for (const Complaint& one :
       check(kind, json.dump(), simple_python, with_definition ? &about : nullptr))
    out.push_back(one.rule);
  return out;
}

}  // namespace lathe::cli::flashinfer
