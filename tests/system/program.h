#pragma once

// build/bin/lathe as a user runs it.

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/process.h"
#include "tests/places.h"

namespace lathe {

/// Runs the program with these words; extra variables go in front, as in "LATHE_SEED=3".
inline ProcessEnd run_lathe(std::vector<std::string> words,
                            const std::vector<std::string>& variables = {},
                            const std::filesystem::path& folder = source_folder,
                            const std::string& input = "") {
  std::vector<std::string> command{"/usr/bin/env"};
  command.insert(command.end(), variables.begin(), variables.end());
  command.push_back(std::string(build_folder) + "/bin/lathe");
  command.insert(command.end(), words.begin(), words.end());
  ProcessLimits limits;
  limits.wall = std::chrono::minutes(5);
  auto end = run_process(command, input, limits, folder);
  REQUIRE(end.has_value());
  INFO(end->err);
  CHECK(end->signal == 0);
  return *std::move(end);
}

inline const std::string small_contract =
    std::string(source_folder) + "/tests/kernels/contracts/sum_8x512_fp16_sm_90a";

inline std::string text_of(const std::filesystem::path& path) {
  auto text = read_file(path, std::uint64_t{1} << 30);
  REQUIRE(text.has_value());
  return *std::move(text);
}

/// A copy of the small contract, with one text of contract.toml replaced.
class ContractCopy {
 public:
  explicit ContractCopy(const std::string& before = "", const std::string& after = "") {
    std::string toml = text_of(small_contract + "/contract.toml");
    if (!before.empty()) {
      std::size_t at = toml.find(before);
      REQUIRE(at != std::string::npos);
      toml.replace(at, before.size(), after);
    }
    write("contract.toml", toml);
    write("reference.ptx", text_of(small_contract + "/reference.ptx"));
  }
  void write(const std::string& name, const std::string& text) {
    REQUIRE(write_file(scratch_.path() / name, text).has_value());
  }
  std::string path() const { return scratch_.path().string(); }
  std::string file(const std::string& name) const { return (scratch_.path() / name).string(); }

 private:
  Scratch scratch_;
};

inline bool has(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace lathe
