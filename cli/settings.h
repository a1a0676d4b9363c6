#pragma once

// Where an option's value comes from when its flag is absent: LATHE_<OPTION>, then lathe.toml in
// the working folder, else in the user's configuration folder.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
}

namespace lathe::cli {

struct Setting {
  std::string name, value;
  std::string origin;  // "LATHE_SEED", or lathe.toml with its line.
};

/// The lathe.toml that counts, if there is one.
std::optional<std::filesystem::path> settings_file();

/// Gives every named option of every subcommand its variable and its default of the file. All
/// complaints: a key that no option has, and a value that the options of its name refuse, or that
/// of the subcommand at hand. A complaint about the file has its place, one about a variable none.
std::vector<Error> apply_settings(CLI::App& app, const std::string& subcommand);

/// What environment and file say, by name; the environment wins.
std::vector<Setting> current_settings(const CLI::App& app);

}  // namespace lathe::cli
