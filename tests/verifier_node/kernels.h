#pragma once

// Shipped kernels and their mistakes, as the tests of the verifier read them.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/places.h"
#include "verifier_node/verify.h"

namespace lathe::verifier_node {

inline std::filesystem::path kernels() {
  return std::filesystem::path(source_folder) / "tests" / "kernels";
}

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  REQUIRE(in.good());
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// What stands between the brackets or quotes after `key =`, in the lines of one entry.
inline std::vector<std::string> values_of(const std::string& entry, const std::string& key) {
  std::vector<std::string> values;
  std::size_t at = entry.find("\n" + key + " = ");
  if (at == std::string::npos) return values;
  std::string line = entry.substr(at + 1, entry.find('\n', at + 1) - at - 1);
  for (std::size_t open = line.find('"'); open != std::string::npos;) {
    std::size_t close = line.find('"', open + 1);
    values.push_back(line.substr(open + 1, close - open - 1));
    open = line.find('"', close + 1);
  }
  return values;
}

inline Launch launch_of(const Contract& contract, const std::string& toml) {
  Result<Launch> launch = parse_launch(toml, "alternative.toml", contract.target, contract.launch);
  if (!launch) FAIL(launch.error().what);
  return *launch;
}

inline Contract contract_at(const std::filesystem::path& directory) {
  Result<Contract> contract = read_contract(directory);
  if (!contract) FAIL(directory.string() << ": " << contract.error().what);
  return *contract;
}

inline Report verified(const Contract& contract, const std::string& ptx, Options options = {}) {
  ptx::Parsed reference = ptx::parse(contract.reference, "reference.ptx");
  ptx::Parsed candidate = ptx::parse(ptx, "candidate.ptx");
  REQUIRE(reference.errors.empty());
  REQUIRE(candidate.errors.empty());
  if (options.seed == 0) options.seed = 20240607;
  Result<Report> report = verify(reference.module, candidate.module, contract, options);
  if (!report) FAIL(report.error().what);
  return *report;
}

inline Contract small_contract(const std::string& name) {
  return contract_at(kernels() / "contracts" / name);
}

/// Another configuration of a contract's kernel, verified against its reference.
inline Report verified_alternative(const std::string& contract_name, const std::string& label,
                                   Options options = {}) {
  Contract contract = small_contract(contract_name);
  auto folder = kernels() / "alternatives" / contract_name;
  options.candidate_launch = launch_of(contract, text_of(folder / (label + ".toml")));
  return verified(contract, text_of(folder / (label + ".ptx")), options);
}

/// The reference with one piece of its text replaced, which must be there `times` times.
inline std::string edited(std::string text, const std::string& from, const std::string& to,
                          std::size_t which = 0) {
  std::size_t at = text.find(from);
  for (std::size_t i = 0; i < which && at != std::string::npos; ++i) at = text.find(from, at + 1);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace lathe::verifier_node
