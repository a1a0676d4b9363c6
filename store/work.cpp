// The deeds on work items: which of ready, lease and done an item is in, and who may move it.

#include "store/deeds.h"

namespace lathe::store {
namespace {

ReadyKey ready_key(const Digest& item, const WorkRecord& work) {
  return {{work.priority}, work.sequence, item};
}

void put_ready(Batch& batch, const Digest& item, const WorkRecord& work) {
  batch.put(ready_key(item, work), work);
  batch.put(QueuedKey{item}, QueuedRecord{work.priority, work.sequence});
}

void drop_ready(Batch& batch, const ReadyKey& key) {
  batch.erase(key);
  batch.erase(QueuedKey{key.item});
}

void drop_lease(Batch& batch, const Digest& item, const LeaseRecord& lease) {
  batch.erase(LeaseKey{item});
  batch.erase(DeadlineKey{lease.deadline_ns, item});
}

void put_lease(Batch& batch, const Digest& item, const LeaseRecord& lease) {
  batch.put(LeaseKey{item}, lease);
  batch.put(DeadlineKey{lease.deadline_ns, item}, Mark{});
}

Result<Done> drop_journal(const Store& store, Batch& batch, const Digest& item) {
  return store.scan<JournalKey>(prefix<JournalKey>(item),
                                [&](const JournalKey& key, const JournalRecord&) {
                                  batch.erase(key);
                                  return true;
                                });
}

}  // namespace

std::string_view name_of(Completion completion) {
  switch (completion) {
    case Completion::accepted:
      return "accepted";
    case Completion::stale:
      return "stale";
    case Completion::duplicate:
      return "duplicate";
  }
  return "?";
}

Result<WorkState> state_of(const Store& store, const Digest& item) {
  Result<std::optional<DoneRecord>> done = store.get(DoneKey{item});
  if (!done) return done.error();
  if (*done) return WorkState::done;
  Result<std::optional<LeaseRecord>> lease = store.get(LeaseKey{item});
  if (!lease) return lease.error();
  if (*lease) return WorkState::leased;
  Result<std::optional<QueuedRecord>> queued = store.get(QueuedKey{item});
  if (!queued) return queued.error();
  return *queued ? WorkState::ready : WorkState::absent;
}

Result<bool> enqueue(const Store& store, Batch& batch, const Digest& item, const WorkRecord& work) {
  Result<WorkState> state = state_of(store, item);
  if (!state) return state.error();
  if (*state != WorkState::absent) return false;
  put_ready(batch, item, work);
  return true;
}

Result<bool> claim(const Store& store, Batch& batch, const Digest& item, const LeaseRecord& lease) {
  ReadyKey key = ready_key(item, lease.work);
  Result<std::optional<WorkRecord>> ready = store.get(key);
  if (!ready) return ready.error();
  if (!*ready) return false;
  LeaseRecord kept = lease;
  kept.work = **ready;
  drop_ready(batch, key);
  put_lease(batch.durable(), item, kept);
  return true;
}

Result<bool> renew(const Store& store, Batch& batch, const Digest& item, std::uint64_t token,
                   std::uint64_t deadline_ns) {
  Result<std::optional<LeaseRecord>> lease = store.get(LeaseKey{item});
  if (!lease) return lease.error();
  if (!*lease || (*lease)->token != token) return false;
  drop_lease(batch, item, **lease);
  LeaseRecord later = **lease;
  later.deadline_ns = deadline_ns;
  put_lease(batch, item, later);
  return true;
}

Result<bool> requeue(const Store& store, Batch& batch, const Digest& item, std::uint64_t token,
                     const std::string& lost_on) {
  Result<std::optional<LeaseRecord>> lease = store.get(LeaseKey{item});
  if (!lease) return lease.error();
  if (!*lease || (*lease)->token != token) return false;
  drop_lease(batch, item, **lease);
  WorkRecord work = (*lease)->work;
  if (!lost_on.empty()) work.lost_on.push_back(lost_on);
  put_ready(batch.durable(), item, work);
  return true;
}

Result<bool> quarantine(const Store& store, Batch& batch, const Digest& item) {
  Result<std::optional<LeaseRecord>> lease = store.get(LeaseKey{item});
  if (!lease) return lease.error();
  Result<std::optional<QueuedRecord>> queued = store.get(QueuedKey{item});
  if (!queued) return queued.error();
  if (!*lease && !*queued) return false;
  if (*lease) drop_lease(batch, item, **lease);
  if (*queued) drop_ready(batch, {{(*queued)->priority}, (*queued)->sequence, item});
  DoneRecord done;
  done.quarantined = true;
  batch.put(DoneKey{item}, done).durable();
  if (Result<Done> dropped = drop_journal(store, batch, item); !dropped) return dropped.error();
  return true;
}

Result<Completion> complete(const Store& store, Batch& batch, const Digest& item,
                            std::uint64_t token, const std::string& node) {
  Result<std::optional<DoneRecord>> done = store.get(DoneKey{item});
  if (!done) return done.error();
  if (*done) return (*done)->token == token ? Completion::duplicate : Completion::stale;
  Result<std::optional<LeaseRecord>> lease = store.get(LeaseKey{item});
  if (!lease) return lease.error();
  if (!*lease || (*lease)->token != token || (*lease)->node != node) return Completion::stale;
  drop_lease(batch, item, **lease);
  batch.put(DoneKey{item}, DoneRecord{token, node, false}).durable();
  if (Result<Done> dropped = drop_journal(store, batch, item); !dropped) return dropped.error();
  return Completion::accepted;
}

Result<Done> note_unit(const Store& store, Batch& batch, const JournalKey& key,
                       const JournalRecord& record) {
  batch.put(key, record);
  if (!is_none(record.whole)) return Done{};
  return store.scan<JournalKey>(prefix<JournalKey>(key.item),
                                [&](const JournalKey& other, const JournalRecord& part) {
                                  if (part.whole == key.unit) batch.erase(other);
                                  return true;
                                });
}

Result<std::vector<std::string>> journal_of(const Store& store, const Digest& item) {
  std::vector<std::string> units;
  Result<Done> done = store.scan<JournalKey>(prefix<JournalKey>(item),
                                             [&](const JournalKey&, const JournalRecord& record) {
                                               units.push_back(record.unit);
                                               return true;
                                             });
  if (!done) return done.error();
  return units;
}

Result<Waiting> waiting(const Store& store) {
  Waiting all;
  Result<Store::RowsOf<ReadyKey>> ready = store.rows<ReadyKey>();
  if (!ready) return ready.error();
  for (auto& [key, work] : *ready) all.ready.push_back({key.item, std::move(work)});
  Result<Store::RowsOf<LeaseKey>> leased = store.rows<LeaseKey>();
  if (!leased) return leased.error();
  for (auto& [key, lease] : *leased) all.leased.push_back({key.item, std::move(lease)});
  return all;
}

}  // namespace lathe::store
