#include "cli/input_file.h"

#include "base/files.h"

namespace lathe::cli {

Result<std::string> read_input(const std::string& name) {
  return read_text(name == "-" ? "/dev/stdin" : name);
}

}  // namespace lathe::cli
