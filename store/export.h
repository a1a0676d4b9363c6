#pragma once

// What a store knows, as text that two stores with the same knowledge share byte for byte: JSON
// lines, sorted by content, without clocks, attempts, paths, hosts, run numbers or names.

#include <optional>
#include <string>

#include "store/store.h"

namespace lathe::store {

/// Contracts, candidates, rounds with their proposals, verdicts, ledger and frontier; of one
/// contract where that is named.
Result<std::string> export_text(const Store& store, const std::optional<Digest>& contract = {});

}  // namespace lathe::store
