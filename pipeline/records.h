#pragma once

// The wire form of a candidate's life: flat records beside the types of gates.h, which stay free of
// the format. A record's names and versions are a format: docs/FORMATS.md says the rules.

#include <string>
#include <utility>
#include <vector>

#include "pipeline/gates.h"

namespace lathe::wire {

struct NamedBytes {
  static constexpr std::uint64_t version = 1;
  std::string name, bytes;
  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field("bytes", self.bytes);
  }
};

struct NamedNumber {
  static constexpr std::uint64_t version = 1;
  std::string name;
  double value = 0;
  static void fields(auto& self, auto&& field) {
    field("name", self.name);
    field("value", self.value);
  }
};

/// Everything that the stages share; a stage's own members have their defaults before it.
struct Candidate {
  static constexpr std::uint64_t version = 1;
  std::string contract, reference, ptx;
  std::vector<NamedBytes> files;  // Of the contract's `values`.
  Digest candidate;
  static void fields(auto& self, auto&& field) {
    field("contract", self.contract);
    field("reference", self.reference);
    field("files", self.files);
    field("ptx", self.ptx);
    field("candidate", self.candidate);
  }
};

struct AssembledPart {
  static constexpr std::uint64_t version = 1;
  std::string cubin, assembler;
  std::int64_t registers = -1, spill_store_bytes = -1, spill_load_bytes = -1, stack_bytes = -1,
               static_shared_bytes = -1, barriers = -1;
  static void fields(auto& self, auto&& field) {
    field("cubin", self.cubin);
    field("assembler", self.assembler);
    field("registers", self.registers);
    field("spill_store_bytes", self.spill_store_bytes);
    field("spill_load_bytes", self.spill_load_bytes);
    field("stack_bytes", self.stack_bytes);
    field("static_shared_bytes", self.static_shared_bytes);
    field("barriers", self.barriers);
  }
};

struct SanitizedPart {
  static constexpr std::uint64_t version = 1;
  std::vector<std::string> checks;
  std::uint64_t blocks = 0;
  static void fields(auto& self, auto&& field) {
    field("checks", self.checks);
    field("blocks", self.blocks);
  }
};

struct TestedPart {
  static constexpr std::uint64_t version = 2;
  std::vector<std::string> inputs;
  std::uint64_t elements_compared = 0;
  double candidate_error_max = 0, reference_error_max = 0, candidate_wide_error_max = 0;
  bool wide = false;
  static void fields(auto& self, auto&& field) {
    field("inputs", self.inputs);
    field("elements_compared", self.elements_compared);
    field("candidate_error_max", self.candidate_error_max);
    field("reference_error_max", self.reference_error_max);
    field("candidate_wide_error_max", self.candidate_wide_error_max, 2);
    field("wide", self.wide, 2);
  }
};

struct Assembled {
  static constexpr std::uint64_t version = 1;
  Candidate candidate;
  AssembledPart assembled;
  static void fields(auto& self, auto&& field) {
    field("candidate", self.candidate);
    field("assembled", self.assembled);
  }
};

struct Sanitized {
  static constexpr std::uint64_t version = 1;
  Candidate candidate;
  AssembledPart assembled;
  SanitizedPart sanitized;
  static void fields(auto& self, auto&& field) {
    field("candidate", self.candidate);
    field("assembled", self.assembled);
    field("sanitized", self.sanitized);
  }
};

struct Tested {
  static constexpr std::uint64_t version = 1;
  Candidate candidate;
  AssembledPart assembled;
  SanitizedPart sanitized;
  TestedPart tested;
  static void fields(auto& self, auto&& field) {
    field("candidate", self.candidate);
    field("assembled", self.assembled);
    field("sanitized", self.sanitized);
    field("tested", self.tested);
  }
};

struct Proof {
  static constexpr std::uint64_t version = 1;
  lathe::Proof proof;
  static void fields(auto& self, auto&& field) {
    field("blocks", self.proof.blocks);
    field("blocks_total", self.proof.blocks_total);
    field("outputs_compared", self.proof.outputs_compared);
    field("points", self.proof.points);
    field("stress_blocks", self.proof.stress_blocks);
    field("degree", self.proof.degree);
    field("prime_bits", self.proof.prime_bits);
    field("failure_probability", self.proof.failure_probability);
    field("rigorous", self.proof.rigorous);
    field("assumed", self.proof.assumed);
  }
};

struct Timing {
  static constexpr std::uint64_t version = 1;
  lathe::Timing timing;
  std::vector<NamedNumber> counters;
  static void fields(auto& self, auto&& field) {
    field("device", self.timing.device);
    field("modelled", self.timing.modelled);
    field("time_ns", self.timing.time_ns);
    field("low_ns", self.timing.low_ns);
    field("high_ns", self.timing.high_ns);
    field("incumbent_ns", self.timing.incumbent_ns);
    field("baseline_ns", self.timing.baseline_ns);
    field("verdict", self.timing.verdict);
    field("bound_by", self.timing.bound_by);
    field("reason", self.timing.reason);
    field("counters", self.counters);
  }
};

struct Verdict {
  static constexpr std::uint64_t version = 1;
  lathe::Verdict verdict;
  static void fields(auto& self, auto&& field) {
    field("gate", self.verdict.gate);
    field("answer", self.verdict.answer);
    field("reason_code", self.verdict.reason_code);
    field("code", self.verdict.evidence.code);
    field("reason", self.verdict.evidence.reason);
    field("file", self.verdict.evidence.place.file);
    field("line", self.verdict.evidence.place.line);
    field("column", self.verdict.evidence.place.column);
    field("json", self.verdict.evidence.json);
    field("limits", self.verdict.limits);
  }
};

}  // namespace lathe::wire
