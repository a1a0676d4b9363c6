// The program: finds the subcommand, runs it, and turns what it says into an exit status.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/settings.h"
#include "cli/subcommand.h"
#include "cli/version.h"

namespace lathe::cli {
namespace {

int run(int count, char** words) {
  CLI::App app{
      "Lathe lowers Triton kernels to PTX by search; every candidate is tested and proved."};
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  app.set_help_all_flag("--help-all", "every subcommand's help");
  std::vector<std::pair<CLI::App*, Body>> bodies;
  for (const Subcommand& subcommand : subcommands) {
    CLI::App* own = app.add_subcommand(std::string(subcommand.name), std::string(subcommand.what));
    if (subcommand.hidden) own->group("");
    if (!subcommand.example.empty()) own->footer("Example: " + std::string(subcommand.example));
    bodies.emplace_back(own, subcommand.declare(*own));
  }
  if (std::vector<Error> errors = apply_settings(app); !errors.empty()) return complain(errors);
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    int status = app.exit(error);
    return status == 0 ? exit_done : exit_usage;
  }
  for (const auto& [own, body] : bodies)
    if (own->parsed()) return body();
  return exit_usage;
}

}  // namespace
}  // namespace lathe::cli

int main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);
  int status = lathe::cli::exit_own_fault;
  try {
    status = lathe::cli::run(count, words);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "lathe: error: a fault of its own: %s\n", exception.what());
  }
  if (std::fflush(nullptr) != 0 && status == lathe::cli::exit_done) status = lathe::cli::exit_io;
  // All that must end in order has ended; threads that wait for a frozen peer do not hold us up.
  std::_Exit(status);
}
