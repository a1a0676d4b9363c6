// The pattern table: what binds, which symptom must be there, which family it justifies.

#include "planner/diagnosis.h"

#include <algorithm>
#include <cstdio>

namespace lathe::planner {
namespace {

struct Symptom {
  std::uint64_t Features::*count;
  std::uint64_t at_least;
  std::string_view name;
};

struct Pattern {
  std::string_view bound_by, family;
  Symptom symptom;
  std::string_view why;
};

// clang-format off
constexpr Symptom chain{&Features::longest_chain, 4, "longest chain of one operation"};
constexpr Symptom loads{&Features::global_loads, 2, "loads from global memory"};
constexpr Symptom narrow{&Features::narrow_accesses, 2, "accesses below 16 bytes a thread"};
constexpr Symptom barriers{&Features::barriers, 2, "barriers"};
constexpr Symptom divisions{&Features::divisions, 1, "divisions"};
constexpr Symptom products{&Features::contractions, 1, "pairs of operations that one could do"};
constexpr Symptom plain{&Features::plain_accesses, 1, "accesses without a cache hint"};

constexpr Pattern patterns[] = {
  {"latency", family::tree_reduction,  chain,
   "a balanced tree shortens the chain that every thread waits for"},
  {"latency", family::hoisted_loads,   loads,
   "loads issued before the first wait overlap their latencies"},
  {"latency", family::wide_access,     narrow,
   "fewer, wider loads put more bytes in flight at once"},
  {"latency", family::fewer_barriers,  barriers,
   "each barrier joins all warps on the critical path"},
  {"latency", family::reciprocal,      divisions, "a division is a long dependent sequence"},
  {"latency", family::fma,             products,  "one operation instead of two in the chain"},
  {"xu",      family::reciprocal,      divisions,
   "one reciprocal for a divisor instead of one a quotient"},
  {"alu",     family::reciprocal,      divisions,
   "a division expands to several arithmetic instructions"},
  {"alu",     family::fma,             products,  "one instruction instead of two"},
  {"fma",     family::reciprocal,      divisions, "a division expands to several multiplications"},
  {"fma",     family::fma,             products,  "one instruction instead of two"},
  {"issue",   family::wide_access,     narrow,    "one instruction moves what several did"},
  {"issue",   family::reciprocal,      divisions, "a division expands to several instructions"},
  {"issue",   family::fma,             products,  "one instruction instead of two"},
  {"issue",   family::fewer_barriers,  barriers,  "a barrier takes issue slots of every warp"},
  {"lsu",     family::wide_access,     narrow,    "one request moves what several did"},
  {"shared",  family::fewer_barriers,  barriers,  "fewer rounds through shared memory"},
  {"dram",    family::cached_access,   plain,
   "streamed bytes leave room for those that are read again"},
  {"l2",      family::cached_access,   plain,
   "streamed bytes leave room for those that are read again"},
  {"l2",      family::wide_access,     narrow,    "fewer requests for the same sectors"},
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
  std::uint64_t found = features.*pattern.symptom.count;
  if (found < pattern.symptom.at_least || suggested(diagnosis, pattern.family)) return;
  std::string figure = std::string(pattern.symptom.name) + ": " + std::to_string(found);
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
