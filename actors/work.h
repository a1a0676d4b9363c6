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
#include <functional>
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
/// What this machine offers: every gate, each assembler that is found and, where work may not take
/// all the memory there is, "memory:BYTES".
std::set<std::string> offers_here(std::uint64_t memory_bytes = 0);
/// Of these offers; the greatest number where they say nothing of it.
std::uint64_t memory_in(const std::set<std::string>& offers);
/// The code of an answer that memory did not suffice for: where there is more, work may be done.
inline constexpr std::string_view short_of_memory = "memory";

/// A request on its way to whoever runs it, with what earlier runs of it have finished.
struct Errand {
  std::string request;       // encode(WorkRequest)
  std::string journal = {};  // As of verifier_node/journal.h; empty: nothing.
  /// Is given each unit that is finished, as bytes; empty: nobody keeps them.
  std::function<void(const std::string& unit)> note = {};
};

/// Runs the gate here and now; a child process does nothing else.
WorkReply run_work(const WorkRequest& request, const Errand& errand = {});

/// The limits and parameters that a verdict depends on, as text: part of its key.
std::string limits_of(const WorkRequest& request);

/// The body of `lathe worker`.
//
//   standard input  := size:u64 request journal          big-endian
//   standard output := (kind:u8 size:u64 bytes)*         kind 1: a unit; 2: the reply, and the last
int worker_main();
std::string worker_input(const Errand& errand);

/// Reads what a worker says, as it comes.
class WorkerOutput {
 public:
  explicit WorkerOutput(std::function<void(const std::string& unit)> note)
      : note_(std::move(note)) {}
  void take(std::string_view bytes);
  /// Empty where none came, or what came does not read.
  const std::string& reply() const { return reply_; }

 private:
  std::function<void(const std::string& unit)> note_;
  std::string open_, reply_;
  bool damaged_ = false;
};

}  // namespace lathe::actors
