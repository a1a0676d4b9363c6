#include "pipeline/figures.h"

#include "base/json.h"

namespace lathe {

std::string figures(const Assembled& assembled) {
  Json json;
  json["assembler"] = assembled.assembler;
  json["cubin_bytes"] = assembled.cubin.size();
  const Resources& r = assembled.resources;
  for (auto [name, value] : {std::pair{"registers", r.registers},
                             {"spill_store_bytes", r.spill_store_bytes},
                             {"spill_load_bytes", r.spill_load_bytes},
                             {"stack_bytes", r.stack_bytes},
                             {"static_shared_bytes", r.static_shared_bytes},
                             {"barriers", r.barriers}})
    if (value >= 0) json[name] = value;
  return json.dump();
}

std::string figures(const Sanitized& sanitized) {
  Json json;
  json["checks"] = sanitized.checks;
  json["blocks"] = sanitized.blocks;
  json["blocks_total"] = sanitized.contract->launch.blocks();
  json["device"] = "emulated";
  return json.dump();
}

std::string figures(const Tested& tested) {
  Json json;
  json["inputs"] = tested.inputs;
  json["elements_compared"] = tested.elements_compared;
  auto known = [](const std::optional<double>& error) { return error ? Json(*error) : Json(); };
  json["difference_max"] = tested.difference_max;
  json["candidate_error_max"] = known(tested.candidate_error_max);
  json["reference_error_max"] = known(tested.reference_error_max);
  json["device"] = "emulated";
  return json.dump();
}

std::string figures(const Proof& proof) {
  Json json;
  json["blocks"] = proof.blocks;
  json["blocks_total"] = proof.blocks_total;
  json["outputs_compared"] = proof.outputs_compared;
  json["points"] = proof.points;
  json["stress_blocks"] = proof.stress_blocks;
  json["degree"] = proof.degree;
  json["prime_bits"] = proof.prime_bits;
  json["failure_probability"] = proof.failure_probability;
  json["rigorous"] = proof.rigorous;
  json["assumed"] = proof.assumed;
  return json.dump();
}

std::string figures(const Timing& timing) {
  Json json;
  json["device"] = timing.device;
  json["modelled"] = timing.modelled;
  json["time_ns"] = timing.time_ns;
  json["low_ns"] = timing.low_ns;
  json["high_ns"] = timing.high_ns;
  if (timing.incumbent_ns > 0) json["incumbent_ns"] = timing.incumbent_ns;
  if (timing.baseline_ns > 0) json["baseline_ns"] = timing.baseline_ns;
  json["verdict"] = timing.verdict;
  json["bound_by"] = timing.bound_by;
  json["reason"] = timing.reason;
  for (const auto& [name, value] : timing.counters) json["counters"][name] = value;
  return json.dump();
}

}  // namespace lathe
