// Witnesses, as people and proposers read them.

#include <bit>

#include "verifier_node/binding.h"
#include "verifier_node/replay.h"

namespace lathe::verifier_node {

Witness value_witness(const Replay& replay, const Sides& sides, const Mismatch& mismatch) {
  Witness witness;
  const Tensor& tensor = sides.contract->tensors[mismatch.tensor];
  witness.kind = "value";
  witness.tensor = tensor.name;
  witness.index = index_of(tensor, mismatch.index[0]);
  witness.reference_value = mismatch.reference;
  witness.candidate_value = mismatch.candidate;
  witness.replayed = true;
  witness.input_class = name_of(replay.input_class());
  witness.input_seed = replay.input_seed();
  return witness;
}

Witness trap_witness(const Sides& sides, const ptx::Trap& trap) {
  Witness witness;
  witness.kind = code_of(trap.kind);
  if (trap.address != 0) {
    witness.address = trap.address;
    witness.space = trap.address >= (std::uint64_t{1} << 32) ? "global" : "shared";
  }
  if (witness.kind == "frame")
    for (std::size_t i = 0; i < sides.buffers.size(); ++i)
      if (trap.address >= sides.buffers[i].address &&
          trap.address < sides.buffers[i].address + sides.buffers[i].bytes)
        witness.tensor = sides.buffers[i].name;
  witness.blocks.push_back(block_index(sides.candidate.launch, trap.block));
  witness.threads.push_back(thread_index(sides.candidate.launch, trap.thread));
  if (trap.line != 0) witness.candidate_lines.push_back(trap.line);
  return witness;
}

Witness race_witness(const Sides& sides, const ptx::OrderFinding& race) {
  Witness witness;
  witness.kind = "race";
  witness.space = race.space == ptx::Space::global ? "global" : "shared";
  witness.address = race.address;
  for (const ptx::OrderAccess* access : {&race.first, &race.second}) {
    witness.blocks.push_back(block_index(sides.candidate.launch, access->block));
    witness.threads.push_back(thread_index(sides.candidate.launch, access->thread));
    witness.candidate_lines.push_back(sides.candidate.line_of(access->instruction));
  }
  if (witness.blocks.size() == 2 && witness.blocks[0] == witness.blocks[1])
    witness.blocks.pop_back();
  return witness;
}

}  // namespace lathe::verifier_node
