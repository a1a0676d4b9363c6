// Blocks without data, each with its name.

#include <map>

#include "ptx/engine/variant.h"
#include "ptx/machine.h"
#include "ptx/trace_domain.h"

namespace lathe::ptx {
namespace {

/// One for both kinds of request: a machine is long to compile.
struct Noting : NoObserver {
  TraceDomain* domain = nullptr;
  bool doubts_waits = false;
  void on_issue(std::uint32_t warp, std::uint32_t operation, Mask active) {
    domain->note_issue(warp, operation, active);
  }
};

}  // namespace

namespace LATHE_ENGINE {

Traces trace_blocks(const TraceRequest& request) {
  Run run{*request.program, request.shape,    request.buffers, request.parameters, 1024,
          request.schedule, request.steps_max};
  TraceDomain domain(request);
  Noting observer;
  observer.domain = &domain;
  observer.doubts_waits = request.doubts_waits;
  Machine<TraceDomain, Noting> machine(domain, observer, run);
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

}  // namespace LATHE_ENGINE
}  // namespace lathe::ptx
