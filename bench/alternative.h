#pragma once

// A contract's kernel in another configuration: PTX, and beside it the `[launch]` table that is its
// own.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "contract/contract.h"

namespace lathe {

/// Empty where there is no such file.
inline std::string text_of(const std::filesystem::path& path) {
  Result<std::string> text = read_file(path);
  return text ? *std::move(text) : std::string();
}

/// The contract's where the configuration has none beside it. A table that does not read ends the
/// program: what it would measure is another kernel.
inline Launch launch_beside(const Contract& contract, std::filesystem::path ptx) {
  ptx.replace_extension(".toml");
  if (!std::filesystem::exists(ptx)) return contract.launch;
  Result<Launch> launch =
      parse_launch(text_of(ptx), ptx.string(), contract.target, contract.launch);
  if (launch) return *std::move(launch);
  std::fprintf(stderr, "%s: %s\n", ptx.c_str(), launch.error().what.c_str());
  std::exit(65);
}

}  // namespace lathe
