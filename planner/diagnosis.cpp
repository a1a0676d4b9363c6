// The pattern table: what binds, which symptom must be there, which family it justifies.

#include "planner/diagnosis.h"

#include <algorithm>
#include <cstdio>

namespace lathe::planner {
namespace {

using Symptom = std::uint64_t Features::*;

struct Pattern {
  std::string_view bound_by, family;
  Symptom symptom;
  std::uint64_t at_least;
  std::string_view symptom_name, why;
};

// clang-format off
const Pattern patterns[] = {
  {"latency", family::tree_reduction, &Features::longest_chain,   4, "longest chain of one operation", "a balanced tree shortens the chain that every thread waits for"},
  {"latency", family::hoisted_loads,  &Features::late_loads,      1, "loads behind a use of an earlier load", "loads issued before the first wait overlap their latencies"},
  {"latency", family::wide_access,    &Features::narrow_accesses, 2, "accesses below 16 bytes a thread", "fewer, wider loads put more bytes in flight at once"},
  {"latency", family::fewer_barriers, &Features::barriers,        2, "barriers", "each barrier joins all warps on the critical path"},
  {"latency", family::reciprocal,     &Features::divisions,       1, "divisions", "a division is a long dependent sequence"},
  {"latency", family::fma,            &Features::contractions,    1, "products that an addition consumes", "one operation instead of two in the chain"},
  {"xu",      family::reciprocal,     &Features::divisions,       1, "divisions", "one reciprocal for a divisor instead of one a quotient"},
  {"alu",     family::reciprocal,     &Features::divisions,       1, "divisions", "a division expands to several arithmetic instructions"},
  {"alu",     family::fma,            &Features::contractions,    1, "products that an addition consumes", "one instruction instead of two"},
  {"fma",     family::reciprocal,     &Features::divisions,       1, "divisions", "a division expands to several multiplications"},
  {"fma",     family::fma,            &Features::contractions,    1, "products that an addition consumes", "one instruction instead of two"},
  {"issue",   family::wide_access,    &Features::narrow_accesses, 2, "accesses below 16 bytes a thread", "one instruction moves what several did"},
  {"issue",   family::reciprocal,     &Features::divisions,       1, "divisions", "a division expands to several instructions"},
  {"issue",   family::fma,            &Features::contractions,    1, "products that an addition consumes", "one instruction instead of two"},
  {"issue",   family::fewer_barriers, &Features::barriers,        2, "barriers", "a barrier takes issue slots of every warp"},
  {"lsu",     family::wide_access,    &Features::narrow_accesses, 2, "accesses below 16 bytes a thread", "one request moves what several did"},
  {"shared",  family::fewer_barriers, &Features::barriers,        2, "barriers", "fewer rounds through shared memory"},
  {"dram",    family::cached_access,  &Features::plain_loads,     1, "loads without a cache hint", "streamed bytes leave room for those that are read again"},
  {"l2",      family::cached_access,  &Features::plain_loads,     1, "loads without a cache hint", "streamed bytes leave room for those that are read again"},
  {"l2",      family::wide_access,    &Features::narrow_accesses, 2, "accesses below 16 bytes a thread", "fewer requests for the same sectors"},
};
// clang-format on

/// What binds when memory or the tensor unit runs at its roof: saving elsewhere gains nothing.
bool is_roof(std::string_view bound_by) {
  return bound_by == "dram" || bound_by == "tensor" || bound_by == "launch";
}

bool suggested(const Diagnosis& diagnosis, std::string_view name) {
  return std::any_of(diagnosis.suggestions.begin(), diagnosis.suggestions.end(),
                     [&](const Suggestion& s) { return s.family == name; });
}

void apply(const Pattern& pattern, const Features& features, const std::string& prefix,
           Diagnosis& diagnosis) {
  std::uint64_t found = features.*pattern.symptom;
  if (found < pattern.at_least || suggested(diagnosis, pattern.family)) return;
  std::string figure = std::string(pattern.symptom_name) + ": " + std::to_string(found);
  diagnosis.suggestions.push_back(
      {std::string(pattern.family), prefix + std::string(pattern.why) + " (" + figure + ")"});
  auto& references = diagnosis.references;
  if (std::find(references.begin(), references.end(), figure) == references.end())
    references.push_back(figure);
}

std::string in_words(const Diagnosis& diagnosis) {
  if (!diagnosis.suggestions.empty()) {
    const Suggestion& first = diagnosis.suggestions.front();
    return (diagnosis.bound_by.empty() ? "what binds is not measured"
                                       : diagnosis.bound_by + " binds") +
           std::string("; ") + first.family + ": " + first.why;
  }
  if (diagnosis.bound_by.empty()) return "nothing known helps: no symptom of the index is there";
  return diagnosis.bound_by +
         " binds and no pattern of the index shows a symptom on it: nothing "
         "known helps";
}

}  // namespace

Diagnosis diagnose(const Features& features, const Timing& timing) {
  Diagnosis diagnosis;
  diagnosis.bound_by = timing.bound_by;
  diagnosis.level = timing.bound_by.empty() ? 1 : 2;
  char figure[96];
  std::snprintf(figure, sizeof figure, "time: %.1f ns", timing.time_ns);
  diagnosis.references.push_back("patterns: " + std::string(pattern_index));
  if (diagnosis.level == 2)
    diagnosis.references.push_back(std::string(figure) + " on " + timing.device +
                                   (timing.modelled ? ", modelled" : ", measured"));
  std::size_t justified = 0;
  for (const Pattern& pattern : patterns)
    if (pattern.bound_by == timing.bound_by) apply(pattern, features, "", diagnosis);
  justified = diagnosis.suggestions.size();
  if (!is_roof(timing.bound_by))
    for (const Pattern& pattern : patterns)
      apply(pattern, features, diagnosis.level == 2 ? "once the bound moves: " : "", diagnosis);
  diagnosis.hypothesis = in_words(diagnosis);
  diagnosis.escalation =
      std::string("a dominant bottleneck: ") + (diagnosis.level == 2 ? "yes" : "not measured") +
      "; families that it justifies: " + std::to_string(justified) +
      "; this level suffices: " + (justified > 0 ? "yes" : "no, and no deeper level is built in");
  return diagnosis;
}

}  // namespace lathe::planner
