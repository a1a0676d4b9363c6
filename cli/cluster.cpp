// lathe cluster init, admit, revoke: the farm's identity.

#include <cstdio>

#include "base/clock.h"
#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/run_end.h"
#include "cli/subcommand.h"
#include "cluster/identity.h"

namespace lathe::cli {
namespace {

struct Options {
  App *init = nullptr, *admit = nullptr, *revoke = nullptr;
  std::string directory, name, address, out;
};

int run_init(const Options& options) {
  if (Result<Done> made = cluster::init_cluster(options.directory, wall_seconds()); !made)
    return complain(made.error());
  std::printf(
      "made %s; admit nodes with: lathe cluster admit NAME --dir %s --address HOST:PORT --out "
      "NAME.bundle\n",
      options.directory.c_str(), options.directory.c_str());
  return exit_done;
}

int run_admit(const Options& options) {
  if (Result<Address> address = parse_address(options.address); !address)
    return complain_with(exit_usage, address.error());
  std::string out = options.out.empty() ? options.name + ".bundle" : options.out;
  Result<cluster::Bundle> bundle =
      cluster::admit_node(options.directory, options.name, options.address, out, wall_seconds());
  if (!bundle) return complain(bundle.error());
  std::printf(
      "wrote %s, valid for %llu days: whoever holds it is %s; join with: lathe node --join %s\n",
      out.c_str(), static_cast<unsigned long long>(cluster::bundle_days), options.name.c_str(),
      out.c_str());
  return exit_done;
}

int run_revoke(const Options& options) {
  if (Result<Done> revoked = cluster::revoke_node(options.directory, options.name); !revoked)
    return complain(revoked.error());
  std::printf("%s is refused from now on\n", options.name.c_str());
  return exit_done;
}

}  // namespace

Body declare_cluster(App& app) {
  auto options = std::make_shared<Options>();
  options->init = app.add_subcommand("init", "make a farm's authority, certificate and keys");
  options->init->add_option("directory", options->directory, "the folder to make").required();
  options->admit = app.add_subcommand("admit", "write the bundle with which one node joins");
  options->admit->add_option("name", options->name, "the node's name").required();
  options->admit->add_option("--dir", options->directory, "the farm's folder").required();
  options->admit->add_option("--address", options->address, "the coordinator's HOST:PORT")
      .required();
  options->admit->add_option("--out", options->out, "the bundle's file (default: NAME.bundle)");
  options->revoke = app.add_subcommand("revoke", "refuse a node from now on");
  options->revoke->add_option("name", options->name, "the node's name").required();
  options->revoke->add_option("--dir", options->directory, "the farm's folder").required();
  app.require_subcommand();
  return [options] {
    if (options->init->parsed()) return run_init(*options);
    return options->admit->parsed() ? run_admit(*options) : run_revoke(*options);
  };
}

}  // namespace lathe::cli
