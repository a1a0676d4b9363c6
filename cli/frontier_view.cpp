#include "cli/frontier_view.h"

#include <cstdio>
#include <map>
#include <optional>

#include "pipeline/codec.h"
#include "pipeline/figures.h"
#include "planner/planner.h"
#include "store/deeds.h"

namespace lathe::cli {
namespace {

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

struct Entry {
  Digest candidate;
  bool proved = false;
  Timing timing;
  std::optional<Proof> proof;
  store::CandidateRecord record;
};

Result<std::vector<Entry>> entries_of(const store::Store& store, const Digest& contract) {
  auto rows = store::frontier(store, contract);
  if (!rows) return rows.error();
  std::vector<Entry> entries;
  for (const store::FrontierEntry& row : *rows) {
    Entry entry;
    entry.candidate = row.key.candidate;
    entry.proved = row.key.unproved == 0;
    Result<Timing> timing = decode_timing(row.record.timing);
    if (!timing) return timing.error();
    entry.timing = *std::move(timing);
    if (!row.record.proof.empty()) {
      Result<Proof> proof = decode_proof(row.record.proof);
      if (!proof) return proof.error();
      entry.proof = *std::move(proof);
    }
    auto record = store.get(store::CandidateKey{contract, row.key.candidate});
    if (!record) return record.error();
    if (*record) entry.record = **record;
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string bound_text(const Proof& proof) {
  return "proved over " + std::to_string(proof.blocks) + " of " +
         std::to_string(proof.blocks_total) + " blocks, " + std::to_string(proof.outputs_compared) +
         " outputs, " + std::to_string(proof.points) + " points; failure probability below " +
         number("%.1e", proof.failure_probability) + (proof.rigorous ? "" : " (heuristic)");
}

/// What a passed timing says of a candidate that is not faster; empty where it is.
std::string not_faster(const Verdict& verdict) {
  if (verdict.gate != Gate::benchmark) return {};
  Json figures = Json::parse(verdict.evidence.json, nullptr, false);
  if (!figures.is_object() || figures.value("verdict", "faster") == "faster") return {};
  return "benchmark: not admitted, " + figures.value("verdict", "") + ": " +
         figures.value("reason", "");
}

/// The last words of each refused candidate, sorted by gate and reason so that equal knowledge
/// prints alike.
Result<std::string> refusals(const store::Store& store, const Digest& contract) {
  auto rows = store.rows<store::VerdictKey>(store::prefix<store::VerdictKey>(contract));
  if (!rows) return rows.error();
  Result<Contract> kept = store::kept_contract(store, contract);
  std::optional<Digest> reference_id;
  if (kept) reference_id = planner::candidate_digest(kept->reference);
  std::map<std::string, std::vector<std::string>> lines;
  for (const auto& [key, record] : *rows) {
    Result<Verdict> verdict = decode_verdict(record.verdict);
    if (!verdict) return verdict.error();
    auto candidate = store.get(store::CandidateKey{contract, key.candidate});
    if (!candidate) return candidate.error();
    std::string line = std::string(name_of(verdict->gate)) + ": " +
                       std::string(name_of(verdict->answer)) + ", " + verdict->evidence.code +
                       ": " + verdict->evidence.reason;
    // The reference and the decoys are nobody's proposals.
    if (verdict->answer == Verdict::Answer::passed)
      line = *candidate ? not_faster(*verdict) : std::string();
    if (line.empty()) continue;
    std::string who = *candidate                      ? (*candidate)->family
                      : key.candidate == reference_id ? "reference"
                                                      : "decoy";
    lines[line].push_back(short_hex(key.candidate) + " (" + who + ")");
  }
  std::string text;
  for (const auto& [line, candidates] : lines) {
    text += "  " + line + "\n   ";
    for (const std::string& candidate : candidates) text += " " + candidate;
    text += "\n";
  }
  return text;
}

}  // namespace

std::string time_text(double time_ns) {
  if (time_ns >= 1e6) return number("%.3f ms", time_ns / 1e6);
  if (time_ns >= 1e3) return number("%.3f us", time_ns / 1e3);
  return number("%.1f ns", time_ns);
}

Result<Json> frontier_json(const store::Store& store, const Digest& contract) {
  auto record = store.get(store::ContractKey{contract});
  if (!record) return record.error();
  auto entries = entries_of(store, contract);
  if (!entries) return entries.error();
  Json json;
  json["contract"] = hex(contract);
  if (*record) json["name"] = (*record)->name, json["target"] = (*record)->target;
  json["candidates"] = Json::array();
  for (const Entry& entry : *entries) {
    Json one;
    one["candidate"] = hex(entry.candidate);
    one["proved"] = entry.proved;
    one["family"] = entry.record.family;
    one["subagent"] = entry.record.subagent;
    one["explanation"] = entry.record.explanation;
    if (!store::is_none(entry.record.parent)) one["parent"] = hex(entry.record.parent);
    one["timing"] = Json::parse(figures(entry.timing));
    if (entry.timing.time_ns > 0 && entry.timing.baseline_ns > 0)
      one["speedup"] = entry.timing.baseline_ns / entry.timing.time_ns;
    if (entry.proof) one["proof"] = Json::parse(figures(*entry.proof));
    json["candidates"].push_back(std::move(one));
  }
  return json;
}

Result<std::string> frontier_text(const store::Store& store, const Digest& contract) {
  auto record = store.get(store::ContractKey{contract});
  if (!record) return record.error();
  auto entries = entries_of(store, contract);
  if (!entries) return entries.error();
  std::string text = "contract " + short_hex(contract);
  if (*record) text += "  " + (*record)->name + " for " + (*record)->target;
  text += "\n";
  if (entries->empty()) text += "  no candidate is better than the reference\n";
  for (const Entry& entry : *entries) {
    const Timing& timing = entry.timing;
    text += "  " + short_hex(entry.candidate) + "  " + time_text(timing.time_ns);
    if (timing.baseline_ns > 0)
      text += number("  %.3fx", timing.baseline_ns / timing.time_ns) + " of the reference's " +
              time_text(timing.baseline_ns);
    text += "  on " + timing.device + "  bound by " + timing.bound_by + "\n";
    text += "    " + entry.record.family + ": " + entry.record.explanation + "\n";
    if (!timing.reason.empty()) text += "    why: " + timing.reason + "\n";
    text += "    " + (entry.proof ? bound_text(*entry.proof) : std::string("not proved")) + "\n";
    if (entry.proof)
      for (const std::string& assumed : entry.proof->assumed)
        text += "    assumed: " + assumed + "\n";
  }
  Result<std::string> refused = refusals(store, contract);
  if (!refused) return refused;
  if (!refused->empty()) text += "refused:\n" + *refused;
  return text;
}

Result<std::vector<Digest>> contracts_named(const store::Store& store, const std::string& name) {
  auto rows = store.rows<store::ContractKey>();
  if (!rows) return rows.error();
  std::vector<Digest> found;
  for (const auto& [key, record] : *rows)
    if (name.empty() || hex(key.contract).starts_with(name) || record.name == name)
      found.push_back(key.contract);
  if (found.empty())
    return Error{Fault::malformed,
                 name.empty() ? "the store has no contract" : "no contract is named " + name,
                 "lathe runs lists what the store holds",
                 {}};
  return found;
}

}  // namespace lathe::cli
