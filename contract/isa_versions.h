#pragma once

// Which `.version` there are.

#include <array>
#include <string_view>

namespace lathe {

/// From the oldest that knows one of our targets; the newest comes last.
inline constexpr std::array<std::string_view, 15> known_ptx_isas{"7.8", "8.0", "8.1", "8.2", "8.3",
                                                                 "8.4", "8.5", "8.6", "8.7", "8.8",
                                                                 "9.0", "9.1", "9.2", "9.3", "9.4"};

}  // namespace lathe
