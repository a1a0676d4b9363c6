#pragma once

// What a verification found, before it becomes the document of `lathe verify --json`.

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract/contract.h"
#include "pipeline/gates.h"

namespace lathe::verifier_node {

/// A concrete input, or a schedule, on which the emulator shows the fault.
struct Witness {
  std::string kind;  // "value", "race", "deadlock", "bounds", "frame", "fault"
  std::string tensor;
  std::vector<std::uint64_t> index;
  std::optional<double> reference_value, candidate_value;
  std::string space;
  std::optional<std::uint64_t> address;
  std::vector<std::array<std::uint32_t, 3>> blocks;
  std::vector<std::array<std::uint32_t, 3>> threads;
  std::vector<std::uint32_t> reference_lines, candidate_lines;
  bool replayed = false;
  std::string input_class;
  std::uint64_t input_seed = 0;
};

struct UnsupportedPart {
  bool of_reference = false;
  std::uint32_t line = 0, column = 0;
  std::string instruction, why, instead;
};

enum class Check : std::uint8_t {
  equality,
  races,
  deadlock,
  bounds,
  inputs_unchanged,
  written_set,
  precision,
  divisors,
  guards,
  stress,
  count
};
enum class CheckState : std::uint8_t { absent, passed, failed, skipped };

struct Findings {
  std::string verdict;  // "proved", "refuted", "undecided"; empty: not decided yet.
  std::string reason_code, reason;
  Proof proof;
  std::uint64_t outputs_translated = 0;  // Of those compared: by blocks that others stand for.
  std::vector<std::string> sampled;
  std::array<CheckState, static_cast<std::size_t>(Check::count)> checks{};
  std::optional<Witness> witness;
  std::vector<UnsupportedPart> unsupported;

  void set(Check check, CheckState state) { checks[static_cast<std::size_t>(check)] = state; }
  bool decided() const { return !verdict.empty(); }
  void decide(std::string what, std::string code, std::string why) {
    verdict = std::move(what);
    reason_code = std::move(code);
    reason = std::move(why);
  }
};

/// The document of schema lathe/verify/1 without file names and cost.
std::string document(const Findings& findings, const std::string& reference_sha256,
                     const std::string& candidate_sha256);

/// The gate's reason of an undecided reason code.
Reason reason_of(const std::string& code);

}  // namespace lathe::verifier_node
