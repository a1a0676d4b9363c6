#include "cli/store_place.h"

#include <cstdlib>

namespace lathe::cli {

std::filesystem::path store_place(const std::string& flag) {
  if (!flag.empty()) return flag;
  if (const char* named = std::getenv("LATHE_STORE")) return named;
  if (const char* state = std::getenv("XDG_STATE_HOME"))
    return std::filesystem::path(state) / "lathe" / "store";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : ".") / ".local" / "state" / "lathe" /
         "store";
}

Result<std::unique_ptr<store::Store>> look_at_store(const std::string& flag) {
  std::filesystem::path place = store_place(flag);
  std::error_code code;
  if (!std::filesystem::exists(place, code))
    return Error{Fault::unavailable,
                 "there is no store",
                 "name one with --store, or start with lathe lower",
                 {place.string(), 0, 0},
                 Absent::file};
  return store::Store::open_reader(place);
}

}  // namespace lathe::cli
