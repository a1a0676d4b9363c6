#include "cli/store_place.h"

#include "base/environment.h"

namespace lathe::cli {

std::filesystem::path store_place(const std::string& flag) {
  if (!flag.empty()) return flag;
  if (auto named = environment_variable("LATHE_STORE")) return *named;
  if (auto state = environment_variable("XDG_STATE_HOME"))
    return std::filesystem::path(*state) / "lathe" / "store";
  return home_folder().value_or(".") / ".local" / "state" / "lathe" / "store";
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
