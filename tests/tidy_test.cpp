// What a reviewer should not have to say: the layers, the libraries' homes, the measures.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/places.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

/// The layers, lowest first. A folder includes itself, those named, and nothing else.
const std::map<std::string, Names> may_include{
    {"base", {}},
    {"contract", {"base"}},
    {"ptx", {"base"}},
    {"pipeline", {"base", "contract", "ptx"}},
    {"planner", {"base", "contract", "ptx", "pipeline"}},
    {"gpu_node", {"base", "contract", "ptx", "pipeline"}},
    {"verifier_node", {"base", "contract", "ptx", "pipeline"}},
    {"store", {"base", "contract", "pipeline"}},
    {"cluster", {"base", "contract", "pipeline"}},
    {"actors",
     {"base", "contract", "ptx", "pipeline", "planner", "gpu_node", "verifier_node", "store",
      "cluster"}},
    {"cli",
     {"base", "contract", "ptx", "pipeline", "planner", "gpu_node", "verifier_node", "store",
      "cluster", "actors"}},
};

/// Each library has its homes, so that one folder changes when the library does.
const std::map<std::string, Names> home{
    {"caf/", {"actors"}},   {"rocksdb/", {"store"}},  {"zmq", {"cluster"}},
    {"cuda", {"gpu_node"}}, {"cupti", {"gpu_node"}},  {"nvJitLink", {"gpu_node"}},
    {"curl/", {"planner"}}, {"sqlite3", {"planner"}}, {"openssl/", {"base", "cluster"}},
    {"msgpack", {"base"}},  {"nlohmann/", {"base"}},  {"toml++/", {"base"}},
    {"zstd", {"base"}},     {"CLI/", {"cli"}},        {"httplib", {"cli"}},
    {"fmt/", {"cli"}},      {"spdlog/", {"cli"}},
};

constexpr std::size_t columns_max = 100;
constexpr std::size_t lines_max = 500;
constexpr std::size_t function_lines_max = 60;

struct File {
  fs::path path;
  std::string folder;
  std::vector<std::string> lines;
  std::string name() const { return path.string(); }
};

std::vector<File> sources(const std::vector<std::string>& folders) {
  std::vector<File> files;
  for (const std::string& folder : folders) {
    fs::path root = fs::path(source_folder) / folder;
    if (!fs::exists(root)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
      std::string extension = entry.path().extension();
      if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp")) continue;
      File file{fs::relative(entry.path(), source_folder), folder, {}};
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) file.lines.push_back(line);
      files.push_back(std::move(file));
    }
  }
  return files;
}

std::vector<std::string> layer_folders() {
  std::vector<std::string> folders;
  for (const auto& [folder, _] : may_include) folders.push_back(folder);
  return folders;
}

std::vector<std::string> all_folders() {
  std::vector<std::string> folders = layer_folders();
  folders.insert(folders.end(), {"tests", "bench"});
  return folders;
}

TEST_CASE("a folder includes only its own layer and those below") {
  static const std::regex include(R"re(^#include "([^">]+)")re");
  for (const File& file : sources(layer_folders()))
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, include)) continue;
      std::string other = match[1].str().substr(0, match[1].str().find('/'));
      INFO(file.name() << ":" << i + 1 << ": " << file.folder << " may not include " << other);
      CHECK((other == file.folder || may_include.at(file.folder).contains(other)));
    }
}

TEST_CASE("a library is included at home and nowhere else") {
  static const std::regex include(R"re(^#include <([^">]+)>)re");
  for (const File& file : sources(layer_folders()))
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, include)) continue;
      for (const auto& [library, owners] : home) {
        if (!match[1].str().starts_with(library)) continue;
        INFO(file.name() << ":" << i + 1 << ": <" << library << "> is not at home in "
                         << file.folder);
        CHECK(owners.contains(file.folder));
      }
    }
}

TEST_CASE("no file is longer or wider than the measure") {
  for (const File& file : sources(all_folders())) {
    INFO(file.name() << " has " << file.lines.size() << " lines");
    CHECK(file.lines.size() <= lines_max);
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      INFO(file.name() << ":" << i + 1 << " is too wide");
      if (file.lines[i].find("R\"") == std::string::npos)
        CHECK(file.lines[i].size() <= columns_max);
    }
  }
}

/// A function body begins at a line that starts in column 0 (or in a class, deeper) and ends with
/// `{`, and ends at `}` with the same indentation. Namespaces, types, enums and tables are not
/// functions.
TEST_CASE("no function is longer than the measure") {
  static const std::regex not_function(
      R"(^\s*(namespace|struct|class|enum|union|extern|template|constexpr std::array|const std::map|inline constexpr|static constexpr|TEST_CASE|\}))");
  static const std::regex opens(R"(^(\s*)\S.*[)\w]\s*(const|noexcept|override)?\s*\{$)");
  for (const File& file : sources(layer_folders()))
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      const std::string& line = file.lines[i];
      if (line.find('(') == std::string::npos || std::regex_search(line, not_function)) continue;
      if (!std::regex_search(line, match, opens)) continue;
      std::string end = match[1].str() + "}";
      for (std::size_t j = i + 1; j < file.lines.size(); ++j) {
        if (!file.lines[j].starts_with(end)) continue;
        INFO(file.name() << ":" << i + 1 << ": a function of " << j - i + 1 << " lines");
        CHECK(j - i + 1 <= function_lines_max);
        break;
      }
    }
}

TEST_CASE("names say what a thing is, and comments keep no lists of work") {
  static const std::regex banned(
      R"(\b(\w*(util|helper|manager)s?)\b|\bTODO\b|\bFIXME\b|\bXXX\b|//[ ]*[-=*#]{4,})",
      std::regex::icase);
  static const std::regex foreign(R"(\bcaf::[\w:]+|\bopenssl_manager\b)");
  for (const File& file : sources(layer_folders()))
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (file.lines[i].starts_with("#include")) continue;
      INFO(file.name() << ":" << i + 1 << ": " << file.lines[i]);
      // Another library's names are not ours to choose.
      CHECK_FALSE(std::regex_search(std::regex_replace(file.lines[i], foreign, ""), banned));
    }
}

TEST_CASE("no header opens a namespace to all who include it, and each is included once") {
  for (const File& file : sources(layer_folders())) {
    if (file.path.extension() != ".h") continue;
    INFO(file.name());
    bool once = false;
    for (const std::string& line : file.lines) {
      once |= line == "#pragma once";
      CHECK_FALSE(line.starts_with("using namespace"));
    }
    CHECK(once);
  }
}

TEST_CASE("no folder includes another in a circle") {
  for (const auto& [folder, below] : may_include)
    for (const std::string& other : below) {
      INFO(folder << " and " << other);
      CHECK_FALSE(may_include.at(other).contains(folder));
    }
}

}  // namespace
}  // namespace lathe
