// lathe lower: the main job.

#include <cstdio>

#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/run_end.h"
#include "cli/subcommand.h"

namespace lathe::cli {
namespace {

struct Options {
  actors::LowerRequest request;
  std::vector<std::string> contracts;
  std::string start = "reference", device = "auto", policy = "gate", model = "none";
  double budget = 0;
  RunOptions run;
};

Result<Done> understand(Options& options) {
  auto refuse = [](const std::string& what, const std::string& remedy) {
    return Error{Fault::unsupported, what, remedy, {}};
  };
  if (options.start != "reference")
    return refuse("--start source is not there yet", "start from the reference");
  if (options.device != "auto" && options.device != "emulated")
    return Error{
        Fault::unavailable, "there is no device " + options.device, "use --device emulated", {}};
  options.request.policy = options.policy == "gate"    ? Policy::gate
                           : options.policy == "label" ? Policy::label
                                                       : Policy::off;
  options.request.model = options.model;
  options.request.budget_micro = static_cast<std::uint64_t>(options.budget * 1e6 + 0.5);
  for (const std::string& contract : options.contracts)
    options.request.contracts.push_back(contract);
  return Done{};
}

int run(Options& options) {
  Form form = form_of(options.run.json);
  if (Result<Done> understood = understand(options); !understood) {
    bool absent = understood.error().fault == Fault::unavailable;
    return complain_with(absent ? exit_unavailable : exit_usage, understood.error(), form);
  }
  Result<actors::World> world = make_world(options.run);
  if (!world) return complain_with(exit_usage, world.error(), form);
  options.request.world = *std::move(world);
  return show_run_end(options.run, actors::lower(options.request));
}

}  // namespace

Body declare_lower(App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("DIR", options->contracts, "contract directories").required();
  app.add_option("--rounds", options->request.rounds, "rounds at most").between(0, 1000);
  app.add_option("--branches", options->request.branches, "candidates a round").between(1, 64);
  app.add_option("--budget", options->budget, "dollars that models may cost").not_negative();
  app.add_option("--model", options->model, "PROVIDER[:ARGUMENT], or none");
  app.add_option("--device", options->device, "auto, emulated or a GPU's UUID");
  app.add_option("--start", options->start, "reference or source").one_of({"reference", "source"});
  app.add_option("--verification", options->policy, "gate, label or off")
      .one_of({"gate", "label", "off"});
  app.add_option("--seed", options->request.seed, "decides everything that is drawn");
  add_run_options(app, options->run);
  return [options] { return run(*options); };
}

}  // namespace lathe::cli
