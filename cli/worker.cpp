// lathe worker: one gate, one candidate, one process; started by a node and by nobody else.

#include "actors/work.h"
#include "cli/subcommand.h"

namespace lathe::cli {

Body declare_worker(App&) {
  return [] { return actors::worker_main(); };
}

}  // namespace lathe::cli
