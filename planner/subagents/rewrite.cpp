// All families in one stable order.

#include "planner/subagents/draft.h"

namespace lathe::planner {

std::vector<Rewrite> rewrites(const ptx::Module& module, std::string_view entry,
                              std::string_view target, const Contract* contract) {
  std::vector<Rewrite> out;
  const ptx::Function* function = module.find_entry(entry);
  if (!function) return out;
  Flow flow(*function);
  Site site{module, flow, target, contract};
  tree_reductions(site, out);
  fewer_barriers(site, out);
  reciprocals(site, out);
  fused(site, out);
  hoisted_loads(site, out);
  wide_accesses(site, out);
  cached_accesses(site, out);
  return out;
}

}  // namespace lathe::planner
