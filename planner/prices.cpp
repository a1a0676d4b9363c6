// The shipped price table. A replay costs nothing; any other model is an unknown price until
// somebody states it with `--prices FILE`, because a stale price would let a run overspend.

#include "planner/budget.h"

namespace lathe::planner {

const PriceTable& shipped_prices() {
  static const PriceTable table{"2026-01-01",
                                {
                                    {"recorded", {0, 0}},
                                }};
  return table;
}

}  // namespace lathe::planner
