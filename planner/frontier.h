#pragma once

// Who beats whom. Noise decides nothing: intervals that touch are a tie, and a tie is not a win.

#include <string>

#include "pipeline/gates.h"

namespace lathe::planner {

/// A candidate that passed every gate that was asked of it.
struct Standing {
  bool proved = false;
  Timing timing;
};

/// Measurably faster than the incumbent that it was timed beside: the benchmark says so, the whole
/// interval lies below the incumbent's time, and the gain exceeds `gain_min` of it.
bool improves(const Timing& timing, double gain_min);

/// Dominates: at least as well proved, and its interval lies wholly below the other's. Or proved
/// where the other is not.
bool dominates(const Standing& left, const Standing& right);

/// A total order for listing: proved first, then by time. Equal ones keep their order.
bool listed_before(const Standing& left, const Standing& right);

/// Fraction of the incumbent's time that the candidate saves.
double gain_of(const Timing& timing);

}  // namespace lathe::planner
