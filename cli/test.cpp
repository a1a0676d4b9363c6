// lathe test: one file against the reference on the contract's inputs.

#include "cli/gate_run.h"

namespace lathe::cli {

Body declare_test(App& app) {
  auto options = std::make_shared<GateOptions>();
  add_gate_options(app, *options);
  return [options] { return run_gates(*options, Gate::test, "test"); };
}

}  // namespace lathe::cli
