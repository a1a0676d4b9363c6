#include "store/deeds.h"

#include <tuple>

namespace lathe::store {

Result<std::optional<VerdictRecord>> find_verdict(const Store& store, const ResultKey& key) {
  return store.get(VerdictKey{key.contract, key.candidate, static_cast<std::uint64_t>(key.gate),
                              result_key(key)});
}

void keep_verdict(Batch& batch, const ResultKey& key, std::string_view verdict,
                  std::string_view output) {
  VerdictRecord record{std::string(verdict), key.parameters, key.toolchain, key.architecture,
                       output.empty() ? Digest{} : batch.blob(output)};
  batch.put(VerdictKey{key.contract, key.candidate, static_cast<std::uint64_t>(key.gate),
                       result_key(key)},
            record);
}

Result<std::vector<FrontierEntry>> frontier(const Store& store, const Digest& contract,
                                            std::size_t limit) {
  Result<Store::RowsOf<FrontierKey>> rows =
      store.rows<FrontierKey>(prefix<FrontierKey>(contract), limit);
  if (!rows) return rows.error();
  std::vector<FrontierEntry> entries;
  for (auto& [key, record] : *rows) entries.push_back({key, std::move(record)});
  return entries;
}

Result<Done> admit(const Store& store, Batch& batch, const FrontierKey& key,
                   const FrontierRecord& record) {
  Result<std::vector<FrontierEntry>> entries = frontier(store, key.contract);
  if (!entries) return entries.error();
  for (const FrontierEntry& entry : *entries)
    if (entry.key.candidate == key.candidate) batch.erase(entry.key);
  batch.put(key, record).durable();
  return Done{};
}

Result<std::vector<std::pair<CandidateKey, CandidateRecord>>> find_candidates(
    const Store& store, std::string_view hex_prefix) {
  std::vector<std::pair<CandidateKey, CandidateRecord>> found;
  Result<Done> done = store.scan<CandidateKey>(
      prefix<CandidateKey>(), [&](const CandidateKey& key, const CandidateRecord& record) {
        if (hex(key.candidate).starts_with(hex_prefix)) found.push_back({key, record});
        return true;
      });
  if (!done) return done.error();
  return found;
}

bool stands_before(const CandidateRecord& left, const CandidateRecord& right) {
  auto order = [](const CandidateRecord& record) {
    return std::tie(record.round, record.branch, record.ptx, record.parent, record.family,
                    record.subagent, record.explanation);
  };
  return order(left) < order(right);
}

Result<Spent> spent(const Store& store, std::uint64_t run, const std::optional<Digest>& contract) {
  Spent sum;
  std::string rows = contract ? prefix<LedgerKey>(run, *contract) : prefix<LedgerKey>(run);
  Result<Done> done = store.scan<LedgerKey>(rows, [&](const LedgerKey&, const LedgerRecord& entry) {
    ++sum.requests;
    if (!entry.price_known) ++sum.unknown_prices;
    (entry.settled ? sum.settled_micro : sum.reserved_micro) +=
        entry.settled ? entry.settled_micro : entry.reserved_micro;
    sum.tokens_in += entry.tokens_in;
    sum.tokens_out += entry.tokens_out;
    return true;
  });
  if (!done) return done.error();
  return sum;
}

Result<Done> reserve(const Store& store, Batch& batch, const LedgerKey& key,
                     const LedgerRecord& record) {
  Result<std::optional<LedgerRecord>> entry = store.get(key);
  if (!entry) return entry.error();
  if (!*entry) batch.put(key, record).durable();
  return Done{};
}

Result<Done> settle(const Store& store, Batch& batch, const LedgerKey& key,
                    std::uint64_t settled_micro, std::uint64_t tokens_in,
                    std::uint64_t tokens_out) {
  Result<std::optional<LedgerRecord>> entry = store.get(key);
  if (!entry) return entry.error();
  if (!*entry) return Error{Fault::malformed, "money is settled that was never reserved", "", {}};
  LedgerRecord record = **entry;
  if (record.settled) return Done{};
  record.settled = true;
  record.settled_micro = settled_micro;
  record.tokens_in = tokens_in;
  record.tokens_out = tokens_out;
  batch.put(key, record).durable().urgent();
  return Done{};
}

}  // namespace lathe::store
