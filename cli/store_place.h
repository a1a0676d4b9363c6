#pragma once

// Where the store lies: the flag, then LATHE_STORE, then the user's state folder.

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "store/keys.h"
#include "store/store.h"
#include "store/values.h"

namespace lathe::cli {

std::filesystem::path store_place(const std::string& flag);

/// To look at: beside a running owner or not. Errors: unavailable (file) where there is none.
Result<std::unique_ptr<store::Store>> look_at_store(const std::string& flag);

using FoundCandidate = std::pair<store::CandidateKey, store::CandidateRecord>;

/// The one candidate whose digest begins with these hexadecimal digits.
Result<FoundCandidate> find_candidate(const store::Store& store, const std::string& digits);

}  // namespace lathe::cli
