// The bits domain under the observers of a device: footprint, order, cost.

#include "ptx/bits.h"
#include "ptx/emulate.h"
#include "ptx/engine/variant.h"
#include "ptx/machine.h"

namespace lathe::ptx {
namespace {

template <class O>
BitsEnd run_blocks(const Run& run, std::span<std::byte* const> memory,
                   std::span<const std::uint64_t> blocks, O& observer) {
  Bits domain;
  for (std::size_t i = 0; i < run.buffers.size(); ++i)
    domain.add_buffer(memory[i], run.buffers[i].bytes);
  Machine<Bits, O> machine(domain, observer, run);
  BitsEnd end;
  for (std::uint64_t block : blocks) {
    end.trap = machine.run_block(block);
    if (end.trap) break;
  }
  end.steps = machine.steps();
  return end;
}

}  // namespace

namespace LATHE_ENGINE {

BitsEnd emulate(const Run& run, std::span<std::byte* const> memory,
                std::span<const std::uint64_t> blocks, FootprintObserver& footprint) {
  return run_blocks(run, memory, blocks, footprint);
}

BitsEnd emulate(const Run& run, std::span<std::byte* const> memory,
                std::span<const std::uint64_t> blocks,
                Both<FootprintObserver, OrderObserver>& observers) {
  return run_blocks(run, memory, blocks, observers);
}

BitsEnd emulate(const Run& run, std::span<std::byte* const> memory,
                std::span<const std::uint64_t> blocks,
                Both<FootprintObserver, CostObserver>& observers) {
  return run_blocks(run, memory, blocks, observers);
}

}  // namespace LATHE_ENGINE
}  // namespace lathe::ptx
