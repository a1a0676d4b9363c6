// The bits domain, unobserved or counted.

#include <algorithm>
#include <numeric>

#include "ptx/bits.h"
#include "ptx/engine.h"
#include "ptx/engine/variant.h"
#include "ptx/machine.h"

namespace lathe::ptx {
namespace {

template <class O>
void run_blocks(const RunRequest& request, const std::vector<Buffer>& buffers, Bits& domain,
                O& observer, RunResult& result) {
  Run run{*request.program,    request.shape,    buffers, request.parameters,
          request.shared_base, request.schedule, 0,       request.schedule_seed};
  Machine<Bits, O> machine(domain, observer, run);
  std::uint64_t count = request.blocks.empty() ? request.shape.blocks() : request.blocks.size();
  for (std::uint64_t i = 0; i < count && !result.trap; ++i) {
    if (request.steps_max != 0)
      run.steps_max = std::max<std::uint64_t>(request.steps_max - machine.steps(), 1);
    result.trap = machine.run_block(request.blocks.empty() ? i : request.blocks[i]);
    if (!result.trap) ++result.blocks;
  }
  result.steps = machine.steps();
}

}  // namespace

namespace LATHE_ENGINE {

RunResult run_bits(const RunRequest& request) {
  Bits domain;
  std::vector<Buffer> buffers;
  std::vector<std::size_t> order(request.buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return request.buffers[a].buffer.address < request.buffers[b].buffer.address;
  });
  for (std::size_t i : order) {
    const HostBuffer& host = request.buffers[i];
    buffers.push_back(host.buffer);
    domain.add_buffer(host.bytes.data(), host.bytes.size());
  }
  RunResult result;
  if (request.count) {
    Counting counting;
    run_blocks(request, buffers, domain, counting, result);
    result.counters = counting.counters;
  } else {
    NoObserver nobody;
    run_blocks(request, buffers, domain, nobody, result);
  }
  return result;
}

}  // namespace LATHE_ENGINE
}  // namespace lathe::ptx
