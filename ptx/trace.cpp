// Chooses the build of the engine that traces.

#include "ptx/trace.h"

#include "ptx/engine.h"

namespace lathe::ptx {

namespace engine_plain {
Traces trace_blocks(const TraceRequest& request);
}
namespace engine_avx2 {
Traces trace_blocks(const TraceRequest& request);
}

Traces trace_blocks(const TraceRequest& request) {
  return engine_variant() == "avx2" ? engine_avx2::trace_blocks(request)
                                    : engine_plain::trace_blocks(request);
}

}  // namespace lathe::ptx
