// The gate before each request.

#include "planner/budget.h"

#include <cmath>

#include "base/json.h"

namespace lathe::planner {
namespace {

/// Rounded up, so that many small requests cannot be free; beyond all money, it stays there.
std::uint64_t cost_micro(const Price& price, std::uint64_t input, std::uint64_t output) {
  long double total = static_cast<long double>(input) * price.input_micro +
                      static_cast<long double>(output) * price.output_micro;
  long double rounded = std::ceil(total / 1e6L);
  return rounded >= 1e18L ? 1'000'000'000'000'000'000u : static_cast<std::uint64_t>(rounded);
}

std::string dollars(std::uint64_t micro) {
  char text[48];
  std::snprintf(text, sizeof text, "$%.4f", static_cast<double>(micro) / 1e6);
  return text;
}

Error malformed(const std::string& file, const std::string& what) {
  return {Fault::malformed,
          "prices: " + what,
          R"(write {"date": "2026-01-31", "models": {"NAME": {"input_per_million": 1.25, )"
          R"("output_per_million": 10}}}, in dollars)",
          {file, 0, 0}};
}

}  // namespace

const Price* PriceTable::find(std::string_view model) const {
  auto exact = models.find(std::string(model));
  if (exact != models.end()) return &exact->second;
  const Price* best = nullptr;
  std::size_t longest = 0;
  for (const auto& [name, price] : models) {
    if (!name.ends_with("*") || name.size() < longest) continue;
    if (!model.starts_with(std::string_view(name).substr(0, name.size() - 1))) continue;
    best = &price;
    longest = name.size();
  }
  return best;
}

Result<PriceTable> read_prices(std::string_view json, const std::string& file) {
  Json root = Json::parse(json, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return malformed(file, "not a JSON object");
  PriceTable table;
  auto date = root.find("date");
  if (date == root.end() || !date->is_string()) return malformed(file, "no date");
  table.date = date->get<std::string>();
  auto models = root.find("models");
  if (models == root.end() || !models->is_object()) return malformed(file, "no models");
  for (const auto& [name, entry] : models->items()) {
    std::uint64_t micro[2] = {};
    const char* names[2] = {"input_per_million", "output_per_million"};
    for (int i = 0; i < 2; ++i) {
      auto member = entry.is_object() ? entry.find(names[i]) : entry.end();
      if (!entry.is_object() || member == entry.end() || !member->is_number())
        return malformed(file, "`" + name + "` has no number `" + names[i] + "`");
      double value = member->get<double>();
      if (!(value >= 0 && value < 1e9))
        return malformed(file, "`" + name + "." + names[i] + "` is not a price");
      micro[i] = static_cast<std::uint64_t>(std::llround(value * 1e6));
    }
    table.models[name] = {micro[0], micro[1]};
  }
  return table;
}

Result<LedgerEntry> Budget::reserve(const Expense& expense, const std::string& model,
                                    std::uint64_t input_tokens, std::uint64_t output_tokens_max) {
  auto known = ledger_.find(expense);
  if (known != ledger_.end()) return known->second;
  LedgerEntry entry;
  entry.model = model;
  entry.reserved_tokens = input_tokens + output_tokens_max;
  const Price* price = prices_.find(model);
  entry.price_known = price != nullptr;
  if (price) entry.reserved_micro = cost_micro(*price, input_tokens, output_tokens_max);
  auto exhausted = [](std::string what, std::string remedy) {
    return Error{Fault::exhausted, std::move(what), std::move(remedy), {}};
  };
  if (!price && limits_.unknown_price == UnknownPrice::refuse && limits_.micro_dollars > 0)
    return exhausted(
        "the price of " + model + " is unknown and the budget is in dollars",
        "state it in a file and name that in LATHE_PRICES, or set no budget in dollars");
  if (!price && limits_.unknown_price == UnknownPrice::cap_by_tokens && limits_.tokens == 0)
    return exhausted("the price of " + model + " is unknown and no number of tokens is set",
                     "set a cap of tokens");
  if (limits_.requests > 0 && ledger_.size() >= limits_.requests)
    return exhausted("all " + std::to_string(limits_.requests) + " requests are used", "");
  if (limits_.tokens > 0 && tokens() + entry.reserved_tokens > limits_.tokens)
    return exhausted("a request of up to " + std::to_string(entry.reserved_tokens) +
                         " tokens would pass the cap of " + std::to_string(limits_.tokens),
                     "");
  std::uint64_t committed = settled_micro() + reserved_micro();
  if (limits_.micro_dollars > 0 && committed + entry.reserved_micro > limits_.micro_dollars)
    return exhausted("a request of up to " + dollars(entry.reserved_micro) + " would pass the " +
                         dollars(limits_.micro_dollars) + " of the run, of which " +
                         dollars(committed) + " are spent or reserved",
                     "lathe budget RUN +USD");
  ledger_[expense] = entry;
  return entry;
}

Result<LedgerEntry> Budget::settle(const Expense& expense, const Usage& usage) {
  auto place = ledger_.find(expense);
  if (place == ledger_.end())
    return Error{Fault::malformed, "a settlement without a reservation", "", {}};
  LedgerEntry& entry = place->second;
  if (entry.settled) return entry;
  entry.settled = true;
  const Price* price = prices_.find(entry.model);
  if (!usage.known) {
    entry.settled_micro = entry.reserved_micro;
    entry.input_tokens = entry.reserved_tokens;
    return entry;
  }
  entry.input_tokens = usage.input_tokens;
  entry.output_tokens = usage.output_tokens;
  if (price) entry.settled_micro = cost_micro(*price, usage.input_tokens, usage.output_tokens);
  return entry;
}

void Budget::release(const Expense& expense) {
  auto place = ledger_.find(expense);
  if (place != ledger_.end() && !place->second.settled) ledger_.erase(place);
}

void Budget::restore(const Expense& expense, const LedgerEntry& entry) { ledger_[expense] = entry; }

std::uint64_t Budget::settled_micro() const {
  std::uint64_t sum = 0;
  for (const auto& [_, entry] : ledger_) sum += entry.settled_micro;
  return sum;
}

std::uint64_t Budget::reserved_micro() const {
  std::uint64_t sum = 0;
  for (const auto& [_, entry] : ledger_)
    if (!entry.settled) sum += entry.reserved_micro;
  return sum;
}

std::uint64_t Budget::tokens() const {
  std::uint64_t sum = 0;
  for (const auto& [_, entry] : ledger_)
    sum += entry.settled ? entry.input_tokens + entry.output_tokens : entry.reserved_tokens;
  return sum;
}

}  // namespace lathe::planner
