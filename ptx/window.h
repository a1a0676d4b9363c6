#pragma once

// Where the emulated address space has its windows: a generic address below them is global.

#include <cstdint>

namespace lathe::ptx {

inline constexpr std::uint64_t window_bytes = std::uint64_t{1} << 32;
inline constexpr std::uint64_t local_window = 0x7F00'0000'0000;
inline constexpr std::uint64_t shared_window = local_window + window_bytes;
/// Kernel parameters, of which tensor maps are used by their generic address.
inline constexpr std::uint64_t parameter_window = shared_window + window_bytes;
/// In a cluster, a shared address names its block above this bit.
inline constexpr unsigned rank_shift = 24;
/// Module variables of .global and .const.
inline constexpr std::uint64_t variable_window = 0x6000'0000'0000;

}  // namespace lathe::ptx
