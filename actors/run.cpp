#include "actors/run.h"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "actors/gateway.h"
#include "actors/purse.h"
#include "actors/settings.h"
#include "actors/supervisor.h"
#include "actors/system.h"
#include "cluster/identity.h"
#include "gpu_node/gpu_node.h"
#include "pipeline/admission.h"
#include "planner/provider.h"
#include "planner/subagents/model.h"

namespace lathe::actors {
namespace {

using Ends = Result<std::vector<planner::Finish>>;

/// A proof of a large grid may take this long; what takes longer is undecided (exhausted).
constexpr std::chrono::seconds work_seconds_max{3600};
constexpr std::uint64_t claim_wait_ms = 10'000;

/// What a run is made of before any actor lives.
struct Prepared {
  std::uint64_t run = 0;
  RunSettings settings;
  std::string model;  // As the person named it, paths and all.
  std::vector<std::shared_ptr<const Contract>> contracts;
  std::shared_ptr<store::Store> store;
};

Result<std::vector<planner::Decoy>> decoys_of(const Contract& contract) {
  Result<std::vector<gpu_node::Fake>> fakes = gpu_node::make_fakes(contract);
  if (!fakes) return fakes.error();
  std::vector<planner::Decoy> decoys;
  for (gpu_node::Fake& fake : *fakes) decoys.push_back({std::move(fake.name), std::move(fake.ptx)});
  return decoys;
}

planner::Settings planner_settings(const RunSettings& settings) {
  planner::Settings planned;
  planned.rounds = settings.rounds;
  planned.branches = settings.branches;
  planned.policy = settings.policy;
  planned.seed = settings.seed;
  planned.offers = planner::offered_families;
  planned.subagents = {planner::Kind::rewrite};
  if (settings.model == "none") return planned;
  planned.subagents = {planner::Kind::model, planner::Kind::rewrite};
  if (!settings.model.starts_with("recorded")) return planned;
  // A transcript answers every branch, and has no turn that it does not hold.
  planned.subagents = {planner::Kind::model};
  planned.repairs = 0;
  return planned;
}

StoreDoor door_of(std::shared_ptr<store::Store> store) {
  // The store takes commits from any thread, one at a time; a subagent's thread may wait for it.
  return [store](std::function<Result<Done>(store::Store&)> deed) { return deed(*store); };
}

/// A model subagent with what it lives on.
struct Paid {
  std::unique_ptr<planner::Provider> provider;
  std::shared_ptr<StorePurse> purse;
  std::unique_ptr<planner::Subagent> subagent;
};

/// Who answers an assignment: the rewriter, or the model with its purse.
Result<std::function<Result<planner::Proposal>(const planner::Assignment&)>> proposer(
    const Prepared& prepared, const Digest& contract) {
  std::shared_ptr<planner::Subagent> rewriter = planner::make_rewriter();
  std::shared_ptr<planner::Subagent> model;
  if (prepared.model != "none") {
    planner::Surroundings surroundings{
        planner::process_environment(),
        [](std::chrono::milliseconds pause) { std::this_thread::sleep_for(pause); }};
    Result<std::unique_ptr<planner::Provider>> provider =
        planner::make_provider(prepared.model, surroundings);
    if (!provider) return provider.error();
    planner::BudgetLimits limits;
    limits.micro_dollars = prepared.settings.budget_micro;
    Result<planner::PriceTable> prices = planner::prices_of(surroundings.environment);
    if (!prices) return prices.error();
    auto purse = std::make_shared<StorePurse>(planner::Budget(limits, *prices), prepared.run,
                                              contract, door_of(prepared.store));
    if (Result<Done> restored = purse->restore(); !restored) return restored.error();
    auto paid = std::make_shared<Paid>();
    paid->provider = *std::move(provider);
    paid->purse = purse;
    paid->subagent = planner::make_model(*paid->provider, *paid->purse);
    model = std::shared_ptr<planner::Subagent>(paid, paid->subagent.get());
  }
  return std::function<Result<planner::Proposal>(const planner::Assignment&)>(
      [rewriter, model](const planner::Assignment& assignment) -> Result<planner::Proposal> {
        try {
          return (assignment.kind == planner::Kind::model ? model : rewriter)->propose(assignment);
        } catch (const std::exception& exception) {
          return Error{
              Fault::unavailable, std::string("a subagent failed: ") + exception.what(), "", {}};
        }
      });
}

Result<std::vector<std::shared_ptr<const Search>>> searches_of(const Prepared& prepared,
                                                               const Tell& tell) {
  std::vector<std::shared_ptr<const Search>> searches;
  for (const auto& contract : prepared.contracts) {
    auto search = std::make_shared<Search>();
    search->run = prepared.run;
    search->contract = contract;
    search->identity = contract->identity();
    search->settings = planner_settings(prepared.settings);
    Result<std::vector<planner::Decoy>> decoys = decoys_of(*contract);
    if (!decoys) return decoys.error();
    search->decoys = *std::move(decoys);
    search->assembler = prepared.settings.assembler;
    search->engine = prepared.settings.engine;
    auto propose = proposer(prepared, search->identity);
    if (!propose) return propose.error();
    search->propose = *propose;
    search->tell = tell;
    searches.push_back(search);
  }
  return searches;
}

RunEnd ended(const Prepared& prepared, const std::vector<planner::Finish>& finishes) {
  RunEnd end;
  end.run = prepared.run;
  for (std::size_t i = 0; i < finishes.size(); ++i)
    end.searches.push_back({prepared.contracts[i]->identity(), prepared.contracts[i]->name,
                            prepared.contracts[i]->target, finishes[i].reason, finishes[i].best,
                            finishes[i].failed});
  return end;
}

/// Waits for the end; passes on a person's wish to stop.
Ends wait(caf::actor_system& system, const SupervisorActor& supervisor, std::future<Ends>& future,
          const std::atomic<int>* stop) {
  caf::scoped_actor self{system};
  bool told = false;
  while (future.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
    if (stop != nullptr && *stop != 0 && !std::exchange(told, true))
      self->send(supervisor, StopRun{});
  return future.get();
}

/// The actor system of a run; sockets only where remote nodes may join.
Result<std::unique_ptr<System>> system_of(const World& world) {
  if (!world.listening) return make_system({});
  Result<cluster::Cluster> cluster = cluster::open_cluster(world.listening->cluster);
  if (!cluster) return cluster.error();
  return make_system(
      Certificates{cluster->tls.certificate, cluster->tls.key, cluster->tls.authority});
}

/// Events go to the person who watches and, where there is a gateway, to all who listen.
struct Events {
  Tell tell;
  std::mutex mutex;
  Gateway* gateway = nullptr;
  void say(const std::string& kind, const std::string& json) {
    tell(kind, json);
    std::lock_guard lock(mutex);
    if (gateway != nullptr) gateway->publish(kind, json);
  }
  void set(Gateway* open) {
    std::lock_guard lock(mutex);
    gateway = open;
  }
};

Result<RunEnd> carry_out(const Prepared& prepared, const World& world) {
  auto events = std::make_shared<Events>();
  events->tell = world.tell;
  Tell tell = [events](const std::string& kind, const std::string& json) {
    events->say(kind, json);
  };
  Result<std::vector<std::shared_ptr<const Search>>> searches = searches_of(prepared, tell);
  if (!searches) return searches.error();
  Result<std::unique_ptr<System>> system = system_of(world);
  if (!system) return system.error();
  auto promise = std::make_shared<std::promise<Ends>>();
  std::future<Ends> future = promise->get_future();
  Run run;
  run.store = prepared.store;
  run.searches = *std::move(searches);
  run.dispatcher = {prepared.store->epoch(), 0,   world.lease_ms, claim_wait_ms,
                    steady_clock(),          tell};
  run.runner = child_runner(work_seconds_max, world.memory_bytes);
  run.offers = offers_here(world.memory_bytes);
  run.slots = world.slots;
  run.tell = tell;
  run.end = [promise](Ends ends) { promise->set_value(std::move(ends)); };
  std::unique_ptr<Gateway> gateway;
  if (world.listening) {
    auto opened = open_gateway((*system)->actors(), *world.listening, world.lease_ms, tell);
    if (!opened) return opened.error();
    gateway = *std::move(opened);
    events->set(gateway.get());
    run.serve = [&gateway](DispatcherActor dispatcher) { gateway->serve(dispatcher); };
  }
  SupervisorActor actor = (*system)->actors().spawn(supervisor, std::move(run));
  caf::anon_send(actor, Begin{});
  Ends ends = wait((*system)->actors(), actor, future, world.stop);
  caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  if (gateway) gateway->close();
  events->set(nullptr);
  if (!ends) return ends.error();
  RunEnd end = ended(prepared, *ends);
  end.interrupted = world.stop != nullptr && *world.stop != 0;
  return end;
}

Result<RunSettings> settings_of(const LowerRequest& request,
                                const std::vector<std::shared_ptr<const Contract>>& contracts) {
  RunSettings settings;
  settings.rounds = request.rounds;
  settings.branches = request.branches;
  settings.policy = request.policy;
  settings.seed = request.seed;
  Result<std::string> model = model_without_paths(request.model);
  if (!model) return model.error();
  settings.model = *std::move(model);
  settings.budget_micro = request.budget_micro;
  settings.engine = engine_version();
  for (const auto& contract : contracts) {
    Result<gpu_node::Assembler> assembler = gpu_node::choose_assembler(contract->ptx_isa);
    if (!assembler) return assembler.error();
    settings.assembler = "ptxas " + assembler->version;
  }
  return settings;
}

}  // namespace

Result<RunEnd> lower(const LowerRequest& request) {
  Prepared prepared;
  std::set<Digest> seen;
  for (const std::filesystem::path& directory : request.contracts) {
    Opened opened = open_contract(directory);
    if (!opened.errors.empty()) return opened.errors.front();
    if (seen.insert(opened.contract->identity()).second)
      prepared.contracts.push_back(opened.contract);
  }
  Result<RunSettings> settings = settings_of(request, prepared.contracts);
  if (!settings) return settings.error();
  prepared.settings = *std::move(settings);
  prepared.model = request.model;
  Result<std::unique_ptr<store::Store>> store = open_store(request.world.store, "lathe lower");
  if (!store) return store.error();
  prepared.store = *std::move(store);
  store::Batch batch;
  store::RunRecord record;
  record.settings_json = print(prepared.settings);
  record.local_json = print_local(prepared.model);
  for (const auto& contract : prepared.contracts)
    record.contracts.push_back(store::keep_contract(batch, *contract));
  Result<std::uint64_t> run = prepared.store->new_run(batch, record);
  if (!run) return run.error();
  prepared.run = *run;
  Result<store::Committed> committed = prepared.store->commit(std::move(batch.durable()));
  if (!committed) return committed.error();
  return carry_out(prepared, request.world);
}

Result<RunEnd> resume(std::optional<std::uint64_t> number, const World& world) {
  std::error_code code;
  if (!std::filesystem::exists(world.store, code))
    return Error{Fault::unavailable,
                 "there is no store here, so there is no run to go on with",
                 "start one with lathe lower, or name its store with --store",
                 {world.store.string(), 0, 0},
                 Absent::file};
  Result<std::unique_ptr<store::Store>> store =
      open_store(world.store, number ? "lathe resume " + std::to_string(*number) : "lathe resume");
  if (!store) return store.error();
  Prepared prepared;
  prepared.store = *std::move(store);
  Result<FoundRun> found = find_run(*prepared.store, number);
  if (!found) return found.error();
  prepared.run = found->number;
  Result<RunSettings> settings = read_settings(found->record.settings_json);
  if (!settings) return settings.error();
  prepared.settings = *std::move(settings);
  prepared.model = read_local_model(found->record.local_json);
  for (const Digest& digest : found->record.contracts) {
    Result<Contract> contract = store::kept_contract(*prepared.store, digest);
    if (!contract) return contract.error();
    prepared.contracts.push_back(std::make_shared<const Contract>(*std::move(contract)));
  }
  if (found->record.state != store::RunState::finished) return carry_out(prepared, world);
  RunEnd end;
  end.run = prepared.run;
  end.was_finished = true;
  for (const auto& contract : prepared.contracts)
    end.searches.push_back(
        {contract->identity(), contract->name, contract->target, found->record.outcome, {}, false});
  return end;
}

}  // namespace lathe::actors
