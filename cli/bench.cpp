// lathe bench: the time of one file against an incumbent, by the device there is.

#include "cli/gate_run.h"

namespace lathe::cli {

Body declare_bench(App& app) {
  auto options = std::make_shared<GateOptions>();
  add_gate_options(app, *options);
  app.add_option("--incumbent", options->incumbent, "PTX to compare with; else the reference");
  return [options] { return run_gates(*options, Gate::benchmark, "bench"); };
}

}  // namespace lathe::cli
