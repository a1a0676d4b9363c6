// The program: finds the subcommand, runs it, and turns what it says into an exit status.

#include <fcntl.h>
#include <poll.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include "base/names.h"
#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/settings.h"
#include "cli/subcommand.h"
#include "cli/version.h"

namespace lathe::cli {
namespace {

/// `word` where a subcommand of `names` is meant, if it is none of them.
std::optional<Error> unknown_subcommand(const std::string& program, const std::string& word,
                                        const std::vector<std::string_view>& names) {
  bool known = std::find(names.begin(), names.end(), word) != names.end();
  if (known || word.empty() || word[0] == '-') return std::nullopt;
  std::string near = nearest_name(word, names);
  return Error{
      Fault::malformed,
      "there is no subcommand `" + word + "`" + (program == "lathe" ? "" : " of `" + program + "`"),
      near.empty() ? program + " --help lists them" : "did you mean `" + near + "`?",
      {}};
}

/// The subcommand that the words had reached.
const CLI::App& innermost(const CLI::App& app) {
  std::vector<CLI::App*> parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.back());
}

/// What is wrong with these words: an unknown subcommand is named, with the nearest known one.
Error usage_error(const CLI::App& app, int count, char** words, const CLI::ParseError& error) {
  std::string first = count > 1 ? words[1] : "";
  std::vector<std::string_view> names;
  for (const Subcommand& subcommand : subcommands)
    if (!subcommand.hidden) names.push_back(subcommand.name);
  if (auto unknown = unknown_subcommand("lathe", first, names)) return *unknown;
  bool known = std::find(names.begin(), names.end(), first) != names.end();
  if (known && count > 2) {
    std::vector<std::string_view> parts;
    for (const CLI::App* part :
         app.get_subcommand_ptr(first)->get_subcommands([](const CLI::App*) { return true; }))
      parts.push_back(part->get_name());
    if (!parts.empty())
      if (auto unknown = unknown_subcommand("lathe " + first, words[2], parts)) return *unknown;
  }
  return {Fault::malformed, error.what(), "see " + command_of(innermost(app)) + " --help", {}};
}

/// What is wrong with lathe.toml is a bad file, a variable alone is wrong usage.
int complain_of_settings(const std::vector<Error>& errors, Form form) {
  bool in_file = !errors.front().place.file.empty();
  return in_file ? complain(errors, form) : complain_with(exit_usage, errors, form);
}

bool asks_for_json(int count, char** words) {
  return std::any_of(words, words + count,
                     [](const char* word) { return std::string_view(word) == "--json"; });
}

int run(int count, char** words) {
  CLI::App app{
      "Lathe lowers Triton kernels to PTX by search; every candidate is tested and proved."};
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  app.set_help_all_flag("--help-all", "every subcommand's help");
  std::vector<std::pair<std::unique_ptr<App>, Body>> bodies;
  for (const Subcommand& subcommand : subcommands) {
    CLI::App* own = app.add_subcommand(std::string(subcommand.name), std::string(subcommand.what));
    if (subcommand.hidden) own->group("");
    if (!subcommand.example.empty()) own->footer("Example: " + std::string(subcommand.example));
    auto app_of_it = std::make_unique<App>(*own);
    Body body = subcommand.declare(*app_of_it);
    bodies.emplace_back(std::move(app_of_it), std::move(body));
  }
  Form form = form_of(asks_for_json(count, words));
  std::vector<Error> errors = apply_settings(app, count > 1 ? words[1] : "");
  if (!errors.empty()) return complain_of_settings(errors, form);
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    // Help and the version come this way too.
    if (error.get_exit_code() == 0) return app.exit(error), exit_done;
    return complain_with(exit_usage, usage_error(app, count, words, error), form);
  }
  for (const auto& [own, body] : bodies)
    if (own->parsed()) return body();
  return exit_usage;
}

/// Of those that are closed the next file that is opened would take the place, and get what is
/// printed. What is opened instead refuses it.
void hold_standard_files() {
  for (int file : {0, 1, 2})
    if (::fcntl(file, F_GETFD) == -1) [[maybe_unused]]
      int opened = ::open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY);
}

/// Nothing where the reader of a pipe has heard enough.
void complain_of_output() {
  pollfd output{1, POLLOUT, 0};
  if (::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) return;
  std::fputs(complaint({Fault::unavailable,
                        "standard output cannot be written",
                        "is the disk full, or the file closed?",
                        {}})
                 .c_str(),
             stderr);
}

}  // namespace
}  // namespace lathe::cli

int main(int count, char** words) {
  std::signal(SIGPIPE, SIG_IGN);
  lathe::cli::hold_standard_files();
  int status = lathe::cli::exit_own_fault;
  try {
    status = lathe::cli::run(count, words);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "lathe: error: a fault of its own: %s\n", exception.what());
  }
  // A write that failed before the last one has left its mark only.
  bool lost = std::fflush(nullptr) != 0 || std::ferror(stdout) != 0;
  if (lost) lathe::cli::complain_of_output();
  if (lost && status == lathe::cli::exit_done) status = lathe::cli::exit_io;
  // All that must end in order has ended; threads that wait for a frozen peer do not hold us up.
  std::_Exit(status);
}
