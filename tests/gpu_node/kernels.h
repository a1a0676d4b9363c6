#pragma once

// Shipped kernels as candidates, for the tests of the gates.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "gpu_node/gpu_node.h"
#include "tests/places.h"

namespace lathe::gpu_node {

inline std::filesystem::path in_root(const std::string& path) {
  return std::filesystem::path(source_folder) / path;
}

inline std::shared_ptr<const Contract> contract_at(const std::string& path) {
  Result<Contract> contract = read_contract(in_root(path));
  if (!contract) throw contract.error().what;
  return std::make_shared<Contract>(std::move(*contract));
}

inline std::shared_ptr<const Contract> small(const std::string& name) {
  return contract_at("tests/kernels/contracts/" + name);
}

/// As if ptxas had accepted it: the gates behind need no cubin.
inline Assembled assembled(std::shared_ptr<const Contract> contract, std::string ptx) {
  Assembled candidate;
  candidate.contract = std::move(contract);
  candidate.ptx = std::move(ptx);
  ptx::Parsed parsed = ptx::parse(candidate.ptx, "candidate.ptx");
  if (!parsed.errors.empty()) throw parsed.errors[0].what;
  candidate.module = std::make_shared<ptx::Module>(std::move(parsed.module));
  candidate.resources.registers = 32;
  return candidate;
}

inline Sanitized sanitized(std::shared_ptr<const Contract> contract, std::string ptx) {
  return {assembled(std::move(contract), std::move(ptx)), {}, 0};
}

inline std::string text_at(const std::string& path) {
  Result<std::string> text = read_file(in_root(path));
  if (!text) throw text.error().what;
  return *text;
}

}  // namespace lathe::gpu_node
