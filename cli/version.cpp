// lathe version: the program, its build, and the assemblers that it would use.

#include "cli/version.h"

#include <cstdio>

#include "actors/settings.h"
#include "base/json.h"
#include "cli/exit_status.h"
#include "cli/subcommand.h"
#include "gpu_node/gpu_node.h"

namespace lathe::cli {

std::string processor_variant() { return __builtin_cpu_supports("avx2") ? "avx2" : "plain"; }

std::string version_text() {
  return actors::engine_version() + " (compiler " __VERSION__ ", C++" +
         std::to_string(__cplusplus / 100 % 100) + ", engine " + processor_variant() + ")";
}

Body declare_version(App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "one JSON document on standard output");
  return [json] {
    auto assemblers = gpu_node::find_assemblers();
    if (!*json) {
      std::printf("%s\n", version_text().c_str());
      for (const gpu_node::Assembler& one : assemblers)
        std::printf("ptxas %s, reads PTX up to %s\n", one.version.c_str(), one.ptx_isa_max.c_str());
      return static_cast<int>(exit_done);
    }
    Json document;
    document["schema"] = "lathe/version/1";
    document["version"] = actors::engine_version();
    document["compiler"] = __VERSION__;
    document["standard"] = static_cast<long>(__cplusplus);
    document["engine"] = processor_variant();
    document["assemblers"] = Json::array();
    for (const gpu_node::Assembler& one : assemblers)
      document["assemblers"].push_back(
          {{"version", one.version}, {"ptx_isa_max", one.ptx_isa_max}});
    std::printf("%s\n", document.dump(2).c_str());
    return static_cast<int>(exit_done);
  };
}

}  // namespace lathe::cli
