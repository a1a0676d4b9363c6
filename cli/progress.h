#pragma once

// What people see of a run: one live line on a terminal, plain lines elsewhere, every event with
// --verbose.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace lathe::cli {

enum class Loudness { quiet, normal, verbose };

/// A sink for the events of a run (actors::World::tell), safe from any thread. Writes to standard
/// error.
std::function<void(const std::string& kind, const std::string& json)> make_progress(
    Loudness loudness);

/// Ctrl-C: the first raises the flag and says what ends, the second ends the process at once with
/// status 130.
enum class Interrupted : std::uint8_t { run, node };
const std::atomic<int>& stop_on_interrupt(Interrupted what);

}  // namespace lathe::cli
