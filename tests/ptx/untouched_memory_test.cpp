// Memory costs what is touched of it.

#include <sys/resource.h>

#include "tests/ptx/launch.h"

namespace lathe::ptx {

TEST_CASE("memory that no thread touches is not used") {
  auto resident = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // kB at the peak.
  };
  constexpr unsigned threads = 1024;
  Launched launch;
  launch.add(std::vector<std::uint32_t>(threads));
  launch.add(std::vector<std::uint32_t>(threads));
  launch.shape.block[0] = threads;
  long before = resident();
  launch.run(body_text(".local .align 4 .b8 spare[524288];\n.reg .b32 %r1;\n",
                       "st.local.u32 [spare+65536], %tid;\nld.local.u32 %r1, [spare+65536];\n"
                       "st.global.u32 [%out], %r1;"));
  REQUIRE_FALSE(launch.result.trap);
  CHECK(launch.get<std::uint32_t>(0)[threads - 1] == threads - 1);
  CHECK(resident() - before < 64 * 1024);  // Of 512 MB, and as much that says what is defined.
}

}  // namespace lathe::ptx
