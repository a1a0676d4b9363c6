#pragma once

// What the store's tests put into stores.

#include <string>

#include "store/deeds.h"

namespace lathe::store {

inline Digest digest_of(const std::string& name) { return sha256(name); }

inline CandidateRecord candidate(std::uint64_t round, std::uint64_t branch,
                                 const std::string& explanation = "") {
  return {digest_of("ptx"), {}, "wide_access", "rewrite", explanation, round, branch};
}

inline WorkRecord work(std::uint64_t priority, std::uint64_t sequence) {
  WorkRecord work;
  work.priority = priority;
  work.sequence = sequence;
  return work;
}

/// Options that do not look at the disk of the machine that runs the tests.
inline StoreOptions roomy() {
  StoreOptions options;
  options.program = "store_tests";
  options.ballast_bytes = 0;
  options.free_bytes = [](const std::filesystem::path&) { return std::uint64_t{1} << 40; };
  return options;
}

}  // namespace lathe::store
