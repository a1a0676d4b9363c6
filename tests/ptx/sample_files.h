#pragma once

// The PTX files that the repository ships, and small ones written here.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ptx/module.h"
#include "tests/places.h"

namespace lathe::ptx {

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Every .ptx under suite/ and tests/, in one order.
inline std::vector<std::filesystem::path> shipped_ptx() {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"suite", "tests"}) {
    std::filesystem::path root = std::filesystem::path(source_folder) / folder;
    if (!std::filesystem::exists(root)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root))
      if (entry.path().extension() == ".ptx") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// A module of one entry around the statements of a body.
inline std::string around(const std::string& body) {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n" +
         body + "\n}\n";
}

/// The first instruction of a body that must parse.
inline Parsed parse_body(const std::string& body) { return parse(around(body), "k.ptx"); }

}  // namespace lathe::ptx
