#pragma once

// The gates in the order of a candidate's life: where each runs, how long it may take, and what a
// retry may do. Whoever schedules work reads this table and nothing else.

#include <array>
#include <cstdint>
#include <string_view>

#include "pipeline/gates.h"

namespace lathe {

enum class GatePlace : std::uint8_t { coordinator, gpu_node, verifier_node };

/// What may be tried when no answer came, or none but `exhausted`. A verdict is never retried.
enum class Retry : std::uint8_t {
  never,         // A function of its arguments alone: the same again gives the same.
  elsewhere,     // On another node; the node that fell silent is not blamed on the candidate.
  larger_limit,  // Elsewhere, and after `exhausted` once more with more of what ran out.
};

struct GateRow {
  Gate gate;
  std::string_view name;
  GatePlace place;
  std::uint32_t wall_seconds_max;  // Of one try, in a child that can be killed.
  std::uint32_t tries_max;
  Retry retry;
};

// clang-format off
inline constexpr std::array<GateRow, 8> flow{{
    {Gate::screen,    "screen",    GatePlace::coordinator,     30, 1, Retry::never},
    {Gate::assemble,  "assemble",  GatePlace::gpu_node,        90, 3, Retry::elsewhere},
    {Gate::sanitize,  "sanitize",  GatePlace::gpu_node,       300, 3, Retry::larger_limit},
    {Gate::test,      "test",      GatePlace::gpu_node,       600, 3, Retry::larger_limit},
    {Gate::verify,    "verify",    GatePlace::verifier_node, 1200, 3, Retry::larger_limit},
    {Gate::benchmark, "benchmark", GatePlace::gpu_node,       600, 3, Retry::elsewhere},
    {Gate::profile,   "profile",   GatePlace::gpu_node,       600, 3, Retry::elsewhere},
    {Gate::admit,     "admit",     GatePlace::coordinator,     30, 1, Retry::never},
}};
// clang-format on

constexpr const GateRow& row_of(Gate gate) { return flow[static_cast<std::size_t>(gate) - 1]; }

/// The numbers are on disk and index the table.
constexpr bool flow_is_in_order() {
  for (std::size_t i = 0; i < flow.size(); ++i)
    if (static_cast<std::size_t>(flow[i].gate) != i + 1) return false;
  return true;
}
static_assert(flow_is_in_order());

}  // namespace lathe
