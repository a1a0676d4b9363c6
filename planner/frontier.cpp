// The rules of comparison.

#include "planner/frontier.h"

namespace lathe::planner {

bool improves(const Timing& timing, double gain_min) {
  if (timing.verdict != "faster" || timing.incumbent_ns <= 0 || timing.time_ns <= 0) return false;
  if (timing.high_ns >= timing.incumbent_ns) return false;
  return gain_of(timing) >= gain_min;
}

bool dominates(const Standing& left, const Standing& right) {
  if (left.proved != right.proved) return left.proved;
  return left.timing.high_ns < right.timing.low_ns;
}

bool listed_before(const Standing& left, const Standing& right) {
  if (left.proved != right.proved) return left.proved;
  return left.timing.time_ns < right.timing.time_ns;
}

double gain_of(const Timing& timing) {
  return timing.incumbent_ns <= 0 ? 0 : 1 - timing.time_ns / timing.incumbent_ns;
}

}  // namespace lathe::planner
