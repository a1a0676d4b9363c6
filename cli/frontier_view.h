#pragma once

// The frontier as people read it and as JSON (schema lathe/frontier/1): each admitted candidate
// with its modelled or measured time, the device, the baseline, the proof's bound, and what was
// changed and why it helps.

#include <optional>
#include <string>

#include "base/json.h"
#include "store/deeds.h"

namespace lathe::cli {

/// One contract's frontier. Holds no run, path, host, attempt or clock.
Result<Json> frontier_json(const store::Store& store, const Digest& contract);

/// The same for people, and below it what was refused and why, from the verdicts.
Result<std::string> frontier_text(const store::Store& store, const Digest& contract);

/// All contracts of the store, or those whose identity or name begins with `name`.
Result<std::vector<Digest>> contracts_named(const store::Store& store, const std::string& name);

/// 1234 as "1.23 us".
std::string time_text(double time_ns);

}  // namespace lathe::cli
