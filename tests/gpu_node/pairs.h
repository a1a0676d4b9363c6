#pragma once

// The shipped pairs: two kernels of one contract, timed on an H200, and what the model says of
// them.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "gpu_node/measure.h"

namespace lathe::gpu_node {

struct PairSide {
  std::shared_ptr<const Contract> contract;  // With this side's launch.
  std::string file;
  std::int64_t registers = 0;
  double measured_us = 0;
};

struct Pair {
  std::string name, what, verdict;
  PairSide reference, candidate;
  double low = 0, high = 0;  // Of the measured ratio, candidate over reference.
};

/// "section.key" to the text of its value; the suite writes a line a key.
inline std::map<std::string, std::string> keys_of(const std::string& text) {
  std::map<std::string, std::string> keys;
  std::string section;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("[")) section = line.substr(1, line.find(']') - 1) + ".";
    std::size_t equals = line.find(" = ");
    if (line.starts_with("[") || equals == std::string::npos) continue;
    std::string value = line.substr(equals + 3);
    if (value.starts_with("\"")) value = value.substr(1, value.size() - 2);
    keys[section + line.substr(0, equals)] = value;
  }
  return keys;
}

inline std::array<std::uint32_t, 3> triple_of(const std::string& text) {
  std::array<std::uint32_t, 3> triple{1, 1, 1};
  const char* at = text.c_str() + 1;
  for (std::uint32_t& one : triple) {
    char* end = nullptr;
    one = static_cast<std::uint32_t>(std::strtoul(at, &end, 10));
    at = end + 1;
  }
  return triple;
}

inline PairSide side_of(const std::filesystem::path& root,
                        const std::map<std::string, std::string>& keys, const Json& measured,
                        const std::string& side) {
  PairSide one;
  Result<Contract> contract = read_contract(root / keys.at("contract"));
  if (!contract) throw contract.error().what;
  contract->launch.grid = triple_of(keys.at(side + ".launch.grid"));
  contract->launch.block = triple_of(keys.at(side + ".launch.block"));
  contract->launch.dynamic_shared_bytes = static_cast<std::uint32_t>(
      std::strtoul(keys.at(side + ".launch.dynamic_shared_bytes").c_str(), nullptr, 10));
  one.contract = std::make_shared<Contract>(std::move(*contract));
  one.file = (root / keys.at(side + ".file")).string();
  one.registers = measured[side]["registers"].get<std::int64_t>();
  one.measured_us = measured[side]["median_us"].get<double>();
  return one;
}

inline std::vector<Pair> read_pairs(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(root / "suite" / "pairs"))
    if (std::filesystem::exists(entry.path() / "measured.json")) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());
  std::vector<Pair> pairs;
  for (const std::filesystem::path& folder : folders) {
    Result<std::string> toml = read_file(folder / "pair.toml");
    Result<std::string> json = read_file(folder / "measured.json");
    if (!toml || !json) throw std::string("cannot read " + folder.string());
    std::map<std::string, std::string> keys = keys_of(*toml);
    Json measured = Json::parse(*json);
    Pair pair{keys.at("name"), keys.at("what"), measured["verdict"].get<std::string>(), {}, {}};
    pair.reference = side_of(root, keys, measured, "reference");
    pair.candidate = side_of(root, keys, measured, "candidate");
    pair.low = measured["candidate_over_reference"]["low"].get<double>();
    pair.high = measured["candidate_over_reference"]["high"].get<double>();
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

/// The registers are those of the measured cubin, so no assembler is needed.
inline Result<Estimate> model(const PairSide& side) {
  Result<std::string> text = read_file(side.file);
  if (!text) return text.error();
  ptx::Parsed parsed = ptx::parse(*text, side.file);
  if (!parsed.errors.empty()) return parsed.errors[0];
  Resources resources;
  resources.registers = side.registers;
  return measure({side.contract, side.file,
                  std::make_shared<const ptx::Module>(std::move(parsed.module)), resources},
                 {});
}

/// Modelled times within this of each other count as "same" beside an H200's own spread.
inline constexpr double pair_same_within = 0.03;

inline bool agrees(const Pair& pair, double ratio) {
  if (pair.verdict == "faster") return ratio < 1 - same_within;
  if (pair.verdict == "slower") return ratio > 1 + same_within;
  return ratio > pair.low - pair_same_within && ratio < pair.high + pair_same_within;
}

}  // namespace lathe::gpu_node
