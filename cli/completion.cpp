// lathe completion: a script for bash, and the same for zsh, made of the options that there are.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "cli/exit_status.h"
#include "cli/subcommand.h"

namespace lathe::cli {
namespace {

/// The words that may follow a subcommand: its options, and its own subcommands with theirs.
std::string words_of(CLI::App& app) {
  std::string words;
  for (CLI::Option* option : app.get_options([](CLI::Option*) { return true; }))
    for (const std::string& name : option->get_lnames()) words += " --" + name;
  for (CLI::App* own : app.get_subcommands([](CLI::App*) { return true; }))
    if (!own->get_group().empty()) words += " " + own->get_name() + words_of(*own);
  return words;
}

std::string script_of(CLI::App& root) {
  std::string names, cases;
  for (CLI::App* own : root.get_subcommands([](CLI::App*) { return true; })) {
    if (own->get_group().empty()) continue;
    names += " " + own->get_name();
    cases += "    " + own->get_name() + ") words=\"" + words_of(*own).substr(1) + "\" ;;\n";
  }
  return "_lathe() {\n"
         "  local words current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
         "  case \"${COMP_WORDS[1]}\" in\n" +
         cases + "    *) words=\"" + names.substr(1) +
         "\" ;;\n"
         "  esac\n"
         "  [ \"$COMP_CWORD\" = 1 ] && words=\"" +
         names.substr(1) +
         "\"\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o default -F _lathe lathe\n";
}

}  // namespace

Body declare_completion(App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "bash or zsh").required().one_of({"bash", "zsh"});
  CLI::App* root = app.program();
  return [shell, root] {
    if (*shell == "zsh") std::printf("autoload -U +X bashcompinit && bashcompinit\n");
    std::printf("%s", script_of(*root).c_str());
    return static_cast<int>(exit_done);
  };
}

}  // namespace lathe::cli
