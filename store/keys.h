#pragma once

// Every key that the store writes. RocksDB sorts keys by their bytes, so that numbers are
// big-endian and a scan meets fields in the order written here:
//
//   key        :=  table:u8 field*
//   field      :=  digest:u8[32] | number:u64 | descending
//   descending :=  u64, all bits turned over: a scan meets the largest first

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "base/digest.h"
#include "base/result.h"
#include "pipeline/gates.h"
#include "store/values.h"

namespace lathe::store {

/// These numbers are on disk: never change one, never use one again.
enum class Table : std::uint8_t {
  contract = 1,
  candidate = 2,
  verdict = 3,
  frontier = 4,
  proposal = 5,
  round = 6,
  run = 7,
  ready = 8,
  lease = 9,
  deadline = 10,
  done = 11,
  ledger = 12,
  pattern = 13,
  event = 14,
  blob = 15,
  meta = 16,
  queued = 17,
  journal = 18,
};

struct Descending {
  std::uint64_t number = 0;
  bool operator==(const Descending&) const = default;
};

struct ContractKey {
  static constexpr Table table = Table::contract;
  using Value = ContractRecord;
  Digest contract;
  static auto fields(auto& key) { return std::tie(key.contract); }
};

struct CandidateKey {
  static constexpr Table table = Table::candidate;
  using Value = CandidateRecord;
  Digest contract;
  Digest candidate;  // Of the PTX's normal form.
  static auto fields(auto& key) { return std::tie(key.contract, key.candidate); }
};

struct VerdictKey {
  static constexpr Table table = Table::verdict;
  using Value = VerdictRecord;
  Digest contract;
  Digest candidate;
  std::uint64_t gate = 0;
  Digest result;  // result_key() of all that decides the answer.
  static auto fields(auto& key) {
    return std::tie(key.contract, key.candidate, key.gate, key.result);
  }
};

struct FrontierKey {
  static constexpr Table table = Table::frontier;
  using Value = FrontierRecord;
  Digest contract;
  std::uint64_t unproved = 0;  // 0 or 1: an unproved candidate never outranks a proved one.
  std::uint64_t time_ps = 0;   // Before `candidate`: a scan meets the fastest first.
  Digest candidate;
  static auto fields(auto& key) {
    return std::tie(key.contract, key.unproved, key.time_ps, key.candidate);
  }
};

struct ProposalKey {
  static constexpr Table table = Table::proposal;
  using Value = ProposalRecord;
  std::uint64_t run = 0;
  Digest contract;
  std::uint64_t round = 0;
  std::uint64_t branch = 0;
  std::uint64_t turn = 0;
  static auto fields(auto& key) {
    return std::tie(key.run, key.contract, key.round, key.branch, key.turn);
  }
};

struct RoundKey {
  static constexpr Table table = Table::round;
  using Value = RoundRecord;
  std::uint64_t run = 0;
  Digest contract;
  std::uint64_t round = 0;
  static auto fields(auto& key) { return std::tie(key.run, key.contract, key.round); }
};

struct RunKey {
  static constexpr Table table = Table::run;
  using Value = RunRecord;
  Descending run;  // The newest first.
  static auto fields(auto& key) { return std::tie(key.run); }
};

struct ReadyKey {
  static constexpr Table table = Table::ready;
  using Value = WorkRecord;
  Descending priority;
  std::uint64_t sequence = 0;  // Age.
  Digest item;
  static auto fields(auto& key) { return std::tie(key.priority, key.sequence, key.item); }
};

/// Finds an item's row among the ready ones.
struct QueuedKey {
  static constexpr Table table = Table::queued;
  using Value = QueuedRecord;
  Digest item;
  static auto fields(auto& key) { return std::tie(key.item); }
};

struct LeaseKey {
  static constexpr Table table = Table::lease;
  using Value = LeaseRecord;
  Digest item;
  static auto fields(auto& key) { return std::tie(key.item); }
};

struct DeadlineKey {
  static constexpr Table table = Table::deadline;
  using Value = Mark;
  std::uint64_t deadline_ns = 0;
  Digest item;
  static auto fields(auto& key) { return std::tie(key.deadline_ns, key.item); }
};

struct DoneKey {
  static constexpr Table table = Table::done;
  using Value = DoneRecord;
  Digest item;
  static auto fields(auto& key) { return std::tie(key.item); }
};

/// What of an item has been finished by holders of its lease that gave no answer.
struct JournalKey {
  static constexpr Table table = Table::journal;
  using Value = JournalRecord;
  Digest item;
  Digest unit;
  static auto fields(auto& key) { return std::tie(key.item, key.unit); }
};

struct LedgerKey {
  static constexpr Table table = Table::ledger;
  using Value = LedgerRecord;
  std::uint64_t run = 0;
  Digest contract;
  std::uint64_t round = 0;
  std::uint64_t branch = 0;
  std::uint64_t turn = 0;
  static auto fields(auto& key) {
    return std::tie(key.run, key.contract, key.round, key.branch, key.turn);
  }
};

struct PatternKey {
  static constexpr Table table = Table::pattern;
  using Value = PatternRecord;
  Digest pattern;
  static auto fields(auto& key) { return std::tie(key.pattern); }
};

struct EventKey {
  static constexpr Table table = Table::event;
  using Value = EventRecord;
  std::uint64_t sequence = 0;
  static auto fields(auto& key) { return std::tie(key.sequence); }
};

struct BlobKey {
  static constexpr Table table = Table::blob;
  using Value = BlobRecord;
  Digest blob;
  static auto fields(auto& key) { return std::tie(key.blob); }
};

/// These numbers are on disk: never change one, never use one again.
enum class Meta : std::uint64_t { format = 1, commits = 2, events = 3, epoch = 4, runs = 5 };

struct MetaKey {
  static constexpr Table table = Table::meta;
  using Value = MetaRecord;
  std::uint64_t meta = 0;
  static auto fields(auto& key) { return std::tie(key.meta); }
};

/// All that decides a gate's answer. Where two results share this key, one of them is enough.
struct ResultKey {
  Digest candidate, contract;
  Gate gate = Gate::screen;
  std::string parameters;    // Limits, seeds, the incumbent's digest: as text.
  std::string toolchain;     // "ptxas 13.0.88", the engine's version.
  std::string architecture;  // Of timings: the very device.
};
Digest result_key(const ResultKey& key);

/// Times as keys: picoseconds, so that halves of a nanosecond keep their order.
std::uint64_t picoseconds(double time_ns);

namespace key_bytes {

inline void append(std::string& bytes, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift));
}
inline void append(std::string& bytes, Descending descending) { append(bytes, ~descending.number); }
inline void append(std::string& bytes, const Digest& digest) {
  bytes.append(digest.bytes.begin(), digest.bytes.end());
}

inline bool take(std::string_view& bytes, std::uint64_t& number) {
  if (bytes.size() < 8) return false;
  number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8 | static_cast<std::uint8_t>(bytes[i]);
  bytes.remove_prefix(8);
  return true;
}
inline bool take(std::string_view& bytes, Descending& descending) {
  bool whole = take(bytes, descending.number);
  descending.number = ~descending.number;
  return whole;
}
inline bool take(std::string_view& bytes, Digest& digest) {
  if (bytes.size() < digest.bytes.size()) return false;
  std::copy_n(bytes.begin(), digest.bytes.size(), digest.bytes.begin());
  bytes.remove_prefix(digest.bytes.size());
  return true;
}

}  // namespace key_bytes

/// The table and its first fields: what the keys of a scan begin with.
template <class Key, class... Fields>
std::string prefix(const Fields&... fields) {
  std::string bytes(1, static_cast<char>(Key::table));
  (key_bytes::append(bytes, fields), ...);
  return bytes;
}

template <class Key>
std::string encode_key(const Key& key) {
  return std::apply([](const auto&... field) { return prefix<Key>(field...); }, Key::fields(key));
}

template <class Key>
Result<Key> decode_key(std::string_view bytes) {
  if (bytes.empty() || bytes[0] != static_cast<char>(Key::table))
    return Error{Fault::malformed, "key of another table", "", {}};
  bytes.remove_prefix(1);
  Key key;
  bool whole = std::apply([&](auto&... field) { return (key_bytes::take(bytes, field) && ...); },
                          Key::fields(key));
  if (!whole || !bytes.empty()) return Error{Fault::malformed, "key of the wrong length", "", {}};
  return key;
}

}  // namespace lathe::store
