#pragma once

// Where the store lies: the flag, then LATHE_STORE, then the user's state folder.

#include <filesystem>
#include <memory>
#include <string>

#include "store/store.h"

namespace lathe::cli {

std::filesystem::path store_place(const std::string& flag);

/// To look at: beside a running owner or not. Errors: unavailable (file) where there is none.
Result<std::unique_ptr<store::Store>> look_at_store(const std::string& flag);

}  // namespace lathe::cli
