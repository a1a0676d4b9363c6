// lathe deploy: a run's winners, or a person's own proved file, for use in programs.

#include <cstdio>

#include "cli/complaint.h"
#include "cli/deployment.h"
#include "cli/document.h"
#include "cli/exit_status.h"
#include "cli/store_place.h"
#include "cli/subcommand.h"

namespace lathe::cli {
namespace {

struct Options {
  std::optional<std::uint64_t> run;
  std::string store, contract, file, winners, triton_override, cubin;
  std::uint64_t seed = 0;
  bool unproved = false, json = false;

  std::string folder() const { return winners + triton_override + cubin; }
  const char* form() const {
    if (!winners.empty()) return "winners";
    return triton_override.empty() ? "cubin" : "triton_override";
  }
};

Result<Chosen> choose(const Options& options) {
  if (!options.file.empty())
    return deployment_of_file(options.file, options.contract, options.seed);
  auto store = look_at_store(options.store);
  if (!store) return store.error();
  return deployments_of_run(**store, options.run, options.contract, options.unproved);
}

Json document(const Chosen& chosen, const Options& options) {
  Json json;
  json["schema"] = "lathe/deploy/1";
  json["form"] = options.form();
  json["folder"] = options.folder();
  json["deployed"] = Json::array();
  for (const Deployment& deployment : chosen.deployments)
    json["deployed"].push_back({{"name", deployment.contract().name},
                                {"target", deployment.contract().target},
                                {"contract", hex(deployment.contract().identity())},
                                {"candidate", hex(deployment.assembled.candidate)},
                                {"proved", deployment.proved}});
  json["without"] = chosen.without;
  return json;
}

int say(const Chosen& chosen, const Options& options) {
  for (const std::string& line : chosen.without) std::fprintf(stderr, "%s\n", line.c_str());
  if (chosen.deployments.empty()) std::fprintf(stderr, "nothing to deploy\n");
  if (!options.json)
    for (const Deployment& deployment : chosen.deployments)
      std::printf("%s: %s for %s, candidate %s of contract %s, %s\n", options.folder().c_str(),
                  deployment.contract().name.c_str(), deployment.contract().target.c_str(),
                  short_hex(deployment.assembled.candidate).c_str(),
                  short_hex(deployment.contract().identity()).c_str(),
                  deployment.proved ? "proved" : "NOT proved");
  int said = options.json ? print_document(document(chosen, options))
                          : (std::fflush(stdout) == 0 ? exit_done : exit_io);
  return said == exit_done && chosen.deployments.empty() ? exit_no : said;
}

Result<Done> write(const Chosen& chosen, const Options& options) {
  std::string folder = options.folder();
  std::error_code code;
  if (std::filesystem::exists(folder, code))
    return Error{Fault::unavailable,
                 "it is there already",
                 "remove it, or name another folder",
                 {folder, 0, 0},
                 Absent::file};
  if (!options.winners.empty()) return write_winners(chosen, folder);
  if (!options.triton_override.empty()) return write_override(chosen, folder);
  return write_cubin(chosen, folder);
}

int run(const Options& options) {
  Form form = form_of(options.json);
  int forms = !options.winners.empty() + !options.triton_override.empty() + !options.cubin.empty();
  if (forms != 1)
    return complain_with(exit_usage,
                         Error{Fault::malformed,
                               "say what is to be written",
                               "one of --winners, --triton-override and --cubin, "
                               "each with a folder",
                               {}},
                         form);
  if (!options.file.empty() && options.contract.empty())
    return complain_with(
        exit_usage,
        Error{Fault::malformed, "--file needs --contract", "name the contract's directory", {}},
        form);
  Result<Chosen> chosen = choose(options);
  if (!chosen) return complain(chosen.error(), form);
  if (chosen->deployments.empty()) return say(*chosen, options);
  if (Result<Done> done = write(*chosen, options); !done) {
    bool refused = done.error().fault == Fault::malformed;
    return complain_with(refused ? exit_no : exit_status(done.error()), done.error(), form);
  }
  return say(*chosen, options);
}

}  // namespace

Body declare_deploy(App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("run", options->run, "its number (lathe runs); the newest without one");
  app.add_option("--store", options->store, "folder of the store");
  app.add_option("--contract", options->contract,
                 "only this one: name or first digits; of --file its directory");
  app.add_option("--file", options->file,
                 "your own PTX in place of a run's winners: it goes through every gate first");
  app.add_option("--seed", options->seed, "of --file's inputs and points");
  app.add_flag("--unproved", options->unproved, "candidates that nobody has proved too");
  app.add_option("--winners", options->winners,
                 "write for python -m lathe_triton run: each launch is checked");
  app.add_option("--triton-override", options->triton_override,
                 "write Triton's override folder with a cache of its own");
  app.add_option("--cubin", options->cubin, "write cubin, C header and loader");
  app.add_flag("--json", options->json, "one JSON document on standard output");
  return [options] { return run(*options); };
}

}  // namespace lathe::cli
