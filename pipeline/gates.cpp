// The names of gates, answers and reasons, as people and records read them.

#include "pipeline/gates.h"

#include "pipeline/flow.h"

namespace lathe {

std::string_view name_of(Gate gate) {
  for (const GateRow& row : flow)
    if (row.gate == gate) return row.name;
  return "unknown";
}

std::string_view name_of(Verdict::Answer answer) {
  switch (answer) {
    case Verdict::Answer::passed:
      return "passed";
    case Verdict::Answer::rejected:
      return "rejected";
    case Verdict::Answer::undecided:
      break;
  }
  return "undecided";
}

std::string_view name_of(Reason reason) {
  switch (reason) {
    case Reason::unsupported:
      return "unsupported";
    case Reason::exhausted:
      return "exhausted";
    case Reason::unguarded:
      return "unguarded";
    case Reason::not_witnessed:
      return "not_witnessed";
    case Reason::precision:
      return "precision";
    case Reason::divisor:
      return "divisor";
    case Reason::ambiguous:
      return "ambiguous";
    case Reason::unmeasurable:
      break;
  }
  return "unmeasurable";
}

}  // namespace lathe
