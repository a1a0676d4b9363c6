#pragma once

// The soundness suite's data: files of pairs, each a reference with its true twins and its near
// misses. tests/soundness/README.md says how the files are written.

#include <map>
#include <string>
#include <vector>

#include "kernels.h"

namespace lathe::verifier_node::soundness {

/// How a pair's kernels are launched, and what stands around their bodies.
struct Frame {
  std::string kernel;  // A contract of tests/kernels instead of all that follows.
  /// Register and type; an inout (u, u2, ..) is in both.
  std::vector<std::pair<std::string, std::string>> inputs, outputs;
  std::map<std::string, std::string> values;  // By tensor.
  std::string target = "sm_90a", version = "8.7";
  std::uint32_t threads = 32, blocks = 2, each = 1, shared = 0, cluster = 1;
  std::string absolute = "1e-3", relative = "1e-3", aligned = "16";
  bool bare = false;  // The body loads and stores by itself.
};

/// A candidate beside its reference.
struct Variant {
  std::string name;
  bool miss = false;
  std::string verdict = "proved";
  std::vector<std::string> reasons{"equal"};
  std::vector<std::string> lines;            // A whole body, or edits of the reference's.
  std::map<std::string, std::string> shown;  // Values on which the bits part, by tensor.
  bool schedule = false;  // Different in some order of events that bits alone do not show.
  std::uint32_t line = 0;
};

struct Pair {
  std::string file, name;
  Frame frame;
  std::vector<std::string> body;
  std::vector<Variant> variants;
};

struct PairFile {
  std::string name, about;
  std::vector<Pair> pairs;
  std::size_t count(bool misses) const;
};

PairFile read_pairs(const std::filesystem::path& path);

/// Every file of tests/soundness/pairs.
std::vector<std::filesystem::path> pair_files();

Contract contract_of(const Pair& pair, const std::map<std::string, std::string>& shown = {});
std::string candidate_of(const Pair& pair, const Variant& variant);

/// Whether the two give other bits, or a fault, on some input that the contract admits.
bool bits_differ(const Pair& pair, const Variant& variant);

Report answer(const Pair& pair, const Variant& variant);
bool right(const Variant& variant, const Report& report);

/// Verifies the variant and complains where the answer is not the one that the file states.
void check_variant(const Pair& pair, const Variant& variant);

}  // namespace lathe::verifier_node::soundness
