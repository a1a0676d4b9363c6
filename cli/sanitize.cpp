// lathe sanitize: bounds, races, uninitialised reads and deadlock of one file.

#include "cli/gate_run.h"

namespace lathe::cli {

Body declare_sanitize(App& app) {
  auto options = std::make_shared<GateOptions>();
  add_gate_options(app, *options);
  return [options] { return run_gates(*options, Gate::sanitize, "sanitize"); };
}

}  // namespace lathe::cli
