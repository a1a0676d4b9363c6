#include "cli/settings.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/files.h"
#include "base/names.h"
#include "base/toml.h"

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

/// Every subcommand's settings, nested subcommands included.
void collect(CLI::App& app, std::vector<CLI::Option*>& options) {
  for (CLI::App* own : app.get_subcommands([](CLI::App*) { return true; })) {
    if (own->get_group().empty()) continue;  // Hidden: no person calls it.
    for (CLI::Option* option : own->get_options([](CLI::Option*) { return true; }))
      if (is_setting(*option)) options.push_back(option);
    collect(*own, options);
  }
}

std::vector<CLI::Option*> settings_of(CLI::App& app) {
  std::vector<CLI::Option*> options;
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

void apply(const TomlMember& member, const std::vector<CLI::Option*>& options,
           std::vector<Error>& errors) {
  std::vector<std::string> names;
  bool known = false;
  for (CLI::Option* option : options) {
    const std::string& name = option->get_lnames()[0];
    names.push_back(name);
    if (name != member.key) continue;
    known = true;
    try {
      option->run_callback_for_default()->default_val(text_of(member.value));
    } catch (const CLI::Error& error) {
      errors.push_back({Fault::malformed, "`" + name + "`: " + error.what(),
                        "see `lathe SUBCOMMAND --help` for its values", member.value.place});
      return;
    }
  }
  if (known) return;
  std::string near = nearest_name(member.key, names);
  errors.push_back({Fault::malformed, "unknown key `" + member.key + "`",
                    near.empty() ? "remove it" : "did you mean `" + near + "`?", member.place});
}

}  // namespace

std::optional<fs::path> settings_file() {
  std::error_code code;
  if (fs::path here = "lathe.toml"; fs::exists(here, code)) return here;
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (folder == nullptr && home == nullptr) return std::nullopt;
  fs::path path = folder != nullptr ? fs::path(folder) : fs::path(home) / ".config";
  path /= fs::path("lathe") / "lathe.toml";
  return fs::exists(path, code) ? std::optional(path) : std::nullopt;
}

std::vector<Error> apply_settings(CLI::App& app) {
  std::vector<CLI::Option*> options = settings_of(app);
  for (CLI::Option* option : options) option->envname(variable_of(option->get_lnames()[0]));
  FileSettings file = read_file_settings();
  for (const TomlMember& member : file.members) apply(member, options, file.errors);
  return std::move(file.errors);
}

std::vector<Setting> current_settings(const CLI::App& app) {
  std::vector<Setting> settings;
  FileSettings file = read_file_settings();
  std::set<std::string> seen;
  for (CLI::Option* option : settings_of(const_cast<CLI::App&>(app))) {
    const std::string& name = option->get_lnames()[0];
    if (!seen.insert(name).second) continue;
    if (const char* value = std::getenv(variable_of(name).c_str())) {
      settings.push_back({name, value, variable_of(name)});
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
