// lathe resume: goes on with an interrupted run, the newest without a number.

#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/run_end.h"
#include "cli/subcommand.h"

namespace lathe::cli {

Body declare_resume(App& app) {
  struct Options {
    std::optional<std::uint64_t> run;
    RunOptions world;
  };
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "its number (lathe runs)");
  add_run_options(app, options->world);
  return [options] {
    Result<actors::World> world = make_world(options->world);
    if (!world) return complain_with(exit_usage, world.error(), form_of(options->world.json));
    return show_run_end(options->world, actors::resume(options->run, *world));
  };
}

}  // namespace lathe::cli
