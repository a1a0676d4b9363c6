// lathe frontier: the admitted candidates of each contract, or of those that are named.

#include "cli/frontier_view.h"

#include <cstdio>

#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/store_place.h"
#include "cli/subcommand.h"

namespace lathe::cli {
namespace {

struct Options {
  std::string contract, store;
  bool json = false;
};

int run(const Options& options) {
  Result<std::unique_ptr<store::Store>> store = look_at_store(options.store);
  if (!store) return complain(store.error(), form_of(options.json));
  Result<std::vector<Digest>> contracts = contracts_named(**store, options.contract);
  if (!contracts) return complain(contracts.error(), form_of(options.json));
  Json json;
  json["schema"] = "lathe/frontier/1";
  json["frontiers"] = Json::array();
  for (const Digest& contract : *contracts) {
    if (options.json) {
      Result<Json> one = frontier_json(**store, contract);
      if (!one) return complain(one.error(), form_of(options.json));
      json["frontiers"].push_back(*std::move(one));
    } else {
      Result<std::string> text = frontier_text(**store, contract);
      if (!text) return complain(text.error(), form_of(options.json));
      std::printf("%s", text->c_str());
    }
  }
  if (options.json) std::printf("%s\n", json.dump(2).c_str());
  return exit_done;
}

}  // namespace

Body declare_frontier(App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("contract", options->contract, "its name, or the first digits of its identity");
  app.add_option("--store", options->store, "folder of the store");
  app.add_flag("--json", options->json, "one JSON document on standard output");
  return [options] { return run(*options); };
}

}  // namespace lathe::cli
