// lathe store export: what a store knows, as text that two stores with the same knowledge share
// byte for byte.

#include <cstdio>

#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/frontier_view.h"
#include "cli/store_place.h"
#include "cli/subcommand.h"
#include "store/export.h"

namespace lathe::cli {
namespace {

struct Options {
  std::string store, contract;
};

int run_export(const Options& options) {
  Result<std::unique_ptr<store::Store>> store = look_at_store(options.store);
  if (!store) return complain(store.error());
  std::optional<Digest> contract;
  if (!options.contract.empty()) {
    Result<std::vector<Digest>> found = contracts_named(**store, options.contract);
    if (!found) return complain(found.error());
    if (found->size() != 1)
      return complain(
          Error{Fault::malformed, "more than one contract has that name", "give its identity", {}});
    contract = found->front();
  }
  Result<std::string> text = store::export_text(**store, contract);
  if (!text) return complain(text.error());
  std::fwrite(text->data(), 1, text->size(), stdout);
  return std::fflush(stdout) == 0 ? exit_done : exit_io;
}

}  // namespace

Body declare_store(App& app) {
  auto options = std::make_shared<Options>();
  App* out = app.add_subcommand("export", "rounds, verdicts, ledger and frontier as JSON lines",
                                "lathe store export --store S");
  out->add_option("--store", options->store, "folder of the store");
  out->add_option("--contract", options->contract, "only this one");
  app.require_subcommand();
  return [options] { return run_export(*options); };
}

}  // namespace lathe::cli
