#pragma once

// Small kernels, what the rewrites make of them, and whether an assembler takes it.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "planner/subagent.h"
#include "tests/places.h"

namespace lathe::planner::rewriting {

inline ptx::Parsed kernel(const std::string& body, const std::string& parameter = ".param .u64 a",
                          const std::string& head = "") {
  ptx::Parsed parsed = ptx::parse(
      ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 16 .b8 smem[];\n" +
          head + ".visible .entry k(" + parameter + ")\n.reqntid 128\n{\n" + body + "\n}\n",
      "k.ptx");
  for (const Error& error : parsed.errors)
    FAIL(error.place.line << ":" << error.place.column << " " << error.what);
  return parsed;
}

/// The texts that one family makes of a module.
inline std::vector<std::string> of_family(const ptx::Module& module, std::string_view family,
                                          const Contract* contract = nullptr) {
  std::string entry;
  for (const ptx::Function& function : module.functions)
    if (function.entry) entry = function.name;
  std::vector<std::string> out;
  for (const Rewrite& rewrite : rewrites(module, entry, module.target.front(), contract)) {
    if (rewrite.family != family) continue;
    CHECK_FALSE(rewrite.condition.empty());
    CHECK_FALSE(rewrite.effect.empty());
    Result<std::string> text = ptx::apply(module, rewrite.edits);
    REQUIRE(text);
    ptx::Parsed again = ptx::parse(*text, "rewritten.ptx");
    for (const Error& error : again.errors)
      FAIL(rewrite.family << " " << error.place.line << ": " << error.what << "\n" << *text);
    CHECK(ptx::normal_form(again.module) != ptx::normal_form(module));
    out.push_back(*text);
  }
  return out;
}

inline std::vector<std::string> of_body(const std::string& body, std::string_view family) {
  ptx::Parsed parsed = kernel(body);
  return of_family(parsed.module, family);
}

inline std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

/// What the families are expected on: four kernels in half precision, of sm_90a in the
/// configuration before tuning (that of the measured pairs), which has four warps.
inline std::vector<std::filesystem::path> untuned_references() {
  std::vector<std::filesystem::path> paths;
  std::filesystem::path root = std::filesystem::path(source_folder) / "suite";
  for (const std::string kernel : {"gemm", "silu", "softmax", "sum"}) {
    for (const std::string target : {"sm_100a", "sm_89"})
      paths.push_back(root / "contracts" / (kernel + "_fp16_" + target) / "reference.ptx");
    paths.push_back(root / "pairs" / "contracts" / (kernel + "_fp16_sm_90a") / "reference.ptx");
  }
  return paths;
}

inline std::vector<std::filesystem::path> references() {
  std::vector<std::filesystem::path> paths;
  std::filesystem::path root = std::filesystem::path(source_folder) / "suite" / "contracts";
  for (const auto& entry : std::filesystem::directory_iterator(root))
    paths.push_back(entry.path() / "reference.ptx");
  std::sort(paths.begin(), paths.end());
  return paths;
}

inline ptx::Parsed reference(const std::filesystem::path& path) {
  Result<std::string> text = read_file(path);
  REQUIRE(text);
  return ptx::parse(*text, path.filename());
}

/// The first on the path, a toolkit's, or the one that setup fetched; none where there is none.
inline std::filesystem::path assembler() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) + ":/usr/local/cuda/bin:" +
                             std::string(source_folder) + "/.tools/cuda/nvidia/cu13/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (std::filesystem::exists(folder + "/ptxas")) return folder + "/ptxas";
  return {};
}

/// What the assembler says against it; empty: nothing.
inline std::string complaint(const std::string& text, std::string_view target) {
  Scratch scratch;
  std::string source = scratch.path() / "k.ptx", object = scratch.path() / "k.cubin";
  REQUIRE(write_file(source, text));
  auto end = run_process({assembler(), "-arch=" + std::string(target), "-o", object, source}, "",
                         ProcessLimits{});
  REQUIRE(end);
  return end->status == 0 ? "" : end->err;
}

}  // namespace lathe::planner::rewriting
