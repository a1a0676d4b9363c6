// Adjacent accesses of global memory joined into wider ones.

#include "planner/subagents/draft.h"
namespace lathe::planner {
void wide_accesses(const Site&, std::vector<Rewrite>&) {}
}  // namespace lathe::planner
