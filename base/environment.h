#pragma once

// Variables of the environment. One that is set to nothing counts as unset.

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace lathe {

inline std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return std::string(value);
}

/// HOME, else what the machine has on record for this user.
inline std::optional<std::filesystem::path> home_folder() {
  if (auto home = environment_variable("HOME")) return *home;
  const passwd* user = ::getpwuid(::getuid());
  if (user == nullptr || user->pw_dir == nullptr || *user->pw_dir == '\0') return std::nullopt;
  return user->pw_dir;
}

}  // namespace lathe
