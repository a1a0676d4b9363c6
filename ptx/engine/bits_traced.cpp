// Blocks without data, each with its name.

#include <map>

#include "ptx/engine/variant.h"
#include "ptx/machine.h"
#include "ptx/trace_domain.h"

namespace lathe::ptx {
namespace {

struct Noting : NoObserver {
  TraceDomain* domain = nullptr;
  void on_issue(std::uint32_t warp, std::uint32_t operation, Mask active) {
    domain->note_issue(warp, operation, active);
  }
};

struct Doubting : Noting {
  static constexpr bool doubts_waits = true;
};

template <class O>
Traces run_blocks(const TraceRequest& request) {
  Run run{*request.program, request.shape,    request.buffers, request.parameters, 1024,
          request.schedule, request.steps_max};
  TraceDomain domain(request);
  O observer;
  observer.domain = &domain;
  Machine<TraceDomain, O> machine(domain, observer, run);
  Traces traces;
  std::map<TraceName::Value, std::uint32_t> kinds;
  for (std::uint64_t block = request.begin; block < request.end; ++block) {
    domain.begin();
    traces.trap = machine.run_block(block);
    if (traces.trap) break;
    auto [kind, fresh] =
        kinds.try_emplace(domain.name(), static_cast<std::uint32_t>(traces.kinds.size()));
    if (fresh) traces.kinds.push_back({domain.name(), domain.written(), domain.read()});
    traces.kind_of.push_back(kind->second);
    traces.bases.insert(traces.bases.end(), domain.bases().begin(), domain.bases().end());
  }
  traces.steps = machine.steps();
  return traces;
}

}  // namespace

namespace LATHE_ENGINE {

Traces trace_blocks(const TraceRequest& request) {
  return request.doubts_waits ? run_blocks<Doubting>(request) : run_blocks<Noting>(request);
}

}  // namespace LATHE_ENGINE
}  // namespace lathe::ptx
