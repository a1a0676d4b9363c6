// lathe cluster init, admit, revoke: the farm's identity.

#include <cstdio>

#include "base/clock.h"
#include "cli/complaint.h"
#include "cli/document.h"
#include "cli/exit_status.h"
#include "cli/run_end.h"
#include "cli/subcommand.h"
#include "cluster/identity.h"

namespace lathe::cli {
namespace {

struct Options {
  App *init = nullptr, *admit = nullptr, *revoke = nullptr;
  std::string directory, name, address, out;
  bool json = false;
};

int run_init(const Options& options) {
  if (Result<Done> made = cluster::init_cluster(options.directory, wall_seconds()); !made)
    return complain(made.error(), form_of(options.json));
  if (options.json)
    return print_document({{"schema", "lathe/cluster-init/1"}, {"directory", options.directory}});
  std::printf(
      "made %s; admit nodes with: lathe cluster admit NAME --dir %s --address HOST:PORT --out "
      "NAME.bundle\n",
      options.directory.c_str(), options.directory.c_str());
  return exit_done;
}

int run_admit(const Options& options) {
  Form form = form_of(options.json);
  if (Result<Address> address = parse_address(options.address); !address)
    return complain_with(exit_usage, address.error(), form);
  std::string out = options.out.empty() ? options.name + ".bundle" : options.out;
  Result<cluster::Bundle> bundle =
      cluster::admit_node(options.directory, options.name, options.address, out, wall_seconds());
  if (!bundle) return complain(bundle.error(), form);
  if (options.json)
    return print_document({{"schema", "lathe/cluster-admit/1"},
                           {"node", options.name},
                           {"address", options.address},
                           {"bundle", out},
                           {"valid_days", cluster::bundle_days}});
  std::printf(
      "wrote %s, valid for %llu days: whoever holds it is %s; join with: lathe node --join %s\n",
      out.c_str(), static_cast<unsigned long long>(cluster::bundle_days), options.name.c_str(),
      out.c_str());
  return exit_done;
}

int run_revoke(const Options& options) {
  if (Result<Done> revoked = cluster::revoke_node(options.directory, options.name); !revoked)
    return complain(revoked.error(), form_of(options.json));
  if (options.json)
    return print_document({{"schema", "lathe/cluster-revoke/1"}, {"node", options.name}});
  std::printf("%s is refused from now on\n", options.name.c_str());
  return exit_done;
}

}  // namespace

Body declare_cluster(App& app) {
  auto options = std::make_shared<Options>();
  options->init = app.add_subcommand("init", "make a farm's authority, certificate and keys",
                                     "lathe cluster init farm");
  options->init->add_option("directory", options->directory, "the folder to make").required();
  options->admit =
      app.add_subcommand("admit", "write the bundle with which one node joins",
                         "lathe cluster admit node1 --dir farm --address 10.0.0.1:4700");
  options->admit->add_option("name", options->name, "the node's name").required();
  options->admit->add_option("--dir", options->directory, "the farm's folder").required();
  options->admit->add_option("--address", options->address, "the coordinator's HOST:PORT")
      .required();
  options->admit->add_option("--out", options->out, "the bundle's file (default: NAME.bundle)");
  options->revoke = app.add_subcommand("revoke", "refuse a node from now on",
                                       "lathe cluster revoke node1 --dir farm");
  options->revoke->add_option("name", options->name, "the node's name").required();
  options->revoke->add_option("--dir", options->directory, "the farm's folder").required();
  for (App* one : {options->init, options->admit, options->revoke})
    one->add_flag("--json", options->json, "one JSON document on standard output");
  app.require_subcommand();
  return [options] {
    if (options->init->parsed()) return run_init(*options);
    return options->admit->parsed() ? run_admit(*options) : run_revoke(*options);
  };
}

}  // namespace lathe::cli
