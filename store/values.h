#pragma once

// Every value that the store writes, as a versioned msgpack map (base/record.h). A member's name is
// on disk: never give it another meaning. Texts that end in `_json` are JSON in a stable order.
// What is not knowledge (clocks, names, paths, attempts) may be here but is never exported.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"

namespace lathe::store {

/// A digest of zeros stands for "none" wherever a member says so.
inline bool is_none(const Digest& digest) { return digest == Digest{}; }

/// A file that a contract's `values` name.
struct KeptFile {
  static constexpr std::uint64_t version = 1;
  std::string name;
  Digest bytes;  // Blob.
  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field("bytes", self.bytes);
  }
};

struct ContractRecord {
  static constexpr std::uint64_t version = 2;
  std::string name, target;
  Digest text;       // Blob: the canonical contract.toml.
  Digest reference;  // Blob: reference.ptx.
  std::vector<KeptFile> files = {};
  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field("target", self.target);
    field("text", self.text);
    field("reference", self.reference);
    field("files", self.files, 2);
  }
};

/// Who proposed it first is decided by content (`round`, `branch`, then the rest), not by arrival.
struct CandidateRecord {
  static constexpr std::uint64_t version = 1;
  Digest ptx;     // Blob: the text as it was proposed.
  Digest parent;  // Candidate digest, or none.
  std::string family, subagent, explanation;
  std::uint64_t round = 0, branch = 0;
  static void fields(auto& self, auto&& field) {
    field("ptx", self.ptx);
    field("parent", self.parent);
    field("family", self.family);
    field("subagent", self.subagent);
    field("explanation", self.explanation);
    field("round", self.round);
    field("branch", self.branch);
  }
};

/// What one branch of one round answered. Exactly one of `candidate` and `failure` is there.
struct ProposalRecord {
  static constexpr std::uint64_t version = 1;
  Digest candidate;     // Or none.
  Digest ptx;           // Blob: the text, even where it does not parse; or none.
  std::string failure;  // Why there is no candidate.
  std::string family, subagent, explanation;
  Digest prompt, reply;  // Blobs, or none.
  Digest proposal;       // Blob: all of it, as the planner wrote it. Not exported.
  std::uint64_t cost_micro = 0, tokens_in = 0, tokens_out = 0;
  static void fields(auto& self, auto&& field) {
    field("candidate", self.candidate);
    field("ptx", self.ptx);
    field("failure", self.failure);
    field("family", self.family);
    field("subagent", self.subagent);
    field("explanation", self.explanation);
    field("prompt", self.prompt);
    field("reply", self.reply);
    field("proposal", self.proposal);
    field("cost_micro", self.cost_micro);
    field("tokens_in", self.tokens_in);
    field("tokens_out", self.tokens_out);
  }
};

struct VerdictRecord {
  static constexpr std::uint64_t version = 1;
  std::string verdict;                              // encode(Verdict) of pipeline/codec.h.
  std::string parameters, toolchain, architecture;  // As in ResultKey.
  Digest output;  // Blob: what the gate made (encode(Assembled), ..), or none. Not exported.
  static void fields(auto& self, auto&& field) {
    field("verdict", self.verdict);
    field("parameters", self.parameters);
    field("toolchain", self.toolchain);
    field("architecture", self.architecture);
    field("output", self.output);
  }
};

struct RoundRecord {
  static constexpr std::uint64_t version = 1;
  bool closed = false;
  std::string record_json;  // The planner's record: opened or closed.
  static void fields(auto& self, auto&& field) {
    field("closed", self.closed);
    field("record_json", self.record_json);
  }
};

enum class RunState : std::uint8_t { running = 1, paused = 2, stopped = 3, finished = 4 };

struct RunRecord {
  static constexpr std::uint64_t version = 1;
  RunState state = RunState::running;
  std::string settings_json;  // What decides the results. Without names, paths, clocks.
  std::string local_json;     // The rest: name, paths, addresses, when it began. Not exported.
  std::vector<Digest> contracts;
  std::string outcome;  // Why it finished.
  static void fields(auto& self, auto&& field) {
    field("state", self.state);
    field("settings_json", self.settings_json);
    field("local_json", self.local_json);
    field("contracts", self.contracts);
    field("outcome", self.outcome);
  }
};

struct FrontierRecord {
  static constexpr std::uint64_t version = 1;
  std::string timing;  // encode(Timing).
  std::string proof;   // encode(Proof), or empty.
  std::string resources_json;
  static void fields(auto& self, auto&& field) {
    field("timing", self.timing);
    field("proof", self.proof);
    field("resources_json", self.resources_json);
  }
};

/// One item for a node. Its key is the digest of what it computes, so equal work is one item.
struct WorkRecord {
  static constexpr std::uint64_t version = 1;
  Digest contract, candidate;
  std::uint64_t gate = 0, run = 0, priority = 0;
  std::uint64_t sequence = 0;        // Age: smaller is older.
  std::string requires_json;         // Capabilities that a node must offer.
  Digest request;                    // Blob: what the gate takes.
  std::vector<std::string> lost_on;  // Nodes on which its lease died.
  static void fields(auto& self, auto&& field) {
    field("contract", self.contract);
    field("candidate", self.candidate);
    field("gate", self.gate);
    field("run", self.run);
    field("priority", self.priority);
    field("sequence", self.sequence);
    field("requires_json", self.requires_json);
    field("request", self.request);
    field("lost_on", self.lost_on);
  }
};

/// Where the item's ready row is.
struct QueuedRecord {
  static constexpr std::uint64_t version = 1;
  std::uint64_t priority = 0, sequence = 0;
  static void fields(auto& self, auto&& field) {
    field("priority", self.priority);
    field("sequence", self.sequence);
  }
};

struct LeaseRecord {
  static constexpr std::uint64_t version = 1;
  WorkRecord work;
  std::uint64_t token = 0;
  std::string node;
  std::uint64_t deadline_ns = 0;  // In the owner's clock.
  static void fields(auto& self, auto&& field) {
    field("work", self.work);
    field("token", self.token);
    field("node", self.node);
    field("deadline_ns", self.deadline_ns);
  }
};

/// A unit of a proof (verifier_node/journal.h). Not exported; gone once its item is done.
struct JournalRecord {
  static constexpr std::uint64_t version = 1;
  Digest whole;  // The unit that this is a part of, or none.
  std::string unit;
  static void fields(auto& self, auto&& field) {
    field("whole", self.whole);
    field("unit", self.unit);
  }
};

struct DoneRecord {
  static constexpr std::uint64_t version = 1;
  std::uint64_t token = 0;
  std::string node;
  bool quarantined = false;  // Its lease died on too many nodes; nobody answered it.
  static void fields(auto& self, auto&& field) {
    field("token", self.token);
    field("node", self.node);
    field("quarantined", self.quarantined);
  }
};

/// Money of one request: reserved before it is sent, settled after. An unknown price is said, and
/// is never zero by accident.
struct LedgerRecord {
  static constexpr std::uint64_t version = 1;
  bool settled = false, price_known = true;
  std::uint64_t reserved_micro = 0, settled_micro = 0;  // Millionths of a dollar.
  std::uint64_t reserved_tokens = 0, tokens_in = 0, tokens_out = 0;
  std::string model;
  static void fields(auto& self, auto&& field) {
    field("settled", self.settled);
    field("price_known", self.price_known);
    field("reserved_micro", self.reserved_micro);
    field("reserved_tokens", self.reserved_tokens);
    field("settled_micro", self.settled_micro);
    field("tokens_in", self.tokens_in);
    field("tokens_out", self.tokens_out);
    field("model", self.model);
  }
};

struct PatternRecord {
  static constexpr std::uint64_t version = 1;
  std::string pattern_json;
  static void fields(auto& self, auto&& field) { field("pattern_json", self.pattern_json); }
};

/// What happened, for people and for replay. Not exported.
struct EventRecord {
  static constexpr std::uint64_t version = 1;
  std::string kind;
  std::uint64_t run = 0, time_ns = 0, commit = 0;
  std::string event_json = "{}";
  static void fields(auto& self, auto&& field) {
    field("kind", self.kind);
    field("run", self.run);
    field("time_ns", self.time_ns);
    field("commit", self.commit);
    field("event_json", self.event_json);
  }
};

/// Small blobs lie in the row; large ones in a file named by their digest.
struct BlobRecord {
  static constexpr std::uint64_t version = 1;
  std::uint64_t size_bytes = 0;
  bool beside = false;
  std::string bytes;  // Compressed (zstd), where not beside.
  static void fields(auto& self, auto&& field) {
    field("size_bytes", self.size_bytes);
    field("beside", self.beside);
    field("bytes", self.bytes);
  }
};

struct MetaRecord {
  static constexpr std::uint64_t version = 1;
  std::uint64_t number = 0;
  static void fields(auto& self, auto&& field) { field("number", self.number); }
};

/// A row that says all in its key.
struct Mark {
  static constexpr std::uint64_t version = 1;
  static void fields(auto&, auto&&) {}
};

template <class Value>
std::string encode_value(const Value& value);
/// Errors: malformed; unsupported where a newer program wrote it.
template <class Value>
Result<Value> decode_value(std::string_view bytes);

}  // namespace lathe::store
