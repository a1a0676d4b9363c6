#include "cli/found_candidate.h"

#include <map>
#include <set>

#include "gpu_node/gpu_node.h"
#include "planner/planner.h"
#include "store/deeds.h"

namespace lathe::cli {
namespace {

using Name = std::pair<Digest, Digest>;  // Of contract and candidate.

/// The reference, or a decoy, which is made of the reference again.
Result<FoundCandidate> yardstick(const store::Store& store, const Name& name) {
  Result<Contract> contract = store::kept_contract(store, name.first);
  if (!contract) return contract.error();
  FoundCandidate found{{name.first, name.second}, {}, contract->reference};
  found.record.family = "reference";
  found.record.explanation = "the contract's reference";
  if (planner::candidate_digest(found.ptx) == name.second) return found;
  Result<std::vector<gpu_node::Fake>> fakes = gpu_node::make_fakes(*contract);
  if (!fakes) return fakes.error();
  for (gpu_node::Fake& fake : *fakes) {
    if (planner::candidate_digest(fake.ptx) != name.second) continue;
    found.ptx = std::move(fake.ptx);
    found.record.family = "decoy";
    found.record.explanation = "decoy " + fake.name +
                               ": the reference with what it stores spoilt, which the tests must "
                               "refuse before a search begins";
    return found;
  }
  return Error{Fault::malformed,
               "the store keeps verdicts on " + hex(name.second) + ", but not its PTX",
               "another version of lathe may have made it",
               {}};
}

/// Verdicts on what is no candidate's.
Result<std::set<Name>> yardsticks(const store::Store& store, const std::string& digits,
                                  const std::map<Name, store::CandidateRecord>& candidates) {
  std::set<Name> found;
  Result<Done> done = store.scan<store::VerdictKey>(
      store::prefix<store::VerdictKey>(),
      [&](const store::VerdictKey& key, const store::VerdictRecord&) {
        Name name{key.contract, key.candidate};
        if (hex(key.candidate).starts_with(digits) && !candidates.contains(name))
          found.insert(name);
        return true;
      });
  if (!done) return done.error();
  return found;
}

}  // namespace

Result<FoundCandidate> find_candidate(const store::Store& store, const std::string& digits) {
  auto listed = store::find_candidates(store, digits);
  if (!listed) return listed.error();
  std::map<Name, store::CandidateRecord> candidates;
  for (auto& [key, record] : *listed) candidates.insert({{key.contract, key.candidate}, record});
  auto others = yardsticks(store, digits, candidates);
  if (!others) return others.error();
  std::size_t count = candidates.size() + others->size();
  if (count == 0)
    return Error{Fault::malformed,
                 "no candidate begins with " + digits,
                 "lathe frontier lists those that were admitted and those that were refused",
                 {}};
  if (count > 1)
    return Error{Fault::malformed,
                 std::to_string(count) + " candidates begin with " + digits,
                 "give more of the digits that lathe frontier shows",
                 {}};
  if (!others->empty()) return yardstick(store, *others->begin());
  const auto& [name, record] = *candidates.begin();
  Result<std::string> ptx = store.blob(record.ptx);
  if (!ptx) return ptx.error();
  return FoundCandidate{{name.first, name.second}, record, *std::move(ptx)};
}

std::optional<Error> no_digits(const std::string& text) {
  if (!text.empty() && text.find_first_not_of("0123456789abcdef") == std::string::npos)
    return std::nullopt;
  return Error{Fault::malformed,
               "`" + text + "` is not the beginning of a digest",
               "give the first hexadecimal digits that lathe frontier shows",
               {}};
}

}  // namespace lathe::cli
