#pragma once

// Money before each request: reserve what it may cost at most, settle what it did cost. Pure; its
// durable form is the store's ledger, whose rows restore it after a crash.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "base/result.h"

namespace lathe::planner {

/// Micro-dollars a million tokens, so that a token costs a millionth of it.
struct Price {
  std::uint64_t input_micro = 0, output_micro = 0;
};

/// A table with the date on which somebody looked. Names match exactly; an entry that ends in `*`
/// is a prefix, the longest wins.
struct PriceTable {
  std::string date;
  std::map<std::string, Price> models;
  const Price* find(std::string_view model) const;
};
/// JSON: {"date": "2026-01-31", "models": {"NAME": {"input_per_million": 1.25, ..}}} in dollars.
Result<PriceTable> read_prices(std::string_view json, const std::string& file);
/// The table that the program ships.
const PriceTable& shipped_prices();

enum class UnknownPrice : std::uint8_t { refuse, cap_by_tokens };

/// 0 is no limit. Where there is a limit in dollars, an unknown price is refused, or its tokens are
/// capped; it never counts as nothing.
struct BudgetLimits {
  std::uint64_t micro_dollars = 0, tokens = 0, requests = 0;
  UnknownPrice unknown_price = UnknownPrice::refuse;
};

/// Names one request for good: a repeat after a crash is the same expense, not a new one.
struct Expense {
  std::uint32_t round = 0, branch = 0;
  std::uint32_t turn = 0;  // Request within the branch: its turn * 16 + the request within it.
  auto operator<=>(const Expense&) const = default;
};

struct Usage {
  std::uint64_t input_tokens = 0, output_tokens = 0;
  bool known = true;  // false: the provider did not say; the reservation is what it cost.
};

/// One row of the ledger.
struct LedgerEntry {
  bool settled = false, price_known = true;
  std::uint64_t reserved_micro = 0, settled_micro = 0;
  std::uint64_t reserved_tokens = 0, input_tokens = 0, output_tokens = 0;
  std::string model;
  bool operator==(const LedgerEntry&) const = default;
};

class Budget {
 public:
  Budget(BudgetLimits limits, PriceTable prices) : limits_(limits), prices_(std::move(prices)) {}

  /// Fault::exhausted names the limit; nothing is reserved then. An expense that is already in the
  /// ledger gets its own entry back.
  Result<LedgerEntry> reserve(const Expense& expense, const std::string& model,
                              std::uint64_t input_tokens, std::uint64_t output_tokens_max);
  /// The second settlement of one expense changes nothing.
  Result<LedgerEntry> settle(const Expense& expense, const Usage& usage);
  /// The request was never sent.
  void release(const Expense& expense);
  /// From the ledger, at resume.
  void restore(const Expense& expense, const LedgerEntry& entry);
  /// More money: an event of the run.
  void raise(std::uint64_t micro_dollars) { limits_.micro_dollars += micro_dollars; }

  std::uint64_t settled_micro() const;
  /// Of requests in flight, and of those that a crash left without an answer.
  std::uint64_t reserved_micro() const;
  std::uint64_t tokens() const;
  const std::map<Expense, LedgerEntry>& ledger() const { return ledger_; }

 private:
  BudgetLimits limits_;
  PriceTable prices_;
  std::map<Expense, LedgerEntry> ledger_;
};

/// What a subagent pays from; the actor behind it keeps the ledger durable.
class Purse {
 public:
  virtual ~Purse() = default;
  virtual Result<LedgerEntry> reserve(const Expense& expense, const std::string& model,
                                      std::uint64_t input_tokens,
                                      std::uint64_t output_tokens_max) = 0;
  virtual Result<LedgerEntry> settle(const Expense& expense, const Usage& usage) = 0;
  virtual void release(const Expense& expense) = 0;
};

/// A purse that nothing keeps: for tests and for one process without a store.
class PlainPurse : public Purse {
 public:
  explicit PlainPurse(Budget budget) : budget_(std::move(budget)) {}
  Result<LedgerEntry> reserve(const Expense& expense, const std::string& model,
                              std::uint64_t input_tokens,
                              std::uint64_t output_tokens_max) override {
    return budget_.reserve(expense, model, input_tokens, output_tokens_max);
  }
  Result<LedgerEntry> settle(const Expense& expense, const Usage& usage) override {
    return budget_.settle(expense, usage);
  }
  void release(const Expense& expense) override { budget_.release(expense); }
  const Budget& budget() const { return budget_; }

 private:
  Budget budget_;
};

}  // namespace lathe::planner
