#pragma once

// A purse whose ledger is the store's: a reservation is durable before the request is sent, a
// settlement before its answer is used. N branches cannot overshoot by more than their requests in
// flight, and a resumed run forgets nothing.

#include <functional>
#include <mutex>

#include "actors/search.h"
#include "planner/budget.h"
#include "store/deeds.h"

namespace lathe::actors {

/// Carries out a deed and waits for it; called from the threads of subagents.
using StoreDoor = std::function<Result<Done>(std::function<Result<Done>(store::Store&)>)>;

class StorePurse : public planner::Purse {
 public:
  StorePurse(planner::Budget budget, std::uint64_t run, Digest contract, StoreDoor door);
  /// Reads what earlier processes of the run spent.
  Result<Done> restore();

  Result<planner::LedgerEntry> reserve(const planner::Expense& expense, const std::string& model,
                                       std::uint64_t input_tokens,
                                       std::uint64_t output_tokens_max) override;
  Result<planner::LedgerEntry> settle(const planner::Expense& expense,
                                      const planner::Usage& usage) override;
  void release(const planner::Expense& expense) override;

 private:
  store::LedgerKey key_of(const planner::Expense& expense) const;
  Result<Done> keep(const planner::Expense& expense, const planner::LedgerEntry& entry);

  std::mutex mutex_;
  planner::Budget budget_;
  std::uint64_t run_;
  Digest contract_;
  StoreDoor door_;
};

}  // namespace lathe::actors
