#pragma once

// What callers do with the store, as functions that fill a batch. They look at what is committed,
// so that a batch should hold one deed on an item; the store's own actor commits them in order.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/contract.h"
#include "store/store.h"

namespace lathe::store {

/// The contract's text and reference under its identity, which it gives back.
Digest keep_contract(Batch& batch, const Contract& contract);
/// Reads it back (parse_contract on the kept text).
Result<Contract> kept_contract(const Store& store, const Digest& contract);

/// The answer of equal work, if it is known. Timings are found for their own device alone, because
/// that is part of the key.
Result<std::optional<VerdictRecord>> find_verdict(const Store& store, const ResultKey& key);
/// `output` is what the gate made (encode(Assembled), ..); empty: nothing.
void keep_verdict(Batch& batch, const ResultKey& key, std::string_view verdict,
                  std::string_view output = {});

struct FrontierEntry {
  FrontierKey key;
  FrontierRecord record;
};
/// The best first; proved ones before all others.
Result<std::vector<FrontierEntry>> frontier(const Store& store, const Digest& contract,
                                            std::size_t limit = SIZE_MAX);
/// Puts the candidate on its contract's frontier, in place of an earlier row of the same candidate.
Result<Done> admit(const Store& store, Batch& batch, const FrontierKey& key,
                   const FrontierRecord& record);

/// Candidates whose digest begins with these hexadecimal digits, over all contracts.
Result<std::vector<std::pair<CandidateKey, CandidateRecord>>> find_candidates(
    const Store& store, std::string_view hex_prefix);

/// Where several texts have one normal form, the record that stands: decided by content alone, so
/// that the order of arrival leaves no trace. `commit` applies it.
bool stands_before(const CandidateRecord& left, const CandidateRecord& right);

struct Spent {
  std::uint64_t reserved_micro = 0;  // Of requests that are still open.
  std::uint64_t settled_micro = 0;
  std::uint64_t tokens_in = 0, tokens_out = 0;
  std::uint64_t requests = 0, unknown_prices = 0;
  std::uint64_t committed_micro() const { return reserved_micro + settled_micro; }
};
/// Money of a run (of one of its contracts, where that is named), from the ledger.
Result<Spent> spent(const Store& store, std::uint64_t run,
                    const std::optional<Digest>& contract = {});
/// Before a request is sent. An entry that is there already stays: a resumed request is one
/// request.
Result<Done> reserve(const Store& store, Batch& batch, const LedgerKey& key,
                     const LedgerRecord& record);
/// After its answer. Settling twice changes nothing. Errors: malformed where nothing was reserved.
Result<Done> settle(const Store& store, Batch& batch, const LedgerKey& key,
                    std::uint64_t settled_micro, std::uint64_t tokens_in, std::uint64_t tokens_out);

// Work: an item is in exactly one of ready, lease and done.

enum class WorkState : std::uint8_t { absent, ready, leased, done };
Result<WorkState> state_of(const Store& store, const Digest& item);

/// Into the queue, unless it is queued, leased or done already; false says so.
Result<bool> enqueue(const Store& store, Batch& batch, const Digest& item, const WorkRecord& work);
/// Ready to leased. False where it was not ready.
Result<bool> claim(const Store& store, Batch& batch, const Digest& item, const LeaseRecord& lease);
/// A later deadline for the lease of that token. False where another token holds it, or none.
Result<bool> renew(const Store& store, Batch& batch, const Digest& item, std::uint64_t token,
                   std::uint64_t deadline_ns);
/// Leased back to ready. `lost_on` empty: it was given back, which counts against nobody.
Result<bool> requeue(const Store& store, Batch& batch, const Digest& item, std::uint64_t token,
                     const std::string& lost_on);
/// Leased or ready to done without an answer.
Result<bool> quarantine(const Store& store, Batch& batch, const Digest& item);

enum class Completion : std::uint8_t { accepted, stale, duplicate };
std::string_view name_of(Completion completion);
/// The fence: only the token that holds the lease completes the item, and only once. The result
/// itself goes into the same batch where, and only where, this says accepted.
Result<Completion> complete(const Store& store, Batch& batch, const Digest& item,
                            std::uint64_t token, const std::string& node);

/// A unit of an item's journal; the parts of which it is the whole go.
Result<Done> note_unit(const Store& store, Batch& batch, const JournalKey& key,
                       const JournalRecord& record);
/// The units of an item. Completing or quarantining it takes them away.
Result<std::vector<std::string>> journal_of(const Store& store, const Digest& item);

/// All that was waiting or leased, for a coordinator that starts again.
struct Waiting {
  std::vector<std::pair<Digest, WorkRecord>> ready;  // Best first.
  std::vector<std::pair<Digest, LeaseRecord>> leased;
};
Result<Waiting> waiting(const Store& store);

}  // namespace lathe::store
