#include "cli/run_end.h"

#include <charconv>
#include <cstdio>
#include <thread>

#include "cli/complaint.h"
#include "cli/exit_status.h"
#include "cli/frontier_view.h"
#include "cli/progress.h"
#include "cli/store_place.h"

namespace lathe::cli {
namespace {

Json json_of(const actors::RunEnd& end, const store::Store& store, bool& whole) {
  Json json;
  json["schema"] = "lathe/run/1";
  json["frontiers"] = Json::array();
  for (const actors::SearchEnd& search : end.searches) {
    Result<Json> frontier = frontier_json(store, search.contract);
    whole = whole && frontier.has_value();
    if (!frontier) continue;
    (*frontier)["reason"] = search.reason;
    (*frontier)["failed"] = search.failed;
    json["frontiers"].push_back(*frontier);
  }
  return json;
}

}  // namespace

void add_run_options(App& app, RunOptions& options) {
  app.add_option("--store", options.store, "folder of the store");
  app.add_option("--cluster", options.cluster,
                 "folder of the farm's identity (lathe cluster init)");
  app.add_option("--listen", options.listen, "HOST:PORT for remote nodes; needs --cluster");
  app.add_option("--events", options.events,
                 "ZeroMQ endpoint to publish events on; needs --cluster");
  app.add_option("--slots", options.slots,
                 "local node slots (default: one a core; 0 only with --listen)");
  app.add_option("--memory", options.memory_mib,
                 "MiB that a gate on a local slot may take; 0: no limit");
  app.add_option("--lease", options.lease_seconds, "seconds that a node may be silent")
      .between(0.1, 3600.0);
  app.add_flag("--json", options.json, "one JSON document on standard output");
  app.add_flag("--quiet", options.quiet, "no progress");
  app.add_flag("--verbose", options.verbose, "every event");
}

Result<Address> parse_address(const std::string& text) {
  std::size_t colon = text.rfind(':');
  Address address;
  Error wrong{
      Fault::malformed, "an address is HOST:PORT, not " + text, "for instance 10.0.0.1:4700", {}};
  if (colon == std::string::npos || colon == 0) return wrong;
  address.host = text.substr(0, colon);
  const char* end = text.data() + text.size();
  auto [rest, code] = std::from_chars(text.data() + colon + 1, end, address.port);
  if (code != std::errc{} || rest != end) return wrong;
  return address;
}

Result<actors::World> make_world(const RunOptions& options) {
  actors::World world;
  world.store = store_place(options.store);
  world.slots = options.slots.value_or(std::max(1u, std::thread::hardware_concurrency()));
  world.lease_ms = static_cast<std::uint64_t>(options.lease_seconds * 1000);
  world.memory_bytes = options.memory_mib << 20;
  world.tell = make_progress(options.quiet     ? Loudness::quiet
                             : options.verbose ? Loudness::verbose
                                               : Loudness::normal);
  world.stop = &stop_on_interrupt(Interrupted::run);
  if (options.listen.empty() != options.cluster.empty())
    return Error{Fault::malformed,
                 "--listen and --cluster belong together",
                 "lathe cluster init DIR makes the folder for --cluster",
                 {}};
  if (options.listen.empty() && world.slots == 0)
    return Error{Fault::malformed,
                 "--slots 0 leaves the work to remote nodes, and none can come",
                 "give --listen and --cluster",
                 {}};
  if (options.listen.empty()) return world;
  Result<Address> address = parse_address(options.listen);
  if (!address) return address.error();
  world.listening =
      actors::Listening{options.cluster, address->host, address->port, options.events};
  return world;
}

int show_run_end(const RunOptions& options, const Result<actors::RunEnd>& end) {
  if (!end) return complain(end.error(), form_of(options.json));
  Result<std::unique_ptr<store::Store>> store = look_at_store(options.store);
  if (!store) return complain(store.error(), form_of(options.json));
  bool failed = false, whole = true;
  for (const actors::SearchEnd& search : end->searches) failed = failed || search.failed;
  if (options.json) {
    std::printf("%s\n", json_of(*end, **store, whole).dump(2).c_str());
  } else {
    for (const actors::SearchEnd& search : end->searches) {
      Result<std::string> text = frontier_text(**store, search.contract);
      if (!text) return complain(text.error(), form_of(options.json));
      std::printf("%s", text->c_str());
      std::printf("ended: %s\n", search.reason.c_str());
    }
  }
  if (!whole) return exit_own_fault;
  if (std::fflush(stdout) != 0) return exit_io;
  if (end->interrupted) {
    std::fprintf(stderr, "lathe: interrupted; it goes on with: lathe resume %llu --store %s\n",
                 static_cast<unsigned long long>(end->run), (*store)->path().c_str());
    return exit_interrupted;
  }
  return failed ? exit_no : exit_done;
}

}  // namespace lathe::cli
