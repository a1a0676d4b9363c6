// lathe node: takes work from a coordinator until the run is over or somebody stops it.

#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/progress.h"
#include "cli/run_end.h"
#include "cli/subcommand.h"

namespace lathe::cli {

Body declare_node(CLI::App& app) {
  struct Options {
    std::string bundle;
    std::uint32_t slots = 1;
    bool quiet = false;
  };
  auto options = std::make_shared<Options>();
  app.add_option("--join", options->bundle, "the bundle of lathe cluster admit")->required();
  app.add_option("--slots", options->slots, "pieces of work at a time")->check(CLI::Range(1, 1024));
  app.add_flag("--quiet", options->quiet, "no progress");
  return [options] {
    actors::NodeRequest request;
    request.bundle = options->bundle;
    request.slots = options->slots;
    request.tell = make_progress(options->quiet ? Loudness::quiet : Loudness::verbose);
    request.stop = &stop_on_interrupt();
    Result<Done> served = actors::serve_node(request);
    return served ? static_cast<int>(exit_done) : complain(served.error());
  };
}

}  // namespace lathe::cli
