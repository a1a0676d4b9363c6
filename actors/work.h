#pragma once

// One gate on one candidate, as bytes: what the planner asks, what a node runs in a child process,
// what comes back.
//
//   request := {v, gate, payload, incumbent, seed, ptx_isa, assembler, steps_max}      a msgpack
//   map reply   := {v, outcome, verdict, passed, fault, what, remedy, absent}   a msgpack map
//
// `payload` is the typed value of the gate before (pipeline/codec.h); `passed` is the value that
// this gate made of it, for verify a Proof and for benchmark a Timing.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "pipeline/gates.h"

namespace lathe::actors {

struct WorkRequest {
  Gate gate = Gate::assemble;
  std::string payload;
  std::string incumbent;  // PTX, for benchmark.
  std::uint64_t seed = 0;
  std::string ptx_isa;          // The contract's: chooses the assembler.
  std::string assembler;        // "ptxas 13.0.88": a node without it has no answer.
  std::uint64_t steps_max = 0;  // 0: the gate's own limit.
};

struct WorkReply {
  enum class Outcome : std::uint8_t { passed = 1, rejected = 2, undecided = 3, error = 4 };
  Outcome outcome = Outcome::error;
  Verdict verdict;     // Unless it is an error.
  std::string passed;  // Of what passed; of a benchmark also where it is undecided.
  Error error;
};

std::string encode(const WorkRequest& request);
Result<WorkRequest> decode_request(std::string_view bytes);
std::string encode(const WorkReply& reply);
Result<WorkReply> decode_reply(std::string_view bytes);

/// What a node must offer to run this: "gate:test", and of gates that assemble
/// "tool:ptxas 13.0.88".
std::set<std::string> needs_of(const WorkRequest& request);
/// What this machine offers: every gate, and each assembler that is found.
std::set<std::string> offers_here();

/// Runs the gate here and now; a child process does nothing else.
WorkReply run_work(const WorkRequest& request);

/// The limits and parameters that a verdict depends on, as text: part of its key.
std::string limits_of(const WorkRequest& request);

/// The body of `lathe worker`: a request on standard input, a reply on standard output.
int worker_main();

}  // namespace lathe::actors
