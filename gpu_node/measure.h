#pragma once

// A kernel's modelled time: sampled blocks counted on the emulated device, then the model.

#include <memory>
#include <string>

#include "gpu_node/gpu_node.h"
#include "gpu_node/model.h"

namespace lathe::gpu_node {

struct Measured {
  std::shared_ptr<const Contract> contract;
  std::string name;  // For complaints.
  std::shared_ptr<const ptx::Module> module;
  Resources resources;
};

/// Errors: unsupported where an instruction has no meaning yet, exhausted at a limit.
Result<Estimate> measure(const Measured& kernel, const Limits& limits);

/// The same of a text, which is assembled for its resources; kept for the next candidate.
Result<Estimate> measure_text(const std::shared_ptr<const Contract>& contract,
                              const std::string& ptx, const std::string& name,
                              const Assembler& assembler, const Limits& limits);

}  // namespace lathe::gpu_node
