#pragma once

// The life of a candidate. A gate takes what the gate before it made and can be called with nothing
// else, so the compiler keeps anybody from timing a candidate that nobody has tested, or admitting
// one that nobody has proved.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "contract/contract.h"
#include "pipeline/step.h"
#include "ptx/module.h"

namespace lathe {

/// These numbers are on disk: never change one, never use one again.
enum class Gate : std::uint8_t {
  screen = 1,
  assemble = 2,
  sanitize = 3,
  test = 4,
  verify = 5,
  benchmark = 6,
  profile = 7,
  admit = 8
};
std::string_view name_of(Gate gate);

struct Proposed {
  std::shared_ptr<const Contract> contract;
  std::string ptx;
};

struct Screened : Proposed {
  std::shared_ptr<const ptx::Module> module;
  Digest candidate;  // Of the normal form.
};

/// What the assembler said; a member that it did not say is -1.
struct Resources {
  std::int64_t registers = -1, spill_store_bytes = -1, spill_load_bytes = -1, stack_bytes = -1,
               static_shared_bytes = -1, barriers = -1;
};

struct Assembled : Screened {
  std::string cubin;
  Resources resources;
  std::string assembler;  // "ptxas 13.0.88": part of every result's key.
};

struct Sanitized : Assembled {
  std::vector<std::string> checks;  // Which ran: "bounds", "races", "uninitialised", ..
  std::uint64_t blocks = 0;         // How many blocks they covered.
};

struct Tested : Sanitized {
  std::vector<std::string> inputs;  // Classes.
  std::uint64_t elements_compared = 0;
  double difference_max = 0;  // From the reference's own result.
  /// From the wide domain's, where that was asked.
  std::optional<double> candidate_error_max, reference_error_max;
};

/// Figures of one proof; cli.md's `lathe verify --json` shows all of it.
struct Proof {
  std::uint64_t blocks = 0, blocks_total = 0, outputs_compared = 0, points = 0, stress_blocks = 0;
  std::uint64_t degree = 0;
  unsigned prime_bits = 0;
  double failure_probability = 1;
  bool rigorous = false;
  std::vector<std::string> assumed;
};

struct Proved : Tested {
  Proof proof;
};

/// A figure is never shown without its device and whether that is real.
struct Timing {
  std::string device;  // "H200 (modelled)" or a GPU's name.
  bool modelled = true;
  double time_ns = 0, low_ns = 0, high_ns = 0;  // Candidate: median and interval.
  double incumbent_ns = 0, baseline_ns = 0;
  std::string verdict;   // "faster", "slower", "same", "ambiguous": against the incumbent.
  std::string bound_by;  // The resource that binds: "latency", "dram", "issue", ..
  std::string reason;    // Why it differs from the incumbent, from the counters.
  std::vector<std::pair<std::string, double>>
      counters;  // Executed instructions by class, sectors, ..
};

struct Timed : Tested {
  Timing timing;
};

/// Only both together, made of the same tested candidate, admit.
struct Admitted : Tested {
  Proof proof;
  Timing timing;
  bool proved = false;  // false under the policies `label` and `off` only.
};

enum class Policy : std::uint8_t { gate, label, off };

/// What a work item's end leaves in the store, whichever way it went.
struct Verdict {
  enum class Answer : std::uint8_t { passed = 1, rejected = 2, undecided = 3 };
  Gate gate = Gate::screen;
  Answer answer = Answer::undecided;
  Reason reason_code = Reason::unsupported;  // Of undecided.
  Evidence evidence;                         // Of passed: its figures as `json`.
  std::string limits;  // The limits it ran under, as text: part of the result's key.
};
std::string_view name_of(Verdict::Answer answer);

}  // namespace lathe
