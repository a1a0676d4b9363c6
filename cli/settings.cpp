#include "cli/settings.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "base/environment.h"
#include "base/files.h"
#include "base/names.h"
#include "base/toml.h"
#include "cli/app.h"

namespace lathe::cli {
namespace {

namespace fs = std::filesystem;

std::string variable_of(const std::string& name) {
  std::string variable = "LATHE_";
  for (char c : name) variable += c == '-' ? '_' : c >= 'a' && c <= 'z' ? char(c - 32) : c;
  return variable;
}

/// A flag that only says yes is typed, never set: a lathe.toml must not turn --json on.
bool is_setting(const CLI::Option& option) {
  return !option.get_lnames().empty() && option.get_expected_max() > 0 &&
         option.get_items_expected_max() > 0 && option.get_lnames()[0] != "help" &&
         option.get_lnames()[0] != "contract";
}

struct Named {
  CLI::Option* option;
  std::string name;
  std::string command;  // Whose option it is: "lathe cluster admit".
};

/// Every subcommand's settings, nested subcommands included.
void collect(CLI::App& app, std::vector<Named>& options) {
  for (CLI::App* own : app.get_subcommands([](CLI::App*) { return true; })) {
    if (own->get_group().empty()) continue;  // Hidden: no person calls it.
    for (CLI::Option* option : own->get_options([](CLI::Option*) { return true; }))
      if (is_setting(*option))
        options.push_back({option, option->get_lnames()[0], command_of(*own)});
    collect(*own, options);
  }
}

std::vector<Named> settings_of(CLI::App& app) {
  std::vector<Named> options;
  collect(app, options);
  return options;
}

std::string text_of(const TomlValue& value) {
  return value.kind == TomlValue::Kind::string ? value.text : print_toml(value);
}

struct FileSettings {
  std::vector<TomlMember> members;
  std::vector<Error> errors;
};

FileSettings read_file_settings() {
  FileSettings found;
  auto path = settings_file();
  if (!path) return found;
  Result<std::string> text = read_file(*path);
  if (!text) {
    found.errors.push_back(text.error());
    return found;
  }
  Result<TomlValue> root = parse_toml(*text, path->string());
  if (!root) {
    found.errors.push_back(root.error());
    return found;
  }
  found.members = std::move(root->members);
  return found;
}

/// What an option has against a value, which is its default from now on where it has nothing.
std::optional<std::string> refusal(CLI::Option& option, const std::string& value) {
  try {
    option.run_callback_for_default()->default_val(value);
    return std::nullopt;
  } catch (const CLI::Error& error) {
    std::string what = error.what(), name = option.get_name() + ": ";
    return what.starts_with(name) ? what.substr(name.size()) : what;
  }
}

/// A value that is no flag's, and what is said of it where it cannot be.
struct Given {
  std::string name, value;
  std::string subject;  // "LATHE_ROUNDS", "`rounds`".
  Place place;
};

/// Gives the value to every option of its name. Options of one name may differ in what they take: a
/// refusal counts where it is of `command`, or where no other one takes the value.
std::optional<Error> give(const Given& given, const std::vector<Named>& options,
                          const std::string& command) {
  bool taken = false, at_hand = false;
  std::optional<Error> error;
  for (const Named& one : options) {
    if (one.name != given.name) continue;
    std::optional<std::string> what = refusal(*one.option, given.value);
    bool own = one.command == command || one.command.starts_with(command + " ");
    taken = taken || !what;
    if (!what || (error && (at_hand || !own))) continue;
    at_hand = own;
    error = Error{Fault::malformed, given.subject + ": " + *what,
                  "it is --" + one.name + " of " + one.command, given.place};
  }
  return at_hand || !taken ? error : std::nullopt;
}

void apply(const TomlMember& member, const std::vector<Named>& options, const std::string& command,
           std::vector<Error>& errors) {
  std::vector<std::string> names;
  for (const Named& one : options) names.push_back(one.name);
  if (std::find(names.begin(), names.end(), member.key) == names.end()) {
    std::string near = nearest_name(member.key, names);
    errors.push_back({Fault::malformed, "unknown key `" + member.key + "`",
                      near.empty() ? "remove it" : "did you mean `" + near + "`?", member.place});
    return;
  }
  Given given{member.key, text_of(member.value), "`" + member.key + "`", member.value.place};
  if (auto error = give(given, options, command)) errors.push_back(*std::move(error));
}

/// Each variable that is set, and its name for the options that take what it says.
void apply_environment(const std::vector<Named>& options, const std::string& command,
                       std::vector<Error>& errors) {
  std::set<std::string> seen;
  for (const Named& one : options) {
    std::string variable = variable_of(one.name);
    auto value = environment_variable(variable);
    if (!value || !seen.insert(one.name).second) continue;
    if (auto error = give({one.name, *value, variable, {}}, options, command))
      errors.push_back(*std::move(error));
  }
  for (const Named& one : options) {
    auto value = environment_variable(variable_of(one.name));
    if (!value || !refusal(*one.option, *value)) one.option->envname(variable_of(one.name));
  }
}

}  // namespace

std::optional<fs::path> settings_file() {
  std::error_code code;
  if (fs::path here = "lathe.toml"; fs::exists(here, code)) return here;
  auto folder = environment_variable("XDG_CONFIG_HOME");
  auto home = home_folder();
  if (!folder && !home) return std::nullopt;
  fs::path path = folder ? fs::path(*folder) : *home / ".config";
  path /= fs::path("lathe") / "lathe.toml";
  return fs::exists(path, code) ? std::optional(path) : std::nullopt;
}

std::vector<Error> apply_settings(CLI::App& app, const std::string& subcommand) {
  std::vector<Named> options = settings_of(app);
  std::string command = "lathe " + subcommand;
  FileSettings file = read_file_settings();
  for (const TomlMember& member : file.members) apply(member, options, command, file.errors);
  apply_environment(options, command, file.errors);
  return std::move(file.errors);
}

std::vector<Setting> current_settings(const CLI::App& app) {
  std::vector<Setting> settings;
  FileSettings file = read_file_settings();
  std::set<std::string> seen;
  for (const Named& one : settings_of(const_cast<CLI::App&>(app))) {
    const std::string& name = one.name;
    if (!seen.insert(name).second) continue;
    if (auto value = environment_variable(variable_of(name))) {
      settings.push_back({name, *value, variable_of(name)});
      continue;
    }
    for (const TomlMember& member : file.members)
      if (member.key == name)
        settings.push_back({name, text_of(member.value),
                            member.place.file + ":" + std::to_string(member.place.line)});
  }
  std::sort(settings.begin(), settings.end(),
            [](const Setting& a, const Setting& b) { return a.name < b.name; });
  return settings;
}

}  // namespace lathe::cli
