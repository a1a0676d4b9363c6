// lathe node: takes work from a coordinator until the run is over or somebody stops it.

#include <cstdio>

#include "cli/complaint.h"
#include "cli/document.h"
#include "cli/exit_status.h"
#include "cli/progress.h"
#include "cli/run_end.h"
#include "cli/subcommand.h"

namespace lathe::cli {

Body declare_node(App& app) {
  struct Options {
    std::string bundle;
    std::uint32_t slots = 1;
    std::uint64_t memory_mib = 0;
    double wait_seconds = 60;
    bool quiet = false, json = false;
  };
  auto options = std::make_shared<Options>();
  app.add_option("--join", options->bundle, "the bundle of lathe cluster admit").required();
  app.add_option("--slots", options->slots, "pieces of work at a time").between(1, 1024);
  app.add_option("--memory", options->memory_mib, "MiB that a gate may take; 0: no limit");
  app.add_option("--wait", options->wait_seconds,
                 "seconds to wait for a coordinator that was there and is gone")
      .between(0.0, 86400.0);
  app.add_flag("--quiet", options->quiet, "no progress");
  app.add_flag("--json", options->json, "one JSON document on standard output, at the end");
  return [options] {
    actors::NodeRequest request;
    request.bundle = options->bundle;
    request.slots = options->slots;
    request.memory_bytes = options->memory_mib << 20;
    request.wait_ms = static_cast<std::uint64_t>(options->wait_seconds * 1000);
    request.tell = make_progress(options->quiet ? Loudness::quiet : Loudness::verbose);
    const std::atomic<int>& stop = stop_on_interrupt(Interrupted::node);
    request.stop = &stop;
    Result<Done> served = actors::serve_node(request);
    if (!served) return complain(served.error(), form_of(options->json));
    bool interrupted = stop != 0;
    if (!options->quiet && !interrupted) std::fputs("lathe: the run is over\n", stderr);
    int said = exit_done;
    if (options->json)
      said = print_document({{"schema", "lathe/node/1"},
                             {"bundle", options->bundle},
                             {"ended", interrupted ? "interrupted" : "over"}});
    return interrupted ? exit_interrupted : said;
  };
}

}  // namespace lathe::cli
