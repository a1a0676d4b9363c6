// Findings as JSON: members absent where there is nothing to say, in the order of the schema.

#include "base/json.h"
#include "verifier_node/findings.h"

namespace lathe::verifier_node {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Check::count)> check_names{
    "equality",    "races",     "deadlock", "bounds", "inputs_unchanged",
    "written_set", "precision", "divisors", "guards", "stress"};

std::string_view name_of(CheckState state) {
  switch (state) {
    case CheckState::passed:
      return "passed";
    case CheckState::failed:
      return "failed";
    default:
      return "skipped";
  }
}

Json scope_of(const Findings& findings) {
  const Proof& proof = findings.proof;
  Json scope = Json::object();
  scope["blocks"] = proof.blocks;
  scope["blocks_total"] = proof.blocks_total;
  scope["outputs_compared"] = proof.outputs_compared;
  if (findings.outputs_translated != 0) scope["outputs_translated"] = findings.outputs_translated;
  scope["points"] = proof.points;
  if (proof.stress_blocks != 0) scope["stress_blocks"] = proof.stress_blocks;
  if (!findings.sampled.empty()) scope["sampled"] = findings.sampled;
  return scope;
}

Json triples(const std::vector<std::array<std::uint32_t, 3>>& list) {
  Json out = Json::array();
  for (const auto& triple : list) out.push_back(triple);
  return out;
}

Json witness_of(const Witness& witness) {
  Json json = Json::object();
  json["kind"] = witness.kind;
  if (!witness.tensor.empty()) json["tensor"] = witness.tensor;
  if (!witness.index.empty()) json["index"] = witness.index;
  // JSON has no infinities: they are text.
  auto number = [](double value) -> Json {
    if (value != value) return "NaN";
    if (value - value != 0) return value > 0 ? "Infinity" : "-Infinity";
    return value;
  };
  if (witness.reference_value) json["reference_value"] = number(*witness.reference_value);
  if (witness.candidate_value) json["candidate_value"] = number(*witness.candidate_value);
  if (!witness.space.empty()) json["space"] = witness.space;
  if (witness.address) json["address"] = *witness.address;
  if (!witness.blocks.empty()) json["block"] = witness.blocks.front();
  if (witness.blocks.size() > 1) json["blocks"] = triples(witness.blocks);
  if (!witness.threads.empty()) json["threads"] = triples(witness.threads);
  if (!witness.reference_lines.empty()) json["reference_lines"] = witness.reference_lines;
  if (!witness.candidate_lines.empty()) json["candidate_lines"] = witness.candidate_lines;
  json["replayed"] = witness.replayed;
  if (!witness.input_class.empty()) json["input_class"] = witness.input_class;
  json["input_seed"] = witness.input_seed;
  return json;
}

Json unsupported_of(const std::vector<UnsupportedPart>& parts) {
  Json out = Json::array();
  for (const UnsupportedPart& part : parts) {
    Json one = Json::object();
    one["file"] = part.of_reference ? "reference" : "candidate";
    if (part.line != 0) one["line"] = part.line;
    if (part.column != 0) one["column"] = part.column;
    if (!part.instruction.empty()) one["instruction"] = part.instruction;
    one["why"] = part.why;
    if (!part.instead.empty()) one["instead"] = part.instead;
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

std::string document(const Findings& findings, const std::string& reference_sha256,
                     const std::string& candidate_sha256) {
  Json json = Json::object();
  json["schema"] = "lathe/verify/1";
  json["verdict"] = findings.verdict;
  json["reason_code"] = findings.reason_code;
  json["reason"] = findings.reason;
  json["reference"]["sha256"] = reference_sha256;
  json["candidate"]["sha256"] = candidate_sha256;
  const Proof& proof = findings.proof;
  if (proof.blocks_total != 0) json["scope"] = scope_of(findings);
  if (findings.verdict == "proved") {
    json["bound"]["degree"] = proof.degree;
    json["bound"]["prime_bits"] = proof.prime_bits;
    json["bound"]["failure_probability"] = proof.failure_probability;
    json["bound"]["rigorous"] = proof.rigorous;
  }
  if (!proof.assumed.empty()) json["assumed"] = proof.assumed;
  for (std::size_t i = 0; i < findings.checks.size(); ++i)
    if (findings.checks[i] != CheckState::absent)
      json["checks"][std::string(check_names[i])] = name_of(findings.checks[i]);
  if (findings.witness) json["witness"] = witness_of(*findings.witness);
  if (!findings.unsupported.empty()) json["unsupported"] = unsupported_of(findings.unsupported);
  return json.dump();
}

Reason reason_of(const std::string& code) {
  if (code == "exhausted") return Reason::exhausted;
  if (code == "unguarded") return Reason::unguarded;
  if (code == "divisor") return Reason::divisor;
  if (code == "precision") return Reason::precision;
  if (code == "not_witnessed") return Reason::not_witnessed;
  return Reason::unsupported;
}

}  // namespace lathe::verifier_node
