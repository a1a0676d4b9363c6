#include "actors/purse.h"

namespace lathe::actors {

using planner::Expense;
using planner::LedgerEntry;

namespace {

/// Each field of a ledger's row beside the same of an entry, for either way.
template <class Record, class Entry, class Pair>
void pair_fields(Record& record, Entry& entry, Pair pair) {
  pair(record.settled, entry.settled);
  pair(record.price_known, entry.price_known);
  pair(record.reserved_micro, entry.reserved_micro);
  pair(record.reserved_tokens, entry.reserved_tokens);
  pair(record.settled_micro, entry.settled_micro);
  pair(record.tokens_in, entry.input_tokens);
  pair(record.tokens_out, entry.output_tokens);
  pair(record.model, entry.model);
}

}  // namespace

StorePurse::StorePurse(planner::Budget budget, std::uint64_t run, Digest contract, StoreDoor door)
    : budget_(std::move(budget)), run_(run), contract_(contract), door_(std::move(door)) {}

store::LedgerKey StorePurse::key_of(const Expense& expense) const {
  return {run_, contract_, expense.round, expense.branch, expense.turn};
}

Result<Done> StorePurse::restore() {
  std::lock_guard lock(mutex_);
  return door_([this](store::Store& store) -> Result<Done> {
    auto rows = store.rows<store::LedgerKey>(store::prefix<store::LedgerKey>(run_, contract_));
    if (!rows) return rows.error();
    for (const auto& [key, record] : *rows) {
      LedgerEntry entry;
      pair_fields(record, entry, [](const auto& from, auto& to) { to = from; });
      budget_.restore(
          {static_cast<std::uint32_t>(key.round), static_cast<std::uint32_t>(key.branch),
           static_cast<std::uint32_t>(key.turn)},
          entry);
    }
    return Done{};
  });
}

Result<Done> StorePurse::keep(const Expense& expense, const LedgerEntry& entry) {
  store::LedgerRecord record;
  pair_fields(record, entry, [](auto& to, const auto& from) { to = from; });
  return door_([key = key_of(expense), record](store::Store& store) -> Result<Done> {
    store::Batch batch;
    batch.put(key, record).durable().urgent();
    return store.keep(std::move(batch));
  });
}

Result<LedgerEntry> StorePurse::reserve(const Expense& expense, const std::string& model,
                                        std::uint64_t input_tokens,
                                        std::uint64_t output_tokens_max) {
  std::lock_guard lock(mutex_);
  bool known = budget_.ledger().contains(expense);
  Result<LedgerEntry> entry = budget_.reserve(expense, model, input_tokens, output_tokens_max);
  if (!entry || known) return entry;
  if (Result<Done> kept = keep(expense, *entry); !kept) {
    budget_.release(expense);
    return kept.error();
  }
  return entry;
}

Result<LedgerEntry> StorePurse::settle(const Expense& expense, const planner::Usage& usage) {
  std::lock_guard lock(mutex_);
  Result<LedgerEntry> entry = budget_.settle(expense, usage);
  if (!entry) return entry;
  if (Result<Done> kept = keep(expense, *entry); !kept) return kept.error();
  return entry;
}

void StorePurse::release(const Expense& expense) {
  std::lock_guard lock(mutex_);
  budget_.release(expense);
  // What was settled was sent, whatever the caller thinks.
  if (budget_.ledger().contains(expense)) return;
  // A row that cannot be erased only makes the run think that it spent more than it did.
  Result<Done> erased = door_([key = key_of(expense)](store::Store& store) -> Result<Done> {
    store::Batch batch;
    batch.erase(key);
    return store.keep(std::move(batch));
  });
  static_cast<void>(erased);
}

}  // namespace lathe::actors
