#pragma once

// A candidate of a store by the first digits of its digest: what was proposed, and what the store
// keeps verdicts of alone, the reference and the decoys.

#include <optional>
#include <string>

#include "base/result.h"
#include "store/keys.h"
#include "store/store.h"
#include "store/values.h"

namespace lathe::cli {

struct FoundCandidate {
  store::CandidateKey key;
  store::CandidateRecord record;
  std::string ptx;
};

/// The one candidate whose digest begins with these hexadecimal digits.
Result<FoundCandidate> find_candidate(const store::Store& store, const std::string& digits);

/// What is wrong with text that cannot begin a digest.
std::optional<Error> no_digits(const std::string& text);

}  // namespace lathe::cli
