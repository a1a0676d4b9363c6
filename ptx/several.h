#pragma once

// A domain may carry out several runs at once, each on registers and memory of its own
// (ptx/several_bits.h). Where the machine computes with values itself, it does so run by run.

#include "ptx/domain.h"

namespace lathe::ptx {

inline Spot spot_of(Spot place) { return place; }
inline Spot spot_of(const Cell& cell) { return cell.place; }

/// Calls `use` with the domain and the registers of each run; `touched` are the registers that it
/// reads and sets, as spots or cells.
template <class D, class Lanes, class Touched, class Use>
[[gnu::always_inline]] inline void for_each_run(D& d, Lanes& lanes, const Touched& touched,
                                                Use use) {
  if constexpr (requires { d.each_run(lanes, touched, use); })
    d.each_run(lanes, touched, use);
  else
    use(d, lanes);
}

}  // namespace lathe::ptx
