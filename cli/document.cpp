#include "cli/document.h"

#include <cstdio>

#include "cli/exit_status.h"

namespace lathe::cli {

int print_document(const Json& json) {
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  return std::fflush(stdout) == 0 ? exit_done : exit_io;
}

}  // namespace lathe::cli
